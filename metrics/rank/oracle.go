package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics/cells"
)

// Budget says how many rows, those of the lowest scores, are handed over: to an oracle, or to nobody.
type Budget struct {
	Fraction float64 // of the rows, rounded down to whole rows; with weights of their sum, not rounded
	Most     int64   // no more than so many rows, or weight; 0 sets no limit
	// Bins, unless it is 0, is how many bins of equal width the scores are known by, as in the libraries of the sources: all
	// rows of a bin, and a share of the last one, are handed over.
	Bins int
}

func (b *Budget) check() {
	if !(b.Fraction >= 0 && b.Fraction <= 1) || b.Most < 0 || b.Bins < 0 {
		panic("rank: a budget is a fraction from 0 to 1 and numbers that are not below 0")
	}
}

// total returns the weight of all rows.
func (r *Ranking) total() float64 { return r.pairs.Rest + r.pairs.Events }

// fraction returns how much is handed over, as far as the fraction says.
func (r *Ranking) fraction(b *Budget) float64 {
	n := float64(r.total() * b.Fraction)
	if r.rows.Weighted() {
		return n
	}
	return math.Floor(n)
}

// rows returns how much is handed over.
func (b *Budget) rows(r *Ranking) float64 {
	n := r.fraction(b)
	if b.Most > 0 {
		n = math.Min(n, float64(b.Most))
	}
	return n
}

// lowest returns how many rows without the event are expected among the n of the lowest scores, and how far their number may
// be from that where cells are no single scores.
func (r *Ranking) lowest(n float64) (errors, bound float64) {
	before := 0.0
	var s sum
	r.rows.Each(func(x *cells.Cell) {
		m, e := x.Weight, x.Weight-x.Events
		k := n - before
		before += m
		switch {
		case k >= m:
			s.add(e)
		case k > 0:
			share := float64(e * k / m)
			s.add(share)
			bound = math.Max(math.Min(k, e)-share, share-math.Max(0, k-x.Events))
		}
	})
	return s.value(), r.bound(bound)
}

// bins are histograms of scores.
type bins struct {
	count, right []float64
	torn         bool // a cell is in more than one bin
}

// histogram returns the bins that have rows.
func (r *Ranking) histogram(n int) (h bins) {
	h.count, h.right = make([]float64, n), make([]float64, n)
	r.rows.Each(func(x *cells.Cell) {
		b := bin(x.P, n)
		h.count[b] += x.Weight
		h.right[b] += x.Events
		h.torn = h.torn || bin(x.Low, n) != bin(x.High, n)
	})
	k := 0
	for i, c := range h.count {
		if c > 0 {
			h.count[k], h.right[k] = c, h.right[i]
			k++
		}
	}
	h.count, h.right = h.count[:k], h.right[:k]
	h.torn = h.torn || r.rows.Outside() > 0
	return h
}

// bound returns 0, or NaN for one that is not known.
func (h *bins) bound() float64 {
	if h.torn {
		return math.NaN()
	}
	return 0
}

// bin returns which of n bins of equal width a score is in.
func bin(p float64, n int) int {
	b := math.Floor(float64(float64(n) * p))
	return int(math.Min(math.Max(b, 0), float64(n-1)))
}

// OracleAccuracy returns the oracle-collaborative accuracy, in [0,1], 1 is best: the share of rows that are right, that is
// with the event, when an oracle sets right those of the lowest scores. Of N rows n = floor(fraction N) are handed over, of
// equal scores as many wrong ones as are expected of a random choice:
//
//	(right + wrong among the n lowest)/N
//
// NaN without rows. bound is how far that of the rows may be from it: 0 where cells are exact.
//
// With Bins it is what google/uncertainty-metrics returns, in float64, which with a fraction of 1 is more than 1: no bin
// then has more rows than are handed over, and the first one is taken for it.
//
// Source: Kivlichan et al. 2021.
func (r *Ranking) OracleAccuracy(b Budget) (accuracy, bound float64) {
	b.check()
	all := r.total()
	if !(all > 0) {
		return math.NaN(), math.NaN()
	}
	n := b.rows(r)
	if b.Bins == 0 {
		errors, bound := r.lowest(n)
		return (r.pairs.Events + errors) / all, bound / all
	}
	h := r.histogram(b.Bins)
	k, before := 0, 0.0
	for i, c := range h.count {
		if before+c > n {
			k = i
			break
		}
		if before += c; i == len(h.count)-1 {
			before = 0
		}
	}
	right := n + float64(h.right[k]/h.count[k]*(h.count[k]-(n-before)))
	for _, y := range h.right[k+1:] {
		right += y
	}
	return right / all, h.bound()
}

