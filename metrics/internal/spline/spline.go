// Package spline fits cubic smoothing splines. It places few knots, where residuals are large. Among the splines over these knots whose
// residual sum of squares is s, it finds the one whose third derivative has the smallest jumps.
//
// Source: Dierckx 1975 and 1993, Curve and Surface Fitting with Splines, chapters 4 and 5. Knots are added as FITPACK adds them for
// scipy's UnivariateSpline(x, y, w, s=s). Where all x differ the curve is the same, up to rounding.
package spline

import (
	"container/heap"
	"errors"
	"math"
	"slices"
)

const (
	degree = 3
	order  = degree + 1
	// tolerance is the accepted distance of the residual sum from s, relative to s.
	tolerance = 0.001
	// mostTries bounds the search for the smoothing parameter.
	mostTries = 20
)

// MinPoints is the smallest number of points for a fit.
const MinPoints = order

// ErrClose is the error of a fit that would leave the range of float64.
var ErrClose = errors.New("spline: points are too close together for a fit in float64")

// Points is the data of a fit; a point holds all observations at one x.
type Points struct {
	X      []float64 // strictly rising
	W      []float64 // square roots of the sums of squared weights, above 0
	Y      []float64 // means, weighted by squared weights
	Within []float64 // sums of squared weighted deviations from the means, which no curve can reduce; nil if they are 0
}

// Curve is a cubic spline. Beyond the outermost points its outermost cubics are extrapolated.
type Curve struct {
	knots, coefs []float64
}

// At writes the values of the curve at x, which must not decrease, to dst. It panics if their lengths differ.
func (c *Curve) At(dst, x []float64) {
	if len(dst) != len(x) {
		panic("spline: dst and x have different lengths")
	}
	l, last := degree, len(c.coefs)-1
	var b [order]float64
	for i, v := range x {
		for l < last && v >= c.knots[l+1] {
			l++
		}
		basis(&b, c.knots, v, l)
		dst[i] = dot4(&b, c.coefs[l-degree:])
	}
}

func dot4(b *[order]float64, c []float64) float64 {
	return float64(b[0]*c[0]) + float64(b[1]*c[1]) + float64(b[2]*c[2]) + float64(b[3]*c[3])
}

// basis sets b to the B-splines of t that are not 0 between t[l] and t[l+1], at x, by the recurrence of de Boor and Cox.
func basis(b *[order]float64, t []float64, x float64, l int) {
	b[0] = 1
	for j := 1; j < order; j++ {
		carry := 0.0
		for i := range j {
			right, left := t[l+1+i], t[l+1+i-j]
			f := b[i] / (right - left)
			b[i] = carry + float64(f*(right-x))
			carry = float64(f * (x - left))
		}
		b[j] = carry
	}
}

// Smooth fits a curve for each s, the target for the residual sum of squared weighted deviations, which must be above 0. It
// calls f with each curve and the indices in s that it is for: in any order, but once for each index. f must not keep the
// curve. It panics on fewer than MinPoints points and if lengths differ.
//
// If no cubic reaches s, knots are placed at points: first one, then at most twice as many in each step, depending on the
// progress of the residual sum, always in the middle of the interval that contributes most. Once half the points are knots,
// the additions restart with one. If the residual sum is below s, but not within a thousandth of it, the result is a spline
// over the same knots between the fit and the cubic. An s below the irreducible part of the sum gets the interpolating
// spline.
//
// Time is proportional to points times fits: about twenty fits for many knots, which all s share except for the last few.
func Smooth(p *Points, s []float64, f func(indices []int, c *Curve)) error {
	if len(p.X) < MinPoints {
		panic("spline: fewer than four points")
	}
	if len(p.W) != len(p.X) || len(p.Y) != len(p.X) || p.Within != nil && len(p.Within) != len(p.X) {
		panic("spline: columns have different lengths")
	}
	m := &smoother{Points: p, s: s, f: f, q: make([][order]float64, len(p.X))}
	for _, v := range p.Within {
		m.within += v
	}
	all := make([]int, len(s))
	for i := range all {
		all[i] = i
	}
	return m.grow(nil, all, progress{})
}

