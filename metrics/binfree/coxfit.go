package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// coxFit minimizes the negative log-likelihood sum n ln(1 + exp(a + b x)) - y (a + b x) over points. The x of a point is its
// logit minus that of the center; a point has the weights of its rows without and with the event.
type coxFit struct {
	of      cells.Rising
	unit    bool // b is fixed at 1
	keep    int  // maximal number of points to keep
	leftOut int64

	rest, hits compensated // total weights
	mean       float64     // mean logit, weighted by weight * p(1-p)
	ends       [2]ends     // smallest and largest score for either outcome

	center   odds
	points   []coxPoints // all points; nil if there are too many to keep
	some     coxPoints   // some of the points, where not all are kept
	room     [2][coxBlock]float64
	lo, hi   float64 // smallest and largest x
	a, b     float64 // the current line
	sums     coxSums // at the current line
	searched int     // number of passes over all points
}

// odds is a probability p with q = 1 - p; a small one of the two keeps all its digits.
type odds struct{ p, q float64 }

// coxPoints are some points in the order of cells.
type coxPoints struct {
	odds          []odds
	rest, hits, x []float64
}

// coxBlock is the number of points that are computed together, so that what belongs to them stays in the first-level cache.
const coxBlock = 256

func newCoxPoints() coxPoints {
	all := make([]float64, 3*coxBlock)
	return coxPoints{make([]odds, 0, coxBlock), all[:0:coxBlock], all[coxBlock : coxBlock : 2*coxBlock], all[2*coxBlock : 2*coxBlock]}
}

// from sets the x of points to the logit minus that of c.
func (f *coxFit) from(k *coxPoints, c odds) {
	n := len(k.odds)
	k.x = k.x[:n]
	p, q := f.room[0][:n], f.room[1][:n]
	for i, o := range k.odds {
		p[i], q[i] = o.p, o.q
	}
	kernel.LogSliceF64(p, p)
	kernel.LogSliceF64(q, q)
	logit := kernel.Log64(c.p) - kernel.Log64(c.q)
	for i, o := range k.odds {
		if t := o.ratio(c); math.Abs(t) < 0.5 {
			k.x[i] = kernel.Log1p64(t)
		} else {
			k.x[i] = p[i] - q[i] - logit
		}
	}
}

// ends holds a smallest and a largest score; the zero value stands for no scores.
type ends struct{ low, high odds }

func (e *ends) add(o odds) {
	if e.low == (odds{}) {
		e.low, e.high = o, o
	}
	if o.below(e.low) {
		e.low = o
	}
	if e.high.below(o) {
		e.high = o
	}
}

// below reports whether o is a lower probability than r.
func (o odds) below(r odds) bool { return o.p < r.p || o.p == r.p && o.q > r.q }

// ratio returns o's p/q over that of c, minus 1: (p - pc) / (q pc).
func (o odds) ratio(c odds) float64 {
	d := o.p - c.p
	if o.p > 0.5 && c.p > 0.5 {
		d = c.q - o.q
	}
	return d / float64(o.q*c.p)
}

// from returns the logit of o minus the logit of c.
func (o odds) from(c odds) float64 {
	if t := o.ratio(c); math.Abs(t) < 0.5 {
		return kernel.Log1p64(t)
	}
	return kernel.Log64(o.p) - kernel.Log64(o.q) - (kernel.Log64(c.p) - kernel.Log64(c.q))
}

// even are the odds whose logit is 0.
var even = odds{0.5, 0.5}

func (o odds) logit() float64 { return o.from(even) }

// compensated is a sum with its accumulated rounding error (Neumaier).
type compensated struct{ sum, lost float64 }

func (c *compensated) add(v float64) {
	s := c.sum + v
	if math.Abs(c.sum) >= math.Abs(v) {
		c.lost += c.sum - s + v
	} else {
		c.lost += v - s + c.sum
	}
	c.sum = s
}

func (c *compensated) value() float64 { return c.sum + c.lost }

