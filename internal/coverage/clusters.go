package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// clusterNames are the metrics of one model whose intervals by clusters are simulated.
var clusterNames = []string{"accuracy", "base_rate", "mean_p", "bias", "overconfidence", "nll", "brier", "brier_skill", "auroc", "calibration_auc", "aurc", "eaurc", "augrc",
	"calibration_slope", "calibration_intercept"}

// printClustered writes the table of the coverage of intervals of one model by clusters, and by intervals that take rows as independent.
func printClustered(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets of clusters of rows whose 95%% interval holds the true value, and in brackets that of intervals that take rows as independent; - where there is none.\n", runs)
	laws := lawsOfClusters()
	for _, n := range sizes {
		fmt.Fprintf(w, "\n%d clusters:\n\n| metric |", n)
		line := "\n| --- |"
		share := make([]map[string][2]float64, len(laws))
		for i := range laws {
			fmt.Fprintf(w, " %s |", laws[i].name)
			line += " ---: |"
			var err error
			if share[i], err = laws[i].hold(n, runs, truth, threads); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, line)
		for _, name := range clusterNames {
			row := "| `" + name + "` |"
			for i := range laws {
				if v, ok := share[i][name]; ok {
					row += fmt.Sprintf(" %.3f (%.2f) |", v[0], v[1])
				} else {
					row += " - |"
				}
			}
			fmt.Fprintln(w, row)
		}
	}
	return nil
}

// evaluated returns the evaluation of model A, by clusters or without.
func (l *clusterLaw) evaluated(p *metrics.Predictions, of []int32, list []eval.Metric, cluster string) (*eval.Evaluation, error) {
	e, err := eval.New(eval.Spec{Classes: l.classes, Metrics: list, Cluster: cluster})
	if err != nil {
		return nil, err
	}
	e.Threads = 1
	return e, e.AddSource(&inClusters{once{p}, of}, &metrics.Options{Threads: 1})
}

// hold returns the shares of sets whose intervals hold the value of very many clusters: of those that know of clusters, and of others.
func (l *clusterLaw) hold(n, runs, truth, threads int) (map[string][2]float64, error) {
	var list []eval.Metric
	for _, name := range clusterNames {
		if name == "overconfidence" && l.classes == 1 || name == "auroc" && l.classes > 1 {
			continue
		}
		if name == "aurc" || name == "augrc" {
			name += "(replicates=200)" // of intervals that take rows as independent
		}
		if m, err := eval.ParseMetrics(name, eval.Shape{Classes: l.classes}); err == nil {
			list = append(list, m...)
		}
	}
	a, _, of := l.many(truth)
	whole, err := l.evaluated(a, of, list, "c")
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(list))
	for i, m := range list {
		values[i] = whole.Value(m).Value
	}
	var mu sync.Mutex
	hit, all := map[string][2]int{}, map[string][2]int{}
	err = each(runs, threads, func(run int) error {
		a, _, of := l.draw(rand.New(rand.NewPCG(5, uint64(run))), n)
		for k, cluster := range []string{"c", ""} {
			e, err := l.evaluated(a, of, list, cluster)
			if err != nil {
				return err
			}
			for i, m := range list {
				v := e.Value(m).Interval
				if v.Low != v.Low {
					continue
				}
				mu.Lock()
				s, h := all[m.Name], hit[m.Name]
				s[k]++
				if v.Low <= values[i] && values[i] <= v.High {
					h[k]++
				}
				all[m.Name], hit[m.Name] = s, h
				mu.Unlock()
			}
		}
		return nil
	})
	share := map[string][2]float64{}
	for name, n := range all {
		if n[0] > runs/2 && n[1] > 0 {
			share[name] = [2]float64{float64(hit[name][0]) / float64(n[0]), float64(hit[name][1]) / float64(n[1])}
		}
	}
	return share, err
}
