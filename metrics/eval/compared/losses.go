package compared

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/score"
)

// RowLoss returns the loss of a row by whose mean OfLosses compares a metric, and whether it is a metric of such a mean: the mean itself,
// its root or its exponential.
func RowLoss(s *eval.Spec, m eval.Metric) (l metrics.RowMetric, is bool) {
	switch by, l := comparedBy(s, m); by {
	case ofHits:
		l, err := score.ParseRowMetric("accuracy", s.Kind, s.Classes)
		return l, err == nil
	case ofMean, ofRoot, ofExp:
		return l, true
	}
	return l, false
}

// Losses are those of the rows that two models both have, row by row; none is NaN or -Inf.
type Losses struct {
	Names    [2]string // of the models
	A, B     []float64
	Clusters []string // of each row; nil if rows are independent
}

// OfLosses returns the difference by a metric for which RowLoss returned the rows' loss, of the models with these numbers, without what
// Judge finds. Rows have no weights. Method, interval and p-value are those of Comparison.Differences.
func OfLosses(s *eval.Spec, m eval.Metric, a, b int, l *Losses) Difference {
	nan := math.NaN()
	n := len(l.A)
	d := Difference{A: a, B: b, Metric: m, Better: eval.Describe(m.Name).In(s.Shape()).Better, Value: nan, Interval: metrics.NoInterval(),
		Error: paired.Error{SE: nan, DF: nan}, P: nan, PExact: nan, Adjusted: nan, Rows: int64(n)}
	if len(l.B) != n || l.Clusters != nil && len(l.Clusters) != n {
		panic("compared: losses are of the same rows")
	}
	by, _ := comparedBy(s, m)
	if n == 0 {
		d.Reason = "the models have no row in common"
		return d
	}
	var count paired.Count
	count.Add(n, max(1, s.Classes), nil)
	means := paired.NewMeans(false)
	means.Add(l.A, l.B, nil, nil)
	d.OnlyA, d.OnlyB, d.Both = means.Infinite()
	var la, lb paired.Losses
	la.Add(l.A, nil)
	lb.Add(l.B, nil)
	meanOf := func(infinite int64, l *paired.Losses) float64 {
		v := l.Mean(&count)
		switch {
		case infinite > 0:
			return math.Inf(1)
		case by == ofRoot:
			return math.Sqrt(v)
		case by == ofExp:
			return kernel.Exp64(v)
		}
		return v
	}
	va, vb := meanOf(d.OnlyA+d.Both, &la), meanOf(d.OnlyB+d.Both, &lb)
	if d.Value = vb - va; math.IsInf(va, 0) || math.IsInf(vb, 0) {
		d.Reason = infinite(&d, m, l.Names)
		return d
	}
	same := true
	for i, x := range l.A {
		same = same && x == l.B[i]
	}
	slopeA, slopeB := 1.0, 1.0
	switch by {
	case ofRoot:
		slopeA, slopeB = 1/(2*va), 1/(2*vb)
	case ofExp:
		slopeA, slopeB = va, vb
	}
	var e paired.Error
	switch {
	case l.Clusters != nil:
		g := paired.NewClusters(2, 0, !s.Shape().HasClasses())
		at, diff := make([]int32, n), make([]float64, n)
		for i, name := range l.Clusters {
			at[i], diff[i] = g.Number(name), l.B[i]-l.A[i]
		}
		g.AddRows(at, nil)
		g.Add(0, at, diff, nil)
		g.Add(1, at, l.A, nil)
		if d.Clusters = g.Len(); d.Clusters < 2 {
			d.Reason = oneClusterOnly
			return d
		}
		if d.Method, e = byClusters, g.OfMean(0); by == ofRoot || by == ofExp {
			d.Method, e = byClusteredDelta, g.OfFunction(0, 1, slopeA, slopeB)
		}
	case by == ofHits:
		right := func(v []float64) []uint8 {
			r := make([]uint8, n)
			for i, x := range v {
				r[i] = uint8(x)
			}
			return r
		}
		d.hits.Add(right(l.A), right(l.B))
		d.Method, d.Error, d.Interval = byTango, d.hits.Error(), d.hits.Interval(s.Level)
		d.P, d.PExact = d.hits.McNemar()
		return d
	case by == ofRoot || by == ofExp:
		d.Method, e = byDelta, means.OfFunction(&la, &lb, &count, slopeA, slopeB)
	default:
		d.Method, e = byRows, means.Error(&count)
	}
	if d.known(e, same) {
		d.Interval, d.P = d.at(s.Level), e.P(d.Value, 0)
	}
	return d
}
