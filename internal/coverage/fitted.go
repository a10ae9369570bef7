package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/recal"
)

// fittedLosses are the metrics whose differences after a fit are simulated.
var fittedLosses = []string{"nll", "brier"}

// printFitted writes the table of the coverage of differences whose rows were mapped by temperatures fitted to other folds: of two models
// after scaling, and of each model after and before it. The true difference is that of very many rows by the same fitted temperatures.
func printFitted(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets whose 95%% interval holds the true difference of the fitted maps; - where both sets are one model after scaling.\n", runs)
	var tables [6][2]*risks
	for i := range pairLaws {
		tables[i] = risksOf(pairLaws[i].draw(rand.New(rand.NewPCG(1, 0)), truth))
	}
	for _, n := range sizes {
		fmt.Fprintf(w, "\nN = %d:\n\n| difference | metric |", n)
		line := "\n| --- | --- |"
		var share [6]map[string]float64
		for i := range pairLaws {
			fmt.Fprintf(w, " %s |", pairLaws[i].name)
			line += " ---: |"
			var err error
			if share[i], err = coverFitted(runs, threads, tables[i], func(run int) ([2]*metrics.Predictions, []int32) {
				return pairLaws[i].draw(rand.New(rand.NewPCG(2, uint64(run))), n), nil
			}); err != nil {
				return err
			}
		}
		fmt.Fprintln(w, line)
		for _, what := range fittedWhat {
			for _, name := range fittedLosses {
				row := fmt.Sprintf("| %s | `%s` |", what, name)
				for i := range pairLaws {
					if v, ok := share[i][what+name]; ok {
						row += fmt.Sprintf(" %.3f |", v)
					} else {
						row += " - |"
					}
				}
				fmt.Fprintln(w, row)
			}
		}
	}
	return nil
}

var fittedWhat = []string{"B minus A, both scaled", "A scaled minus A", "B scaled minus B"}

// risks are the mean losses of a model at temperatures whose logarithms are evenly spaced.
type risks struct{ at map[string][]float64 }

const riskFrom, riskStep, riskSteps = -2.0, 0.05, 81

// of returns the mean loss at a temperature, by the cubic through the four nearest ones.
func (r *risks) of(metric string, t float64) float64 {
	x := (math.Log(t) - riskFrom) / riskStep
	i := min(max(int(x)-1, 0), riskSteps-4)
	v, sum := r.at[metric], 0.0
	for j := i; j < i+4; j++ {
		weight := 1.0
		for k := i; k < i+4; k++ {
			if k != j {
				weight *= (x - float64(k)) / float64(j-k)
			}
		}
		sum += weight * v[j]
	}
	return sum
}

// draw draws n rows of both models.
func (l *pairLaw) draw(r *rand.Rand, n int) [2]*metrics.Predictions {
	a, b := &metrics.Predictions{Labels: make([]int32, n)}, &metrics.Predictions{}
	for _, p := range []*metrics.Predictions{a, b} {
		p.F64, p.Rows, p.Classes = make([]float64, n*l.classes), n, l.classes
	}
	b.Labels = a.Labels
	for i := range n {
		a.Labels[i] = l.row(r, a.F64[i*l.classes:(i+1)*l.classes], b.F64[i*l.classes:(i+1)*l.classes])
	}
	return [2]*metrics.Predictions{a, b}
}

// risksOf finds the mean losses of both models from very many rows.
func risksOf(models [2]*metrics.Predictions) (of [2]*risks) {
	for m, p := range models {
		rows := p.Rows
		of[m] = &risks{map[string][]float64{}}
		of[m].at["nll"], of[m].at["brier"] = make([]float64, riskSteps), make([]float64, riskSteps)
		k := max(2, p.Classes)
		z, q := make([]float64, k), make([]float64, k)
		for i := range rows {
			if p.Classes == 1 {
				z[0], z[1] = math.Log1p(-p.F64[i]), math.Log(p.F64[i])
			} else {
				for c := range z {
					z[c] = math.Log(p.F64[i*k+c])
				}
			}
			y := p.Labels[i]
			for s := range riskSteps {
				softmax(q, z, math.Exp(riskFrom+riskStep*float64(s)))
				square := 0.0
				for c, v := range q {
					if int32(c) == y {
						v--
					}
					square += v * v
				}
				if p.Classes == 1 {
					square /= 2
				}
				of[m].at["nll"][s] -= math.Log(q[y]) / float64(rows)
				of[m].at["brier"][s] += square / float64(rows)
			}
		}
	}
	return of
}

