package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// quantileForecasts evaluates quantiles of two rows.
func quantileForecasts(t *testing.T, levels []float64, list string) (*Evaluation, error) {
	t.Helper()
	s := Spec{Classes: len(levels), Kind: metrics.Quantiles, Levels: levels, Level: 0.95}
	var err error
	if s.Metrics, err = ParseMetrics(list, s.Shape()); err != nil {
		return nil, err
	}
	e, err := New(s)
	if err != nil {
		return nil, err
	}
	p := metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{1, 3}}
	p.Rows, p.Classes = 2, len(levels)
	for range 2 {
		for i := range levels {
			p.F64 = append(p.F64, float64(i))
		}
	}
	return e, e.AddSource(&source{p: &p}, nil)
}

// TestPinballLevel: a level that is not given is a value that is not defined, and one that cannot be is no option.
func TestPinballLevel(t *testing.T) {
	e, err := quantileForecasts(t, []float64{0.1, 0.5, 0.9}, "pinball(level=0.5),pinball(level=0.33),pinball")
	if err != nil {
		t.Fatal(err)
	}
	m := e.Spec.Metrics
	if v := e.Value(m[0]); v.Value != 0.5 || v.Reason != "" {
		t.Errorf("%+v", v)
	}
	if v := e.Value(m[1]); !math.IsNaN(v.Value) || v.Reason != "there is no quantile of level 0.33" {
		t.Errorf("%+v", v)
	}
	if v := e.Value(m[2]); v.Reason != "" || !(v.Value > 0) {
		t.Errorf("%+v", v)
	}
	for _, l := range []string{"1e-10", "1", "-1"} {
		if _, err := ParseMetrics("pinball(level="+l+")", e.Spec.Shape()); err == nil || !strings.Contains(err.Error(), "level is") {
			t.Errorf("level %s: %v", l, err)
		}
	}
}

// TestLevelsTooClose: levels that the accumulators would panic at are an error.
func TestLevelsTooClose(t *testing.T) {
	for _, l := range [][]float64{{0.5, 0.5 + 1.5e-9}, {1.5e-9, 0.5}, {0.5, 1 - 1.5e-9}, {0.5, 0.5}, {0, 0.5}, {0.5, math.NaN()}} {
		if _, err := quantileForecasts(t, l, "all"); err == nil || !strings.Contains(err.Error(), "levels of quantiles rise") {
			t.Errorf("%v: %v", l, err)
		}
	}
	if _, err := quantileForecasts(t, []float64{0.5, 0.5 + 3e-9}, "all"); err != nil {
		t.Error(err)
	}
}
