package compared

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
)

// Columns that a model of which only losses by row are known may have, beside those named after metrics: the decision, a class, and its
// probability. They are what Flips and Flipped need.
const (
	DecisionColumn   = "decisions"
	ConfidenceColumn = "confidence"
)

const hitsName = "accuracy" // the column that says who was right

// known is a model of which only losses by row are known. The numbers are those of columns; -1 if there is no such column.
type known struct {
	width      int   // of a row
	losses     []int // of each loss that is kept
	hits       int
	decisions  int
	confidence int
	used       []int // all of these
	right      paired.Losses
}

// RowColumns returns the names of the columns of losses by row that a comparison by a spec can use: metrics as metrics.RowMetric names
// them, and DecisionColumn and ConfidenceColumn.
func RowColumns(s *eval.Spec) (l []string) {
	k := keptFor(s)
	for i := range k.losses {
		l = append(l, k.losses[i].Name)
	}
	if k.decided {
		l = append(l, hitsName)
	}
	return append(l, DecisionColumn, ConfidenceColumn)
}

// Know says, before rows are added, that of a model only losses by row are known. The rows of its source are then no scores: they are
// float64 with one of these columns each, of those that RowColumns names, and NaN where a row was left out. Weights and clusters that its
// chunks lack are those of another model. Metrics that no column decides have no difference. Its Evaluation stays without rows. It
// panics unless classes are compared, some model is left that has scores, and the columns are among RowColumns.
func (c *Comparison) Know(model int, columns []string) {
	if c.Rows() > 0 || !c.Spec.Shape().HasClasses() {
		panic("compared: losses by row are known of classes, before rows are added")
	}
	all := RowColumns(&c.Spec)
	for _, n := range columns {
		if !slices.Contains(all, n) {
			panic("compared: no column of losses by row is named so")
		}
	}
	if c.known == nil {
		c.known = make([]*known, len(c.models))
	}
	at := func(name string) int { return slices.Index(columns, name) }
	k := &known{width: len(columns), hits: at(hitsName), decisions: at(DecisionColumn), confidence: at(ConfidenceColumn)}
	for i := range c.kept.losses {
		k.losses = append(k.losses, at(c.kept.losses[i].Name))
	}
	for i := range columns {
		k.used = append(k.used, i)
	}
	c.known[model] = k
	if c.whole() < 0 {
		panic("compared: of some model scores are needed")
	}
	c.make()
}

// Known reports whether only losses by row are known of a model.
func (c *Comparison) Known(model int) bool { return c.known != nil && c.known[model] != nil }

// knows returns what is known of a model; nil if it has scores.
func (c *Comparison) knows(model int) *known {
	if c.known == nil {
		return nil
	}
	return c.known[model]
}

// whole returns the first model that has scores, -1 without any.
func (c *Comparison) whole() int {
	for m := range c.models {
		if !c.Known(m) {
			return m
		}
	}
	return -1
}

// empty returns the same without rows.
func (k *known) empty() *known {
	n := *k
	n.right = paired.Losses{}
	return &n
}

// scored reports whether both models of a pair have scores.
func (c *Comparison) scored(p *pair) bool { return !c.Known(p.a) && !c.Known(p.b) }

// has reports whether the loss of each row is there for a model.
func (c *Comparison) has(model, loss int) bool {
	k := c.knows(model)
	return k == nil || k.losses[loss] >= 0
}

// both reports whether the loss of each row is there for both models of a pair.
func (c *Comparison) both(p *pair, loss int) bool { return c.has(p.a, loss) && c.has(p.b, loss) }

// judges reports whether it is known of each row whether a model was right.
func (c *Comparison) judges(model int) bool {
	k := c.knows(model)
	return c.kept.hits && (k == nil || k.hits >= 0)
}

// decides reports whether the decision of each row is there for a model.
func (c *Comparison) decides(model int) bool {
	k := c.knows(model)
	return k == nil || k.decisions >= 0
}

// flip reports whether it is known of each row whether the decisions of a pair differ, and which is right.
func (c *Comparison) flip(p *pair) bool {
	for _, m := range []int{p.a, p.b} {
		if k := c.knows(m); k != nil && (k.decisions < 0 || k.hits < 0) {
			return false
		}
	}
	return c.kept.decided
}

// counts reports whether row i of a chunk counts.
func counts(c *metrics.Chunk, i int) bool {
	return !(c.Weights != nil && c.Weights[i] == 0 || c.Labels != nil && c.Labels[i] == metrics.Ignored)
}

// complete reports whether row i of a chunk has all its values.
func (k *known) complete(c *metrics.Chunk, i int) bool {
	row := c.F64[i*c.RowStride():]
	for _, at := range k.used {
		if math.IsNaN(row[at]) {
			return false
		}
	}
	return true
}

