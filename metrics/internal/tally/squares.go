package tally

import (
	"math"
	"math/big"

	"github.com/candor-go/candor/internal/exact"
)

// Numbers that carry the user's unit have squares beyond float64 and below it. A class of them spans squareStep powers of two, so
// that the square of a product of two, by their classes' scales and with a weight, is a normal float64.
const (
	squareStep = 480
	squareMid  = 4 // the class of numbers from 2^-240 to 2^240; products of two are four further at most
)

// Squares keeps a sum of squares of any finite numbers. A square is rounded once, relative to its size, and the sum is exact: what is
// kept depends on the numbers alone, not on their order. The zero value is an empty sum.
type Squares struct {
	sums [2*squareMid + 1]exact.Sum // of squares in units of 2^(2*squareStep*(i-squareMid))
}

// Add adds the squares of numbers, times their weights if there are some.
func (s *Squares) Add(x, weights []float64) {
	var room [512]float64
	for len(x) > 0 {
		n := min(len(x), len(room))
		if q := room[:n]; middling(x[:n]) {
			for i, v := range x[:n] {
				q[i] = float64(v * v)
			}
			s.sums[squareMid].AddExactAll(weigh(q, weights))
		} else {
			for i, v := range x[:n] {
				c := squareClass(v)
				v = math.Ldexp(v, -squareStep*c)
				q[i] = float64(v * v)
				s.sums[squareMid+c].AddExactAll(weigh(q[i:i+1], from(weights, i)))
			}
		}
		x, weights = x[n:], from(weights, n)
	}
}

// AddProducts adds the squares of the products x[i]*y[i], times their weights if there are some. Of x and x these are fourth powers.
func (s *Squares) AddProducts(x, y, weights []float64) {
	var room [512]float64
	for len(x) > 0 {
		n := min(len(x), len(room))
		if q := room[:n]; middling(x[:n]) && middling(y[:n]) {
			for i, v := range x[:n] {
				p := float64(v * y[i])
				q[i] = float64(p * p)
			}
			s.sums[squareMid].AddExactAll(weigh(q, weights))
		} else {
			for i, v := range x[:n] {
				c, d := squareClass(v), squareClass(y[i])
				p := float64(math.Ldexp(v, -squareStep*c) * math.Ldexp(y[i], -squareStep*d))
				q[i] = float64(p * p)
				s.sums[squareMid+c+d].AddExactAll(weigh(q[i:i+1], from(weights, i)))
			}
		}
		x, y, weights = x[n:], y[n:], from(weights, n)
	}
}

// weigh multiplies numbers by their weights, if there are some.
func weigh(q, weights []float64) []float64 {
	if weights != nil {
		for i, w := range weights[:len(q)] {
			q[i] = float64(w * q[i])
		}
	}
	return q
}

// from returns the weights from element i on; nil stays.
func from(weights []float64, i int) []float64 {
	if weights == nil {
		return nil
	}
	return weights[i:]
}

// middling tells whether all numbers are 0 or of the middle class.
func middling(x []float64) bool {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, v := range x {
		u := math.Float64bits(v) &^ (1 << 63)
		most = max(most, u)
		least = min(least, u-1) // 0 is above all
	}
	return least >= (1023-squareStep/2)<<52-1 && most < (1023+squareStep/2)<<52
}

// squareClass returns the class of a number, from -2 to 2: that of 0 is 0.
func squareClass(v float64) int {
	if v == 0 {
		return 0
	}
	_, e := math.Frexp(v)
	return (e-1+squareStep/2+2*squareStep)/squareStep - 2
}

// Merge adds what another has seen.
func (s *Squares) Merge(o *Squares) {
	for i := range s.sums {
		s.sums[i].Merge(&o.sums[i])
	}
}

// Rat returns the sum.
func (s *Squares) Rat() *big.Rat {
	r := new(big.Rat)
	for i := range s.sums {
		if !s.sums[i].IsZero() {
			r.Add(r, scale(exact.Rat(&s.sums[i]), 2*squareStep*(i-squareMid)))
		}
	}
	return r
}

// Encode writes the state: which classes have a sum, and these.
func (s *Squares) Encode(e *exact.Enc) {
	has := uint16(0)
	for i := range s.sums {
		if !s.sums[i].IsZero() {
			has |= 1 << i
		}
	}
	e.U16(has)
	for i := range s.sums {
		if has>>i&1 != 0 {
			e.Sum(&s.sums[i])
		}
	}
}

// Decode reads what Encode wrote, and tells whether it can be that.
func (s *Squares) Decode(d *exact.Dec) bool {
	*s = Squares{}
	has := d.U16()
	ok := has>>len(s.sums) == 0
	for i := range s.sums {
		if has>>i&1 != 0 {
			s.sums[i] = d.Sum()
			ok = ok && s.sums[i].Sign() > 0
		}
	}
	return ok
}

// scale returns r times 2^e; r is lost.
func scale(r *big.Rat, e int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))))
	if e < 0 {
		return r.Quo(r, p)
	}
	return r.Mul(r, p)
}

// Mean returns a sum over the total weight; nil without rows.
func (w *Weight) Mean(sum *big.Rat, weighted bool) *big.Rat {
	t := w.Total(weighted)
	if t.Sign() <= 0 {
		return nil
	}
	return new(big.Rat).Quo(sum, exact.Rat(&t))
}

