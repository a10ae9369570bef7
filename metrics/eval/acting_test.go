package eval_test

import (
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// TestCostThreshold: the document has the threshold that decisions were made at, which the costs imply if it is not given.
func TestCostThreshold(t *testing.T) {
	spec := eval.Spec{Classes: 1}
	var err error
	if spec.Metrics, err = eval.ParseMetrics("expected_cost(fp=1,fn=3),expected_cost(fp=1,fn=3,threshold=0.5)", spec.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(&metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.2, 0.3}, Rows: 2, Classes: 1}, Labels: []int32{0, 1}}, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.25, 0.5} {
		found := false
		for _, f := range e.Fields(e.Spec.Metrics[i]) {
			if f.Name == "threshold" {
				found = true
				if f.Value != want {
					t.Errorf("%v: threshold %v, want %v", e.Spec.Metrics[i], f.Value, want)
				}
			}
		}
		if !found {
			t.Errorf("%v has no threshold", e.Spec.Metrics[i])
		}
	}
}

// TestCosts: costs of other predictions, or that are none, are errors, and without costs there is no value.
func TestCosts(t *testing.T) {
	costs := func(k, d int, v float64) *score.CostMatrix {
		m := &score.CostMatrix{Classes: k, Decisions: d, Cost: make([]float64, k*d)}
		m.Cost[k*d-1] = v
		return m
	}
	for want, s := range map[string]eval.Spec{
		"row 2, column 3 of the cost matrix is -1":   {Classes: 3, Costs: costs(3, 4, -1)},
		"has 3 rows, and there are 4 classes":        {Classes: 4, Costs: costs(3, 4, 1)},
		"has 3 rows, and there are 2 classes":        {Classes: 1, Costs: costs(3, 4, 1)},
		"costs are those of classes":                 {Classes: 3, Choices: eval.ChoiceBytes, Costs: costs(3, 3, 1)},
		"costs are those of classes, and these pred": {Classes: 2, Kind: metrics.Normals, Costs: costs(2, 2, 1)},
	} {
		if _, err := eval.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, m := range []*score.CostMatrix{nil, costs(2, 3, 1)} {
		s := eval.Spec{Classes: 1, Costs: m}
		s.Metrics, _ = eval.ParseMetrics("decision_cost,constant_cost", s.Shape())
		e, err := eval.New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Add(&metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.2, 0.3}, Rows: 2, Classes: 1}, Labels: []int32{0, 1}}, nil); err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Metrics {
			v := e.Value(m)
			if (v.Value == v.Value) != (s.Costs != nil) || s.Costs == nil && v.Reason != "it needs a cost matrix, by Spec.Costs" {
				t.Errorf("%v: %v", v.Value, v.Reason)
			}
		}
	}
}
