package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// step is a cell together with the totals of all cells above it.
type step struct {
	rest, events float64 // weights of the cell's rows without and with the event
	fp, tp       float64 // weights of all rows with higher scores
	score        float64
}

func (s *step) rows() float64  { return s.rest + s.events }
func (s *step) above() float64 { return s.fp + s.tp }

// through is the weight down to and including the cell.
func (s *step) through() float64 { return s.above() + s.rows() }

// steps calls f for the cells in rising order, each time with the same step, updated. Without weights it needs no memory:
// the totals are whole numbers, so what is above a cell is the exact rest of them.
func (r *Ranking) steps(f func(*step)) {
	if !r.rows.Weighted() {
		s := step{fp: r.pairs.Rest, tp: r.pairs.Events}
		r.rows.Each(func(x *cells.Cell) {
			s.rest, s.events, s.score = x.Weight-x.Events, x.Events, x.P
			s.fp -= s.rest
			s.tp -= s.events
			f(&s)
		})
		return
	}
	all := make([]step, 0, r.rows.Count())
	r.rows.Each(func(x *cells.Cell) {
		all = append(all, step{rest: math.Max(0, x.Weight-x.Events), events: x.Events, score: x.P})
	})
	fp, tp := 0.0, 0.0
	for i := len(all) - 1; i >= 0; i-- {
		all[i].fp, all[i].tp = fp, tp
		fp += all[i].rest
		tp += all[i].events
	}
	for i := range all {
		f(&all[i])
	}
}

// sum is a compensated sum: lo collects the rounding errors of the additions.
type sum struct{ hi, lo float64 }

func (s *sum) add(v float64) {
	t := s.hi + v
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (v - z)
	s.hi = t
}

func (s *sum) value() float64 { return s.hi + s.lo }

// PRArea selects how the area under a precision-recall curve interpolates between points.
type PRArea uint8

// The areas.
const (
	AveragePrecision PRArea = iota // steps: each gain of recall counts at the precision it leads to
	Trapezoid                      // straight lines, from precision 1 at recall 0 on; too high for rare events
	// DavisGoadrich inserts the points that rows of equal scores would give one by one, on average: between two points, rows
	// without the event arrive in proportion to those with it.
	DavisGoadrich
)

const errArea = "rank: there is no such area under a precision-recall curve"

// AUPRC returns the area under the precision-recall curve, in [0,1]. 1 is best, and a random ranking has the frequency of
// the event. With TP_g and FP_g the rows with and without the event from the highest score down to the end of cell g, and
// dTP_g the rows with the event in the cell, the average precision is
//
//	sum_g (dTP_g / TP) TP_g / (TP_g + FP_g)
//
// Points lie only at the ends of cells, so the order of rows with equal scores has no effect. It returns NaN without rows
// with the event.
//
// bound is the most by which area can differ from the area of the rows themselves: 0 if cells are exact. In a cell of a
// grid, the precision lies between those with all events last and with all events first.
//
// It takes one walk through the cells, and no memory without weights.
//
// Source: Davis and Goadrich 2006; scikit-learn's average_precision_score.
func (r *Ranking) AUPRC(a PRArea) (area, bound float64) {
	if a > DavisGoadrich {
		panic(errArea)
	}
	if !(r.pairs.Events > 0) {
		return math.NaN(), math.NaN()
	}
	var total, low, high sum
	exact := r.rows.Exact()
	r.steps(func(s *step) {
		if s.events == 0 {
			return
		}
		total.add(prArea(a, s))
		if !exact {
			l, h := prRange(a, s)
			low.add(l)
			high.add(h)
		}
	})
	t := r.pairs.Events
	area = math.Min(1, total.value()/t)
	return area, r.bound(math.Max(0, math.Max(high.value()-total.value(), total.value()-low.value())/t))
}

// prArea returns the contribution of a cell's step to the area, times the weight of all events.
func prArea(a PRArea, s *step) float64 {
	p := (s.tp + s.events) / s.through()
	switch a {
	case Trapezoid:
		before := 1.0
		if n := s.above(); n > 0 {
			before = s.tp / n
		}
		return float64(s.events * (p + before) / 2)
	case DavisGoadrich:
		slope := s.events / s.rows()
		n := s.above()
		if n == 0 {
			return float64(s.events * slope)
		}
		return float64(slope * (s.events + float64((s.tp-float64(slope*n))*kernel.Log64(s.through()/n))))
	}
	return float64(s.events * p)
}

