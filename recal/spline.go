package recal

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Spline is recalibration by a spline of the cumulative gap: without bins, and without a shape that the curve has to have. For scores s_1 <= ... <= s_n
// with the outcomes y_i, let
//
//	t_i = i/n                               the share of rows up to s_i
//	d_i = sum over j <= i of (y_j - s_j)/n  by how much the outcomes exceed the scores there
//
// A natural cubic spline D with equally spaced knots in [0,1] minimises sum_i (D(t_i) - d_i)^2. Its derivative at the share of rows up to s is by how
// much the frequency exceeds the score there, so s becomes s + D'(t(s)), clipped to [0,1]. The largest |d_i| is the Kolmogorov-Smirnov
// calibration error, the metric ks.
//
// Equal scores count once, with their rows as the weight, and get the mean of D' over them: s + (D(t) - D(t0))/(t - t0) for the shares t0 and t
// of rows below them and up to them. The curve is linear between the scores at the ranks k n/256, k = 0...256, or between all scores where there are
// at most 257 different ones, and constant beyond. It need not rise. With weights a row of weight w counts as w rows. CurveMap describes the
// treatment of several classes; Gupta et al. recalibrate the top label. Where a class is rare its scores are near 0, and many become 0.
//
// In a file each curve has knots, their number, and x and y, the points between which it is linear.
//
// Source: Gupta, Rahimi, Ajanthan, Mensink, Sminchisescu and Hartley, Calibration of neural networks using splines (2021).
type Spline struct {
	Knots    int // 3 to 64; 0 means 6
	TopLabel bool
}

const (
	leastKnots, mostKnots = 3, 64
	splinePieces          = 256
)

func (m Spline) knots() int {
	if m.Knots == 0 {
		return 6
	}
	return m.Knots
}

// String returns "spline" with the options that differ from the default: knots=N, top_label.
func (m Spline) String() string {
	return spelled("spline", value("knots", float64(m.knots()), 6), word("top_label", m.TopLabel))
}

func (m Spline) with(option, value string) (Method, error) {
	var err error
	switch option {
	case "knots":
		m.Knots, err = readWhole(option, value, leastKnots, mostKnots)
	case "top_label":
		m.TopLabel, err = readWord(option, value)
	default:
		err = noOption(option, "knots", "top_label")
	}
	return m, err
}

// Fit returns a *CurveMap. It must sort the rows; see Options.Memory.
func (m Spline) Fit(d Data, o *Options) (Map, error) {
	if m.Knots != 0 && (m.Knots < leastKnots || m.Knots > mostKnots) {
		return nil, errors.New(errKnots)
	}
	s, err := lookBinary(d, o, false)
	if err != nil {
		return nil, err
	}
	curves, err := s.gather(d, o, reading{top: m.TopLabel}, func(_ int, c *sortedScores) (curve, error) { return m.curve(c), nil })
	if err != nil {
		return nil, err
	}
	return newCurveMap(m, s.fit, m.TopLabel, curves)
}

var errKnots = fmt.Sprintf("recal: a spline has %d to %d knots", leastKnots, mostKnots)

func (m Spline) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeCurves(m, f, m.TopLabel, parameters, func() curve { return &polyline{} })
}

// curve fits the curve of a column.
func (m Spline) curve(c *sortedScores) curve {
	total := 0.0
	different := 0
	c.each(func(_, n, _ float64) { total, different = total+n, different+1 })
	k := m.knots()
	b := newNatural(k)
	// The normal equations, by the heights at the knots.
	left, right, row := make([]float64, k*k), make([]float64, k), make([]float64, k)
	rows, gap := 0.0, 0.0
	c.each(func(p, n, y float64) {
		rows += n
		gap += y - float64(p*n)
		b.at(row, min(rows/total, 1))
		for i, v := range row {
			w := float64(n * v)
			right[i] += float64(w * (gap / total))
			for j := range i + 1 {
				left[i*k+j] += float64(w * row[j])
			}
		}
	})
	heights := solved(left, right, k)
	height := func(t float64) float64 {
		b.at(row, t)
		return dot(row, heights)
	}
	f := &polyline{Knots: k}
	rows, last, place := 0.0, height(0), 0
	step := 0
	c.each(func(p, n, _ float64) {
		from := rows / total
		rows += n
		to := min(rows/total, 1)
		now := height(to)
		place++
		if different > splinePieces+1 && place < different && float64(rows*splinePieces) < float64(total*float64(step)) {
			last = now
			return
		}
		for step <= splinePieces && float64(rows*splinePieces) >= float64(total*float64(step)) {
			step++
		}
		y := p + (now-last)/(to-from)
		if !(to > from) { // the weight of these rows is nothing beside the others'
			y = p
		}
		f.X, f.Y = append(f.X, p), append(f.Y, min(max(y, 0), 1))
		last = now
	})
	return f
}