type smoother struct {
	*Points
	s []float64
	f func([]int, *Curve)

	within float64
	cubic  float64 // residual sum without knots

	// From the last least-squares fit:
	t    []float64
	q    [][order]float64 // B-splines at each point
	r    [][order]float64 // its triangular factor, by rows from the diagonal on
	z, c []float64
	sum  float64 // residual sum

	// From the last smoothed fit:
	jumps [][order + 1]float64
	g     [][order + 1]float64
	h     []float64
}

// progress describes how the knots were added.
type progress struct {
	before  float64 // residual sum of the previous fit
	added   int     // knots added since then
	full    bool    // no more knots are possible
	resumed bool    // at some time half the points were knots
}

// interval describes the points between two knots.
type interval struct {
	sum   float64 // its part of the residual sum
	begin int     // point at its left end
	count int     // number of points inside
}

// grow fits a curve with these interior knots, given as indices of points. It passes the curve to f for the indices whose s
// it satisfies, and adds knots for the others.
func (m *smoother) grow(knots, indices []int, by progress) error {
	if err := m.fit(knots); err != nil {
		return err
	}
	if len(knots) == 0 {
		m.cubic = m.sum
	}
	n := len(knots) + 2*order
	half := max(len(m.X)/2, 2*order)
	var done []int
	left := map[int][]int{} // by number of added knots
	for _, i := range indices {
		s := m.s[i]
		excess := m.sum - s
		near := tolerance * s
		switch {
		case math.Abs(excess) < near, excess < 0 && len(knots) == 0:
			done = append(done, i)
		case excess < 0:
			if err := m.between(i); err != nil {
				return err
			}
		case by.full:
			done = append(done, i)
		default:
			next := 1
			if len(knots) > 0 && !(n == half && !by.resumed) {
				want := float64(2 * by.added)
				if by.before-m.sum > near {
					want = float64(float64(by.added)*excess) / (by.before - m.sum)
				}
				next = min(2*by.added, max(int(math.Min(want, 1e9)), by.added/2, 1))
			}
			left[next] = append(left[next], i)
		}
	}
	var parts []interval
	if len(left) > 0 {
		parts = m.intervals(knots)
	}
	sum := m.sum
	if len(done) > 0 {
		m.f(done, &Curve{m.t, m.c})
	}
	numbers := make([]int, 0, len(left))
	for next := range left {
		numbers = append(numbers, next)
	}
	slices.Sort(numbers)
	for _, next := range numbers {
		then := progress{before: sum, added: next, resumed: by.resumed || n == half}
		var more []int
		more, then.full = m.add(slices.Clone(parts), n, next, half, then.resumed)
		if err := m.grow(more, left[next], then); err != nil {
			return err
		}
	}
	return nil
}

// fit computes the least-squares fit with these knots: Givens rotations reduce rows of B-splines to a triangle.
func (m *smoother) fit(knots []int) error {
	n := len(m.X)
	t := m.t[:0]
	for range order {
		t = append(t, m.X[0])
	}
	for _, k := range knots {
		t = append(t, m.X[k])
	}
	for range order {
		t = append(t, m.X[n-1])
	}
	m.t = t
	coefs := len(t) - order
	m.r = resized(m.r, coefs)
	m.z, m.c = resized(m.z, coefs), resized(m.c, coefs)
	clear(m.r)
	clear(m.z)
	m.sum = m.within
	l := degree
	for i, x := range m.X {
		for l < coefs-1 && x >= t[l+1] {
			l++
		}
		basis(&m.q[i], t, x, l)
		w := m.W[i]
		row := m.q[i]
		for j := range row {
			row[j] *= w
		}
		y := float64(w * m.Y[i])
		for j := range order {
			if row[j] == 0 {
				continue
			}
			k := l - degree + j
			r := &m.r[k]
			cos, sin, length := givens(row[j], r[0])
			r[0] = length
			y, m.z[k] = turn(cos, sin, y, m.z[k])
			for e := 1; j+e < order; e++ {
				row[j+e], r[e] = turn(cos, sin, row[j+e], r[e])
			}
		}
		m.sum += float64(y * y)
	}
	for i := coefs - 1; i >= 0; i-- {
		v := m.z[i]
		for e := 1; e < order && i+e < coefs; e++ {
			v -= float64(m.r[i][e] * m.c[i+e])
		}
		m.c[i] = v / m.r[i][0]
	}
	return finite(m.c)
}