// prRange returns the range of prArea over all orders of the cell's rows.
func prRange(a PRArea, s *step) (low, high float64) {
	high = s.events
	if s.fp > 0 {
		high *= (s.tp + s.events) / (s.above() + s.events)
	}
	f := s.fp + s.rest
	if f == 0 {
		return s.events, high
	}
	if a == Trapezoid {
		// A straight line between two points may run below the curve of the lowest precisions.
		if s.above() == 0 {
			high = s.events
		}
		return float64(s.events * s.tp / (s.tp + f)), high
	}
	// With all other rows of the cell first, the precision after events of weight x is (tp+x)/(tp+x+f).
	return s.events - float64(f*kernel.Log64((s.tp+s.events+f)/(s.tp+f))), high
}

// FPRAt returns the false positive rate at a given recall, in [0,1], 0 is best: the share of the rows without the event
// whose score reaches the threshold, for the highest threshold that finds at least this share of the events. With recall
// 0.95 it is fpr95. It panics unless recall is above 0 and at most 1. It returns NaN if there are no rows with the event, or
// none without. bound is as for AUROC; on a grid the threshold may be anywhere in its cell.
//
// Source: Hendrycks and Gimpel 2017.
func (r *Ranking) FPRAt(recall float64) (fpr, bound float64) {
	if !(recall > 0 && recall <= 1) {
		panic("rank: a recall is above 0 and at most 1")
	}
	if !(r.pairs.Events > 0 && r.pairs.Rest > 0) {
		return math.NaN(), math.NaN()
	}
	fpr = 1
	tp := r.pairs.Events
	r.steps(func(s *step) {
		// Cells rise, so the last cell that suffices has the highest threshold.
		if found := s.tp + s.events; found/tp >= recall || found >= tp {
			fpr, bound = math.Min(1, (s.fp+s.rest)/r.pairs.Rest), s.rest/r.pairs.Rest
		}
	})
	return fpr, r.bound(bound)
}

// Point is a point of a curve, for the rows with scores of Threshold or higher.
type Point struct{ X, Y, Threshold float64 }

// thin thins out a curve: it keeps one point in each part of the way along it.
type thin struct {
	points []Point
	parts  int
	last   int // part of the last kept point
	end    Point
	seen   bool
}

// newThin returns a thin that keeps at most this many of count points, or all points if most is 0.
func newThin(most, count int) *thin {
	if most < 0 || most == 1 {
		panic("rank: a curve has 2 points or more, or with 0 all of them")
	}
	if most == 0 || count <= most {
		return &thin{points: make([]Point, 0, count)}
	}
	return &thin{points: make([]Point, 0, most), parts: most - 1}
}

// add adds the point at position way, which falls from 1 to 0.
func (t *thin) add(p Point, way float64) {
	if t.parts == 0 {
		t.points = append(t.points, p)
		return
	}
	part := min(t.parts-1, int(way*float64(t.parts)))
	if !t.seen || part < t.last {
		t.points = append(t.points, p)
		t.last, t.seen = part, true
	}
	t.end = p
}

