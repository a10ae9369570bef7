package grouped

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Brief is a group as far as its sums tell.
type Brief struct {
	Values []string
	Rows   int64

	of *Evaluation
	at int32
}

// Briefs returns all groups in the order of Each, however many there are.
func (g *Evaluation) Briefs() []Brief {
	l := make([]Brief, g.Len())
	var f compact.Floats
	for i, v := range g.values {
		g.table.Floats(int32(i), &f)
		l[i] = Brief{v, f.N, g, int32(i)}
	}
	compare := g.comparison()
	slices.SortStableFunc(l, func(a, b Brief) int { return compare(a.Values, b.Values) })
	return l
}

// NotOfSums is the reason of a metric that sums do not give.
const NotOfSums = "with more than 1,000 groups only sums are kept, which do not give it"

// Answers returns the values of metrics with intervals at a level. Metrics that the sums do not give have a reason.
func (b *Brief) Answers(list []eval.Metric, level float64) []eval.Value {
	s := b.of.table.Sums(b.at)
	l := make([]eval.Value, len(list))
	for i, m := range list {
		l[i] = b.of.Spec.Bounded(m, b.of.answer(s, m, level))
		if b.of.table.Weighted && l[i].Interval.Low == l[i].Interval.Low {
			l[i].Interval, l[i].Method, l[i].Reason = metrics.NoInterval(), "", "with more than 1,000 groups weighted rows have no intervals"
		}
		if b.of.Spec.Cluster != "" && l[i].Interval.Low == l[i].Interval.Low {
			l[i].Interval, l[i].Method, l[i].Reason = metrics.NoInterval(), "", "with more than 1,000 groups there are no clustered intervals"
		}
	}
	return l
}

const (
	meanMethod = "mean +- z*s/sqrt(n); rows taken as independent"
	gapMethod  = "mean +- z*s/sqrt(n), s^2 at least the variance that the model's own probabilities imply; rows taken as independent"
)

// answer returns the value of a metric from the sums of a group.
func (g *Evaluation) answer(s *compact.Sums, m eval.Metric, level float64) eval.Value {
	weighted := g.table.Weighted
	none := func(why string) eval.Value {
		return eval.Value{Value: math.NaN(), Interval: metrics.NoInterval(), Reason: why}
	}
	if s.N == 0 {
		return none("no rows are left")
	}
	c := &s.Cell
	if g.kept.Classes && m.String() == m.Name {
		first := g.kept.Event == calib.Positive
		switch name := m.Name; {
		case name == "base_rate" && first, name == "accuracy" && !first:
			f := c.Frequency(weighted)
			return eval.Value{Value: f, Interval: metrics.Wilson(f, c.Effective(weighted), level), Method: "Wilson"}
		case name == "mean_p" && first, name == "confidence" && !first:
			p := tally.Mean{S1: c.P, S2: c.PP}
			v := c.Score(weighted)
			return eval.Value{Value: v, Interval: metrics.Normal(v, p.StdErr(&c.Weight, weighted), level), Method: meanMethod}
		case name == "bias" && first, name == "overconfidence" && !first:
			v, se := c.MeanGap(weighted)
			return eval.Value{Value: v, Interval: metrics.Normal(v, atLeast(se, s, weighted), level), Method: gapMethod}
		case name == "ece", name == "ece_positive" && first, name == "ece_top_label" && !first:
			if g.Spec.Base == (calib.Options{Bins: compact.Bins}) {
				return eval.Value{Value: s.ECE(weighted), Interval: metrics.NoInterval(), Reason: "with more than 1,000 groups it has no interval"}
			}
		}
	}
	row, err := compact.RowMetric(&g.Spec, m)
	if err != nil {
		return none(NotOfSums)
	}
	i := g.kept.Mean(row.Name)
	if i < 0 {
		return none(NotOfSums)
	}
	if s.Big[i] > 0 {
		v := none("a value is infinite")
		v.Value = math.Inf(1)
		return v
	}
	mean := &s.Means[i]
	v, se := mean.Value(&c.Weight, weighted), mean.StdErr(&c.Weight, weighted)
	of := eval.Value{Value: v, Interval: metrics.Normal(v, se, level), Method: meanMethod}
	switch m.Name {
	case "perplexity":
		of = eval.Value{Value: kernel.Exp64(v), Interval: metrics.Interval{Low: kernel.Exp64(of.Interval.Low), High: kernel.Exp64(of.Interval.High)}, Method: "exponential of the interval of nll"}
	case "rmse":
		of = eval.Value{Value: math.Sqrt(v), Interval: metrics.Interval{Low: math.Sqrt(math.Max(0, of.Interval.Low)), High: math.Sqrt(of.Interval.High)}, Method: "root of the interval of the mean square"}
	case "accuracy", "top5_accuracy", "topk_accuracy":
		of.Interval, of.Method = metrics.Wilson(v, c.Effective(weighted), level), "Wilson"
	}
	if of.Interval.Low != of.Interval.Low {
		of.Method, of.Reason = "", "there is no interval of fewer than two rows"
	}
	return of
}

// atLeast returns the standard error of a mean gap, but at least that which the scores imply.
func atLeast(se float64, s *compact.Sums, weighted bool) float64 {
	if se-se != 0 {
		return se
	}
	own, total := s.Own, s.Cell.Total(weighted)
	if !weighted {
		own = s.Cell.Spread()
	}
	return math.Max(se, math.Sqrt(math.Max(0, own.Float64()))/total.Float64())
}
