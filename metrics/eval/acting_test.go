package eval_test

import (
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
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
