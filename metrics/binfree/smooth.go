package binfree

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Smooth is the smooth calibration error of scores and outcomes, with its bandwidth.
//
// For scores p_i and outcomes y_i with weights w_i of sum N, the residual near t is r(t) = (1/N) sum w_i (y_i - p_i) K(t,
// p_i). The kernel K is the normal density of deviation sigma about p_i, reflected at 0 and 1 so that its integral over
// [0,1] is 1: K(t, p) = sum over integers m of g(t - p + 2m) + g(t + p + 2m). The error at sigma is the integral of |r(t)|
// over [0,1]. (Dividing by the density of the scores and weighting by it again would not change it.) It falls as sigma
// rises: K is the heat kernel of an insulated interval, so a larger sigma smooths the residual further, and smoothing never
// increases the integral of an absolute value. Hence there is exactly one sigma at which the error equals sigma, and this is
// the smooth calibration error. It is 0 if the residuals of each score sum to 0.
//
// Source: Blasiok and Nakkiran 2023, smECE with the reflected kernel. Their package relplot uses a grid of scores and ten
// halvings of sigma, down to 0.001, so its bandwidth exceeds this one by up to 0.001. It does not reflect at the ends of its
// grid, so scores of exactly 0 and 1 count half.
type Smooth struct {
	rows   cells.Rising
	weight float64  // of all rows
	shift  float64  // |sum w (y - p)|, which no bandwidth smooths away
	points []atom   // represent the rows of a grid; nil if cells are exact
	doubts []doubts // for the cells of a grid
	bins   []bin    // bins of that width; nil if they would be too many
	width  float64
	sigma  float64
	bound  float64
}

const (
	// firstWidth is the width of the bins tried first; they suffice for bandwidths from 0.0005 on.
	firstWidth = 0x1p-17
	// finestWidth is the smallest width of bins: bandwidths are at least fineness times it.
	finestWidth = 0x1p-57
	// fineness is the number of bins per bandwidth. A bin keeps the moments 0 to 3, so the relative error is at most about
	// 3/4! * (1/2/64)^4, for the worst signs of the residuals in a bin.
	fineness = 64
	// mostBins is the largest number of bins kept; beyond it every sweep walks the cells.
	mostBins = 1 << 20
	// flat is the bandwidth from which on the kernel is 1 everywhere, to rounding.
	flat = 3
)

const (
	errSmoothSigma  = "binfree: the bandwidth is not above 0"
	errSmoothPoints = "binfree: fewer than two points of a curve"
)

// SmoothOf returns the smooth calibration error of the rows in r. It usually walks the cells once, and once or twice more if
// the bandwidth is below 0.0005. It evaluates the error about six times, at some milliseconds each.
func SmoothOf(r cells.Rising) *Smooth {
	s := &Smooth{rows: r, sigma: math.NaN(), bound: math.NaN()}
	if !r.Exact() {
		s.stand()
	}
	s.width = firstWidth
	sum, moduli := s.collect()
	if !(s.weight > 0) {
		return s
	}
	s.shift = math.Abs(sum)
	// The errors at an infinite bandwidth and at bandwidth 0.
	low, high := s.shift/s.weight, moduli/s.weight
	open := 0.0
	s.sigma, open = s.solve(math.Min(low, high), high)
	if r.Outside() == 0 {
		s.bound = s.doubted(open)
	}
	return s
}

// ECE returns the smooth calibration error, in [0,1], 0 is best. If cells are exact, bound is 0 and the relative error is
// below 1e-8. On a grid, bound is the worst case that the widths of the cells and the sums over their rows allow, which is
// much more than is to be expected. It is NaN if scores outside [0,1] are missing. Without rows the error is NaN.
func (s *Smooth) ECE() (value, bound float64) { return s.sigma, s.bound }

// Bandwidth returns the deviation of the kernel at which the error was evaluated. It equals the error.
func (s *Smooth) Bandwidth() float64 { return s.sigma }