// givens returns the rotation that reduces a, next to the diagonal element d >= 0, to 0, and the new d.
func givens(a, d float64) (cos, sin, length float64) {
	if b := math.Abs(a); b >= d {
		q := d / b
		length = b * math.Sqrt(1+float64(q*q))
	} else {
		q := a / d
		length = d * math.Sqrt(1+float64(q*q))
	}
	return d / length, a / length, length
}

func turn(cos, sin, a, b float64) (float64, float64) {
	return float64(cos*a) - float64(sin*b), float64(cos*b) + float64(sin*a)
}

func finite(c []float64) error {
	for _, v := range c {
		if v-v != 0 {
			return ErrClose
		}
	}
	return nil
}

func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// intervals divides the residual sum of the last fit among the intervals between knots. A point that is a knot counts half
// in each.
func (m *smoother) intervals(knots []int) []interval {
	parts := make([]interval, len(knots)+1)
	last := len(m.X) - 1
	j := 0
	parts[0].count = last - 1
	for i := range m.X {
		v := float64(m.W[i] * (dot4(&m.q[i], m.c[j:]) - m.Y[i]))
		if j < len(knots) && knots[j] == i {
			v = float64(m.W[i] * (dot4(&m.q[i], m.c[j+1:]) - m.Y[i]))
		}
		v = float64(v * v)
		if m.Within != nil {
			v += m.Within[i]
		}
		if j == len(knots) || knots[j] != i {
			parts[j].sum += v
			continue
		}
		parts[j].sum += float64(v / 2)
		parts[j].count = i - parts[j].begin - 1
		j++
		parts[j] = interval{sum: v / 2, begin: i, count: last - i - 1}
	}
	return parts
}

// worst is a heap of intervals, largest sum first, leftmost first for equal sums.
type worst []interval

func (h worst) Len() int { return len(h) }
func (h worst) Less(i, j int) bool {
	if h[i].sum != h[j].sum {
		return h[i].sum > h[j].sum
	}
	return h[i].begin < h[j].begin
}
func (h worst) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *worst) Push(x any)   { *h = append(*h, x.(interval)) }
func (h *worst) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// add returns the knots with count new ones; n is the length of the old knots with those at the ends. full means that no
// further knots are possible. It consumes parts.
func (m *smoother) add(parts []interval, n, count, half int, resumed bool) (knots []int, full bool) {
	var still []interval // intervals without points inside
	open := worst(parts[:0])
	for _, p := range parts {
		if p.count == 0 {
			still = append(still, p)
		} else {
			open = append(open, p)
		}
	}
	heap.Init(&open)
	for ; count > 0; count-- {
		if len(open) == 0 || !(open[0].sum > 0) {
			full = true
			break
		}
		p := &open[0]
		left := p.count / 2
		right := interval{begin: p.begin + left + 1, count: p.count - left - 1}
		right.sum = float64(p.sum*float64(right.count)) / float64(p.count)
		p.sum = float64(p.sum*float64(left)) / float64(p.count)
		p.count = left
		if left > 0 {
			heap.Fix(&open, 0)
		} else {
			still = append(still, heap.Pop(&open).(interval))
		}
		if right.count > 0 {
			heap.Push(&open, right)
		} else {
			still = append(still, right)
		}
		if n++; n == len(m.X)+order {
			// As many coefficients as points: the interpolating spline, for which the outermost points but one are no knots.
			for i := 2; i < len(m.X)-2; i++ {
				knots = append(knots, i)
			}
			return knots, true
		}
		if n == half && !resumed {
			break
		}
	}
	for _, p := range append(still, open...) {
		if p.begin > 0 {
			knots = append(knots, p.begin)
		}
	}
	slices.Sort(knots)
	return knots, full
}

