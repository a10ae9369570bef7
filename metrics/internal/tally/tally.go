// Package tally holds the groups of exact sums that accumulators share: those of a mean with its interval, and those
// of a cell of scores and outcomes.
package tally

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// Weight is the sum of the weights of rows, or without weights their number.
type Weight struct {
	N     int64     // number of rows
	W, W2 exact.Sum // sum of the weights and of their squares; zero without weights
}

// Add counts n rows with their weights, which may be nil.
func (w *Weight) Add(n int, weights []float64) {
	w.N += int64(n)
	AddFloats(&w.W, weights)
	for len(weights) > 0 {
		k := min(len(weights), chunk)
		var squares [chunk]float64
		for i, v := range weights[:k] {
			squares[i] = v * v
		}
		AddFloats(&w.W2, squares[:k])
		weights = weights[k:]
	}
}

// Merge adds the rows of another Weight.
func (w *Weight) Merge(o *Weight) {
	w.N += o.N
	w.W.Merge(&o.W)
	w.W2.Merge(&o.W2)
}

// Total returns the exact sum of the weights, or without weights the number of rows.
func (w *Weight) Total(weighted bool) exact.Sum {
	if weighted {
		return w.W.Clone()
	}
	return Count(w.N)
}

// Effective returns the effective number of rows, (sum w)^2 / sum w^2, or without weights their number.
func (w *Weight) Effective(weighted bool) float64 {
	if !weighted {
		return float64(w.N)
	}
	if w.W2.IsZero() {
		return 0
	}
	s := w.W.Float64()
	return s * s / w.W2.Float64()
}

// Fields lists the fields of the state.
func (w *Weight) Fields(f *exact.Fields) {
	f.N(&w.N)
	f.Sum(&w.W)
	f.Sum(&w.W2)
}

// Count returns n as an exact sum.
func Count(n int64) (s exact.Sum) {
	s.AddShifted(n, 88)
	return s
}

// Mean holds the sum and the sum of squares of a score, for a mean with an interval. Infinite values are left out; the
// caller must count them.
type Mean struct {
	S1, S2 exact.Sum
	Over   int64 // values that are infinite or have an infinite square
}

// Shift returns the last place of m in quanta of an exact.Int, as a power of two.
func Shift(m float64) uint { return uint(88 - 52 + int(math.Float64bits(m)>>52&0x7ff) - 1023) }

// Add adds values, each rounded once to the first window's quantum, and their squares, rounded to that of the second. With
// weights, one per value, the products are rounded.
func (m *Mean) Add(v []float64, first, second *kernel.Window, weights []float64) {
	if weights != nil {
		m.addWeighted(v, weights)
		return
	}
	for len(v) > 0 {
		n := min(len(v), kernel.MaxSum)
		s := kernel.Moments(v[:n], first, second)
		addFixed(&m.S1, s.Hi, s.Lo, first)
		addFixed(&m.S2, s.Hi2, s.Lo2, second)
		if s.Out > 0 {
			m.addOutside(v[:n], first, second)
		}
		v = v[n:]
	}
}

// AddSums adds what kernel.Moments returned of values inside both windows, neither of which has a Fine.
func (m *Mean) AddSums(hi, hi2 int64, first, second *kernel.Window) {
	addFixed(&m.S1, hi, 0, first)
	addFixed(&m.S2, hi2, 0, second)
}

// addFixed adds the sums of a kernel in a window.
func addFixed(s *exact.Sum, hi, lo int64, w *kernel.Window) {
	s.AddShifted(hi, Shift(w.Magic))
	if w.Fine != 0 {
		s.AddShifted(lo, Shift(w.Fine))
	}
}

// addOutside adds the values outside the first window, without rounding. The square is rounded if the second window holds
// it.
func (m *Mean) addOutside(v []float64, first, second *kernel.Window) {
	for _, x := range v {
		if math.Abs(x) <= first.Max {
			continue
		}
		if x-x == 0 {
			m.S1.AddExact(x)
		}
		switch q := float64(x * x); {
		case q <= second.Max:
			hi, lo, _ := kernel.FixedSums([]float64{q}, second)
			addFixed(&m.S2, hi, lo, second)
		case q-q == 0:
			m.S2.AddExact(q)
		default:
			m.Over++
		}
	}
}

func (m *Mean) addWeightedRows(v, weights []float64) {
	for i, x := range v {
		if x-x != 0 {
			m.Over++
			continue
		}
		w := weights[i]
		if p := float64(w * x); p-p == 0 {
			m.S1.AddFloat(p)
		} else {
			AddLarge(&m.S1, w, x)
		}
		if q := float64(w * x * x); q-q == 0 {
			m.S2.AddFloat(q)
		} else {
			m.Over++
		}
	}
}

// AddLarge adds w*x, which overflows float64 but not a Sum, for w up to 2^64, the square of the largest weight: it adds 2^-64 of it and doubles
// that 64 times.
func AddLarge(s *exact.Sum, w, x float64) {
	var t exact.Sum
	t.AddExact(w * 0x1p-64 * x)
	for range 64 {
		t.Merge(&t)
	}
	s.Merge(&t)
}

// Merge adds the values of another Mean.
func (m *Mean) Merge(o *Mean) {
	m.S1.Merge(&o.S1)
	m.S2.Merge(&o.S2)
	m.Over += o.Over
}

// Fields lists the fields of the state.
func (m *Mean) Fields(f *exact.Fields) {
	f.Sum(&m.S1)
	f.Sum(&m.S2)
	f.N(&m.Over)
}

// Value returns the mean over the rows of w, or NaN if there are none.
func (m *Mean) Value(w *Weight, weighted bool) float64 {
	t := w.Total(weighted)
	return exact.Ratio(&m.S1, &t)
}

