package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Ranking is the order in which scores put rows, from which areas under curves are answered.
type Ranking struct {
	rows  ordered
	pairs cells.Pairs
}

// ordered is what a Ranking asks of cells, in rising order of their scores.
type ordered interface {
	Each(f func(*cells.Cell))
	Count() int
	Exact() bool
	Weighted() bool
	Outside() int64
}

// cell is the weights of a cell's rows without and with the event.
type cell struct{ rest, events float64 }

// RankingOf returns the order of the rows that c has, which is to get no more of them. It compares them in pairs; AUROCInterval and AURC
// walk through the cells when they are asked for. Of logits it is the order of these, see cells.Ranked.
func RankingOf(c cells.Ordered) *Ranking {
	c = cells.Ranked(c)
	return &Ranking{c, c.Pairs()}
}

// bound returns a bound, 0 where cells are exact, and NaN where scores outside [0,1] are in none.
func (r *Ranking) bound(b float64) float64 {
	switch {
	case r.rows.Outside() > 0:
		return math.NaN()
	case r.rows.Exact():
		return 0
	}
	return b
}

// AUROC returns the area under the receiver operating characteristic, in [0,1], 1 is best: how often a row with the event has a
// higher score than one without it, equal scores counting half:
//
//	sum_g w+_g (W-_<g + w-_g/2) / (W+ W-)
//
// over the cells g in rising order. NaN if there are no rows with the event, or none without. Of the cells of a model's
// top label it is the area under the calibration curve's ranking, calibration_auc.
//
// bound is how far the area of the rows may be from it: 0 where cells are exact. Pairs are counted as cells.Pairs says.
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

// PartialAUROC returns the area under the ROC up to a false positive rate of maxFPR, above 0 and at most 1, in McClish's scale, in which
// chance has 1/2 and the best order 1: of the area A under the curve from 0 to m = maxFPR,
//
//	(1 + (A - m^2/2) / (m - m^2/2)) / 2
//
// With m = 1 it is AUROC. The curve goes straight through a cell of equal scores, so that they count half as in AUROC, and where the cell
// goes beyond m it ends on that line. NaN if there are no rows with the event, or none without. It panics for another maxFPR. bound is
// how far the area of the rows may be from it: 0 where cells are exact.
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
		// Of the cell the first f is inside, and its curve rises along it by f of the events.
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

// fewEvents is below how many rows of either outcome the interval of AUROC is Newcombe's.
const fewEvents = 100

// AUROCInterval returns a confidence interval of AUROC, within [0,1], for independent rows: DeLong's, or where one of the outcomes has
// fewer than 100 rows Newcombe's, which holds the area with one row too. That has the areas t that
//
//	(auc - t)^2 <= z^2 t (1-t) (1 + n (1-t)/(2-t) + n t/(1+t)) / (n+ n-),   n = (n+ + n-)/2 - 1,
//
// of the n+ rows with the event and the n- without: the score interval with Hanley and McNeil's variance. There is none with weights, or
// without rows of either outcome.
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

// Newcombe tells whether AUROCInterval is Newcombe's.
func (r *Ranking) Newcombe() bool { return math.Min(r.pairs.Events, r.pairs.Rest) < fewEvents }

// newcombe returns the interval of an area that m rows of one outcome and n of the other have.
func newcombe(auc, m, n, z float64) metrics.Interval {
	half := float64((m+n)/2) - 1
	// inside tells whether an area is in the interval, which is one piece around auc.
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

// AURC returns the area under the risk-coverage curve, in [0,1], 0 is best: the mean, over the numbers of rows that are kept from
// the highest score down, of the share without the event among them. Rows of equal scores stand in random order, of which it is the
// expectation: with n0 rows before a cell, E without the event among them, m in the cell and e of these without it,
//
//	(1/n) sum_cells [e + (E - e n0/m) (H(n0+m) - H(n0))], H the harmonic numbers
//
// and with weights the integral, whose H is the logarithm. Of a model's top label the event is to be right, so the share is that of
// errors. NaN without rows. bound is how far the area of the rows may be from it: 0 where cells are exact. It takes 16 bytes a cell
// as long as it runs.
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
			s += e // the share of errors is e/m all along
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

// part returns e ln(m/e): by how much the integral over the first rows of weight m grows if those of e of them that are errors come
// first. If they come last it falls by as much for the others.
func part(e, m float64) float64 {
	if e <= 0 {
		return 0
	}
	return e * kernel.Log64(m/e)
}

// harmonic returns H(n0+m) - H(n0), or for weights ln((n0+m)/n0), which is not used at n0 = 0.
func harmonic(n0, m float64, weighted bool) float64 {
	if weighted {
		if n0 == 0 {
			return 0
		}
		return kernel.Log64((n0 + m) / n0)
	}
	if m <= 64 {
		s := 0.0
		for k := 1.0; k <= m; k++ {
			s += 1 / (n0 + k)
		}
		return s
	}
	// H(x) = ln x + gamma + 1/(2x) - 1/(12x^2) + 1/(120x^4) - 1/(252x^6), good from x = 32 on.
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