// At returns the error at a given bandwidth. It falls as sigma rises, from (1/N) sum over distinct scores |sum w (y - p)|
// near 0 to (1/N) |sum w (y - p)|. On a grid its bound is not known. A sigma below 2^-51 is replaced by 2^-51; a sigma below
// 0.0005 requires a walk through the rows. It panics unless sigma is above 0. It returns NaN without rows.
func (s *Smooth) At(sigma float64) float64 {
	if !(sigma > 0) {
		panic(errSmoothSigma)
	}
	if !(s.weight > 0) {
		return math.NaN()
	}
	at := *s
	if sigma = math.Max(sigma, fineness*finestWidth); sigma < fineness*at.width {
		at.bins = nil
	}
	return at.at(sigma)
}

// SmoothPoint is a point of a smoothed reliability diagram.
type SmoothPoint struct {
	Score    float64
	Residual float64 // of the rows near the score: sum w (y - p) K / sum w K, the excess of the frequency over the score
	Density  float64 // of the scores: sum w K / sum w
}

// Curve returns the smoothed residual at this many scores, evenly spaced from 0 to 1, at the bandwidth of the error. It is
// accurate to about 1e-4 of the largest residual, enough for a plot. The area between Score + Residual and the diagonal,
// weighted by Density, is the error. Scores with no row within several bandwidths have no point. It panics if points is
// below 2. It returns nil without rows.
func (s *Smooth) Curve(points int) []SmoothPoint {
	if points < 2 {
		panic(errSmoothPoints)
	}
	if !(s.weight > 0) {
		return nil
	}
	sigma := math.Max(s.sigma, fineness*finestWidth)
	near, weights := make([]float64, points), make([]float64, points)
	step := 1 / float64(points-1)
	far := float64(smoothReach * sigma)
	var n, np, residual, start float64
	flush := func() {
		if n == 0 {
			return
		}
		for m := math.Floor(-far / 2); m <= float64(far/2)+1; m++ {
			for _, c := range [...]float64{2*m + np/n, 2*m - np/n} {
				for i := max(0, int(math.Ceil((c-far)/step))); i < points; i++ {
					x := float64(float64(i)*step) - c
					if x > far {
						break
					}
					k := normal(x / sigma)
					weights[i] += float64(n * k)
					near[i] += float64(residual * k)
				}
			}
		}
		n, np, residual = 0, 0, 0
	}
	s.rows.Each(func(c *cells.Cell) {
		if c.Weight == 0 {
			return
		}
		if c.P-start >= sigma/256 {
			flush()
		}
		if n == 0 {
			start = c.P
		}
		n += c.Weight
		np += float64(c.Weight * c.P)
		residual += atomOf(c).residual
	})
	flush()
	var curve []SmoothPoint
	for i, w := range weights {
		if w > 0 {
			curve = append(curve, SmoothPoint{float64(float64(i) * step), near[i] / w, w / float64(s.weight*sigma)})
		}
	}
	return curve
}

// normal is the standard normal density.
func normal(x float64) float64 { return 0.3989422804014326779 * kernel.Exp64(-0.5*float64(x*x)) }

// power returns the largest power of 2 that is at most v.
func power(v float64) float64 {
	_, e := math.Frexp(v)
	return math.Ldexp(1, e-1)
}

// atom is a score with the sum of w (y - p) there.
type atom struct {
	q        float64 // distance of the score from the nearer end of [0,1]
	upper    bool    // the nearer end is 1
	residual float64
}

// atomOf returns the atom of an exact cell. It keeps the digits of scores near 1.
func atomOf(c *cells.Cell) atom {
	if c.P <= c.Q {
		return atom{c.P, false, c.Events - float64(c.Weight*c.P)}
	}
	return atom{c.Q, true, float64(c.Weight*c.Q) - (c.Weight - c.Events)}
}

// bin holds the scores of an interval: sums of w (y - p) (p - middle)^k.
type bin struct {
	q                  float64 // distance of its middle from the nearer end
	m0, m1, m2, m3     float64
	upper              bool
	positive, negative bool // signs of the sums of single scores in it
}

// gatherer collects atoms, in rising order, into bins.
type gatherer struct {
	perWidth, width float64
	key             int64 // of the current bin: rising in the lower half, falling below 0 in the upper; noKey without one
	sign            float64
	signs           uint64
	bin             bin
	emit            func(*bin)
	sum, moduli     float64 // of all residuals
}

