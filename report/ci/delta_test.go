package ci_test

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/report/ci"
)

// TestDeltas: differences have names that MLflow and OpenMetrics take, whatever the sets are called, and other pairs have other names.
func TestDeltas(t *testing.T) {
	r := result(t, []string{"old", "new"}, nil, nil, "text")
	r.Deltas = []ci.Delta{{A: "old", B: "new", Metric: metric("nll", -0.25, -0.5, 0), Only: true}, {A: "old", B: "new", Metric: metric("ece(bins=30)", 0.125, math.NaN(), math.NaN()), Only: true},
		{A: "old", B: "new", Metric: metric("auroc", math.NaN(), math.NaN(), math.NaN()), Only: true}}
	of := checkMLflow(t, write(t, ci.MLflow, r))
	for name, want := range map[string]float64{"delta.nll": -0.25, "delta.nll.low": -0.5, "delta.nll.high": 0, "delta.ece.bins.30": 0.125} {
		if got, there := of[name]; !there || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	samples := checkOpenMetrics(t, write(t, ci.OpenMetrics, r))
	for name, want := range map[string]float64{`candor_delta_nll{a="old",b="new"}`: -0.25, `candor_delta_nll_low{a="old",b="new"}`: -0.5, `candor_delta_nll_high{a="old",b="new"}`: 0,
		`candor_delta_ece{a="old",b="new",options="bins=30"}`: 0.125} {
		if got, there := samples[name]; !there || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name := range of {
		if strings.Contains(name, "delta.auroc") || strings.HasPrefix(name, "delta.ece.bins.30.") {
			t.Errorf("%s has no value", name)
		}
	}
	r.Says = "new is better than old."
	r.Deltas[0].Adjusted, r.Deltas[0].Outcome, r.Deltas[1].Adjusted = 0.01, "better", math.NaN()
	unit := write(t, ci.JUnit, r)
	for _, want := range []string{`<property name="delta.nll" value="-0.25">`, `<property name="delta.nll.low" value="-0.5">`, `<property name="delta.nll.p_adjusted" value="0.01">`,
		`<property name="delta.nll.outcome" value="better">`, `<property name="delta.ece(bins=30)" value="0.125">`, `<property name="verdict" value="new is better than old.">`} {
		if !strings.Contains(unit, want) {
			t.Errorf("no %s in %s", want, unit)
		}
	}
	if strings.Contains(unit, "delta.auroc") || strings.Contains(unit, "delta.ece(bins=30).p_adjusted") {
		t.Error("JUnit has what has no value")
	}
	if hub := write(t, ci.GitHub, r); !strings.Contains(hub, "| `nll` | `new` minus `old` | -0.25000 | ") || !strings.Contains(hub, " | 0.01 | better |") || !strings.Contains(hub, "\n\nnew is better than old.\n\n- `old`: ") {
		t.Error(hub)
	}
	// Many pairs of hostile names.
	r.Deltas = nil
	names := append([]string{"a", "a - b", "b", "b - a", "a -", "- b", "x -", "- x"}, hostile...)
	for i, a := range names {
		for _, b := range names[i+1:] {
			r.Deltas = append(r.Deltas, ci.Delta{A: a, B: b, Metric: metric("nll", 1, 0, 2)})
		}
	}
	before := len(checkMLflow(t, write(t, ci.MLflow, result(t, []string{"old", "new"}, nil, nil, "text"))))
	if n := len(checkMLflow(t, write(t, ci.MLflow, r))) - before; n != 3*len(r.Deltas) {
		t.Errorf("%d numbers of %d differences", n, len(r.Deltas))
	}
	if n := strings.Count(write(t, ci.OpenMetrics, r), "\ncandor_delta_nll{"); n != len(r.Deltas) {
		t.Errorf("%d samples of %d differences", n, len(r.Deltas))
	}
	checkOpenMetrics(t, write(t, ci.OpenMetrics, r))
}