// each calls visit for the points in the order of cells, some at a time. Their x are unset where not all are kept.
func (f *coxFit) each(visit func(k *coxPoints)) {
	if f.points != nil {
		for i := range f.points {
			visit(&f.points[i])
		}
		return
	}
	keep := 2*f.of.Count() <= f.keep
	if f.some.odds == nil {
		f.some = newCoxPoints()
	}
	hand := func() {
		if visit(&f.some); keep {
			f.points = append(f.points, f.some)
			f.some = newCoxPoints()
		}
		k := &f.some
		k.odds, k.rest, k.hits = k.odds[:0], k.rest[:0], k.hits[:0]
	}
	f.eachPoint(func(o odds, rest, hits float64) {
		k := &f.some
		if k.odds, k.rest, k.hits = append(k.odds, o), append(k.rest, rest), append(k.hits, hits); len(k.odds) == coxBlock {
			hand()
		}
	})
	if len(f.some.odds) > 0 {
		hand()
	}
}

func (f *coxFit) eachPoint(visit func(o odds, rest, hits float64)) {
	exact, weighted := f.of.Exact(), f.of.Weighted()
	f.leftOut = 0
	f.of.Each(func(x *cells.Cell) {
		switch {
		case x.P == 0 || x.Q == 0 || x.Low != x.High && x.Low == 0:
			f.leftOut += x.N
		case weighted:
			t := tally.Of(x)
			t.W.Sub(&t.Y)
			visit(odds{x.P, x.Q}, t.W.Float64(), x.Events)
		case exact:
			visit(odds{x.P, x.Q}, x.Weight-x.Events, x.Events)
		default:
			c := newGridCell(x)
			if c.low == 0 {
				f.leftOut += x.N
				return
			}
			rest, hits := c.outcomes()
			if rest.n > 0 {
				visit(c.odds(rest.mean), rest.n, 0)
			}
			if hits.n > 0 {
				visit(c.odds(hits.mean), 0, hits.n)
			}
		}
	})
}

func (c *gridCell) odds(q float64) odds {
	if c.upper {
		return odds{1 - q, q}
	}
	return odds{q, 1 - q}
}

// survey collects totals, the ends and the center, which is the score nearest to the mean logit.
func (f *coxFit) survey() {
	var w, wx compensated
	f.each(func(k *coxPoints) {
		f.from(k, even)
		for i, o := range k.odds {
			rest, hits := k.rest[i], k.hits[i]
			f.rest.add(rest)
			f.hits.add(hits)
			if rest > 0 {
				f.ends[0].add(o)
			}
			if hits > 0 {
				f.ends[1].add(o)
			}
			v := float64((rest + hits) * math.Max(float64(o.p*o.q), 0x1p-900))
			w.add(v)
			wx.add(float64(v * k.x[i]))
		}
	})
	f.center = even
	f.mean = wx.value() / w.value()
}

// reason says why there is no fit, or returns "" if there is one.
func (f *coxFit) reason() string {
	none, all := f.ends[0], f.ends[1]
	switch {
	case f.rest.value()+f.hits.value() == 0 && f.leftOut > 0:
		return reasonNoLogits
	case f.rest.value()+f.hits.value() == 0:
		return reason.NoRows
	case f.rest.value() == 0 || f.hits.value() == 0:
		return reasonSame01
	case f.unit:
		return ""
	case none == all && none.low == none.high:
		return reasonOneScore
	case (!all.low.below(none.high) || !none.low.below(all.high)) && !f.of.Exact():
		return reasonSeparatedGrid
	case !all.low.below(none.high) || !none.low.below(all.high):
		return reasonSeparated
	}
	return ""
}

// keptPoints is the maximal number of points in memory, 40 bytes each. More points are recomputed in each pass.
const keptPoints = 1 << 19

// recenter makes the score with x nearest to at the center, and keeps the line unchanged.
func (f *coxFit) recenter(at float64) {
	next, shift := odds{}, math.Inf(1)
	f.walk(func(k *coxPoints) {
		for i, x := range k.x {
			if math.Abs(x-at) < math.Abs(shift-at) {
				next, shift = k.odds[i], x
			}
		}
	})
	f.center = next
	f.a += float64(f.b * shift)
	f.lo, f.hi = math.Inf(1), math.Inf(-1)
	f.each(func(k *coxPoints) {
		f.from(k, next)
		for _, x := range k.x {
			f.lo, f.hi = math.Min(f.lo, x), math.Max(f.hi, x)
		}
	})
}