// falling returns the points, highest threshold first.
func (t *thin) falling() []Point {
	p := t.points
	if t.parts > 0 && len(p) > 0 && p[len(p)-1] != t.end {
		p = append(p, t.end)
	}
	for i, j := 0, len(p)-1; i < j; i, j = i+1, j-1 {
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// ROC returns the receiver operating characteristic: false positive rate (X) and true positive rate (Y) at each distinct
// score, from (0,0) with threshold +Inf to (1,1). If there are more than most points, it keeps both ends and one point in
// each of most-1 parts of equal length in X + Y; most = 0 keeps all. It returns nil if there are no rows with the event, or
// none without. On a grid, points belong to cells and thresholds are cell means.
func (r *Ranking) ROC(most int) []Point {
	p, n := r.pairs.Events, r.pairs.Rest
	if !(p > 0 && n > 0) {
		return nil
	}
	t := newThin(most, r.rows.Count()+1)
	r.steps(func(s *step) {
		x, y := math.Min(1, (s.fp+s.rest)/n), math.Min(1, (s.tp+s.events)/p)
		t.add(Point{x, y, s.score}, (x+y)/2)
	})
	t.add(Point{0, 0, math.Inf(1)}, 0)
	return t.falling()
}

// PrecisionRecall returns the precision-recall curve: recall (X) and precision (Y) at each distinct score. It starts at
// (0,1) with threshold +Inf, where precision is undefined and set to 1. Points are thinned as for ROC, by recall. It returns
// nil if there are no rows with the event.
func (r *Ranking) PrecisionRecall(most int) []Point {
	p := r.pairs.Events
	if !(p > 0) {
		return nil
	}
	t := newThin(most, r.rows.Count()+1)
	r.steps(func(s *step) {
		x := math.Min(1, (s.tp+s.events)/p)
		t.add(Point{x, (s.tp + s.events) / s.through(), s.score}, x)
	})
	t.add(Point{0, 1, math.Inf(1)}, 0)
	return t.falling()
}

// RiskCoverage returns the risk-coverage curve of selective classification. At each distinct score, the rows with the
// highest scores are answered: X is their share of all rows, and Y the share without the event among them. Points are
// thinned as for ROC, by coverage. It returns nil without rows.
//
// Source: Geifman and El-Yaniv 2017.
func (r *Ranking) RiskCoverage(most int) []Point {
	n := r.pairs.Rest + r.pairs.Events
	if !(n > 0) {
		return nil
	}
	t := newThin(most, r.rows.Count())
	r.steps(func(s *step) {
		x := math.Min(1, s.through()/n)
		t.add(Point{x, (s.fp + s.rest) / s.through(), s.score}, x)
	})
	return t.falling()
}

// Exact reports whether each distinct score has its own cell.
func (r *Ranking) Exact() bool { return r.rows.Exact() }

// Cut describes the rows that are kept if those with the lowest scores are refused.
type Cut struct {
	Share     float64 // share of the rows that are kept
	Threshold float64 // the lowest of their scores; on a grid the mean of its lowest cell
	Rows      float64 // weight of the rows that are kept, their number without weights
	Without   float64 // weight of those of them without the event
}

// Cuts returns, for each share above 0, the highest threshold that keeps at least this share of the rows. Rows of equal score are kept
// or refused together, so more than that may be kept. It returns nil without rows.
func (r *Ranking) Cuts(shares ...float64) []Cut {
	n := r.pairs.Rest + r.pairs.Events
	if !(n > 0) {
		return nil
	}
	l := make([]Cut, len(shares))
	r.steps(func(s *step) {
		// Thresholds rise, so the last one that keeps enough counts.
		for i, share := range shares {
			if kept := s.through(); l[i].Rows == 0 || kept >= float64(share*n) {
				l[i] = Cut{math.Min(1, kept/n), s.score, kept, s.fp + s.rest}
			}
		}
	})
	return l
}

// Turned returns the ranking with scores 1 - p and with events and non-events exchanged. For the top label of a model it
// shows how well doubt finds errors. AUROC stays the same, AUPRC does not. It takes 48 bytes per cell.
func (r *Ranking) Turned() *Ranking {
	t := turned{r.rows, make([]spot, 0, r.rows.Count())}
	r.rows.Each(func(x *cells.Cell) {
		t.spots = append(t.spots, spot{low: x.Low, high: x.High, p: x.P, q: x.Q, weight: x.Weight, events: x.Events})
	})
	p := r.pairs
	p.Events, p.Rest = p.Rest, p.Events
	return &Ranking{t, p}
}

type spot struct{ low, high, p, q, weight, events float64 }

// turned presents cells in reverse order, with events and non-events exchanged.
type turned struct {
	ordered
	spots []spot
}

func (t turned) Each(f func(*cells.Cell)) {
	var x cells.Cell
	for i := len(t.spots) - 1; i >= 0; i-- {
		s := &t.spots[i]
		x.P, x.Q, x.Low, x.High, x.Weight, x.Events = s.q, s.p, 1-s.high, 1-s.low, s.weight, s.weight-s.events
		f(&x)
	}
}