// abstained returns how many of the n rows of the lowest scores are wrong, by bins.
func (h *bins) abstained(n float64) float64 {
	right, before := 0.0, 0.0
	for i, c := range h.count {
		if before+c >= n {
			right += float64(h.right[i] / c * (n - before))
			break
		}
		right += h.right[i]
		before += c
	}
	return n - right
}

// AbstainPrecision returns which share of the rows that a model does not answer, those of the lowest scores, it would have
// got wrong, in [0,1], 1 is best. Of equal scores as many wrong ones as are expected of a random choice count. NaN if it
// answers all rows. bound is as for OracleAccuracy.
//
// With Bins it is what google/uncertainty-baselines returns, in float64: 0 if all rows are answered.
func (r *Ranking) AbstainPrecision(b Budget) (precision, bound float64) {
	b.check()
	n := b.rows(r)
	if b.Bins > 0 {
		h := r.histogram(b.Bins)
		if n == 0 {
			return 0, h.bound()
		}
		return h.abstained(n) / n, h.bound()
	}
	if !(n > 0) {
		return math.NaN(), math.NaN()
	}
	errors, bound := r.lowest(n)
	return math.Min(1, errors/n), bound / n
}

// AbstainRecall returns which share of the rows that a model gets wrong it does not answer, in [0,1], 1 is best. NaN if it
// gets none wrong. bound is as for OracleAccuracy.
//
// With Bins it is what google/uncertainty-baselines returns, in float64, which goes by the fraction alone and has no limit
// Most: 0 if no row is wrong.
func (r *Ranking) AbstainRecall(b Budget) (recall, bound float64) {
	b.check()
	wrong := r.pairs.Rest
	if b.Bins > 0 {
		h := r.histogram(b.Bins)
		if wrong == 0 {
			return 0, h.bound()
		}
		return h.abstained(r.fraction(&b)) / wrong, h.bound()
	}
	if !(wrong > 0) {
		return math.NaN(), math.NaN()
	}
	errors, bound := r.lowest(b.rows(r))
	return math.Min(1, errors/wrong), bound / wrong
}

// OracleOptions say which area OracleAUC returns.
type OracleOptions struct {
	Budget
	Curve Curve
	// Thresholds, unless it is 0, is on how many even thresholds the area is summed, as by
	// google-research/robustness_metrics: its default is 200, with 1000 bins, which 0 bins stand for here. Summation goes
	// with it.
	Thresholds int
	Summation  Summation
	// Within, unless it is nil, hands over the rows that are no further than that from the threshold, however many they are.
	// With Thresholds it is the reference's oracle_threshold: at each threshold as many rows as have scores up to it.
	Within *float64
	// Doubt, unless it is nil, says how sure the model is of a row of score p, in place of the distance between p and the
	// threshold; those with the least are handed over.
	Doubt func(p float64) float64
}

// OracleAUC returns the oracle-collaborative area under the receiver operating characteristic, or of CurvePR the average
// precision, 1 is best: that of a classifier that at each threshold hands the rows nearest to it over to an oracle, which
// sets right those that are on the wrong side. Thresholds are the distinct scores, with the rows of that score above them;
// of rows equally far away as many are handed over as the budget allows, in equal shares. The ends of the curve, where all
// rows are on one side, are left as they are. NaN if there are no rows with the event, or none without.
//
// bound is 0 where cells are exact, and NaN, not known, where they are not. It takes some 60 bytes a cell; a nil o hands
// over 1% of the rows.
//
// With Thresholds it is what google-research/robustness_metrics returns, in float64; of precision-recall curves, which need
// not rise in recall then, it may be above 1.
//
// Source: Kivlichan et al. 2021.
func (r *Ranking) OracleAUC(o *OracleOptions) (area, bound float64) {
	opt := OracleOptions{Budget: Budget{Fraction: 0.01}}
	if o != nil {
		opt = *o
	}
	opt.check()
	if opt.Thresholds == 0 && (opt.Bins > 0 || opt.Summation != Interpolation) {
		panic("rank: bins and a summation go with thresholds")
	}
	if !r.rows.Exact() || r.rows.Outside() > 0 {
		bound = math.NaN()
	}
	h := r.handover(&opt)
	if opt.Thresholds > 0 {
		return h.grid(&opt), bound
	}
	if !(r.pairs.Events > 0 && r.pairs.Rest > 0) {
		return math.NaN(), math.NaN()
	}
	return h.exact(&opt), bound
}

