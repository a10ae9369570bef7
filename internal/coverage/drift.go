package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/drift"
)

// A change is what two sets are drawn from: equal laws, or two.
type change struct {
	name          string
	before, after *law
	shift         bool
}

// event draws rows of a binary task with uniform logits of this width around a center; outcomes follow the logits times slope.
func event(center, width, slope float64) func(r *rand.Rand, p []float64) int32 {
	return func(r *rand.Rand, p []float64) int32 {
		z := center + width*(2*r.Float64()-1)
		p[0] = 1 / (1 + math.Exp(-z))
		if r.Float64() < 1/(1+math.Exp(-slope*z)) {
			return 1
		}
		return 0
	}
}

var even = &law{"even", "binary, half events, calibrated", 1, event(0, 3, 1)}

func named(name string) *law {
	for i := range laws {
		if laws[i].name == name {
			return &laws[i]
		}
	}
	panic("coverage: there is no law " + name)
}

// changes are the pairs that are simulated. In the first there is no drift.
func changes() []change {
	same := func(l *law) change { return change{l.name, l, l, false} }
	return []change{same(named("wide")), same(named("sharp")), same(named("overconfident")), same(named("rare")), same(even),
		{"even to lower scores", even, &law{"", "", 1, event(-0.4, 3, 1)}, true},
		{"even to steeper", even, &law{"", "", 1, event(0, 3, 0.7)}, true},
		{"wide to flatter", named("wide"), &law{"", "", 10, network(5.5, 1.3)}, true},
	}
}

// pairs of numbers of rows.
var driftRows = [][2]int{{200, 200}, {200, 2000}, {1000, 1000}, {10000, 10000}}

// driftNames are the metrics whose differences are simulated; those that do not apply to a law are left out.
var driftNames = []string{"accuracy", "base_rate", "nll", "brier", "overconfidence", "bias", "calibration_slope", "calibration_auc", "auroc"}

// families are the questions, in the order of a result.
var families = []string{"scores", "outcomes", "calibration", "metrics", "any, adjusted"}

// PrintDrift writes the tables of two sets as Markdown.
func PrintDrift(w io.Writer, runs, truth, threads int) error {
	fmt.Fprintf(w, "Share of %d pairs of sets of one law in which the tests of a family find a difference at 5%%, or the verdict does.\n\n", runs)
	head, line := "| law, rows |", "| --- |"
	for _, f := range families {
		head += " " + f + " |"
		line += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	var columns []driftShares
	for _, c := range changes() {
		for _, n := range driftRows {
			s, err := c.simulate(n, runs, truth, threads)
			if err != nil {
				return err
			}
			columns = append(columns, s)
			if c.shift {
				continue
			}
			row := "| " + s.name + " |"
			for _, v := range s.found {
				row += fmt.Sprintf(" %.3f |", v)
			}
			fmt.Fprintln(w, row)
		}
	}
	fmt.Fprintf(w, "\nShare of these pairs, and of pairs with drift, whose 95%% interval holds the true difference; - where there is none.\n\n")
	head, line = "| pair, rows |", "| --- |"
	for _, n := range driftNames {
		head += " `" + n + "` |"
		line += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	for _, s := range columns {
		row := "| " + s.name + " |"
		for _, n := range driftNames {
			if v, ok := s.held[n]; ok {
				row += fmt.Sprintf(" %.3f |", v)
			} else {
				row += " - |"
			}
		}
		fmt.Fprintln(w, row)
	}
	fmt.Fprintf(w, "\nShare of the pairs with drift in which the tests of a family find it.\n\n")
	head, line = "| pair, rows |", "| --- |"
	for _, f := range families {
		head += " " + f + " |"
		line += " ---: |"
	}
	fmt.Fprintf(w, "%s\n%s\n", head, line)
	for _, s := range columns {
		if !s.shift {
			continue
		}
		row := "| " + s.name + " |"
		for _, v := range s.found {
			row += fmt.Sprintf(" %.3f |", v)
		}
		fmt.Fprintln(w, row)
	}
	return nil
}

// driftShares has what a simulation of a pair found.
type driftShares struct {
	name  string
	shift bool
	found []float64          // by family
	held  map[string]float64 // by metric
}

// simulate draws pairs of sets.
func (c *change) simulate(n [2]int, runs, truth, threads int) (s driftShares, err error) {
	s = driftShares{name: fmt.Sprintf("%s, %d and %d", c.name, n[0], n[1]), shift: c.shift, found: make([]float64, len(families)), held: map[string]float64{}}
	shape := eval.Shape{Classes: c.before.classes}
	var list []eval.Metric
	for _, name := range driftNames {
		if m, err := eval.ParseMetrics(name, shape); err == nil && !(shape.Classes == 1 && name == "overconfidence") && !(shape.Classes > 1 && name == "auroc") {
			list = append(list, m...)
		}
	}
	want := make([]float64, len(list))
	if c.shift {
		for i, l := range []*law{c.before, c.after} {
			e, err := evaluate(draw(l, rand.New(rand.NewPCG(7, uint64(i))), truth), list)
			if err != nil {
				return s, err
			}
			for k, m := range list {
				want[k] += float64(2*i-1) * e.Value(m).Value
			}
		}
	}
	var mu sync.Mutex
	held, known := make([]int, len(list)), make([]int, len(list))
	err = each(runs, threads, func(run int) error {
		var sets [2]*eval.Evaluation
		for i, l := range []*law{c.before, c.after} {
			e, err := evaluate(draw(l, rand.New(rand.NewPCG(uint64(n[i])<<1|uint64(i), uint64(run))), n[i]), list)
			if err != nil {
				return err
			}
			sets[i] = e
		}
		r, err := drift.Of(sets[0], sets[1], nil)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		any := false
		for i, p := range []*drift.Part{&r.Scores, &r.Outcomes, &r.Calibration, &r.Values} {
			if p.P < 0.05 {
				s.found[i] += 1 / float64(runs)
			}
			any = any || p.Drift
		}
		if any {
			s.found[4] += 1 / float64(runs)
		}
		for k := range list {
			if i := r.Metrics[k].Interval; i.Low == i.Low {
				known[k]++
				if i.Low <= want[k] && want[k] <= i.High {
					held[k]++
				}
			}
		}
		return nil
	})
	for k, m := range list {
		if known[k] > 0 {
			s.held[m.Name] = float64(held[k]) / float64(known[k])
		}
	}
	return s, err
}
