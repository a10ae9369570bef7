package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// TestEffectiveRows: weights give the effective number of rows, and a warning where it is below 5% of them.
func TestEffectiveRows(t *testing.T) {
	m, err := eval.ParseMetrics("brier", eval.Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first  float64 // weight of the first row; others have 1
		warned bool
	}{{0, false}, {1, false}, {5, false}, {1000, true}} {
		e, err := eval.New(eval.Spec{Classes: 1, Metrics: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &metrics.Predictions{Scores: metrics.Scores{F64: rep(50, 0.3, 0.6), Rows: 100, Classes: 1}, Labels: rep[int32](50, 0, 1)}
		if c.first > 0 {
			p.Weights = rep(100, 1.0)
			p.Weights[0] = c.first
		}
		if err := e.AddSource(&source{p}, nil); err != nil {
			t.Fatal(err)
		}
		d := New(e)
		b, err := d.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		const warning = "the weights leave 1.208 effective rows of 100: the rows with the largest weights decide"
		if said := strings.Contains(string(b), `"effective_rows"`); said != (c.first > 0) {
			t.Errorf("first weight %v: effective rows in the document: %v", c.first, said)
		}
		if got := slices.Contains(d.Warnings, warning); got != c.warned {
			t.Errorf("first weight %v: warnings %q", c.first, d.Warnings)
		}
		const few = "a few large weights dominate: means are as uncertain as those of 21.2 equally weighted rows, and intervals of values that rise with the weights may end too low"
		if got := slices.Contains(d.Warnings, few); got != (c.first == 5) {
			t.Errorf("first weight %v: warnings %q", c.first, d.Warnings)
		}
	}
}

// TestHeavyErrors: a warning where a few rows decide the RMSE, and none for normal errors, however few.
func TestHeavyErrors(t *testing.T) {
	shape := eval.Shape{Classes: 3, Kind: metrics.Normals}
	m, err := eval.ParseMetrics("rmse,mae", shape)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		rows   int
		spread float64 // standard deviation of the logarithm of the errors' sizes
		warned bool
	}{{20, 0, false}, {100, 0, false}, {1000, 0, false}, {1000, 0.3, false}, {1000, 1.8, true}, {100, 2.5, true}} {
		e, err := eval.New(eval.Spec{Classes: shape.Classes, Kind: shape.Kind, Metrics: m})
		if err != nil {
			t.Fatal(err)
		}
		p := &metrics.Predictions{Kind: shape.Kind, Scores: metrics.Scores{Rows: c.rows, Classes: shape.Classes}}
		for range c.rows {
			p.F64 = append(p.F64, 0, 1, r.NormFloat64()*math.Exp(c.spread*r.NormFloat64()))
		}
		if err := e.AddSource(&source{p}, nil); err != nil {
			t.Fatal(err)
		}
		warned := slices.ContainsFunc(New(e).Warnings, func(w string) bool { return strings.HasPrefix(w, "a few rows make up most of the squared error: ") })
		if warned != c.warned {
			t.Errorf("%+v: rmse %+v, warnings %q", c, e.Value(m[0]), New(e).Warnings)
		}
	}
}
