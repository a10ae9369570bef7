package rank

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics/cells"
)

// Budget is the number of rows, lowest scores first, that go to an oracle or remain unanswered.
type Budget struct {
	Fraction float64 // of the rows, rounded down to whole rows; with weights, of their sum, not rounded
	Most     int64   // upper limit in rows, or in weight; 0 sets none
	// Bins, if not 0, groups scores into this many bins of equal width, as the libraries of the sources do. Then all rows of
	// a bin, and a share of the last one, are handed over.
	Bins int
}

func (b *Budget) check() {
	if !(b.Fraction >= 0 && b.Fraction <= 1) || b.Most < 0 || b.Bins < 0 {
		panic("rank: a budget is a fraction from 0 to 1 and numbers that are not below 0")
	}
}

// total returns the total weight of the rows.
func (r *Ranking) total() float64 { return r.pairs.Rest + r.pairs.Events }

// fraction returns how much is handed over according to Fraction alone.
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

// lowest returns the expected number of rows without the event among the n lowest scores, and the most by which the true
// number can differ because cells hold several scores.
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

// bins holds histograms of scores.
type bins struct {
	count, right []float64
	torn         bool // a cell spans more than one bin
}

// histogram returns the nonempty bins.
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

// bound returns 0, or NaN if the bound is unknown.
func (h *bins) bound() float64 {
	if h.torn {
		return math.NaN()
	}
	return 0
}

// bin returns which of n bins of equal width contains p.
func bin(p float64, n int) int {
	b := math.Floor(float64(float64(n) * p))
	return int(math.Min(math.Max(b, 0), float64(n-1)))
}

// OracleAccuracy returns the oracle-collaborative accuracy, in [0,1], 1 is best: the share of rows that are right (have the
// event) after an oracle corrects the rows with the lowest scores. The oracle gets n = floor(fraction N) of N rows. Among
// rows of equal score it gets the expected number of wrong ones in a random choice.
//
//	(right + wrong among the n lowest)/N
//
// It returns NaN without rows. bound is the most by which the accuracy can differ from that of the rows themselves: 0 if
// cells are exact.
//
// With Bins it is what google/uncertainty-metrics returns, in float64. With a fraction of 1 that exceeds 1: no bin has more
// rows than are handed over, and the original then uses the first bin.
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

// abstained returns how many of the n rows with the lowest scores are wrong, from the bins.
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

// AbstainPrecision returns the share of wrong answers among the rows that a model abstains on, those with the lowest scores,
// in [0,1], 1 is best. Among rows of equal score the expected number of a random choice counts. It returns NaN if no row is
// abstained on. bound is as for OracleAccuracy.
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

// AbstainRecall returns the share of a model's wrong answers that it abstains on, in [0,1], 1 is best. It returns NaN if no
// answer is wrong. bound is as for OracleAccuracy.
//
// With Bins it is what google/uncertainty-baselines returns, in float64. That ignores Most, and is 0 if no answer is wrong.
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

// OracleOptions select the area that OracleAUC returns.
type OracleOptions struct {
	Budget
	Curve Curve
	// Thresholds, if not 0, is the number of evenly spaced thresholds of the area in google-research/robustness_metrics. Its
	// defaults are 200 thresholds and 1000 bins; Bins = 0 means 1000 here. Summation applies only with Thresholds.
	Thresholds int
	Summation  Summation
	// Within, if not nil, hands over all rows within this distance of the threshold, without a limit on their number. With
	// Thresholds it is the oracle_threshold of the reference, which hands over at each threshold as many rows as have scores
	// up to Within.
	Within *float64
	// Doubt, if not nil, returns how sure the model is of a row with score p, in place of the distance between p and the
	// threshold. The rows with the smallest values are handed over.
	Doubt func(p float64) float64
}

// OracleAUC returns the oracle-collaborative area under the ROC, or for CurvePR the average precision; 1 is best. At each
// threshold the classifier hands the rows nearest to it to an oracle, which corrects those on the wrong side. The thresholds
// are the distinct scores, and rows at the threshold count as above it. Rows at equal distance are handed over in equal
// shares, as far as the budget goes. The ends of the curve, where all rows are on one side, are not corrected. It returns
// NaN if there are no rows with the event, or none without.
//
// bound is 0 if cells are exact, else NaN (unknown). It takes about 60 bytes per cell. With a nil o it hands over 1% of the
// rows.
//
// With Thresholds it is what google-research/robustness_metrics returns, in float64. Recall need not rise along a
// precision-recall curve then, so its area can exceed 1.
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

// handover holds the cells in rising order.
type handover struct {
	p, rest, events      []float64
	pos, neg             float64
	budget               float64
	restBelow, hitsBelow []float64 // totals of the cells below each cell; the last element is the total of all
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

// grid returns the area on evenly spaced thresholds.
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

// exact returns the area with the distinct scores as thresholds.
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

// doubtful returns a function of the threshold's cell, for a set of rows to hand over that does not depend on the threshold.
// The function returns how many misses and false alarms the oracle corrects.
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
	hits, rest := make([]float64, n+1), make([]float64, n+1) // handed over: first per cell, then cumulative
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

// nearest is doubtful for the rows nearest to the threshold. The returned function must be called with rising j.
func (h *handover) nearest(o *OracleOptions) func(j int) (misses, alarms float64) {
	n := len(h.p)
	lo, hi := 0, 0 // range of cells no further away than the furthest that is handed over
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
		// All cells are handed over whole, except the furthest on each side, which is handed over in part.
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