const noKey = math.MinInt64

func newGatherer(width float64, emit func(*bin)) *gatherer {
	return &gatherer{perWidth: 1 / width, width: width, key: noKey, emit: emit}
}

func (g *gatherer) add(a atom) {
	key := int64(a.q * g.perWidth)
	if a.upper {
		key = ^key
	}
	if key != g.key {
		g.flush()
		g.key, g.sign = key, 1
		if a.upper {
			g.sign, key = -1, ^key
		}
		g.bin = bin{q: float64((float64(key) + 0.5) * g.width), upper: a.upper}
	}
	d, r := (a.q-g.bin.q)*g.sign, a.residual
	g.sum += r
	g.moduli += math.Abs(r)
	g.signs |= 1 << (math.Float64bits(r) >> 63)
	g.bin.m0 += r
	r = float64(r * d)
	g.bin.m1 += r
	r = float64(r * d)
	g.bin.m2 += r
	r = float64(r * d)
	g.bin.m3 += r
}

func (g *gatherer) flush() {
	if g.key != noKey {
		g.bin.positive, g.bin.negative = g.signs&1 != 0, g.signs&2 != 0
		g.emit(&g.bin)
	}
	g.key, g.signs = noKey, 0
}

// gather calls emit for bins of this width in rising order. It returns the sum of the residuals and the sum of their
// absolute values.
func (s *Smooth) gather(width float64, emit func(*bin)) (sum, moduli float64) {
	g := newGatherer(width, emit)
	if s.points != nil {
		for _, a := range s.points {
			g.add(a)
		}
	} else {
		weight := 0.0
		s.rows.Each(func(c *cells.Cell) {
			if c.Weight > 0 {
				weight += c.Weight
				g.add(atomOf(c))
			}
		})
		s.weight = weight
	}
	g.flush()
	return g.sum, g.moduli
}

// collect stores bins of the current width, unless there are more than mostBins.
func (s *Smooth) collect() (sum, moduli float64) {
	n := 0
	s.bins = []bin{}
	return s.gather(s.width, func(b *bin) {
		if n++; n <= mostBins {
			s.bins = append(s.bins, *b)
		} else {
			s.bins = nil
		}
	})
}

// at returns the error at a bandwidth for which the bins are fine enough.
func (s *Smooth) at(sigma float64) float64 {
	if sigma >= flat {
		return s.shift / s.weight
	}
	w := newSmoothSweep(sigma)
	if s.bins != nil {
		for i := range s.bins {
			w.add(&s.bins[i])
		}
	} else {
		s.gather(power(sigma/fineness), w.add)
	}
	return math.Max(w.sum(), s.shift) / s.weight // all residuals have one sign, so the integral of r is known
}

// solve returns the bandwidth, in [low, high], at which the error equals the bandwidth. If bins turn out to be too wide, it
// gathers finer ones. The true root may be lower by open, which is 0 unless the root is below the smallest supported
// bandwidth.
func (s *Smooth) solve(low, high float64) (sigma, open float64) {
	const nearly = 1e-14
	if high-low <= nearly*high { // all residuals have one sign, or are 0
		return high, 0
	}
	for guess := 0.0; ; s.collect() {
		finest := s.bins == nil || s.width == finestWidth
		least := s.width // rough, but good enough as a guess
		if finest {
			least = fineness * finestWidth
		}
		sigma, reached := s.root(low, high, guess, least)
		switch {
		case reached && (finest || sigma >= fineness*s.width):
			return sigma, 0
		case finest:
			sigma = math.Min(least, high)
			return sigma, sigma - low
		case reached:
			s.width, guess = power(sigma/(2*fineness)), sigma
		default:
			s.width, guess = s.width/1024, 0
		}
		s.width = math.Max(s.width, finestWidth)
	}
}

