package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Ranking is the order of rows by score, from which areas under curves are computed.
type Ranking struct {
	rows  ordered
	pairs cells.Pairs
}

// ordered is what a Ranking needs from cells, in rising order of scores.
type ordered interface {
	Each(f func(*cells.Cell))
	Count() int
	Exact() bool
	Weighted() bool
	Outside() int64
}

// cell holds the weights of a cell's rows without and with the event.
type cell struct{ rest, events float64 }

// RankingOf returns the ranking of the rows in c, which must not receive further rows. It counts pairs at once; AUROCInterval and
// AURC walk through the cells when called. Cells of logits are ranked by the logits, see cells.Ranked.
func RankingOf(c cells.Ordered) *Ranking {
	c = cells.Ranked(c)
	return &Ranking{c, c.Pairs()}
}

// bound returns b, or 0 if cells are exact, or NaN if rows have scores outside [0,1], which no cell holds.
func (r *Ranking) bound(b float64) float64 {
	switch {
	case r.rows.Outside() > 0:
		return math.NaN()
	case r.rows.Exact():
		return 0
	}
	return b
}

// AUROC returns the area under the receiver operating characteristic, in [0,1], 1 is best: the probability that a row with
// the event scores higher than a row without it, with equal scores counting half. Over the cells g in rising order it is
//
//	sum_g w+_g (W-_<g + w-_g/2) / (W+ W-)
//
// It returns NaN if there are no rows with the event, or none without. For the cells of a model's top label it is
// calibration_auc.
//
// bound is the most by which auc can differ from the area of the rows themselves: 0 if cells are exact. cells.Pairs
// describes how pairs are counted.
//
// Source: Hanley and McNeil 1982.
func (r *Ranking) AUROC() (auc, bound float64) {
	p := &r.pairs
	if p.Events == 0 || p.Rest == 0 {
		return math.NaN(), math.NaN()
	}
	pairs := float64(p.Events * p.Rest)
	return (p.Above + float64(p.Tied/2)) / pairs, r.bound(p.Tied / 2 / pairs)
}

// PartialAUROC returns the area under the ROC up to the false positive rate maxFPR, on McClish's scale, on which chance has
// 1/2 and the best order 1. With A the area under the curve from 0 to m = maxFPR, it is
//
//	(1 + (A - m^2/2) / (m - m^2/2)) / 2
//
// With m = 1 it is AUROC. The curve crosses a cell of equal scores in a straight line, so these count half as in AUROC; if
// the cell reaches beyond m, the curve ends on that line. It returns NaN if there are no rows with the event, or none
// without. It panics unless maxFPR is above 0 and at most 1. bound is the most by which the area can differ from that of the
// rows themselves: 0 if cells are exact.
//
// Source: McClish 1989; scikit-learn's roc_auc_score with max_fpr.
func (r *Ranking) PartialAUROC(maxFPR float64) (area, bound float64) {
	if !(maxFPR > 0 && maxFPR <= 1) {
		panic("rank: a false positive rate is above 0 and at most 1")
	}
	p := &r.pairs
	switch {
	case maxFPR == 1:
		return r.AUROC()
	case p.Events == 0 || p.Rest == 0:
		return math.NaN(), math.NaN()
	}
	most := float64(maxFPR * p.Rest)
	var all, torn sum
	r.steps(func(s *step) {
		if s.fp >= most {
			return
		}
		// Only the first part f of the cell lies within the limit, and holds the same part of its events.
		f := 1.0
		if s.fp+s.rest > most {
			f = (most - s.fp) / s.rest
		}
		width := float64(f * s.rest)
		all.add(float64(width * (s.tp + float64(f*s.events/2))))
		torn.add(float64(width * s.events * math.Max(f/2, 1-float64(f/2))))
	})
	pairs := float64(p.Events * p.Rest)
	least := float64(float64(maxFPR*maxFPR) / 2)
	scale := 2 * (maxFPR - least)
	return 0.5 + (all.value()/pairs-least)/scale, r.bound(torn.value() / pairs / scale)
}

// fewEvents is the number of rows with either outcome below which the interval of AUROC is Newcombe's.
const fewEvents = 100

// AUROCInterval returns a confidence interval of AUROC, within [0,1], for independent rows. It is DeLong's or, if one of the
// outcomes has fewer than 100 rows, Newcombe's, which is valid from one row on. Newcombe's is the score interval with the
// variance of Hanley and McNeil. For n+ rows with the event and n- without, it contains the areas t with
//
//	(auc - t)^2 <= z^2 t (1-t) (1 + n (1-t)/(2-t) + n t/(1+t)) / (n+ n-),   n = (n+ + n-)/2 - 1
//
// There is no interval with weights, or without rows of either outcome.
//
// Source: DeLong, DeLong and Clarke-Pearson 1988; Newcombe 2006, part 2, method 5.
func (r *Ranking) AUROCInterval(level float64) metrics.Interval {
	all := &r.pairs
	if r.rows.Weighted() || all.Events < 1 || all.Rest < 1 {
		return metrics.NoInterval()
	}
	auc, _ := r.AUROC()
	if r.Newcombe() {
		return newcombe(auc, all.Events, all.Rest, metrics.Z(level))
	}
	s10, s01, below, above := 0.0, 0.0, 0.0, all.Events
	r.rows.Each(func(x *cells.Cell) {
		rest := x.Weight - x.Events
		above -= x.Events
		v10 := (below+float64(rest/2))/all.Rest - auc
		v01 := (above+float64(x.Events/2))/all.Events - auc
		s10 += float64(x.Events * v10 * v10)
		s01 += float64(rest * v01 * v01)
		below += rest
	})
	v := s10/(all.Events-1)/all.Events + s01/(all.Rest-1)/all.Rest
	i := metrics.Normal(auc, math.Sqrt(v), level)
	return metrics.Interval{Low: math.Max(0, i.Low), High: math.Min(1, i.High)}
}