// MeanVariance returns the square of the standard error of the mean of terms with the sum s1 and the sum of squares s2, both weighted
// if there are weights: with w the sum of these and w2 that of their squares
//
//	(w*s2 - s1^2) / (w^2 - w2) * w2/w^2
//
// It is nil for fewer than two rows or effective rows, and 0 where the roundings of s2 would make it negative.
func (w *Weight) MeanVariance(s1, s2 *big.Rat, weighted bool) *big.Rat {
	t, q := w.Total(weighted), Count(w.N)
	if weighted {
		q = w.W2.Clone()
	}
	if w.N < 2 || t.Sign() <= 0 || q.Sign() <= 0 {
		return nil
	}
	total, squares := exact.Rat(&t), exact.Rat(&q)
	above := new(big.Rat).Mul(total, s2)
	if above.Sub(above, new(big.Rat).Mul(s1, s1)).Sign() <= 0 {
		return new(big.Rat)
	}
	total.Mul(total, total)
	below := new(big.Rat).Sub(total, squares)
	if below.Sign() <= 0 {
		return nil
	}
	return above.Mul(above.Quo(above, below), squares.Quo(squares, total))
}

// Float returns the float64 nearest to r, +-Inf beyond them; NaN for nil.
func Float(r *big.Rat) float64 {
	if r == nil {
		return math.NaN()
	}
	v, _ := r.Float64()
	return v
}

// Root returns the square root of r, whatever its size; NaN for nil, and 0 below 0.
func Root(r *big.Rat) float64 {
	if r == nil {
		return math.NaN()
	}
	k := halfExponent(r)
	return math.Ldexp(math.Sqrt(max(0, Float(scale(new(big.Rat).Set(r), -2*k)))), k)
}

// RootEnds returns the square roots of mean - z*sqrt(variance), or of 0 if that is below it, and mean + z*sqrt(variance). Both are
// NaN if one is nil.
func RootEnds(mean, variance *big.Rat, z float64) (low, high float64) {
	if mean == nil || variance == nil {
		return math.NaN(), math.NaN()
	}
	k := halfExponent(mean)
	m := Float(scale(new(big.Rat).Set(mean), -2*k))
	h := float64(z * Root(scale(new(big.Rat).Set(variance), -4*k)))
	return math.Ldexp(math.Sqrt(max(0, m-h)), k), math.Ldexp(math.Sqrt(m+h), k)
}

// halfExponent returns about half the binary exponent of r.
func halfExponent(r *big.Rat) int { return (r.Num().BitLen() - r.Denom().BitLen()) / 2 }

// UnitMean keeps what the mean of numbers in the user's unit and its interval take, at any size. The zero value is empty.
type UnitMean struct {
	Sum      exact.Sum
	Squares  Squares
	Infinite int64 // numbers that are, and in neither sum
}

// Add adds numbers, none of them NaN, with their weights if there are some: products with these are rounded.
func (m *UnitMean) Add(v, weights []float64) {
	v, weights, out := Finite(v, weights)
	m.Infinite += out
	m.Squares.Add(v, weights)
	AddUnits(&m.Sum, v, weights)
}

// Finite returns the numbers that are neither infinite nor NaN with their weights, the slices themselves where all are, and how many
// are not.
func Finite(v, weights []float64) (fv, fw []float64, out int64) {
	bad := 0.0
	for _, x := range v {
		bad += x - x
	}
	if bad == 0 {
		return v, weights, 0
	}
	for i, x := range v {
		if x-x != 0 {
			out++
			continue
		}
		fv = append(fv, x)
		if weights != nil {
			fw = append(fw, weights[i])
		}
	}
	return fv, fw, out
}

// AddUnits adds finite numbers to a sum, times their weights, rounded, if there are some.
func AddUnits(s *exact.Sum, v, weights []float64) {
	if weights == nil {
		s.AddExactAll(v)
		return
	}
	for i, x := range v {
		if p := float64(weights[i] * x); p-p == 0 {
			s.AddExact(p)
		} else {
			addLarge(s, weights[i], x)
		}
	}
}

// Merge adds what another has seen.
func (m *UnitMean) Merge(o *UnitMean) {
	m.Sum.Merge(&o.Sum)
	m.Squares.Merge(&o.Squares)
	m.Infinite += o.Infinite
}

// Encode writes the state.
func (m *UnitMean) Encode(e *exact.Enc) {
	e.Sum(&m.Sum)
	m.Squares.Encode(e)
	e.I64(m.Infinite)
}

// Decode reads what Encode wrote of at most n numbers, and tells whether it can be that.
func (m *UnitMean) Decode(d *exact.Dec, n int64) bool {
	m.Sum = d.Sum()
	ok := m.Squares.Decode(d)
	m.Infinite = d.I64()
	return ok && m.Infinite >= 0 && m.Infinite <= n
}

// Value returns the mean over the rows of w; NaN if there are none, or one is infinite.
func (m *UnitMean) Value(w *Weight, weighted bool) float64 {
	if m.Infinite > 0 {
		return math.NaN()
	}
	t := w.Total(weighted)
	return exact.Ratio(&m.Sum, &t)
}

// StdErr returns the standard error of the mean; NaN for fewer than two rows, or where one is infinite.
func (m *UnitMean) StdErr(w *Weight, weighted bool) float64 {
	if m.Infinite > 0 {
		return math.NaN()
	}
	return Root(w.MeanVariance(exact.Rat(&m.Sum), m.Squares.Rat(), weighted))
}
