package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// animals returns rows of three classes.
func animals() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{
			F32: []float32{
				0.7, 0.2, 0.1,
				0.1, 0.8, 0.1,
				0.3, 0.3, 0.4,
				0.6, 0.3, 0.1,
				0.2, 0.5, 0.3,
				0.05, 0.05, 0.9,
			},
			Rows: 6, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 0, 2, 2},
	}
}

// Each option is an independent choice. The bins of every class are available.
func ExampleGeneralOf() {
	o := calib.GeneralOptions{Options: calib.Options{Bins: 2}, Binning: calib.Adaptive, ClassConditional: true, Norm: calib.L2}
	g, err := calib.GeneralOf(animals(), &o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f from %d probabilities (%s)\n", g.Value, g.Kept, o)
	for j, class := range g.Partitions {
		for _, bar := range class.Bins(metrics.DefaultLevel) {
			fmt.Printf("class %d: %d rows, says %.2f, happened %.2f\n", j, bar.Count, bar.Confidence, bar.Frequency)
		}
	}
	// Output:
	// 0.2370 from 18 probabilities (binning=adaptive,norm=l2,class_conditional,bins=2)
	// class 0: 3 rows, says 0.12, happened 0.00
	// class 0: 3 rows, says 0.53, happened 1.00
	// class 1: 2 rows, says 0.13, happened 0.00
	// class 1: 4 rows, says 0.48, happened 0.25
	// class 2: 3 rows, says 0.10, happened 0.00
	// class 2: 3 rows, says 0.53, happened 0.67
}

// The same rows with all binnings and norms.
func ExampleNorm() {
	for _, binning := range []calib.Binning{calib.Even, calib.Adaptive, calib.CubeRoot, calib.SweepMass, calib.SweepEven} {
		fmt.Printf("%-19q", calib.GeneralOptions{Binning: binning}.String())
		for _, norm := range []calib.Norm{calib.L1, calib.L2, calib.Max} {
			gce, err := calib.GCE(testrows.Ten(), &calib.GeneralOptions{Binning: binning, Norm: norm})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf(" %.3f", gce)
		}
		fmt.Println()
	}
	// Output:
	// ""                  0.155 0.255 0.700
	// "binning=adaptive"  0.195 0.281 0.700
	// "binning=cube_root" 0.085 0.100 0.167
	// "binning=sweep"     0.125 0.143 0.225
	// "binning=sweep_even" 0.125 0.152 0.350
}

// Systems differ in their treatment of equal scores near an edge.
func ExampleEdgeRule() {
	for _, rule := range []calib.EdgeRule{calib.OrderStatistic, calib.OrderStatisticClosed, calib.Rank, calib.RankOutcome,
		calib.QuantileLinear, calib.QuantileNearest, calib.Strides} {
		o := calib.GeneralOptions{Options: calib.Options{Bins: 3}, Binning: calib.Adaptive, EdgeRule: rule}
		g, err := calib.GeneralOf(testrows.Ten(), &o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f", g.Value)
		for _, bar := range g.Partitions[0].Bins(metrics.DefaultLevel) {
			fmt.Printf(" %d", bar.Count)
		}
		fmt.Printf("  %s\n", o)
	}
	// Output:
	// 0.085 3 4 3  binning=adaptive,bins=3
	// 0.085 3 4 2 1  binning=adaptive,rule=order_closed,bins=3
	// 0.045 4 3 3  binning=adaptive,rule=rank,bins=3
	// 0.045 4 3 3  binning=adaptive,rule=rank_outcome,bins=3
	// 0.085 2 2 3 3  binning=adaptive,rule=quantile_linear,bins=3
	// 0.155 3 3 4  binning=adaptive,rule=quantile_nearest,bins=3
	// 0.065 4 2 2  binning=adaptive,rule=strides,bins=3
}

func ExampleACE() {
	ace, err := calib.ACE(animals(), &calib.GeneralOptions{Options: calib.Options{Bins: 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", ace)
	// Output:
	// 0.2000
}

// If nothing is above the threshold, the answer is NaN.
func ExampleTACE() {
	for _, above := range []float64{calib.DefaultThreshold, 0.3, 0.95} {
		tace, err := calib.TACE(animals(), &calib.GeneralOptions{Options: calib.Options{Bins: 2}, Above: &above})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("above %.2f: %.4f\n", above, tace)
	}
	// Output:
	// above 0.01: 0.2000
	// above 0.30: 0.2750
	// above 0.95: NaN
}

func ExampleEqualMassECE() {
	ece, err := calib.EqualMassECE(testrows.Ten(), &calib.GeneralOptions{Options: calib.Options{Bins: 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f\n", ece)
	// Output:
	// 0.085
}

// A sweep chooses the number of bins without splitting equal scores.
func ExampleSweepECE() {
	for _, binning := range []calib.Binning{calib.SweepMass, calib.SweepEven} {
		ece, err := calib.SweepECE(testrows.Ten(), &calib.GeneralOptions{Binning: binning})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f\n", ece)
	}
	// Output:
	// 0.125
	// 0.125
}

func ExampleTopLabelConditional() {
	ece, err := calib.TopLabelConditional(animals(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", ece)
	// Output:
	// 0.3167
}

func ExampleEqualCount() {
	ece, err := calib.EqualCount(testrows.Ten(), &calib.GeneralOptions{Options: calib.Options{Bins: 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", ece)
	// Output:
	// 0.1550
}

func ExampleQuantileECE() {
	ece, err := calib.QuantileECE(animals(), &calib.GeneralOptions{Options: calib.Options{Bins: 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", ece)
	// Output:
	// 0.3167
}

// Metrics of other systems, described in words.
func ExampleGeneralLike() {
	for _, m := range [][2]string{{"um", "tace"}, {"rm", "tace"}, {"blog", "ace"}, {"rm", "msce"}} {
		o, err := calib.GeneralLike(m[0], m[1])
		if err != nil {
			log.Fatal(err)
		}
		gce, err := calib.GCE(animals(), &o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s's %s is %.4f: %s\n", m[0], m[1], gce, o.Text())
	}
	// Output:
	// um's tace is 0.2667: each class of every row; 30 equal-mass bins; equal scores together; left-closed; p > 0.01; mean of |gap|
	// rm's tace is 0.2667: each class of every row; 30 equal-mass bins; equal scores together, 1 in a bin of its own; p > 0; mean of |gap|
	// blog's ace is 0.3167: top label; 14 equal-mass bins; edges at linear quantiles, (a,b], the lowest score alone; mean of |gap|
	// rm's msce is 0.3167: top label; equal-mass bins, as many as keep the frequency rising; edges between them, equal scores divided to find them, the largest score in a bin of its own; p > 0; mean of |gap|
}

// Options can be set from text.
func ExampleGeneralOptions_Set() {
	var o calib.GeneralOptions
	for _, s := range [][2]string{{"binning", "adaptive"}, {"points", "5"}, {"norm", "max"}} {
		if err := o.Set(s[0], s[1]); err != nil {
			log.Fatal(err)
		}
	}
	if err := o.Validate(); err != nil {
		log.Fatal(err)
	}
	gce, err := calib.GCE(testrows.Ten(), &o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.3f (%s)\n", o, gce, o.Text())
	// Output:
	// binning=adaptive,norm=max,points=5: 0.050 (top label, or of a binary task the positive class; rows/5 equal-mass bins; equal scores together; left-closed; largest |gap|)
}

func ExampleUMAll() {
	values, err := calib.UMAll(animals(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for i := 0; i < len(values); i += 8 {
		fmt.Printf("%.3f\n", values[i:i+8])
	}
	// Output:
	// [0.317 0.344 0.317 0.344 0.317 0.344 0.317 0.344]
	// [0.267 0.333 0.267 0.333 0.200 0.235 0.200 0.235]
	// [0.317 0.344 0.317 0.344 0.317 0.344 0.317 0.344]
	// [0.267 0.333 0.267 0.333 0.200 0.235 0.200 0.235]
}