// handover is cells in rising order.
type handover struct {
	p, rest, events      []float64
	pos, neg             float64
	budget               float64
	restBelow, hitsBelow []float64 // of the cells before each, and of all
}

func (r *Ranking) handover(o *OracleOptions) *handover {
	n := r.rows.Count()
	h := &handover{pos: r.pairs.Events, neg: r.pairs.Rest, budget: o.rows(r)}
	h.p, h.rest, h.events = make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	r.rows.Each(func(x *cells.Cell) {
		h.p = append(h.p, x.P)
		h.rest = append(h.rest, x.Weight-x.Events)
		h.events = append(h.events, x.Events)
	})
	return h
}

// grid is the area on even thresholds.
func (h *handover) grid(o *OracleOptions) float64 {
	const eps = 1e-7
	g := (&GridOptions{Thresholds: o.Thresholds, Curve: o.Curve, Summation: o.Summation}).fill()
	n := cmp.Or(o.Bins, 1000)
	doubt := func(p, t float64) float64 { return math.Abs(p - t) }
	if o.Doubt != nil {
		doubt = func(p, _ float64) float64 { return o.Doubt(p) }
	}
	of := func(d float64) int { return bin(d, n) }
	budget := h.budget
	if o.Within != nil {
		n = 2
		of = func(d float64) int { return bin(d-(*o.Within-0.5+eps), 2) }
		budget = 0
		for i, p := range h.p {
			if of(doubt(p, -eps)) == 0 {
				budget += h.rest[i] + h.events[i]
			}
		}
	}
	tp, fp := make([]float64, g.Thresholds), make([]float64, g.Thresholds)
	count, misses, alarms := make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range tp {
		t := float64(j) / float64(g.Thresholds-1)
		inner := j > 0 && j < g.Thresholds-1
		if j == 0 {
			t = -eps
		} else if !inner {
			t = 1 + eps
		}
		clear(count)
		clear(misses)
		clear(alarms)
		for i, p := range h.p {
			b := of(doubt(p, t))
			count[b] += h.rest[i] + h.events[i]
			if p > t {
				tp[j] += h.events[i]
				fp[j] += h.rest[i]
				alarms[b] += h.rest[i]
			} else {
				misses[b] += h.events[i]
			}
		}
		if !inner {
			continue
		}
		before := 0.0
		for b, c := range count {
			if before+c > budget {
				tp[j] += float64(misses[b] * (budget - before) / c)
				fp[j] -= float64(alarms[b] * (budget - before) / c)
				break
			}
			before += c
			tp[j] += misses[b]
			fp[j] -= alarms[b]
		}
	}
	return kerasArea(tp, fp, h.pos, h.neg, &g)
}

// exact is the area by the distinct scores.
func (h *handover) exact(o *OracleOptions) float64 {
	n := len(h.p)
	h.restBelow, h.hitsBelow = make([]float64, n+1), make([]float64, n+1)
	for i := range n {
		h.restBelow[i+1] = h.restBelow[i] + h.rest[i]
		h.hitsBelow[i+1] = h.hitsBelow[i] + h.events[i]
	}
	tp, fp := make([]float64, n), make([]float64, n)
	correct := h.nearest(o)
	if o.Doubt != nil {
		correct = h.doubtful(o)
	}
	for j := range n {
		misses, alarms := correct(j)
		tp[j] = h.hitsBelow[n] - h.hitsBelow[j] + misses
		fp[j] = math.Max(0, h.restBelow[n]-h.restBelow[j]-alarms)
	}
	var s sum
	x, y := 0.0, 0.0
	for j := n - 1; j >= 0; j-- {
		if o.Curve == CurvePR {
			y1 := tp[j] / h.pos
			if tp[j] > 0 {
				s.add(float64((y1 - y) * tp[j] / (tp[j] + fp[j])))
			}
			y = y1
			continue
		}
		x1, y1 := fp[j]/h.neg, tp[j]/h.pos
		s.add(float64((x1 - x) * (y + y1) / 2))
		x, y = x1, y1
	}
	if o.Curve == CurveROC {
		s.add(float64((1 - x) * (y + 1) / 2))
	}
	return s.value()
}