// between handles an s between the residual sums of the last fit and of the cubic. It passes on the spline over the fit's
// knots that minimises the sum of its squared jumps divided by p, plus the residual sum; p is found by rational
// interpolation.
func (m *smoother) between(index int) error {
	s := m.s[index]
	near := tolerance * s
	m.findJumps()
	var low, high, mid try
	low.f = m.cubic - s
	high = try{math.Inf(1), m.sum - s}
	p := 0.0
	for i := range m.r {
		p += m.r[i][0]
	}
	p = float64(len(m.r)) / p
	rises, falls := false, false // whether low and high are values of the function
	for tries := 1; ; tries++ {
		mid = try{p, m.smooth(p) - s}
		if err := finite(m.h); err != nil || !(p > 0) {
			return ErrClose
		}
		if math.Abs(mid.f) < near || tries == mostTries {
			break
		}
		if !falls {
			if !(mid.f-high.f > near) { // p is too large
				high = mid
				if p *= 0.04; p <= low.p {
					p = float64(low.p*0.9) + float64(mid.p*0.1)
				}
				continue
			}
			falls = mid.f < 0
		}
		if !rises {
			if !(low.f-mid.f > near) { // p is too small
				low = mid
				if p /= 0.04; p >= high.p {
					p = float64(mid.p*0.1) + float64(high.p*0.9)
				}
				continue
			}
			rises = mid.f > 0
		}
		if mid.f >= low.f || mid.f <= high.f {
			break // not monotonic: only rounding is left
		}
		p = rational(low, mid, high)
		if mid.f < 0 {
			high = mid
		} else {
			low = mid
		}
	}
	m.f([]int{index}, &Curve{m.t, m.h})
	return nil
}

// try is a smoothing parameter, with its residual sum minus s.
type try struct{ p, f float64 }

// rational returns the zero of (u p + v) / (p + w), fitted to three tries.
func rational(a, b, c try) float64 {
	if math.IsInf(c.p, 1) {
		return (float64(float64(a.p*(a.f-c.f))*b.f) - float64(float64(b.p*(b.f-c.f))*a.f)) / float64((a.f-b.f)*c.f)
	}
	h1, h2, h3 := float64(a.f*(b.f-c.f)), float64(b.f*(c.f-a.f)), float64(c.f*(a.f-b.f))
	return -(float64(float64(a.p*b.p)*h3) + float64(float64(b.p*c.p)*h1) + float64(float64(c.p*a.p)*h2)) /
		(float64(a.p*h1) + float64(b.p*h2) + float64(c.p*h3))
}

// findJumps computes the jumps of the B-splines' third derivatives at the interior knots, in units of the mean interval.
func (m *smoother) findJumps() {
	t, coefs := m.t, len(m.c)
	interior := coefs - order
	m.jumps = resized(m.jumps, interior)
	unit := float64(interior+1) / (t[coefs] - t[0])
	for i := range m.jumps {
		at := t[i+order]
		for j := range m.jumps[i] {
			// For the B-spline over t[i+j] to t[i+j+4], up to a constant: its length divided by the product of the distances
			// to the other knots.
			product := 1.0
			for k := i + j; k <= i+j+order; k++ {
				if k != i+order {
					product *= float64((at - t[k]) * unit)
				}
			}
			m.jumps[i][j] = float64((t[i+j+order]-t[i+j])*unit) / product
		}
	}
}

// smooth sets m.h to the coefficients for p and returns the residual sum. It reduces the rows of the fit's triangle and of
// the jumps, ordered by the column of their first element, to a new triangle; each row meets only the few rows before it.
func (m *smoother) smooth(p float64) float64 {
	coefs := len(m.c)
	m.g, m.h = resized(m.g, coefs), resized(m.h, coefs)
	clear(m.g)
	clear(m.h)
	enter := func(row [order + 1]float64, y float64, at int) {
		for j := 0; j <= order && at+j < coefs; j++ {
			if row[j] == 0 {
				continue
			}
			g := &m.g[at+j]
			cos, sin, length := givens(row[j], g[0])
			g[0] = length
			y, m.h[at+j] = turn(cos, sin, y, m.h[at+j])
			for e := 1; j+e <= order; e++ {
				row[j+e], g[e] = turn(cos, sin, row[j+e], g[e])
			}
		}
	}
	for i := range m.r {
		r := &m.r[i]
		enter([order + 1]float64{r[0], r[1], r[2], r[3]}, m.z[i], i)
		if i < len(m.jumps) {
			row := m.jumps[i]
			for j := range row {
				row[j] /= p
			}
			enter(row, 0, i)
		}
	}
	for i := coefs - 1; i >= 0; i-- {
		v := m.h[i]
		for e := 1; e <= order && i+e < coefs; e++ {
			v -= float64(m.g[i][e] * m.h[i+e])
		}
		m.h[i] = v / m.g[i][0]
	}
	sum := m.sum
	for i := range m.r {
		v := -m.z[i]
		for e := 0; e < order && i+e < coefs; e++ {
			v += float64(m.r[i][e] * m.h[i+e])
		}
		sum += float64(v * v)
	}
	return sum
}
