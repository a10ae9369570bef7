package eval

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// TestRangesRead reads the ranges as documents write them.
func TestRangesRead(t *testing.T) {
	inf := math.Inf(1)
	of := &Spec{Classes: 10, Members: 5}
	for _, c := range []struct {
		written     string
		least, most float64
	}{
		{"[0, 1]", 0, 1},
		{"(-Inf, 1]", -inf, 1},
		{"[-Inf, +Inf]", -inf, inf},
		{"[0, Inf), in squares of the units", 0, inf},
		{"in the units of what was observed", -inf, inf},
		{"[0, 1]; weights [0, +Inf]", 0, inf},
		{"[0, 1/4]; log [0, ln 2]", 0, math.Ln2},
		{"[0, ln M]", 0, kernel.Log64(5)},
		{"[1/K, 1]", 0.1, 1},
		{"[0, K-1]", 0, 9},
		{"[0, N]", 0, inf},
	} {
		e, err := ends(c.written)
		if err != nil {
			t.Fatal(err)
		}
		least, most := inf, -inf
		for i := range e[0] {
			least, most = math.Min(least, e[0][i].in(of)), math.Max(most, e[1][i].in(of))
		}
		if least != c.least || most != c.most {
			t.Errorf("%s goes from %v to %v", c.written, least, most)
		}
	}
	for _, s := range []string{"[0 1]", "[zero, 1]", "[0, 1/x]", "[0, x/2]"} {
		if _, err := ends(s); err == nil {
			t.Errorf("%s is read", s)
		}
	}
}

// TestRangeOfBrier: the range goes by the form, and form and range both by the number of classes.
func TestRangeOfBrier(t *testing.T) {
	for _, c := range []struct {
		classes     int
		form        score.BrierForm
		least, most float64
	}{
		{10, score.BrierDefault, 0, 2}, {10, score.BrierMinusOne, -1, 1}, {10, score.BrierPerClass, 0, 0.2},
		{2, score.BrierDefault, 0, 2}, {2, score.BrierBinary, 0, 1}, {1, score.BrierDefault, 0, 1}, {1, score.BrierSum, 0, 2},
	} {
		s := &Spec{Classes: c.classes, Brier: c.form}
		for _, name := range []string{"brier", "brier_temperature_scaled"} {
			if least, most := s.bounds(Metric{Name: name}); least != c.least || most != c.most {
				t.Errorf("%s of %d classes, form %v: from %v to %v", name, c.classes, c.form, least, most)
			}
		}
	}
}

// TestIntervalsInRange holds intervals of every metric, of few rows, within its range, around its value, and equal to the uncut ones
// elsewhere. Some must have been cut.
func TestIntervalsInRange(t *testing.T) {
	cut := map[string]bool{}
	look := func(name string, e *Evaluation) {
		t.Helper()
		for _, m := range e.Spec.Metrics {
			v := e.Value(m)
			i, was := v.Interval, v.Uncut()
			if i.Low != i.Low {
				continue
			}
			least, most := e.Spec.bounds(m)
			if !(i.Low >= least && i.High <= most) {
				t.Errorf("%s: %v is %v, and its interval %v leaves the range from %v to %v", name, m, v.Value, i, least, most)
			}
			if want := was.Within(least, most); i != want {
				t.Errorf("%s: %v has %v, of %v", name, m, i, was)
			}
			if i != was {
				cut[m.Name] = true
			}
		}
	}
	of := func(spec Spec, list string, p *metrics.Predictions) *Evaluation {
		t.Helper()
		l, err := ParseMetrics(list, spec.Shape())
		if err != nil {
			t.Fatal(err)
		}
		spec.Metrics = l
		e, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Add(p, nil); err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, k := range []int{1, 3, 10} {
		for seed := range uint64(7) {
			p := testrows.Random(seed, 2+3*int(seed), k, seed%2 == 1)
			look(fmt.Sprintf("%d classes, %d rows", k, p.Rows), of(Spec{Classes: k, Level: 0.999}, "all", p))
		}
	}
	for _, f := range everyForecast(t) {
		look(f.name, of(f.spec, f.metrics, f.p))
	}
	for _, name := range []string{"brier", "confidence", "nll", "wis_underprediction"} {
		if !cut[name] {
			t.Errorf("no interval of %s is cut, of those of %v", name, slices.Sorted(maps.Keys(cut)))
		}
	}
}