// root returns the bandwidth, in [low, high], at which the error equals the bandwidth. If the root is not above least it
// stops there and returns false. A root below the limit of the bins' resolution is only a guess.
//
// The logarithm of error/sigma falls as that of sigma rises, with slope -1 or steeper. So a secant step with such a slope
// always ends between sigma and the error at sigma, and the root lies there too.
func (s *Smooth) root(low, high, guess, least float64) (sigma float64, reached bool) {
	const rounding = 1e-13
	low = math.Max(low, least)
	if high <= low {
		return low, false
	}
	sigma = guess
	if !(sigma > low && sigma < high) {
		sigma = math.Sqrt(low) * math.Sqrt(high)
	}
	before, log := 0.0, 0.0 // previous sigma, and the logarithm of its error over sigma
	slope := -1.25
	for range 200 {
		v := s.at(sigma)
		if v >= sigma {
			low, high = math.Max(low, sigma), math.Min(high, v)
		} else {
			if sigma <= least {
				return sigma, false
			}
			low, high = math.Max(low, v), math.Min(high, sigma)
		}
		near := rounding
		if s.bins != nil && high < fineness*s.width {
			near = 0.01
		}
		if math.Abs(v-sigma) <= near*sigma || high-low <= near*low {
			return math.Min(math.Max(sigma, low), high), true
		}
		next := 0.0
		if v > 0 {
			l := kernel.Log64(v / sigma)
			if before > 0 {
				slope = math.Min(-1, math.Max(-4, (l-log)/kernel.Log64(sigma/before)))
			}
			before, log = sigma, l
			next = sigma * kernel.Exp64(-l/slope)
		}
		if !(next >= low && next <= high) {
			next = math.Sqrt(low) * math.Sqrt(high)
		}
		sigma = next
	}
	return sigma, true
}

// doubts holds what is known about the rows of a grid cell, for the bound.
type doubts struct {
	mass   float64 // sum of the absolute residuals, and of those of the representing points
	first  float64 // the same, times the distance from the mean score
	second float64 // the same, times the squared distance
	sums   float64 // possible rounding error of the first moment
}

// stand finds the points that represent the rows of a grid.
//
// For the rows of a cell with mean score c, the sums of w, w(y - p), w(y - p)(p - c) and w(p - c)^2 are known: n, m0, m1 and
// v. The representing residuals are at c and at c +- d, with d^2 = 9/5 v/n, and have the moments m0, m1, m0 v/n and m1 d^2.
// These are the moments of rows spread evenly in a cell where the frequency of the event is a straight line.
func (s *Smooth) stand() {
	s.points = []atom{}
	s.rows.Each(func(c *cells.Cell) {
		if c.Weight == 0 {
			return
		}
		s.weight += c.Weight
		a := atomOf(c)
		t := tally.Of(c)
		p, pp, py := t.P.Float64(), t.PP.Float64(), t.PY.Float64()
		mean := p / c.Weight
		rounded := float64(c.Weight * 0x1p-50)
		// Largest possible variance between Low and High (Bhatia and Davis 2000); it is the better limit where the variance
		// is below the unit of the sums.
		most := c.Weight * math.Max(0, c.High-c.P) * math.Max(0, c.P-c.Low)
		v := math.Min(math.Max(0, pp-float64(mean*p)), most)
		abs := c.Apart()
		m1 := py - pp - float64(mean*(c.Events-p))
		d := math.Sqrt(1.8 * v / c.Weight)
		mid, beside := a, 0.0
		if d > 0 {
			// Cauchy-Schwarz bounds m1, since |y - p| <= 1.
			side := math.Max(-math.Sqrt(abs*v), math.Min(math.Sqrt(abs*v), m1)) / (2 * d)
			if a.upper {
				side = -side
			}
			half := float64(a.residual * (2.5 / 9))
			mid.residual *= 4.0 / 9
			s.points = append(s.points, turned(a.q-d, a.upper, half-side), turned(a.q+d, a.upper, half+side))
			beside = math.Abs(half-side) + math.Abs(half+side)
		}
		s.points = append(s.points, mid)
		s.doubts = append(s.doubts, doubtsOf(c, abs, math.Min(v+rounded, most), rounded).with(beside+math.Abs(mid.residual), beside, d))
	})
	slices.SortFunc(s.points, func(a, b atom) int {
		if a.upper != b.upper {
			if a.upper {
				return 1
			}
			return -1
		}
		if a.upper {
			return cmp.Or(cmp.Compare(b.q, a.q), cmp.Compare(a.residual, b.residual))
		}
		return cmp.Or(cmp.Compare(a.q, b.q), cmp.Compare(a.residual, b.residual))
	})
}

