package binfree

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// Smooth is the smooth calibration error of scores and outcomes, and the bandwidth behind it.
//
// Of scores p_i and outcomes y_i with weights w_i of sum N, r(t) = (1/N) sum w_i (y_i - p_i) K(t, p_i) is the residual near t, where K
// is the normal density of deviation sigma about p_i, reflected at 0 and at 1 as often as it takes for its integral over [0,1] to be
// 1: K(t, p) = sum over whole m of g(t - p + 2m) + g(t + p + 2m). The error at sigma is the integral of |r(t)| over [0,1]: not divided
// by the density of the scores and weighted by it again, which is the same. It falls as sigma rises, for K is the heat kernel of an
// interval that lets no heat out: what a larger sigma shows is what a smaller one shows, smoothed once more, and smoothing does not
// add to the integral of a modulus. So there is one sigma at which the error is sigma, and that is the smooth calibration error: 0 if all
// sums of residuals of one score are 0.
//
// Source: Blasiok and Nakkiran 2023, smECE with the reflected kernel. Their relplot takes a grid of scores and ten halvings of sigma, down
// to 0.001, so that its bandwidth is above this one by up to 0.001; and what it has at the ends of its grid, as scores of exactly 0 and
// 1, it reflects to nothing, so that these count half.
type Smooth struct {
	rows   cells.Rising
	weight float64  // of all rows
	shift  float64  // |sum w (y - p)|: what no bandwidth smooths away
	points []atom   // what stands for the rows of a grid; nil where cells are exact
	doubts []doubts // of a grid's cells
	bins   []bin    // of that width; nil if they would be too many
	width  float64
	sigma  float64
	bound  float64
}

const (
	// firstWidth is that of the bins first tried: they serve bandwidths from 0.0005 on.
	firstWidth = 0x1p-17
	// finestWidth is the least: bandwidths are at least fineness times it.
	finestWidth = 0x1p-57
	// fineness is how many bins there are to a bandwidth. Of a bin there are the moments 0 to 3, so the relative error is some
	// 3/4! * (1/2/64)^4 at most, where the signs of the residuals in a bin are the worst possible.
	fineness = 64
	// mostBins is how many bins are kept: beyond it every sweep walks the cells.
	mostBins = 1 << 20
	// flat is the bandwidth from which on the kernel is 1 everywhere, to rounding.
	flat = 3
)

const (
	errSmoothSigma  = "calib: the bandwidth is not above 0"
	errSmoothPoints = "calib: fewer than two points of a curve"
)

// SmoothOf returns the smooth calibration error of the rows that r has seen. It walks them once for most sets, and once or twice more
// where the bandwidth is below 0.0005; each further evaluation of the error takes some milliseconds, of which there are about six.
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
	// The error at bandwidths without end, and at none.
	low, high := s.shift/s.weight, moduli/s.weight
	open := 0.0
	s.sigma, open = s.solve(math.Min(low, high), high)
	if r.Outside() == 0 {
		s.bound = s.doubted(open)
	}
	return s
}

// ECE returns the smooth calibration error, in [0,1], 0 is best, and how far it may be from that of the rows: bound is 0 where cells
// are exact, and then the relative error is below 1e-8. On a grid it is what the widths of the cells and the sums of their rows leave
// open, in the worst case: much more than what is to be expected. It is NaN where scores outside [0,1] are missing. The error is NaN
// if nothing was seen.
func (s *Smooth) ECE() (value, bound float64) { return s.sigma, s.bound }

// Bandwidth returns the deviation of the kernel at which the error was taken: the error itself.
func (s *Smooth) Bandwidth() float64 { return s.sigma }

// At returns the error at a bandwidth of one's own, with which it falls: from (1/N) sum over distinct scores |sum w (y - p)| near 0 to
// (1/N) |sum w (y - p)|. On a grid no bound is known of it. A bandwidth below 2^-51 is taken for 2^-51, and one below 0.0005 walks the
// rows. It panics if sigma is not above 0. NaN if nothing was seen.
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
	Residual float64 // of the rows near: sum w (y - p) K / sum w K, by which the frequency of the event is ahead of the score
	Density  float64 // of the scores: sum w K / sum w
}