// StdErr returns the standard error of the mean, s/sqrt(n), with the effective n for weights. It is NaN for fewer than two
// rows or if a square overflowed.
func (m *Mean) StdErr(w *Weight, weighted bool) float64 {
	if m.Over > 0 {
		return math.NaN()
	}
	return stdErr(&m.S1, &m.S2, w, weighted)
}

func stdErr(s1, s2 *exact.Sum, w *Weight, weighted bool) float64 {
	if w.N < 2 {
		return math.NaN()
	}
	v, n := 0.0, float64(w.N)
	if weighted {
		v, n = exact.WeightedVariance(&w.W, &w.W2, s1, s2)
	} else {
		v = exact.Variance(w.N, s1, s2)
	}
	return math.Sqrt(v / n)
}

// Cell holds the five sums of scores p and outcomes y in {0,1} from 8.2 of the definitions: n, sum y, sum p, sum p^2, sum
// p*y, weighted if there are weights.
type Cell struct {
	Weight
	Y, P, PP, PY exact.Sum
}

// AddBins adds the integer sums of a block without weights.
func (c *Cell) AddBins(b *kernel.BinSum) {
	const unit = 88 - 51
	c.N += b.N
	c.Y.AddShifted(b.Y, 88)
	c.P.AddShifted(b.P, unit)
	c.PP.AddShifted(b.PP, unit)
	c.PY.AddShifted(b.PY, unit)
}

// AddScore adds one score outside [0,1], without weight and without rounding p.
func (c *Cell) AddScore(p float64, y uint8) {
	c.N++
	c.P.AddExact(p)
	c.PP.AddExact(p * p)
	if y != 0 {
		c.Y.AddShifted(1, 88)
		c.PY.AddExact(p)
	}
}

// AddWeighted adds one score with its weight; products are rounded to float64.
func (c *Cell) AddWeighted(p float64, y uint8, w float64) {
	c.N++
	c.W.AddFloat(w)
	c.W2.AddFloat(w * w)
	c.P.AddFloat(w * p)
	c.PP.AddFloat(w * p * p)
	if y != 0 {
		c.Y.AddFloat(w)
		c.PY.AddFloat(w * p)
	}
}

// AddAll adds the scores of a block to one cell; weights may be nil.
func (c *Cell) AddAll(p []float64, y []uint8, weights []float64) {
	if weights != nil {
		c.addWeighted(p, y, weights)
		return
	}
	for len(p) > 0 {
		n := min(len(p), kernel.MaxSum)
		s, out := kernel.CellSum(p[:n], y[:n])
		c.AddBins(&s)
		if out > 0 {
			for i, v := range p[:n] {
				if !InUnit(v) {
					c.AddScore(v, y[i])
				}
			}
		}
		p, y = p[n:], y[n:]
	}
}

// InUnit reports whether a score lies in [0,1]. The sums of kernels leave out other scores.
func InUnit(p float64) bool { return p >= 0 && p <= 1 }

// Merge adds the sums of another Cell.
func (c *Cell) Merge(o *Cell) {
	c.Weight.Merge(&o.Weight)
	c.Y.Merge(&o.Y)
	c.P.Merge(&o.P)
	c.PP.Merge(&o.PP)
	c.PY.Merge(&o.PY)
}

// Turned returns the cell of the scores 1 - p with the outcomes 1 - y.
func (c *Cell) Turned(weighted bool) (t Cell) {
	t.Weight = Weight{N: c.N, W: c.W.Clone(), W2: c.W2.Clone()}
	w := c.Total(weighted)
	t.Y = w.Clone()
	t.Y.Sub(&c.Y)
	t.P = w
	t.P.Sub(&c.P)
	t.PP = t.P.Clone()
	t.PP.Sub(&c.P)
	t.PP.Merge(&c.PP)
	t.PY = t.P.Clone()
	t.PY.Sub(&c.Y)
	t.PY.Merge(&c.PY)
	return t
}

// Fields lists the fields of the state.
func (c *Cell) Fields(f *exact.Fields) {
	c.Weight.Fields(f)
	f.Sum(&c.Y)
	f.Sum(&c.P)
	f.Sum(&c.PP)
	f.Sum(&c.PY)
}

// Frequency returns sum y divided by the sum of weights; NaN for an empty cell.
func (c *Cell) Frequency(weighted bool) float64 { return c.over(&c.Y, weighted) }

// Score returns the mean of p; NaN for an empty cell.
func (c *Cell) Score(weighted bool) float64 { return c.over(&c.P, weighted) }

func (c *Cell) over(s *exact.Sum, weighted bool) float64 {
	t := c.Total(weighted)
	return exact.Ratio(s, &t)
}

// Gap returns sum (p - y), exactly.
func (c *Cell) Gap() exact.Sum {
	g := c.P.Clone()
	g.Sub(&c.Y)
	return g
}

// Squares returns sum (p - y)^2 = sum p^2 - 2 sum p*y + sum y.
func (c *Cell) Squares() exact.Sum {
	s := c.PP.Clone()
	s.Sub(&c.PY)
	s.Sub(&c.PY)
	s.Merge(&c.Y)
	return s
}

// Spread returns sum p*(1-p).
func (c *Cell) Spread() exact.Sum {
	s := c.P.Clone()
	s.Sub(&c.PP)
	return s
}

// FrequencyError returns the standard error of Frequency.
func (c *Cell) FrequencyError(weighted bool) float64 { return stdErr(&c.Y, &c.Y, &c.Weight, weighted) }

// MeanGap returns the mean of p - y and its standard error.
func (c *Cell) MeanGap(weighted bool) (mean, se float64) {
	g, q := c.Gap(), c.Squares()
	return c.over(&g, weighted), stdErr(&g, &q, &c.Weight, weighted)
}