// walk is each with the x of points set.
func (f *coxFit) walk(visit func(k *coxPoints)) {
	f.each(func(k *coxPoints) {
		if f.points == nil {
			f.from(k, f.center)
		}
		visit(k)
	})
}

// coxSums holds the gradient and the information at a line: with weights weight * mu(1-mu), their sum, the mean of x, and
// the sum of squares about it.
type coxSums struct {
	g0, g1            float64 // derivatives with respect to a and b
	w, mean, variance float64
	square            float64 // sum of squares about the center
}

// about returns the derivative with respect to b while a + b m is fixed.
func (s *coxSums) about(m float64) float64 { return s.g1 - float64(m*s.g0) }

// logistic returns the smaller of 1/(1+exp(-eta)) and 1/(1+exp(eta)), and their product.
func logistic(eta float64) (small, product float64) {
	return logisticOf(kernel.Exp64(-math.Abs(eta)))
}

// logisticOf is logistic for exp(-|eta|).
func logisticOf(e float64) (small, product float64) {
	big := 1 / (1 + e)
	small = float64(e * big)
	return small, float64(small * big)
}

func (f *coxFit) at(a, b float64) coxSums {
	f.searched++
	var g0, g1, h0, h1, h2 compensated
	f.walk(func(k *coxPoints) {
		etas, es := f.room[0][:len(k.x)], f.room[1][:len(k.x)]
		for i, x := range k.x {
			etas[i] = a + float64(b*x)
			es[i] = -math.Abs(etas[i])
		}
		kernel.ExpSliceF64(es, es)
		for i, x := range k.x {
			rest, hits := k.rest[i], k.hits[i]
			small, w := logisticOf(es[i])
			// Computes (rest + hits) mu - hits from the smaller of mu and 1 - mu; the whole numbers may cancel.
			n := rest + hits
			whole, part := -hits, float64(n*small)
			if etas[i] > 0 {
				whole, part = rest, -part
			}
			g0.add(whole)
			g0.add(part)
			p := float64(whole * x)
			g1.add(p)
			g1.add(math.FMA(whole, x, -p))
			g1.add(float64(part * x))
			w = float64(n * w)
			h0.add(w)
			h1.add(float64(w * x))
			h2.add(float64(w * float64(x*x)))
		}
	})
	s := coxSums{g0: g0.value(), g1: g1.value(), w: h0.value(), square: h2.value()}
	s.mean = h1.value() / s.w
	s.variance = s.square - float64(h1.value()*s.mean)
	return s
}

// errors returns the length of a step in standard errors.
func (s *coxSums) errors(da, db float64) float64 {
	m := da + float64(s.mean*db)
	return math.Sqrt(float64(s.w*float64(m*m)) + float64(s.variance*float64(db*db)))
}

const (
	coxSearches = 400   // passes before the fit is given up
	coxPrecise  = 1e-9  // after a step this small, measured by the largest change of a + b x, stop: the next would be its square
	coxNothing  = 1e-12 // standard errors
	coxNear     = 1e-4  // a step this small is followed by far smaller ones
	coxFarthest = 2000  // larger than the distance of any two logits
)

