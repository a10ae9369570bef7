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
	"github.com/candor-go/candor/report"
)

// forecastNames are the metrics of normal forecasts whose intervals are simulated.
var forecastNames = []string{"rmse", "rce", "zms", "coverage_90"}

// spreads are the distributions of the stated standard deviations, which the errors follow: lognormal, with these standard
// deviations of the logarithm.
var spreads = []float64{0, 0.5, 1, 1.5}

// forecasts draws calibrated normal forecasts.
func forecasts(r *rand.Rand, n int, spread float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.Rows, p.Classes, p.F64 = n, 3, make([]float64, 3*n)
	for i := range n {
		sd := math.Exp(spread * r.NormFloat64())
		p.F64[3*i+1], p.F64[3*i+2] = sd, sd*r.NormFloat64()
	}
	return p
}

// printForecasts writes the tables of forecasts.
func printForecasts(w io.Writer, runs, threads int) error {
	list, err := eval.ParseMetrics(strings.Join(forecastNames, ",")+",sharpness_root", eval.Shape{Classes: 3, Kind: metrics.Normals})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Calibrated normal forecasts whose stated standard deviations are lognormal, with the standard deviation of their logarithms: share of %d\n"+
		"sets whose 95%% interval holds the true value, and whose verdict finds fault.\n\n", runs)
	head, line := "| metric |", "| --- |"
	var rows []string
	for _, name := range forecastNames {
		rows = append(rows, "| `"+name+"` |")
	}
	rows = append(rows, "| `rmse`, of the stated ones |", "| verdict finds fault |")
	for _, spread := range spreads {
		// The root of the mean variance, which has a closed form for a lognormal distribution.
		want := []float64{math.Exp(spread * spread), 0, 1, 0.9}
		for _, n := range []int{100, 1000} {
			head += fmt.Sprintf(" %v, N = %d |", spread, n)
			line += " ---: |"
			var mu sync.Mutex
			held, given, fault := make([]int, len(forecastNames)), 0, 0
			err := each(runs, threads, func(run int) error {
				p := forecasts(rand.New(rand.NewPCG(uint64(n)<<8|uint64(4*spread), uint64(run))), n, spread)
				e, err := evaluate(p, list)
				if err != nil {
					return err
				}
				verdict := report.New(e).Verdict()
				mu.Lock()
				defer mu.Unlock()
				for k := range forecastNames {
					if v := e.Value(list[k]).Interval; v.Low <= want[k] && want[k] <= v.High {
						held[k]++
					}
				}
				stated := 0.0
				for i := range n {
					stated += p.F64[3*i+1] * p.F64[3*i+1] / float64(n)
				}
				if v := e.Value(list[0]).Interval; v.Low <= math.Sqrt(stated) && math.Sqrt(stated) <= v.High {
					given++
				}
				if !strings.HasSuffix(verdict, "no overall miscalibration of the spread seen at this N.") {
					fault++
				}
				return nil
			})
			if err != nil {
				return err
			}
			for k, h := range append(held, given, fault) {
				rows[k] += fmt.Sprintf(" %.3f |", float64(h)/float64(runs))
			}
		}
	}
	fmt.Fprintf(w, "%s\n%s\n%s\n", head, line, strings.Join(rows, "\n"))
	return nil
}