// Curve returns the smoothed residual at so many scores, evenly spaced from 0 to 1, with the bandwidth of the error, to some 1e-4 of
// the largest: enough for a picture. The area between Score + Residual and the diagonal, weighted by Density, is the error. Where no
// row is within several bandwidths there is no point. It panics if points is below 2. nil if nothing was seen.
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

// power returns the largest power of 2 that is not above v.
func power(v float64) float64 {
	_, e := math.Frexp(v)
	return math.Ldexp(1, e-1)
}

// atom is a score and the sum of w (y - p) there.
type atom struct {
	q        float64 // the score's distance from the end of [0,1] near to it
	upper    bool    // which is 1
	residual float64
}

// atomOf returns the atom of an exact cell, which has its digits near 1 too.
func atomOf(c *cells.Cell) atom {
	if c.P <= c.Q {
		return atom{c.P, false, c.Events - float64(c.Weight*c.P)}
	}
	return atom{c.Q, true, float64(c.Weight*c.Q) - (c.Weight - c.Events)}
}

// bin is the scores of an interval: sums of w (y - p) (p - middle)^k.
type bin struct {
	q                  float64 // the distance of its middle from the near end
	m0, m1, m2, m3     float64
	upper              bool
	positive, negative bool // sums of single scores
}

// gatherer makes bins of atoms in rising order.
type gatherer struct {
	perWidth, width float64
	key             int64 // of the bin under way, rising in the lower half and falling below 0 in the upper; noKey without one
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

// gather calls emit for bins of a width, in rising order, and returns the sum of the residuals and that of their moduli.
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

// collect keeps bins of the width, unless there are more than mostBins.
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

// at returns the error at a bandwidth that the bins are fine enough for.
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
	return math.Max(w.sum(), s.shift) / s.weight // the integral of r is known
}