// addKnown takes the columns of rows of which only values are known.
func (v *view) addKnown(r *reader, model int, c *metrics.Chunk) error {
	k := v.known
	n := 0
	for i := range c.Rows {
		if !counts(c, i) {
			continue
		}
		row := c.F64[i*c.RowStride():][:k.width]
		if !k.complete(c, i) {
			return &RowError{Model: r.names[model], First: r.names[r.c.whole()], Row: c.Number(i), What: LeftOut}
		}
		bad := func(at int) error {
			name := hitsName
			switch at {
			case k.hits:
			case k.decisions:
				name = DecisionColumn
			case k.confidence:
				name = ConfidenceColumn
			default:
				name = r.c.kept.losses[slices.Index(k.losses, at)].Name
			}
			return &RowError{Model: r.names[model], First: r.names[r.c.whole()], Row: c.Number(i), What: Impossible, Column: name, Value: row[at]}
		}
		for l, at := range k.losses {
			if at < 0 {
				continue
			}
			if math.IsInf(row[at], -1) {
				return bad(at)
			}
			v.room.values[l][n] = row[at]
		}
		if k.hits >= 0 {
			if row[k.hits] != 0 && row[k.hits] != 1 {
				return bad(k.hits)
			}
			v.room.right[n] = uint8(row[k.hits])
		}
		if k.decisions >= 0 {
			d := row[k.decisions]
			if !(d >= 0 && d < float64(max(2, r.c.Spec.Classes)) && d == math.Trunc(d)) {
				return bad(k.decisions)
			}
			v.room.decided[n] = int32(d)
		}
		if (v.scores != nil || v.top != nil) && k.confidence >= 0 {
			if p := row[k.confidence]; !(p >= 0 && p <= 1) {
				return bad(k.confidence)
			}
		}
		if v.scores != nil {
			v.scores[n] = math.NaN()
			if k.confidence >= 0 {
				v.scores[n] = row[k.confidence]
			}
		}
		if v.top != nil && k.confidence >= 0 && k.decisions >= 0 {
			p := row[k.confidence]
			if v.top[n], v.rest[n] = p, 1-p; r.c.Spec.Classes == 1 && v.room.decided[n] == 0 {
				v.top[n], v.rest[n] = 1-p, p
			}
		}
		if c.Labels != nil {
			v.room.labels[n] = c.Labels[i]
		}
		if c.Weights != nil {
			v.room.weights[n] = c.Weights[i]
		}
		if v.cluster != nil {
			v.cluster[n] = c.Clusters[i]
		}
		if v.numbers != nil {
			v.numbers[n] = c.Number(i)
		}
		n++
	}
	v.n, v.columns = n, v.room
	return nil
}

// complement gives chunks of known models the weights and clusters that they lack, those of a model with scores.
func (c *Comparison) complement(chunks []metrics.Chunk) {
	of := &chunks[c.whole()]
	for m := range chunks {
		if !c.Known(m) {
			continue
		}
		if chunks[m].Weights == nil {
			chunks[m].Weights = of.Weights
		}
		if chunks[m].Clusters == nil {
			chunks[m].Clusters, chunks[m].ClusterName = of.Clusters, of.ClusterName
		}
	}
}

// addOwn adds what the values of a known model are found from.
func (k *known) addOwn(c *Comparison, v *view, losses []paired.Losses, n int, weights []float64) {
	for l, at := range k.losses {
		if at >= 0 {
			losses[l].Add(c.asEvaluated(l, v.values[l][:n], weights), weights)
		}
	}
	if c.kept.hits && k.hits >= 0 {
		right := make([]float64, n)
		for i, y := range v.right[:n] {
			right[i] = float64(y)
		}
		k.right.Add(right, weights)
	}
}

// asEvaluated returns Brier scores without weights as evaluations sum them, rounded to 2^-50, so that means are the same to the bit.
func (c *Comparison) asEvaluated(loss int, v, weights []float64) []float64 {
	if c.kept.losses[loss].Name != "brier" || weights != nil {
		return v
	}
	l := make([]float64, len(v))
	for i, x := range v {
		l[i] = (x + kernel.WindowBrier.Magic) - kernel.WindowBrier.Magic
	}
	return l
}

// Value returns a metric of a model. Of a model of which only losses by row are known it has no interval, and it is NaN, with the
// reason, where these do not decide it.
func (c *Comparison) Value(model int, m eval.Metric) eval.Value {
	k := c.knows(model)
	if k == nil {
		return c.models[model].Evaluation.Value(m)
	}
	v := eval.Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: "only losses by row are known of " + c.models[model].Name + ", and it is not a mean of them"}
	by, l := comparedBy(&c.Spec, m)
	lacks := func(name string) eval.Value {
		v.Reason = fmt.Sprintf("of %s there is no %s by row", c.models[model].Name, name)
		return v
	}
	switch by {
	case ofHits:
		if k.hits < 0 {
			return lacks(hitsName)
		}
		v.Value = k.right.Mean(&c.count)
	case ofMean, ofExp, ofSkill:
		if l.Name == meanP.Name {
			return v
		}
		at := c.kept.loss(l.Name)
		if at < 0 || k.losses[at] < 0 {
			return lacks(l.Name)
		}
		if v.Value = c.meanOf(model, at); by == ofExp {
			v.Value = kernel.Exp64(v.Value)
		}
		if by == ofSkill {
			reference, _, _ := c.reference(l.Name)
			v.Value = 1 - v.Value/reference
			if !(reference > 0) {
				v.Value, v.Reason = math.NaN(), "the base rates have no loss"
				return v
			}
		}
	default:
		return v
	}
	v.Reason = "only losses by row are known of " + c.models[model].Name + ", so that its own value has no interval"
	return v
}

// meanOf returns the mean loss of a model, +Inf if a row's is.
func (c *Comparison) meanOf(model, loss int) float64 {
	mean := c.losses[model][loss].Mean(&c.count)
	if math.IsNaN(mean) && c.Rows() > 0 {
		return math.Inf(1)
	}
	return mean
}

// Columns returns which columns of a metric's losses by row would decide its difference; "" if none would.
func Columns(s *eval.Spec, m eval.Metric) string {
	switch by, l := comparedBy(s, m); by {
	case ofHits:
		return hitsName
	case ofMean, ofExp, ofSkill:
		if l.Name != meanP.Name {
			return l.Name
		}
	}
	return ""
}
