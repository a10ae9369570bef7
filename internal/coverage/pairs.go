package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// pairLaw draws rows for two models of the same rows.
type pairLaw struct {
	name, text string
	classes    int
	row        func(r *rand.Rand, a, b []float64) (label int32)
}

// twoNetworks draws logits, of which the models see one with noise of its own, at temperatures of their own.
func twoNetworks(out, noiseA, noiseB, tempA, tempB float64) func(r *rand.Rand, a, b []float64) int32 {
	return func(r *rand.Rand, a, b []float64) int32 {
		var z, za, zb, q [10]float64
		for i := range z {
			z[i] = r.NormFloat64()
		}
		z[r.IntN(len(z))] += out * (r.ExpFloat64() + r.ExpFloat64()) / 2
		softmax(q[:], z[:], 1)
		for i := range z {
			za[i], zb[i] = z[i]+noiseA*r.NormFloat64(), z[i]+noiseB*r.NormFloat64()
		}
		softmax(a, za[:], tempA)
		softmax(b, zb[:], tempB)
		return pick(r, q[:])
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func happens(r *rand.Rand, p float64) int32 {
	if r.Float64() < p {
		return 1
	}
	return 0
}

var pairLaws = []pairLaw{
	{"better", "10 classes, about 70% right; B sees the logits with less noise", 10, twoNetworks(5.5, 1, 0.5, 1, 1)},
	{"calibrated", "10 classes; A is overconfident, B is calibrated", 10, twoNetworks(5.5, 0, 0, 0.6, 1)},
	{"sharp", "10 classes, 97% right, with noise of their own", 10, twoNetworks(22, 0.7, 0.7, 1, 1)},
	{"binary", "binary, 50% events; B sees the logit with less noise", 1, func(r *rand.Rand, a, b []float64) int32 {
		z := 1.5 * r.NormFloat64()
		a[0], b[0] = logistic(z+r.NormFloat64()), logistic(z+0.5*r.NormFloat64())
		return happens(r, logistic(z))
	}},
	{"rare", "binary, 2% events; B sees the logit with less noise", 1, func(r *rand.Rand, a, b []float64) int32 {
		z := -4.9 + 1.3*r.NormFloat64()
		a[0], b[0] = logistic(z+0.8*r.NormFloat64()), logistic(z+0.4*r.NormFloat64())
		return happens(r, logistic(z))
	}},
	{"both calibrated", "binary; B knows the probability, A its half: both are calibrated", 1, func(r *rand.Rand, a, b []float64) int32 {
		b[0] = r.Float64()
		if a[0] = 0.25; b[0] >= 0.5 {
			a[0] = 0.75
		}
		return happens(r, b[0])
	}},
}

// pairNames are the metrics whose differences are simulated.
var pairNames = []string{"accuracy", "overconfidence", "bias", "nll", "perplexity", "nll_skill", "brier", "brier_skill", "entropy", "auroc", "calibration_auc", "aurc", "eaurc",
	"augrc", "calibration_slope", "calibration_intercept", "calibration_error_squared"}

// compare draws n rows and returns the differences of the two models, by metric.
func (l *pairLaw) compare(r *rand.Rand, n int, list []eval.Metric) ([]compared.Difference, error) {
	p := l.draw(r, n)
	c, err := compared.New(eval.Spec{Classes: l.classes, Metrics: list}, []string{"A", "B"}, "")
	if err != nil {
		return nil, err
	}
	err = c.AddSources([]metrics.Source{metrics.InMemory(p[0]), metrics.InMemory(p[1])}, &metrics.Options{Threads: 1})
	return c.Differences(nil), err
}

// printPairs writes the table of the coverage of differences.
func printPairs(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets whose 95%% interval of the difference of two models holds the true difference; - where there is none.\n", runs)
	for _, n := range sizes {
		fmt.Fprintf(w, "\nN = %d:\n\n| metric |", n)
		line := "\n| --- |"
		share := make([]map[string]float64, len(pairLaws))
		for i := range pairLaws {
			l := &pairLaws[i]
			fmt.Fprintf(w, " %s |", l.name)
			line += " ---: |"
			var err error
			if share[i], err = l.cover(n, runs, truth, threads); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, line)
		for _, name := range pairNames {
			row := "| `" + name + "` |"
			for i := range pairLaws {
				if v, ok := share[i][name]; ok {
					row += fmt.Sprintf(" %.3f |", v)
				} else {
					row += " - |"
				}
			}
			fmt.Fprintln(w, row)
		}
	}
	return nil
}

// cover returns the share of sets whose interval holds the difference of very many rows.
func (l *pairLaw) cover(n, runs, truth, threads int) (map[string]float64, error) {
	var list []eval.Metric
	for _, name := range pairNames {
		if m, err := eval.ParseMetrics(name, eval.Shape{Classes: l.classes}); err == nil {
			list = append(list, m...)
		}
	}
	whole, err := l.compare(rand.New(rand.NewPCG(1, 0)), truth, list)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	hit, all := map[string]int{}, map[string]int{}
	err = each(runs, threads, func(run int) error {
		found, err := l.compare(rand.New(rand.NewPCG(2, uint64(run))), n, list)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for i, d := range found {
			if name := d.Metric.String(); d.Interval.Low == d.Interval.Low {
				all[name]++
				if v := whole[i].Value; d.Interval.Low <= v && v <= d.Interval.High {
					hit[name]++
				}
			}
		}
		return nil
	})
	share := map[string]float64{}
	for name, n := range all {
		if n > runs/2 {
			share[name] = float64(hit[name]) / float64(n)
		}
	}
	return share, err
}