// Newcombe reports whether AUROCInterval uses Newcombe's method.
func (r *Ranking) Newcombe() bool { return math.Min(r.pairs.Events, r.pairs.Rest) < fewEvents }

// newcombe returns Newcombe's interval of an area with m rows of one outcome and n of the other.
func newcombe(auc, m, n, z float64) metrics.Interval {
	half := float64((m+n)/2) - 1
	// inside reports whether t belongs to the interval. The set of such t is connected and contains auc.
	inside := func(t float64) bool {
		v := float64(t*(1-t)) * (1 + float64(half*(1-t)/(2-t)) + float64(half*t/(1+t)))
		d := auc - t
		return float64(float64(d*d)*float64(m*n)) <= float64(float64(z*z)*v)
	}
	end := func(out float64) float64 {
		if inside(out) {
			return out
		}
		in := auc
		for range 60 {
			if mid := float64((in + out) / 2); inside(mid) {
				in = mid
			} else {
				out = mid
			}
		}
		return in
	}
	return metrics.Interval{Low: end(0), High: end(1)}
}

// AURC returns the area under the risk-coverage curve, in [0,1], 0 is best: the mean share of rows without the event among
// the k highest scores, over k = 1 to n. For the top label of a model the event is a right answer, so the share is the error
// rate. Rows of equal score count with the expectation over random orders. With n0 rows before a cell, E of them without the
// event, and in the cell m rows, e of them without the event, it is
//
//	(1/n) sum_cells [e + (E - e n0/m) (H(n0+m) - H(n0))], H the harmonic numbers
//
// With weights it is the integral, with the logarithm in place of H. It returns NaN without rows. bound is the most by which
// aurc can differ from that of the rows themselves: 0 if cells are exact. It takes 16 bytes per cell while it runs.
//
// Source: Geifman and El-Yaniv 2017.
func (r *Ranking) AURC() (aurc, bound float64) {
	n, weighted := r.pairs.Rest+r.pairs.Events, r.rows.Weighted()
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	g := make([]cell, 0, r.rows.Count())
	r.rows.Each(func(x *cells.Cell) { g = append(g, cell{x.Weight - x.Events, x.Events}) })
	s, torn, before, errors := 0.0, 0.0, 0.0, 0.0
	for i := len(g) - 1; i >= 0; i-- {
		m, e := g[i].rest+g[i].events, g[i].rest
		h := harmonic(before, m, weighted)
		if before == 0 && weighted {
			s += e // the error rate is e/m throughout
			torn += math.Max(part(e, m), part(m-e, m))
		} else {
			s += e + float64((errors-float64(e*before/m))*h)
			torn += float64(e * (m - e) / m * h)
		}
		before += m
		errors += e
	}
	return s / n, r.bound(torn / n)
}

// part returns e ln(m/e): the growth of the integral over the first rows of weight m if their errors, of weight e, come
// first. If the errors come last, it falls by part(m-e, m).
func part(e, m float64) float64 {
	if e <= 0 {
		return 0
	}
	return e * kernel.Log64(m/e)
}

// harmonic returns H(n0+m) - H(n0), or with weights ln((n0+m)/n0), which callers do not use for n0 = 0.
func harmonic(n0, m float64, weighted bool) float64 {
	if weighted {
		if n0 == 0 {
			return 0
		}
		return kernel.Log64((n0 + m) / n0)
	}
	if m < 1 {
		return 0
	}
	if m <= 64 {
		second := 0.0 // without a branch: whether there are two is often chance
		if m >= 2 {
			second = 1
		}
		s := 1/(n0+1) + second/(n0+2)
		for k := 3.0; k <= m; k++ {
			s += 1 / (n0 + k)
		}
		return s
	}
	// The expansion H(x) = ln x + gamma + 1/(2x) - 1/(12x^2) + 1/(120x^4) - 1/(252x^6) is accurate from x = 32 on.
	s := 0.0
	for ; n0 < 32; n0, m = n0+1, m-1 {
		s += 1 / (n0 + 1)
	}
	return s + (tail(n0+m) - tail(n0)) + kernel.Log64((n0+m)/n0)
}

// tail returns H(x) - ln x - gamma.
func tail(x float64) float64 {
	r := 1 / (x * x)
	return 1/(2*x) - float64(r*(1.0/12-float64(r*(1.0/120-float64(r*(1.0/252))))))
}
