package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// step is a cell and what is above it.
type step struct {
	rest, events float64 // weights of the cell's rows
	fp, tp       float64 // of all rows of higher scores
	score        float64
}

func (s *step) rows() float64  { return s.rest + s.events }
func (s *step) above() float64 { return s.fp + s.tp }

// through is the weight down to the cell, with it.
func (s *step) through() float64 { return s.above() + s.rows() }

// steps calls f for the cells, in rising order; the step is the same one each time. Without weights it takes no memory: what
// is above a cell is what is left of the totals, which are whole numbers.
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

// sum is a sum that keeps what its additions round away.
type sum struct{ hi, lo float64 }

func (s *sum) add(v float64) {
	t := s.hi + v
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (v - z)
	s.hi = t
}

func (s *sum) value() float64 { return s.hi + s.lo }

// PRArea says how the area under a precision-recall curve goes from one point to the next.
type PRArea uint8

// The areas.
const (
	AveragePrecision PRArea = iota // steps: each gain of recall counts at the precision that it leads to
	Trapezoid                      // straight lines, from precision 1 at recall 0 on: too high where events are rare
	// DavisGoadrich goes through the points that rows of equal scores would make one by one, on average: between two points
	// the rows without the event come in proportion to those with it.
	DavisGoadrich
)

const errArea = "rank: there is no such area under a precision-recall curve"

// AUPRC returns the area under the precision-recall curve, in [0,1], 1 is best and the frequency of the event what a ranking
// by chance comes to. With TP_g and FP_g the rows with and without the event down to the end of cell g, from the highest
// score, and dTP those of the cell, the average precision is
//
//	sum_g (dTP_g / TP) TP_g / (TP_g + FP_g)
//
// with points at the ends of cells alone, so the order of rows of equal scores has no say. NaN without rows with the event.
//
// bound is how far the area of the rows may be from it: 0 where cells are exact. In a cell of a grid the precision is at
// most what it would be with all events first, and at least with all events last.
//
// It takes a walk through the cells, and no memory without weights.
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

// prArea returns the area of a cell's step, times the weight of all events.
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

// prRange returns between what the same lies, whatever order the cell's rows have.
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
		// A line from one point to the next may be below the curve that the least precisions make.
		if s.above() == 0 {
			high = s.events
		}
		return float64(s.events * s.tp / (s.tp + f)), high
	}
	// Event after event with all other rows before them has precision (tp+x)/(tp+x+f).
	return s.events - float64(f*kernel.Log64((s.tp+s.events+f)/(s.tp+f))), high
}

// FPRAt returns the false positive rate at the first threshold, from the highest score down, at which at least so much of
// the events is found, in [0,1], 0 is best: of the rows without the event, the share whose score is as high. recall is above
// 0 and at most 1, or it panics; 0.95 makes it fpr95. NaN if there are no rows with the event, or none without. bound is as
// for AUROC: on a grid the threshold may be anywhere in its cell.
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
		// The last of the cells, in rising order, that is enough.
		if found := s.tp + s.events; found/tp >= recall || found >= tp {
			fpr, bound = math.Min(1, (s.fp+s.rest)/r.pairs.Rest), s.rest/r.pairs.Rest
		}
	})
	return fpr, r.bound(bound)
}

// Point is a point of a curve: that of the rows whose scores are Threshold or higher.
type Point struct{ X, Y, Threshold float64 }

// thin is points of which one is kept in each part of the way.
type thin struct {
	points []Point
	parts  int
	last   int // part of the last point that was kept
	end    Point
	seen   bool
}

// newThin returns one of at most so many points; all of them if most is 0 or there are no more.
func newThin(most, count int) *thin {
	if most < 0 || most == 1 {
		panic("rank: a curve has 2 points or more, or with 0 all of them")
	}
	if most == 0 || count <= most {
		return &thin{points: make([]Point, 0, count)}
	}
	return &thin{points: make([]Point, 0, most), parts: most - 1}
}

// add adds a point at a place of the way, which falls from 1 to 0.
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

// falling returns the points from the highest threshold on.
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

// ROC returns the receiver operating characteristic: the false positive rate (X) and the true positive rate (Y) at each
// distinct score, from (0,0) with threshold +Inf to (1,1). If there are more than most points, one is kept in each of most-1
// parts of equal length in X + Y, and both ends; 0 keeps all. nil if there are no rows with the event, or none without. On a
// grid the points are those of its cells, and thresholds their means.
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

// PrecisionRecall returns the precision-recall curve: recall (X) and precision (Y) at each distinct score, after the point
// (0,1) of threshold +Inf, where precision is not defined and 1 by decree. Points are kept as for ROC, by parts of the
// recall. nil if there are no rows with the event.
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

// RiskCoverage returns the risk-coverage curve of selective classification: of the rows that are answered, those with the
// highest scores, the share of all rows (X) and the share without the event among them (Y), at each distinct score. Points
// are kept as for ROC, by parts of the coverage. nil without rows.
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

// Turned returns the order of the scores turned round, 1 - p, with the rows without the event in the place of those with it:
// of a model's top label, how its doubt finds its errors. Its AUROC is the same, its AUPRC another. It takes 48 bytes a
// cell.
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

// turned is cells the other way round.
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
