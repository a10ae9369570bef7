package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// shifts are the mean of the rows' logits, and how far that of the target's is from it, in standard deviations. The density ratio, which is the
// weight, is lognormal with this standard deviation of its logarithm. Of a mean of -3 events are rare, and weights make them more frequent; of 2 they
// make rows near 1/2 more frequent.
var shifts = []struct{ mean, by float64 }{{0, 0.5}, {0, 1}, {0, 1.5}, {0, 2}, {-3, 1}, {2, -1}}

// shiftNames are metrics with an interval for weighted rows.
var shiftNames = []string{"accuracy", "nll", "brier", "bias", "base_rate", "mean_p"}

// shifted draws rows whose logits are normal with this mean. The model's are twice as far from 0: it is overconfident. The weights are those of
// a target whose mean is higher by shift, which may be below 0; none for a shift of 0.
func shifted(r *rand.Rand, n int, mean, shift float64) *metrics.Predictions {
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.F64, p.Rows, p.Classes = make([]float64, n), n, 1
	if shift != 0 {
		p.Weights = make([]float64, n)
	}
	for i := range n {
		x := r.NormFloat64()
		if shift != 0 {
			p.Weights[i] = math.Exp(float64(shift*x) - float64(shift*shift)/2)
		}
		p.F64[i] = logistic(2 * (mean + x))
		p.Labels[i] = happens(r, logistic(mean+x))
	}
	return p
}

// printShift writes how often intervals of rows weighted by density ratios hold the values of the target.
func printShift(w io.Writer, runs, truth, threads int) error {
	fmt.Fprintf(w, "Share of %d sets of weighted rows whose 95%% interval holds the target's value.\n\n", runs)
	head, line := "| mean, shift, rows | effective rows |", "| --- | ---: |"
	for _, name := range shiftNames {
		head += " `" + name + "` |"
		line += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	list := make([]eval.Metric, len(shiftNames))
	for k, name := range shiftNames {
		m, err := eval.ParseMetrics(name, eval.Shape{Classes: 1})
		if err != nil {
			return err
		}
		list[k] = m[0]
	}
	for _, shift := range shifts {
		all, err := evaluate(shifted(rand.New(rand.NewPCG(9, 9)), truth, shift.mean+shift.by, 0), list)
		if err != nil {
			return err
		}
		for _, n := range []int{500, 5000} {
			held := make([]int, len(list))
			var effective float64
			var mu sync.Mutex
			if err := each(runs, threads, func(run int) error {
				e, err := evaluate(shifted(rand.New(rand.NewPCG(uint64(n), uint64(run))), n, shift.mean, shift.by), list)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				effective += e.Loss.EffectiveRows()
				for k, m := range list {
					if v, want := e.Value(m), all.Value(m).Value; v.Interval.Low <= want && want <= v.Interval.High {
						held[k]++
					}
				}
				return nil
			}); err != nil {
				return err
			}
			row := fmt.Sprintf("| %v, %v, %d | %.1f%% |", shift.mean, shift.by, n, 100*effective/float64(runs)/float64(n))
			for _, h := range held {
				row += fmt.Sprintf(" %.3f |", float64(h)/float64(runs))
			}
			fmt.Fprintln(w, row)
		}
	}
	return nil
}
