package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
)

// DriftGate is a condition on a Drift, such as "psi > 0.2" or "delta.nll.low > 0".
type DriftGate struct {
	text, name, op string
	limit          float64
	required       bool // it must hold, and else it must not
}

const deltaOf = "delta."

// ofDrift are the names of gates besides those of metrics.
var ofDrift = []string{"psi", "ks", "ks.p", "scores.p", "scores.p_adjusted", "outcomes.p", "outcomes.p_adjusted", "calibration.p",
	"calibration.p_adjusted", "metrics.p", "metrics.p_adjusted"}

// ParseDriftGate reads a condition NAME OPERATOR NUMBER with the operator >, >=, < or <=, which must not hold or, if required is set,
// must hold. NAME is psi, ks, ks.p, one of the questions scores, outcomes, calibration and metrics with .p, or delta.METRIC, the
// difference of a metric, with .low, .high or .p. p_adjusted is p, adjusted in its family.
func ParseDriftGate(s string, required bool) (DriftGate, error) {
	g := DriftGate{text: s, required: required}
	depth := 0
	at := strings.IndexFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == '<' || r == '>')
	})
	if at < 0 {
		return g, fmt.Errorf("%q: it is NAME > NUMBER, such as 'psi>0.2' or 'delta.nll.low>0'", s)
	}
	g.op = s[at : at+1]
	rest, equal := strings.CutPrefix(s[at+1:], "=")
	if equal {
		g.op += "="
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	if err != nil || math.IsNaN(v) {
		return g, fmt.Errorf("%q: %q is not a number; it is NAME > NUMBER, such as 'psi>0.2'", s, strings.TrimSpace(rest))
	}
	g.limit, g.name = v, strings.TrimSpace(s[:at])
	key, ok := strings.CutPrefix(g.name, deltaOf)
	if !ok {
		if slices.Contains(ofDrift, g.name) {
			return g, nil
		}
		return g, fmt.Errorf("%q: there is no %q; there are %s and delta.METRIC", s, g.name, strings.Join(ofDrift, ", "))
	}
	if dot := strings.LastIndexByte(key, '.'); dot > strings.LastIndexByte(key, ')') {
		if part := key[dot+1:]; !slices.Contains([]string{"value", "low", "high", "p", "p_adjusted"}, part) {
			return g, fmt.Errorf("%q: there is no .%s of a difference; there are .value, .low, .high, .p and .p_adjusted", s, part)
		}
		key = key[:dot]
	}
	if _, err := eval.ParseMetric(key); err != nil {
		return g, fmt.Errorf("%q: %w", s, err)
	}
	return g, nil
}

// Missing returns an error if the sets have nothing of the gate's name.
func (g DriftGate) Missing(d *Drift) error {
	if _, _, ok := d.value(g.name); ok {
		return nil
	}
	if !strings.HasPrefix(g.name, deltaOf) {
		return fmt.Errorf("%q: the rows have no classes; there are metrics.p and delta.METRIC", g.text)
	}
	var keys []string
	for i := range d.Metrics {
		keys = append(keys, d.Metrics[i].Key)
	}
	if len(keys) == 0 {
		return errors.New(g.text + ": the states have no metrics")
	}
	return fmt.Errorf("%q: the states do not have this metric; they have %s", g.text, strings.Join(keys, ", "))
}

// Check says why the gate fails; "" if it passes. What is missing or not defined fails it, since a gate that cannot be checked must not
// pass.
func (g DriftGate) Check(d *Drift) string {
	v, why, ok := d.value(g.name)
	if !ok {
		return g.Missing(d).Error()
	}
	if math.IsNaN(v) {
		s := fmt.Sprintf("%s: %s is not defined", g.text, g.name)
		if why != "" {
			s += ": " + why
		}
		return s
	}
	holds := false
	switch g.op {
	case ">":
		holds = v > g.limit
	case ">=":
		holds = v >= g.limit
	case "<":
		holds = v < g.limit
	case "<=":
		holds = v <= g.limit
	}
	switch {
	case holds == g.required:
		return ""
	case g.required:
		return fmt.Sprintf("%s does not hold: it is %.7g", g.text, v)
	}
	return fmt.Sprintf("%s: it is %.7g", g.text, v)
}
