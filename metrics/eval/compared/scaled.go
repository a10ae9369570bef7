package compared

import (
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
)

const afterScaling = "_temperature_scaled"

// fixedTemperatures is what differences after temperature scaling assume beside independent rows.
const fixedTemperatures = ", fitted temperatures as fixed"

// answered returns the metrics of the differences: those of the spec, and those after temperature scaling if any model has such rows.
func (c *Comparison) answered() []eval.Metric {
	l := slices.Clone(c.Spec.Metrics)
	for _, m := range c.models {
		for _, more := range m.Answered() {
			if !slices.ContainsFunc(l, func(o eval.Metric) bool { return o.String() == more.String() }) {
				l = append(l, more)
			}
		}
	}
	return l
}

// scaled returns the difference of a pair by a metric after temperature scaling, whose name without the suffix is given.
func (f *finder) scaled(m eval.Metric, name string, pair int) Difference {
	c := f.c
	p := c.pairs[pair]
	nan := math.NaN()
	d := Difference{A: p.a, B: p.b, Metric: m, Better: eval.Describe(m.Name).In(c.Spec.Shape()).Better,
		Value: nan, Interval: metrics.NoInterval(), Error: paired.Error{SE: nan, DF: nan}, P: nan, PExact: nan, Adjusted: nan}
	a, b := c.models[p.a].Value(m), c.models[p.b].Value(m)
	switch {
	case math.IsNaN(a.Value):
		d.Reason = a.Reason
		return d
	case math.IsNaN(b.Value):
		d.Reason = b.Reason
		return d
	case c.Scaled == nil:
		d.Value, d.Reason = b.Value-a.Value, "the rows of the models after temperature scaling were not read side by side"
		return d
	}
	if f.after == nil {
		f.after = newFinder(c.Scaled)
	}
	s := f.after.difference(eval.Metric{Name: name}, pair)
	s.Metric, s.Better = d.Metric, d.Better
	if s.Method != "" {
		s.Method += fixedTemperatures
	}
	return s
}

// ofScaled reports whether a metric is of rows after temperature scaling, and its name without the suffix.
func ofScaled(m eval.Metric) (name string, is bool) { return strings.CutSuffix(m.Name, afterScaling) }