// solve finds the fit by Newton's method and reports whether it converged.
//
// A step that changes no a + b x by more than 1 always increases the likelihood, because the logistic function is
// self-concordant (Bach 2010). A longer step is shortened while the likelihood falls at its end. It is doubled while the
// likelihood rises there so steeply that Newton's parabola is far off. Only the derivative along the step is used, since it
// keeps its digits where differences of likelihoods have none.
func (f *coxFit) solve() bool {
	f.recenter(f.mean)
	origin := f.center.logit()
	if f.a, f.b = origin, 1; f.unit {
		f.sums = f.at(f.a, f.b)
	} else {
		// Start from the line with slope 0, towards that of calibrated scores.
		f.a, f.b = kernel.Log64(f.hits.value())-kernel.Log64(f.rest.value()), 0
		f.sums = f.at(f.a, f.b)
		if da := origin - f.a; float64(f.sums.g0*da)+f.sums.g1 < 0 {
			f.search(da, 1)
		}
	}
	for last := math.Inf(1); f.searched < coxSearches; {
		s := &f.sums
		if !f.unit && s.variance < 1e-4*s.square {
			// The rows that matter are close together and far from the center, so their x have few digits.
			was := f.center
			if f.recenter(s.mean); f.center != was {
				f.sums = f.at(f.a, f.b)
			}
		}
		now := f.change(f.a, f.b)
		limit := math.Max(coxFarthest, now)
		db := 0.0
		if !f.unit {
			g := s.about(s.mean)
			if db = -g / s.variance; !(s.variance > 0 && math.Abs(db)*(f.hi-f.lo) <= limit) {
				// If the information comes from rows of a single score, it gives a direction but no step length.
				db = math.Copysign(limit/(f.hi-f.lo), -g)
			}
		}
		da := -s.g0/s.w - float64(s.mean*db)
		d := f.change(da, db)
		switch {
		case !(d <= math.MaxFloat64):
			return false
		case d <= coxPrecise*math.Max(1, now):
			f.a, f.b = f.a+da, f.b+db
			f.sums = f.at(f.a, f.b)
			return true
		case d > last/2 && (last < coxNear || s.errors(da, db) < coxNothing):
			return true // only rounding is left
		case d > limit:
			da, db = float64(da*(limit/d)), float64(db*(limit/d))
		}
		last = d
		f.search(da, db)
	}
	return false
}

// change returns the largest change of a + b x.
func (f *coxFit) change(da, db float64) float64 {
	return math.Max(math.Abs(da+float64(db*f.lo)), math.Abs(da+float64(db*f.hi)))
}

// search moves the line in a direction in which the likelihood rises.
func (f *coxFit) search(da, db float64) {
	m := f.sums.mean
	slope := func(s *coxSums) float64 { return float64(s.g0*(da+float64(m*db))) + float64(s.about(m)*db) }
	along := func(t float64) (s coxSums, v float64) {
		s = f.at(f.a+float64(t*da), f.b+float64(t*db))
		return s, slope(&s)
	}
	d, first := f.change(da, db), slope(&f.sums)
	t := 1.0
	s, v := along(t)
	for v > 0 && t*d > 1 && f.searched < coxSearches {
		t = float64(t * math.Min(0.5, math.Max(0.1, first/(first-v))))
		s, v = along(t)
	}
	if t == 1 && v < 0.25*first {
		for v < 0 && f.searched < coxSearches {
			var next coxSums
			if next, v = along(2 * t); v <= 0 {
				t, s = 2*t, next
			}
		}
	}
	f.a, f.b, f.sums = f.a+float64(t*da), f.b+float64(t*db), s
}

// estimates returns intercept and slope of the fit found by solve.
func (f *coxFit) estimates() (intercept, slope estimate) {
	origin := f.center.logit()
	s := &f.sums
	slope = estimate{value: f.b}
	intercept = estimate{value: f.a - float64(f.b*origin), se: math.Sqrt(1 / s.w)}
	if !f.unit {
		slope.se = math.Sqrt(1 / s.variance)
		m := (s.mean + origin) * slope.se
		intercept.se = math.Sqrt(1/s.w + float64(m*m))
	}
	if !f.of.Exact() {
		r := f.radius(slope.se)
		if slope.bound, intercept.bound = float64(r*slope.se), float64(r*intercept.se); f.unit {
			slope.bound = 0
		}
	}
	return intercept, slope
}

