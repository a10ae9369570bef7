package compared

import (
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/survival"
)

// liveKey names an estimate of a model's rows of survival.
type liveKey struct {
	model  int
	metric string
}

// lives returns the error of a difference of rows of survival, and sets its method: that of what each row adds to both values, which are of the same
// rows, in one order.
func (f *finder) lives(d *Difference, method string) paired.Error {
	d.Method = method
	x := f.live(d.B, d.Metric).Minus(f.live(d.A, d.Metric), f.livesOf(d.A)[0])
	return paired.Error{SE: x.SE, DF: x.DF}
}

// live returns the estimate of a model.
func (f *finder) live(model int, m eval.Metric) survival.Estimate {
	k := liveKey{model, m.String()}
	if e, ok := f.alive[k]; ok {
		return e
	}
	e, why := f.c.models[model].SurvivalEstimate(m, f.livesOf(model))
	if why != "" {
		panic("compared: a value without an estimate: " + why)
	}
	if f.alive == nil {
		f.alive = map[liveKey]survival.Estimate{}
	}
	f.alive[k] = e
	return e
}

// livesOf returns the rows with the probabilities of a model, at each of Spec.Times. Rows are in the same order for all models.
func (f *finder) livesOf(model int) []*survival.Rows {
	if l, ok := f.rows[model]; ok {
		return l
	}
	columns := make([]int, f.c.Spec.Classes-2)
	for i := range columns {
		columns[i] = model*len(columns) + i
	}
	if f.rows == nil {
		f.rows = map[int][]*survival.Rows{}
		if f.all == nil {
			f.all = f.c.allLives()
		}
	}
	f.rows[model] = f.all.Columns(columns...)
	return f.rows[model]
}

// allLives returns the rows of survival, which groups have where there are any.
func (c *Comparison) allLives() *survival.Kept {
	if c.by == nil {
		return c.lives
	}
	all := survival.NewSets(len(c.models))
	for _, s := range c.by.each {
		if err := all.Merge(s.lives); err != nil {
			panic("compared: groups have rows of other kinds: " + err.Error())
		}
	}
	return all
}

// addLives adds the rows of survival of all views to their groups.
func (g *groupRows) addLives(sets []survival.SetRows, n int, weights []float64, clusters []int32, name func(int32) string) {
	c := g.r.c
	g.sort(g.r.view[0].group[:n])
	order := g.order[:n]
	columns := sets[0].Columns
	part := make([]survival.SetRows, len(sets))
	var w []float64
	var of []int32
	from := 0
	for _, k := range g.came {
		to := int(g.count[k])
		s := g.group(k)
		for m := range part {
			part[m] = survival.SetRows{Columns: columns, Values: part[m].Values[:0]}
			for _, i := range order[from:to] {
				part[m].Values = append(part[m].Values, sets[m].Values[int(i)*columns:][:columns]...)
			}
		}
		if weights != nil {
			w = slices.Grow(w[:0], to-from)[:to-from]
			pickTo(w, weights, order[from:to])
		}
		if clusters != nil {
			of = slices.Grow(of[:0], to-from)[:to-from]
			pickTo(of, clusters, order[from:to])
		}
		s.count.Add(to-from, c.Spec.Classes, w)
		s.lives.AddSets(part, w, of, name)
		from = to
	}
	for _, k := range g.came {
		g.count[k] = 0
	}
}

// livesMethod says how differences of groups are judged; brier says that they are of Brier scores.
func livesMethod(brier, clustered bool) string {
	method := byInfluence
	if clustered {
		method = byClusterInfluence
	}
	if brier {
		method += "; with a variance of at least that which models as good as each other have"
	}
	return method
}

// livesDifference returns the difference of a pair in a group of rows of survival. f has the rows.
//
// Brier scores are tested with a variance of at least that which they would have if both models were as good in each row, and none were censored; see
// Comparison.GroupDifferences. Areas and concordances of independent rows have at most m - 1 degrees of freedom, where m rows have the rarer outcome:
// those few decide where models rank them.
func (f *finder) livesDifference(m *groupMetric, p *pair, rows *paired.Count) GroupDifference {
	nan := math.NaN()
	d := GroupDifference{Value: nan, Interval: metrics.NoInterval(), P: nan, Adjusted: nan}
	var of [2]survival.Estimate
	for i, model := range []int{p.a, p.b} {
		var why string
		if of[i], why = f.c.models[model].SurvivalEstimate(m.Metric, f.livesOf(model)); why != "" {
			d.Reason = why
			return d
		}
	}
	x := of[1].Minus(of[0], f.livesOf(p.a)[0])
	d.Value = x.Value
	e := paired.Error{SE: x.SE, DF: x.DF}
	if m.score == quadratic && e.SE >= 0 {
		e.SE = math.Max(e.SE, f.equalLives(m, p))
	}
	if e.SE > 0 && !(e.DF > 0) { // no row differs from the others
		e.DF = rows.Effective() - 1
	}
	if m.score == ranks && e.SE > 0 && !f.c.clustered { // whose degrees of freedom are at most those of the rows with the rarer outcome already
		h := f.c.models[p.a].HorizonOf(m.Metric)
		if m.Name == "concordance" { // of all times
			h = math.Inf(1)
		}
		if e.DF = math.Min(e.DF, float64(f.livesOf(p.a)[0].Rarer(h)-1)); !(e.DF > 0) {
			e.SE = math.NaN()
		}
	}
	one := Difference{Value: d.Value, Clusters: f.all.Clusters()}
	if !one.known(e, true) {
		d.Reason = one.Reason
		return d
	}
	d.Interval, d.P = e.Interval(d.Value, 0, f.c.Spec.Level), e.P(d.Value, 0)
	return d
}

// equalLives returns the standard error of the difference of Brier scores, by a time or over all, if in each row both models are as good and no row is
// censored.
//
// At a time t the event has come with the probability m_t = (a_t + b_t)/2 then, and the difference of a row is 2 d_t (m_t - y_t), with d_t = b_t - a_t.
// Its variance is 4 d_t^2 m_t (1 - m_t), and its covariance with that at a later time u, 4 d_t d_u m_t (1 - m_u).
func (f *finder) equalLives(m *groupMetric, p *pair) float64 {
	a, b := f.livesOf(p.a), f.livesOf(p.b)
	shares := f.c.models[p.a].SurvivalShares(m.Metric)
	sum, all := 0.0, 0.0
	for i := range a[0].Times {
		v, before := 0.0, 0.0
		for k, share := range shares {
			if share == 0 {
				continue
			}
			x, y := a[k].Risks[i], b[k].Risks[i]
			mean, d := float64((x+y)/2), float64(share*(y-x))
			v += float64(d * (1 - mean) * (float64(d*mean) + 2*before))
			before += float64(d * mean)
		}
		w := 1.0
		if a[0].Weights != nil {
			w = a[0].Weights[i]
		}
		sum += float64(4 * math.Max(0, v) * float64(w*w))
		all += w
	}
	return math.Sqrt(sum) / all
}