// solve returns the bandwidth at which the error is itself: it is in [low, high]. Where bins turn out too wide for it, it gathers anew.
// The root may be less by open: that is 0 unless it is below the least bandwidth there can be.
func (s *Smooth) solve(low, high float64) (sigma, open float64) {
	const nearly = 1e-14
	if high-low <= nearly*high { // all residuals have one sign, or are 0
		return high, 0
	}
	for guess := 0.0; ; s.collect() {
		finest := s.bins == nil || s.width == finestWidth
		least := s.width // rough, but a guess
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

// root returns the bandwidth at which the error is itself: it is in [low, high]. It stops at least, and says so, if it is not above
// that, and is no more than a guess if it is below what the bins are fine enough for.
//
// The logarithm of error/sigma falls as that of sigma rises, with a slope of -1 or steeper, so what a secant of such a slope says
// is always between sigma and the error there, as the root is.
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
	before, log := 0.0, 0.0 // the last sigma, and the logarithm of the error over it
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

// doubts is what is known of the rows of a grid's cell, for the bound.
type doubts struct {
	mass   float64 // of the residuals' moduli, and of the moduli of what stands for them
	first  float64 // the same, by distance from the mean score
	second float64 // and by its square
	sums   float64 // how far the first moment may be rounded
}

// stand finds what stands for the rows of a grid.
//
// Of the rows of a cell the sums of w, w(y - p), w(y - p)(p - c) and w(p - c)^2 are known, c the mean of p: call them n, m0, m1 and v.
// At c and at c +- d, d^2 = 9/5 v/n, stand residuals with the moments m0, m1, m0 v/n and m1 d^2: what rows spread evenly in a cell have
// where the frequency of the event is a straight line.
func (s *Smooth) stand() {
	s.points = []atom{}
	s.rows.Each(func(c *cells.Cell) {
		if c.Weight == 0 {
			return
		}
		s.weight += c.Weight
		a := atomOf(c)
		t := c.Tally()
		p, pp, py := t.P.Float64(), t.PP.Float64(), t.PY.Float64()
		mean := p / c.Weight
		rounded := float64(c.Weight * 0x1p-50)
		// No rows between Low and High are farther apart (Bhatia and Davis 2000): below the sums' unit it says more than they do.
		most := c.Weight * math.Max(0, c.High-c.P) * math.Max(0, c.P-c.Low)
		v := math.Min(math.Max(0, pp-float64(mean*p)), most)
		abs := c.Apart()
		m1 := py - pp - float64(mean*(c.Events-p))
		d := math.Sqrt(1.8 * v / c.Weight)
		mid, beside := a, 0.0
		if d > 0 {
			// By Cauchy and Schwarz, for |y - p| <= 1.
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

// turned is an atom whose place may be beyond the ends of its half; at 0 and at 1 the kernel is symmetric.
func turned(q float64, upper bool, residual float64) atom {
	if q = math.Abs(q); q > 0.5 {
		q, upper = 1-q, !upper
	}
	return atom{q, upper, residual}
}

// doubtsOf bounds the moments of |y - p| of a cell, whose rows have sum w (p - c)^2 <= v.
func doubtsOf(c *cells.Cell, abs, v, rounded float64) doubts {
	far := math.Max(c.P-c.Low, c.High-c.P)
	// |y - p| is at most 1 - Low of an event and High of another row: as much of v as can be goes to that of the two which counts more.
	most, least, n := 1-c.Low, c.High, c.Events
	if most < least {
		most, least, n = least, most, c.Weight-c.Events
	}
	dear := math.Min(v, float64(n*far*far))
	second := math.Min(float64(most*dear)+float64(least*(v-dear)), float64(abs*far*far))
	return doubts{mass: abs, first: math.Sqrt(abs * second), second: second, sums: rounded}
}

// with adds residuals of a sum of moduli, of which some are at a distance.
func (d doubts) with(all, beside, far float64) doubts {
	d.mass += all
	d.first += float64(beside * far)
	d.second += float64(beside * far * far)
	return d
}

// doubt returns how far the error at a bandwidth may be from that of the rows.
//
// A residual moved from c to c + x has instead of its kernel K(c) what is K(c) + x K'(c) + x^2 K”/2, the last taken between: the
// integrals of the derivatives' moduli are at most those of the normal density, sqrt(2/pi)/sigma and 4 phi(1)/sigma^2. What stands for
// a cell has the same sum and first moment about c as its rows, so that only the rest of both is left.
func (s *Smooth) doubt(sigma float64) float64 {
	sum := 0.0
	one, two := rootTwoOverPi/sigma, 0.4839414490382867/float64(sigma*sigma)
	for i := range s.doubts {
		d := &s.doubts[i]
		sum += math.Min(math.Min(d.mass, float64(one*d.first)), float64(two*d.second)+float64(one*d.sums))
	}
	return float64(sum/s.weight*(1+1e-9)) + 0x1p-49
}

// doubted returns how far the error may be from that of the rows, which is the root s0 of a function f that also falls, where what
// there is, g, has the root s1 and is no farther from f than d, at any bandwidth. Then s0 >= s1 - d(s1): where s0 < s1, s0 = f(s0) >=
// f(s1) >= g(s1) - d(s1). And s0 <= s for any s >= g(s) + d(s), which is at least f(s): s1 + d(s1) is one, and as d falls a nearer one
// is looked for.
func (s *Smooth) doubted(open float64) float64 {
	if len(s.doubts) == 0 {
		return open
	}
	const rounded = 1 + 1e-8 // of at
	value, least := s.sigma, s.shift/s.weight
	at := math.Max(value, fineness*finestWidth)
	d := s.doubt(at)
	// The mean residual is known, and no bandwidth shows less.
	below := value - math.Min(value, math.Max(value-d, least))
	low, high := at, float64(at*rounded)+d
	for range 12 {
		// Most bandwidths need no sweep: beyond value the error is between least and value.
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
