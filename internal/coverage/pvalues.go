package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// pValues are the metrics of one set that are p-values of calibration. Those of slices have a table of their own.
var pValues = []string{"ece_p", "ks_p", "kuiper_p", "skce_p", "tcal_p", "spiegelhalter_p", "hosmer_lemeshow_p", "giviti_p", "pit_p", "rank_p"}

// pLaws are calibrated models.
var pLaws = []struct {
	name  string
	shape eval.Shape
	draw  func(r *rand.Rand, n int) *metrics.Predictions
}{
	{"wide", eval.Shape{Classes: 10}, func(r *rand.Rand, n int) *metrics.Predictions { return draw(named("wide"), r, n) }},
	{"sharp", eval.Shape{Classes: 10}, func(r *rand.Rand, n int) *metrics.Predictions { return draw(named("sharp"), r, n) }},
	{"rare", eval.Shape{Classes: 1}, func(r *rand.Rand, n int) *metrics.Predictions { return draw(named("rare"), r, n) }},
	{"even", eval.Shape{Classes: 1}, func(r *rand.Rand, n int) *metrics.Predictions { return draw(even, r, n) }},
	{"normal forecasts", eval.Shape{Classes: 3, Kind: metrics.Normals}, func(r *rand.Rand, n int) *metrics.Predictions { return forecasts(r, n, 0.5) }},
	{"20 samples", eval.Shape{Classes: sampled, Kind: metrics.Samples}, samples},
}

// sampled is the number of samples of a forecast.
const sampled = 20

// samples draws forecasts by samples of what the outcome is drawn from.
func samples(r *rand.Rand, n int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: make([]float64, n)}
	p.Rows, p.Classes, p.F64 = n, sampled, make([]float64, sampled*n)
	for i := range n {
		mean, sd := r.NormFloat64(), math.Exp(0.5*r.NormFloat64())
		for j := range sampled {
			p.F64[i*sampled+j] = mean + float64(sd*r.NormFloat64())
		}
		p.Observed[i] = mean + float64(sd*r.NormFloat64())
	}
	return p
}

// printPValues prints how often p-values find fault with a calibrated model.
func printPValues(w io.Writer, runs, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets of a calibrated model whose p-value is at most 0.05; - where there is none.\n\n", runs)
	head, line := "| law, rows |", "| --- |"
	for _, name := range pValues {
		head += " `" + name + "` |"
		line += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	for _, l := range pLaws {
		var list []eval.Metric
		at := make([]int, len(pValues)) // in the list, or -1
		for k, name := range pValues {
			at[k] = -1
			if m, err := eval.ParseMetrics(name, l.shape); err == nil {
				at[k] = len(list)
				list = append(list, m...)
			}
		}
		for _, n := range sizes {
			found, known := make([]int, len(list)), make([]int, len(list))
			var mu sync.Mutex
			if err := each(runs, threads, func(run int) error {
				e, err := evaluate(l.draw(rand.New(rand.NewPCG(uint64(n)<<8|53, uint64(run))), n), list)
				if err != nil {
					return err
				}
				for k, m := range list {
					v := e.Value(m).Value
					mu.Lock()
					if !math.IsNaN(v) {
						known[k]++
					}
					if v <= 0.05 {
						found[k]++
					}
					mu.Unlock()
				}
				return nil
			}); err != nil {
				return err
			}
			row := []string{fmt.Sprintf("| %s, %d", l.name, n)}
			for _, k := range at {
				if k < 0 || known[k] == 0 {
					row = append(row, "-")
				} else {
					row = append(row, fmt.Sprintf("%.3f", float64(found[k])/float64(known[k])))
				}
			}
			fmt.Fprintln(w, strings.Join(row, " | ")+" |")
		}
	}
	return nil
}