// coverFitted returns the share of sets whose interval holds the true difference, by what is compared and by which metric. draw draws the rows of
// both models for a run, and their clusters, which may be nil.
func coverFitted(runs, threads int, of [2]*risks, draw func(run int) ([2]*metrics.Predictions, []int32)) (map[string]float64, error) {
	var mu sync.Mutex
	hit, all := map[string]int{}, map[string]int{}
	err := each(runs, threads, func(run int) error {
		models, clusters := draw(run)
		n := models[0].Rows
		spec := eval.Spec{Classes: models[0].Classes}
		var err error
		if spec.Metrics, err = eval.ParseMetrics("nll,brier", spec.Shape()); err != nil {
			return err
		}
		if clusters != nil {
			spec.Cluster = "cluster"
		}
		folds := recal.Folds{Clusters: clusters != nil}
		var raw, scaled [2]recal.Data
		var maps [2][]recal.Map
		var whole [2]recal.Data
		for m, p := range models {
			raw[m] = recal.InMemory(p)
			if clusters != nil {
				raw[m] = recal.OpenFunc(func() (recal.Source, error) { return &clusteredRows{inClusters{once{p}, clusters}}, nil })
			}
			var err error
			if maps[m], err = recal.CrossFit(recal.Temperature{}, raw[m], folds, &recal.Options{Threads: 1}); err != nil {
				return nil // some set has no best temperature
			}
			scaled[m] = recal.CrossApplied(maps[m], raw[m], folds)
			t, err := recal.Temperature{}.Fit(raw[m], &recal.Options{Threads: 1})
			if err != nil {
				return nil
			}
			whole[m] = applied(t, raw[m])
		}
		// A fold counts by its rows.
		count := make([]float64, folds.Count())
		for i := range n {
			k := folds.Fold(int64(i))
			if clusters != nil {
				k = folds.FoldOf(strconv.Itoa(int(clusters[i])))
			}
			count[k] += 1 / float64(n)
		}
		after := func(m int, metric string) (v float64) {
			for k, t := range maps[m] {
				v += count[k] * of[m].of(metric, t.(*recal.TemperatureMap).T())
			}
			return v
		}
		for w, sides := range [][3]recal.Data{{scaled[0], scaled[1], scaled[1]}, {raw[0], scaled[0], whole[0]}, {raw[1], scaled[1], whole[1]}} {
			c, err := compared.New(spec, []string{"A", "B", "map of all rows"}, "")
			if err != nil {
				return err
			}
			if c.Maps = folds.Count(); w == 0 {
				c.Maps *= 2
			}
			var srcs []metrics.Source
			for _, d := range sides {
				src, err := d.Open()
				if err != nil {
					return err
				}
				defer src.Close()
				srcs = append(srcs, src)
			}
			if err := c.AddSources(srcs, &metrics.Options{Threads: 1}); err != nil {
				return err
			}
			mu.Lock()
			found := c.Differences(nil)
			for _, d := range found {
				if d.A != 0 || d.B != 1 {
					continue
				}
				name := d.Metric.String()
				for _, e := range found {
					// As candor recal fit has it.
					if w > 0 && e.A == 1 && e.B == 2 && e.Metric.String() == name && e.Error.SE > 0 {
						d.Interval = d.Error.Plus(math.Sqrt(float64(folds.Count()))*e.Error.SE).Interval(d.Value, 0, 0.95)
					}
				}
				truth := after(1, name) - after(0, name)
				switch {
				case w == 0 && math.Abs(truth) < 1e-6:
					continue // after scaling they are one model
				case w > 0:
					truth = after(w-1, name) - of[w-1].of(name, 1)
				}
				if all[fittedWhat[w]+name]++; d.Interval.Low <= truth && truth <= d.Interval.High {
					hit[fittedWhat[w]+name]++
				}
			}
			mu.Unlock()
		}
		return nil
	})
	share := map[string]float64{}
	for what, n := range all {
		share[what] = float64(hit[what]) / float64(n)
	}
	return share, err
}

// clusteredRows are rows of clusters that were opened.
type clusteredRows struct{ inClusters }

func (*clusteredRows) Close() error { return nil }

// printFittedClusters is printFitted for rows in clusters, whose folds hold whole clusters, by the number of clusters.
func printFittedClusters(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets of clusters of rows whose 95%% interval holds the true difference of the fitted maps.\n", runs)
	for _, n := range sizes {
		fmt.Fprintf(w, "\n%d clusters:\n\n| difference | metric |", n)
		line := "\n| --- | --- |"
		var share []map[string]float64
		for _, l := range lawsOfClusters() {
			if l.name == "giant" { // whose fold has most rows
				continue
			}
			fmt.Fprintf(w, " %s |", l.name)
			line += " ---: |"
			a, b, _ := l.many(truth)
			found, err := coverFitted(runs, threads, risksOf([2]*metrics.Predictions{a, b}), func(run int) ([2]*metrics.Predictions, []int32) {
				a, b, of := l.draw(rand.New(rand.NewPCG(6, uint64(run))), n)
				return [2]*metrics.Predictions{a, b}, of
			})
			if err != nil {
				return err
			}
			share = append(share, found)
		}
		fmt.Fprintln(w, line)
		for _, what := range fittedWhat {
			for _, name := range fittedLosses {
				row := fmt.Sprintf("| %s | `%s` |", what, name)
				for i := range share {
					if v, ok := share[i][what+name]; ok {
						row += fmt.Sprintf(" %.3f |", v)
					} else {
						row += " - |"
					}
				}
				fmt.Fprintln(w, row)
			}
		}
	}
	return nil
}

// applied returns data after a map.
func applied(m recal.Map, d recal.Data) recal.Data {
	return recal.OpenFunc(func() (recal.Source, error) {
		src, err := d.Open()
		if err != nil {
			return nil, err
		}
		return &mapped{recal.Applied(m, src), src}, nil
	})
}

type mapped struct {
	metrics.Source
	of recal.Source
}

func (m *mapped) Close() error { return m.of.Close() }