// turned returns an atom whose q may lie beyond the ends of its half; the kernel is symmetric at 0 and 1.
func turned(q float64, upper bool, residual float64) atom {
	if q = math.Abs(q); q > 0.5 {
		q, upper = 1-q, !upper
	}
	return atom{q, upper, residual}
}

// doubtsOf bounds the moments of |y - p| in a cell whose rows have sum w (p - c)^2 <= v.
func doubtsOf(c *cells.Cell, abs, v, rounded float64) doubts {
	far := math.Max(c.P-c.Low, c.High-c.P)
	// |y - p| is at most 1 - Low for an event and High for another row. The bound assigns as much of v as possible to the
	// group with the larger factor.
	most, least, n := 1-c.Low, c.High, c.Events
	if most < least {
		most, least, n = least, most, c.Weight-c.Events
	}
	dear := math.Min(v, float64(n*far*far))
	second := math.Min(float64(most*dear)+float64(least*(v-dear)), float64(abs*far*far))
	return doubts{mass: abs, first: math.Sqrt(abs * second), second: second, sums: rounded}
}

// with adds residuals with a sum of absolute values, some of which are at a distance.
func (d doubts) with(all, beside, far float64) doubts {
	d.mass += all
	d.first += float64(beside * far)
	d.second += float64(beside * far * far)
	return d
}

// doubt returns the most by which the error at a bandwidth can differ from that of the rows themselves.
//
// Moving a residual from c to c + x replaces its kernel K(c) by K(c) + x K'(c) + x^2 K”/2, with K” at a point between. The
// integrals of the absolute derivatives are at most those of the normal density, sqrt(2/pi)/sigma and 4 phi(1)/sigma^2. The
// points that represent a cell have the same sum and the same first moment about c as its rows, so only the remaining terms
// of both contribute.
func (s *Smooth) doubt(sigma float64) float64 {
	sum := 0.0
	one, two := rootTwoOverPi/sigma, 0.4839414490382867/float64(sigma*sigma)
	for i := range s.doubts {
		d := &s.doubts[i]
		sum += math.Min(math.Min(d.mass, float64(one*d.first)), float64(two*d.second)+float64(one*d.sums))
	}
	return float64(sum/s.weight*(1+1e-9)) + 0x1p-49
}

// doubted returns the most by which the error can differ from that of the rows themselves. Let f be the error of the rows as
// a function of the bandwidth, with root s0 = f(s0); let g be that of the representing points, with root s1; and let |f - g|
// <= d at each bandwidth. f and g fall. Then s0 >= s1 - d(s1): if s0 < s1, then s0 = f(s0) >= f(s1) >= g(s1) - d(s1). Also
// s0 <= s for any s >= g(s) + d(s), since the latter is at least f(s). s1 + d(s1) is such an s; since d falls, the code
// searches for a smaller one.
func (s *Smooth) doubted(open float64) float64 {
	if len(s.doubts) == 0 {
		return open
	}
	const rounded = 1 + 1e-8 // relative error of at
	value, least := s.sigma, s.shift/s.weight
	at := math.Max(value, fineness*finestWidth)
	d := s.doubt(at)
	// The mean residual is known, and the error at any bandwidth is at least its absolute value.
	below := value - math.Min(value, math.Max(value-d, least))
	low, high := at, float64(at*rounded)+d
	for range 12 {
		// Most bandwidths need no sweep: above value the error lies between least and value.
		mid := float64(math.Sqrt(low) * math.Sqrt(high))
		free := mid - s.doubt(mid)
		if free >= value*rounded || free >= least && free >= s.at(mid)*rounded {
			high = mid
		} else {
			low = mid
		}
	}
	return math.Max(math.Min(high, 1)-value, below) + open + 0x1p-49
}

const rootTwoOverPi = 0.79788456080286535588