// doubtful returns what says how many misses and false alarms are corrected at the threshold of a cell, if the same rows are
// handed over at all.
func (h *handover) doubtful(o *OracleOptions) func(j int) (misses, alarms float64) {
	type mark struct {
		doubt float64
		cell  int
	}
	n := len(h.p)
	marks := make([]mark, n)
	for i, p := range h.p {
		marks[i] = mark{o.Doubt(p), i}
	}
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.doubt, b.doubt), a.cell-b.cell) })
	hits, rest := make([]float64, n+1), make([]float64, n+1) // handed over, first of each cell and then of all before it
	left := h.budget
	for i := 0; i < n; {
		k, rows := i, 0.0
		for ; k < n && marks[k].doubt == marks[i].doubt; k++ {
			rows += h.rest[marks[k].cell] + h.events[marks[k].cell]
		}
		share := math.Min(1, math.Max(0, left)/rows)
		if o.Within != nil {
			share = 0
			if marks[i].doubt <= *o.Within {
				share = 1
			}
		}
		for _, m := range marks[i:k] {
			hits[m.cell+1], rest[m.cell+1] = float64(share*h.events[m.cell]), float64(share*h.rest[m.cell])
		}
		left -= rows
		i = k
	}
	for i := range n {
		hits[i+1] += hits[i]
		rest[i+1] += rest[i]
	}
	return func(j int) (float64, float64) { return hits[j], rest[n] - rest[j] }
}

// nearest does the same if the rows nearest to the threshold are handed over. It is to be asked for rising cells.
func (h *handover) nearest(o *OracleOptions) func(j int) (misses, alarms float64) {
	n := len(h.p)
	lo, hi := 0, 0 // cells as near as the furthest that is handed over
	rows := 0.0
	weight := func(i int) float64 { return h.rest[i] + h.events[i] }
	// between returns the misses and alarms in the cells from..to-1.
	between := func(from, to, j int) (misses, alarms float64) {
		k := min(max(j, from), to)
		return h.hitsBelow[k] - h.hitsBelow[from], h.restBelow[to] - h.restBelow[k]
	}
	return func(j int) (misses, alarms float64) {
		away := func(i int) float64 { return math.Abs(h.p[i] - h.p[j]) }
		if o.Within != nil {
			for lo < j && away(lo) > *o.Within {
				lo++
			}
			for hi = max(hi, j); hi < n && away(hi) <= *o.Within; {
				hi++
			}
			return between(lo, hi, j)
		}
		if h.budget == 0 {
			return 0, 0
		}
		for {
			switch {
			case hi > j && rows-weight(lo) >= h.budget && away(lo) > away(hi-1):
				rows -= weight(lo)
				lo++
				continue
			case hi < n && (hi <= j || rows < h.budget || away(hi) <= away(lo)):
				rows += weight(hi)
				hi++
				continue
			}
			break
		}
		// All but the furthest, one on each side at most, are handed over whole, and of these a share.
		d := math.Max(away(lo), away(hi-1))
		from, to, ring := lo, hi, 0.0
		if away(lo) == d {
			ring += weight(lo)
			from++
		}
		if to > from && away(hi-1) == d {
			ring += weight(hi - 1)
			to--
		}
		share := math.Min(1, math.Max(0, h.budget-(rows-ring))/ring)
		misses, alarms = between(from, to, j)
		for _, edge := range [][2]int{{lo, from}, {to, hi}} {
			m, a := between(edge[0], edge[1], j)
			misses += float64(share * m)
			alarms += float64(share * a)
		}
		return misses, alarms
	}
}
