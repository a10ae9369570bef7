package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
)

const deltaOf = "delta."

// ofDrift are the names of gates besides those of metrics.
var ofDrift = []string{"psi", "ks", "ks.p", "scores.p", "scores.p_adjusted", "outcomes.p", "outcomes.p_adjusted", "calibration.p",
	"calibration.p_adjusted", "metrics.p", "metrics.p_adjusted"}

// ParseDriftGate reads a condition on a Drift, NAME OPERATOR NUMBER with the operator >, >=, < or <=, which must not hold or, if required
// is set, must hold. NAME is psi, ks, ks.p, one of the questions scores, outcomes, calibration and metrics with .p, or delta.METRIC, the
// difference of a metric, with .value, .low, .high or .p; .value is the default. p_adjusted is p, adjusted in its family.
func ParseDriftGate(s string, required bool) (Gate, error) {
	example := "'psi>0.2' or 'delta.nll.low>0'"
	if required {
		example = "'psi<0.2' or 'calibration.p_adjusted>0.01'"
	}
	g, err := split(s, required, example)
	if err != nil {
		return g, err
	}
	g.scope = TwoSets
	key, ok := strings.CutPrefix(g.key, deltaOf)
	if !ok {
		if !slices.Contains(ofDrift, g.key) {
			return g.bad("there is no %q; there are %s and delta.METRIC", g.key, strings.Join(ofDrift, ", "))
		}
		if name, part, ok := strings.Cut(g.key, "."); ok {
			g.key, g.part = name, part
		}
		return g, nil
	}
	if dot := strings.LastIndexByte(key, '.'); dot > strings.LastIndexByte(key, ')') {
		key, g.part = key[:dot], key[dot+1:]
		if !slices.Contains([]string{"value", "low", "high", "p", "p_adjusted"}, g.part) {
			return g.bad("there is no .%s of a difference; there are .value, .low, .high, .p and .p_adjusted", g.part)
		}
	}
	m, err := eval.ParseMetric(key)
	if err != nil {
		return g, fmt.Errorf("%v: %w", g.setting(), err)
	}
	g.key = deltaOf + m.String()
	return g, nil
}

// MissingIn says that two sets have nothing of the gate's name, and what they have; "" if they have it.
func (g Gate) MissingIn(d *Drift) string {
	if _, _, ok := d.value(g.key, g.part); ok {
		return ""
	}
	if !strings.HasPrefix(g.key, deltaOf) {
		return fmt.Sprintf("%q: the rows have no classes; there are metrics.p and delta.METRIC", g.text)
	}
	var keys []string
	for i := range d.Metrics {
		keys = append(keys, d.Metrics[i].Key)
	}
	if len(keys) == 0 {
		return fmt.Sprintf("%q: the states have no metrics", g.text)
	}
	return fmt.Sprintf("%q: the states do not have this metric; they have %s", g.text, strings.Join(keys, ", "))
}

// CheckDrift checks a gate on two independent sets. What is missing or not defined fails it. It panics unless the gate is of
// ParseDriftGate.
func (g Gate) CheckDrift(d *Drift) Outcome {
	if g.scope != TwoSets {
		panic("report: the gate is not on two sets")
	}
	v, why, ok := d.value(g.key, g.part)
	switch {
	case !ok:
		return g.says(true, "there is no %s", g.answer())
	case math.IsNaN(v):
		return g.says(true, "%s is not defined%s", g.answer(), because(why))
	}
	return g.says(g.fails(v), "it is %.7g", v)
}
