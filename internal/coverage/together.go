package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// manyLaw draws rows for five models of the same rows.
type manyLaw struct {
	name    string
	classes int
	row     func(r *rand.Rand, p [][]float64) (label int32)
}

const five = 5

var manyLaws = []manyLaw{
	{"equal", 10, manyNetworks([five]float64{0.8, 0.8, 0.8, 0.8, 0.8}, false)},
	{"average", 10, manyNetworks([five]float64{0.5, 0.7, 0.9, 1.1}, true)},
	{"binary", 1, func(r *rand.Rand, p [][]float64) int32 {
		z := 1.5 * r.NormFloat64()
		for m := range p {
			p[m][0] = logistic(z + (0.3+0.2*float64(m))*r.NormFloat64())
		}
		return happens(r, logistic(z))
	}},
}

// manyNetworks draws logits, of which the models see noise of their own; the last may be the average of the others' probabilities.
func manyNetworks(noise [five]float64, average bool) func(r *rand.Rand, p [][]float64) int32 {
	return func(r *rand.Rand, p [][]float64) int32 {
		var z, q [10]float64
		for i := range z {
			z[i] = r.NormFloat64()
		}
		z[r.IntN(len(z))] += 5.5 * (r.ExpFloat64() + r.ExpFloat64()) / 2
		softmax(q[:], z[:], 1)
		for m := range p {
			if average && m == five-1 {
				for i := range q {
					p[m][i] = (p[0][i] + p[1][i] + p[2][i] + p[3][i]) / 4
				}
				continue
			}
			var seen [10]float64
			for i := range z {
				seen[i] = z[i] + noise[m]*r.NormFloat64()
			}
			softmax(p[m], seen[:], 1)
		}
		return pick(r, q[:])
	}
}

var manyNames = []string{"accuracy", "nll", "brier", "brier_skill", "auroc", "calibration_auc", "augrc"}

// compare draws n rows and returns the differences of the models, by metric.
func (l *manyLaw) compare(r *rand.Rand, n int, list []eval.Metric, baseline string, how compared.Adjust) ([]compared.Difference, error) {
	sets, names := make([]*metrics.Predictions, five), make([]string, five)
	srcs := make([]metrics.Source, five)
	labels := make([]int32, n)
	for m := range sets {
		p := &metrics.Predictions{Labels: labels}
		p.F64, p.Rows, p.Classes = make([]float64, n*l.classes), n, l.classes
		sets[m], names[m] = p, fmt.Sprint(m)
	}
	row := make([][]float64, five)
	for i := range n {
		for m, p := range sets {
			row[m] = p.F64[i*l.classes : (i+1)*l.classes]
		}
		labels[i] = l.row(r, row)
	}
	for m, p := range sets {
		srcs[m] = metrics.InMemory(p)
	}
	c, err := compared.New(eval.Spec{Classes: l.classes, Metrics: list}, names, baseline)
	if err != nil {
		return nil, err
	}
	err = c.AddSources(srcs, &metrics.Options{Threads: 1})
	return c.Differences(&compared.Answers{Adjust: how}), err
}

// metrics returns those whose differences are simulated.
func (l *manyLaw) metrics() (list []eval.Metric) {
	for _, name := range manyNames {
		if m, err := eval.ParseMetrics(name, eval.Shape{Classes: l.classes}); err == nil && (name != "auroc" || l.classes == 1) {
			list = append(list, m...)
		}
	}
	return list
}

// cover returns the share of sets of which all intervals of a metric hold the differences of very many rows.
func (l *manyLaw) cover(n, runs, threads int, whole []compared.Difference, baseline string, how compared.Adjust) (map[string]float64, error) {
	list := l.metrics()
	var mu sync.Mutex
	share := map[string]float64{}
	err := each(runs, threads, func(run int) error {
		found, err := l.compare(rand.New(rand.NewPCG(2, uint64(run))), n, list, baseline, how)
		if err != nil {
			return err
		}
		held := map[string]bool{}
		for i, d := range found {
			name := d.Metric.String()
			if _, seen := held[name]; !seen {
				held[name] = true
			}
			v := whole[i].Value
			held[name] = held[name] && d.Interval.Low <= v && v <= d.Interval.High
		}
		mu.Lock()
		defer mu.Unlock()
		for name, ok := range held {
			if ok {
				share[name] += 1 / float64(runs)
			} else {
				share[name] += 0
			}
		}
		return nil
	})
	return share, err
}

// printTogether writes the tables of the coverage of all differences of five models together.
func printTogether(w io.Writer, runs, truth, threads int, sizes []int) error {
	fmt.Fprintf(w, "Share of %d sets of which all 95%% intervals of a metric hold the true differences: of the ten pairs of five models, by the largest |t|; of\n"+
		"four of them with a baseline, by Sidak's inequality.\n\n", runs)
	var heads []string
	var shares []map[string]float64
	for _, c := range []struct {
		baseline string
		laws     []manyLaw
	}{{"", manyLaws}, {"0", manyLaws[:1]}} {
		for i := range c.laws {
			l := &c.laws[i]
			whole, err := l.compare(rand.New(rand.NewPCG(1, 0)), truth, l.metrics(), c.baseline, compared.Holm)
			if err != nil {
				return err
			}
			for _, n := range sizes {
				s, err := l.cover(n, runs, threads, whole, c.baseline, compared.MaxT)
				if err != nil {
					return err
				}
				head := fmt.Sprintf("%s, %d", l.name, n)
				if c.baseline != "" {
					head = fmt.Sprintf("baseline, %d", n)
				}
				heads, shares = append(heads, head), append(shares, s)
			}
		}
	}
	line := "| metric |"
	under := "| --- |"
	for _, h := range heads {
		line += " " + h + " |"
		under += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", line, under)
	for _, name := range manyNames {
		if !slices.ContainsFunc(shares, func(s map[string]float64) bool { _, ok := s[name]; return ok }) {
			continue
		}
		row := "| `" + name + "` |"
		for _, s := range shares {
			if v, ok := s[name]; ok {
				row += fmt.Sprintf(" %.3f |", v)
			} else {
				row += " - |"
			}
		}
		fmt.Fprintln(w, row)
	}
	return nil
}
