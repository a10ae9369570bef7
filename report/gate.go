package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/eval"
)

// Gate is a condition on a document that must not hold, such as "ece > 0.05" or "ece.low > 0.02".
type Gate struct {
	text, key, part, op string
	limit               float64
}

// ParseGate reads a condition KEY[.value|.low|.high] OPERATOR NUMBER with the operator >, >=, < or <=. KEY is a metric as
// eval.ParseMetric reads it; .value is the default.
func ParseGate(s string) (Gate, error) {
	g := Gate{text: s, part: "value"}
	depth := 0
	at := -1
	for i := 0; i < len(s) && at < 0; i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '<', '>':
			if depth == 0 {
				at = i
			}
		}
	}
	if at < 0 {
		return g, fmt.Errorf("%v %q: it is NAME > NUMBER, such as 'ece>0.05' or 'ece.low>0.02'", setting.Gate, s)
	}
	g.op = s[at : at+1]
	rest := s[at+1:]
	if strings.HasPrefix(rest, "=") {
		g.op, rest = g.op+"=", rest[1:]
	}
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "=") {
		return g, fmt.Errorf("%v %q: there are >, >=, < and <=", setting.Gate, s)
	}
	v, err := strconv.ParseFloat(rest, 64)
	if err != nil || math.IsNaN(v) {
		return g, fmt.Errorf("%v %q: %q is not a number; it is NAME > NUMBER, such as 'ece>0.05'", setting.Gate, s, rest)
	}
	g.key = strings.TrimSpace(s[:at])
	// A dot in parentheses belongs to the value of an option.
	if dot := strings.LastIndexByte(g.key, '.'); dot > strings.LastIndexByte(g.key, ')') {
		g.key, g.part = g.key[:dot], g.key[dot+1:]
		if g.part != "value" && g.part != "low" && g.part != "high" {
			return g, fmt.Errorf("%v %q: there is no .%s of a metric; there are .value, .low and .high", setting.Gate, s, g.part)
		}
	}
	if g.key == "" {
		return g, fmt.Errorf("%v %q: no metric is named; it is NAME > NUMBER, such as 'ece>0.05'", setting.Gate, s)
	}
	// Use the canonical key, as documents do. A key that cannot be parsed is in no document, so the gate fails and says so.
	if m, err := eval.ParseMetric(g.key); err == nil {
		g.key = m.String()
	}
	g.limit = v
	return g, nil
}

// Metric returns the metric of the gate, or an error if it does not apply to predictions of such a shape.
func (g Gate) Metric(of eval.Shape) (eval.Metric, error) {
	m, err := eval.ParseMetric(g.key)
	if err == nil {
		_, err = eval.ParseMetrics(g.key, of)
	}
	return m, err
}

// Missing says that the document lacks the gate's metric, and what to do; "" if it has the metric.
func (g Gate) Missing(d *Document) string {
	if d.Find(g.key) != nil {
		return ""
	}
	hint := "add it to " + setting.Metrics.String()
	if _, err := g.Metric(d.shape); err != nil {
		hint = err.Error()
	}
	return fmt.Sprintf("%s: the document has no metric %q: %s", g.text, g.key, hint)
}

// MissingLabels is Missing for the averages over labels.
func (g Gate) MissingLabels(m *Multilabel) string { return g.Missing(m.macro) }

// Check says why the gate fails; "" if it passes. A missing or undefined metric fails it: a gate that cannot be checked must not pass.
func (g Gate) Check(d *Document) string {
	m := d.Find(g.key)
	if m == nil {
		return g.Missing(d)
	}
	v := m.Value.Value
	switch g.part {
	case "low":
		v = m.Interval.Low
	case "high":
		v = m.Interval.High
	}
	if math.IsNaN(v) {
		s := fmt.Sprintf("%s: %s.%s is not defined", g.text, g.key, g.part)
		if m.Reason != "" {
			s += ": " + m.Reason
		}
		return s
	}
	hit := false
	switch g.op {
	case ">":
		hit = v > g.limit
	case ">=":
		hit = v >= g.limit
	case "<":
		hit = v < g.limit
	case "<=":
		hit = v <= g.limit
	}
	if !hit {
		return ""
	}
	return fmt.Sprintf("%s: it is %.7g", g.text, v)
}
