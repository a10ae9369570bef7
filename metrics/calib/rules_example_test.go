package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// Each rule separately: the bins of scores of 0, of 1 and on an edge.
func ExampleOptions() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0, 0.3, 0.6, 0.9, 1}, Rows: 5, Classes: 1},
		Labels: []int32{1, 0, 1, 1, 0},
	}
	for _, o := range []calib.Options{
		{},
		{Zero: calib.FirstBin, One: calib.LastBin, Index: calib.EdgeMul, Event: calib.ByShape}, // the same, written out
		{Zero: calib.DropZero},
		{Zero: calib.NoBin},
		{Zero: calib.OwnBin},
		{One: calib.OverflowBin},
		{One: calib.LastBinOnly},
		{Index: calib.EdgeDiv},
		{Index: calib.EdgeMul32},
		{Index: calib.EdgeTorch},
		{Index: calib.FloorMul},
		{Event: calib.AllClasses},
	} {
		o.Bins = calib.DefaultBins - 5
		b, err := calib.BinsOf(p, &o)
		if err != nil {
			log.Fatal(err)
		}
		var counts []int64
		for _, bar := range b.Bins(metrics.DefaultLevel) {
			counts = append(counts, bar.Count)
		}
		fmt.Printf("%-35s %v %.4f\n", o, counts, b.ECE())
	}
	var one calib.OneRule
	var zero calib.ZeroRule
	var index calib.Index
	fmt.Println(one == calib.LastBin, zero == calib.FirstBin, index == calib.EdgeMul, len(calib.Options{}.Fields()))
	// Output:
	// bins=10                             [1 0 1 0 0 1 0 0 0 2] 0.5200
	// bins=10                             [1 0 1 0 0 1 0 0 0 2] 0.5200
	// bins=10,zero=dropped                [0 0 1 0 0 1 0 0 0 2] 0.4000
	// bins=10,zero=nobin                  [0 0 1 0 0 1 0 0 0 2] 0.3200
	// bins=10,zero=own                    [1 0 0 1 0 0 1 0 0 0 2] 0.5200
	// bins=10,one=overflow                [1 0 1 0 0 1 0 0 0 1 1] 0.5600
	// bins=10,one=last_only               [1 0 1 0 0 1 0 0 0 2] 0.5200
	// bins=10,index=divided               [1 0 0 1 0 0 1 0 0 2] 0.5200
	// bins=10,index=edges32               [1 0 1 0 0 1 0 0 0 2] 0.5200
	// bins=10,index=torch                 [1 0 1 0 0 0 1 0 0 2] 0.5200
	// bins=10,index=floor                 [1 0 0 1 0 0 1 0 0 2] 0.5200
	// bins=10,event=all                   [3 0 1 0 1 1 1 0 0 3] 0.5200
	// true true true 6
}

// One state gives any bins: equal width, equal mass, and those of a sweep.
func ExampleSweepOf() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	for _, bins := range []int{2, 5} {
		b, bound := calib.EvenOf(c, bins)
		fmt.Printf("%d of equal width: %.4f (bound %v)\n", bins, b.ECE(), bound)
	}
	var b *calib.Partition
	b, bound := calib.SweepOf(c)
	fmt.Printf("%d that rise: %.4f (bound %v)\n", len(b.Bins(metrics.DefaultLevel)), b.ECE(), bound)
	// Output:
	// 2 of equal width: 0.0450 (bound 0)
	// 5 of equal width: 0.1250 (bound 0)
	// 5 that rise: 0.1250 (bound 0)
}
