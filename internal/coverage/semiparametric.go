package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// semiparametricLaws are shares of what "off" of the survival laws is off by, 0.128.
var semiparametricLaws = []struct {
	name  string
	share float64
}{{"right", 0}, {"off by 0.013", 0.1}, {"off by 0.038", 0.3}, {"off by 0.128", 1}, {"off by 0.179", 1.4}}

var semiparametricKinds = []struct{ name, metric string }{
	{"kernel", "spce"}, {"spline", "spce(smoothing=spline)"}, {"orthogonal", "spce(orthogonal)"},
}

// printSemiparametric prints how often the intervals of spce hold the true error. Scores are even in [0, 1].
func printSemiparametric(w io.Writer, runs, threads int, sizes []int) error {
	fmt.Fprint(w, "| law, rows |")
	for _, k := range semiparametricKinds {
		fmt.Fprintf(w, " %s |", k.name)
	}
	fmt.Fprint(w, "\n| --- | ---: | ---: | ---: |\n")
	list := make([]eval.Metric, len(semiparametricKinds))
	for i, k := range semiparametricKinds {
		var err error
		if list[i], err = eval.ParseMetric(k.metric); err != nil {
			return err
		}
	}
	for _, l := range semiparametricLaws {
		// The error is share * 0.7 p (1-p), whose mean square over even p is (0.7 share)^2 / 30.
		want := 0.7 * l.share / math.Sqrt(30)
		for _, n := range sizes {
			held := make([]atomic.Int64, len(list))
			if err := each(runs, threads, func(run int) error {
				r := rand.New(rand.NewPCG(uint64(n), uint64(run)))
				p := &metrics.Predictions{Labels: make([]int32, n)}
				p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
				for i := range p.F64 {
					s := r.Float64()
					p.F64[i] = s
					if chance := s - float64(0.7*l.share*s*(1-s)); r.Float64() < chance {
						p.Labels[i] = 1
					}
				}
				e, err := evaluate(p, list)
				if err != nil {
					return err
				}
				for k, m := range list {
					if in := e.Value(m).Interval; in.Low <= want && want <= in.High {
						held[k].Add(1)
					}
				}
				return nil
			}); err != nil {
				return err
			}
			printHeld(w, fmt.Sprintf("%s, %d", l.name, n), held, runs)
		}
	}
	return nil
}