// natural are the natural cubic splines over equally spaced knots in [0,1].
type natural struct {
	k    int
	h    float64
	bend []float64 // the second derivatives at the knots, by the heights there: row i of knot i
}

func newNatural(k int) *natural {
	b := &natural{k: k, h: 1 / float64(k-1), bend: make([]float64, k*k)}
	// Second derivatives m solve m_(i-1) + 4 m_i + m_(i+1) = 6/h^2 (y_(i-1) - 2 y_i + y_(i+1)) between the ends, where they are 0.
	inner := k - 2
	diagonal := make([]float64, inner)
	scale := 6 / float64(b.h*b.h)
	for i := range inner {
		r := b.bend[(i+1)*k:][:k]
		r[i], r[i+1], r[i+2] = scale, -2*scale, scale
		diagonal[i] = 4
		if i > 0 {
			by := 1 / diagonal[i-1]
			diagonal[i] -= by
			addScaled(r, -by, b.bend[i*k:][:k])
		}
	}
	for i := inner - 1; i >= 0; i-- {
		r := b.bend[(i+1)*k:][:k]
		if i < inner-1 {
			addScaled(r, -1, b.bend[(i+2)*k:][:k])
		}
		for j := range r {
			r[j] /= diagonal[i]
		}
	}
	return b
}

// at writes the heights at t of the splines that are 1 at one knot and 0 at the others.
func (b *natural) at(dst []float64, t float64) {
	j := min(int(t/b.h), b.k-2)
	u := t - float64(float64(j)*b.h)
	h, square := b.h, float64(u*u)
	cube := float64(square*u) / float64(6*h)
	clear(dst)
	addScaled(dst, float64(square/2)-cube-float64(h*u)/3, b.bend[j*b.k:][:b.k])
	addScaled(dst, cube-float64(h*u)/6, b.bend[(j+1)*b.k:][:b.k])
	dst[j] += 1 - u/h
	dst[j+1] += u / h
}

// solved returns the solution of the equations with this lower triangle of a matrix, to which a little is added where it has no inverse, as of fewer
// scores than knots. It overwrites both.
func solved(left, right []float64, k int) []float64 {
	trace := 0.0
	for i := range k {
		trace += left[i*k+i]
	}
	ridge := 0x1p-44 * trace / float64(k)
	for i := range k {
		ri := left[i*k : i*k+i]
		for j := range i {
			rj := left[j*k : j*k+j]
			ri[j] = (ri[j] - dot(ri[:j], rj)) / left[j*k+j]
		}
		left[i*k+i] = math.Sqrt(max(left[i*k+i]-dot(ri, ri), 0) + ridge)
	}
	for i := range k {
		right[i] = (right[i] - dot(left[i*k:i*k+i], right[:i])) / left[i*k+i]
	}
	for i := k - 1; i >= 0; i-- {
		right[i] /= left[i*k+i]
		addScaled(right[:i], -right[i], left[i*k:i*k+i])
	}
	return right
}

// polyline is a curve through points, constant beyond them.
type polyline struct {
	Knots int       `json:"knots"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`

	finder finder
}

func (c *polyline) logits() bool { return false }
func (c *polyline) free() int    { return c.Knots }

func (c *polyline) ready() error {
	if len(c.X) < 1 || len(c.X) != len(c.Y) || c.Knots < leastKnots || c.Knots > mostKnots {
		return errCurveFile
	}
	for i, x := range c.X {
		if y := c.Y[i]; !(x >= 0 && x <= 1 && y >= 0 && y <= 1) || i > 0 && x <= c.X[i-1] {
			return errCurveFile
		}
	}
	c.finder = newFinder(c.X)
	return nil
}

func (c *polyline) apply(x []float64) {
	for i, p := range x {
		at := max(0, c.finder.notAbove(p)-1)
		y := c.Y[at]
		switch {
		case p != p:
			y = p
		case at+1 < len(c.X) && p > c.X[at]:
			low, high := c.X[at], c.X[at+1]
			y = min(max(y+float64((c.Y[at+1]-y)*((p-low)/(high-low))), 0), 1)
		}
		x[i] = y
	}
}