// radius returns a number R such that the fit of the rows themselves lies in the ellipse of R standard errors about the fit
// of the points that represent them in grid cells. It returns NaN if none is found.
//
// Move the line by (da, db) from the fit of the points to the border of the ellipse, and let d be the largest change of a +
// b x there. By self-concordance the derivative of the points' negative log-likelihood in that direction is at least R^2
// (1-exp(-d))/d. The derivative for the rows differs from it by sum F(x_i) - F(x), with F(x) = (mu(x) - y)(da + db x),
// summed over the rows of each point x. By Taylor, this is at most |F'(x)| |sum (x_i - x)| + max |F”| sum (x_i - x)^2 / 2,
// with F' = b w (da + db x) + (mu - y) db and |F”| <= b^2 w |da + db x| + 2 |b w db|. Here w = mu(1-mu) is at most exp(d +
// |b x_i - b x|) times its value at the fit. If the difference is smaller than the derivative, the likelihood of the rows
// falls all around the ellipse; being concave, it has its maximum inside. The Cauchy-Schwarz inequality bounds the sums by
// exp(d) R T. What remains is (1-exp(-d)) exp(-d) / d > T / R, which has a solution if d T / R < 1/4.
func (f *coxFit) radius(slopeError float64) float64 {
	if f.of.Weighted() || f.leftOut > 0 {
		return math.NaN()
	}
	s := &f.sums
	reach := func(x float64) float64 { // standard error of a + b x
		m := (x - s.mean) * slopeError
		return math.Sqrt(1/s.w + float64(m*m))
	}
	far := math.Max(reach(f.lo), reach(f.hi))
	for _, more := range [...]float64{0.05, 0.5} {
		slack := 0.0
		if !f.unit {
			slack = float64(more*math.Abs(f.b)) + more/10
		}
		t := f.shift(math.Abs(f.b)+slack, slopeError) * (1 + 1e-9)
		if rest := 0.25 - float64(far*t); rest > 0 {
			d := -kernel.Log1p64(-float64(far*t) / (0.5 + math.Sqrt(rest)))
			if r := d / far * (1 + 1e-9); float64(r*slopeError) <= slack {
				return r
			}
		}
	}
	return math.NaN()
}

// shift returns T of radius for lines with |b| at most steepest.
func (f *coxFit) shift(steepest, slopeError float64) float64 {
	var wd, wv, wvd, wvs, rd compensated
	f.of.Each(func(x *cells.Cell) {
		c := newGridCell(x)
		rest, hits := c.outcomes()
		for y, o := range [...]outcome{rest, hits} {
			if o.n == 0 {
				continue
			}
			first, second, most := c.logitMoments(o.mean)
			eta := f.a + float64(f.b*c.odds(o.mean).from(f.center))
			gap, w := logistic(eta)
			if (y == 0) == (eta > 0) {
				gap = 1 - gap
			}
			w = float64(o.n * w)
			second = float64(second * kernel.Exp64(float64(steepest*most)))
			wd.add(float64(w * float64(first*first)))
			rd.add(float64(float64(o.n*gap) * first))
			wv.add(float64(w * float64(second*second)))
			wvd.add(float64(w * float64(second*most)))
			wvs.add(float64(w * second))
		}
	})
	b, se := steepest, slopeError
	t := float64(b*math.Sqrt(wd.value())) + float64(se*rd.value())
	t += float64(float64(b*b) / 2 * (math.Sqrt(wv.value()) + float64(se*wvd.value())))
	return t + float64(float64(b*se)*wvs.value())
}

// logitMoments returns bounds for the rows of a cell with mean m of q: on the distance of their mean logit from the logit of
// m, on the mean square of their logits' differences from it, and on the largest of these differences.
func (c *gridCell) logitMoments(m float64) (first, second, most float64) {
	doubt, wide := c.doubt(), c.high-c.low
	d1 := 1 / float64(c.low*(1-c.low)) // largest derivative of the logit, at low
	d2 := float64(d1*d1) * (1 - 2*c.low)
	variance := c.spread(m) + float64(doubt*wide)
	most = float64(d1 * math.Max(c.high-m, m-c.low))
	first = math.Min(most, float64(d2/2*variance)+float64(d1*doubt))
	second = math.Min(float64(most*most), float64(float64(d1*d1)*(variance+float64(doubt*doubt))))
	return first, second, most
}
