// Package turn has the sine and the cosine, with the same bits on every CPU.
package turn

import "math"

// SinCos returns the sine and cosine of x for |x| < 2^30, each to within 1.2e-16: their Taylor series at the distance from the
// nearest multiple of pi/2.
func SinCos(x float64) (sin, cos float64) {
	const (
		shift = 0x1.8p52 // adding it rounds to an integer, which is then in the low bits
		hi    = 0x1.921fb54442d18p+0
		lo    = math.Pi/2 - hi
	)
	t := math.FMA(x, 2/math.Pi, shift)
	n := t - shift
	r := math.FMA(n, -lo, math.FMA(n, -hi, x))
	u := r * r
	s := math.FMA(u, 1.0/355687428096000, -1.0/1307674368000)
	s = math.FMA(u, s, 1.0/6227020800)
	s = math.FMA(u, s, -1.0/39916800)
	s = math.FMA(u, s, 1.0/362880)
	s = math.FMA(u, s, -1.0/5040)
	s = math.FMA(u, s, 1.0/120)
	s = math.FMA(u, s, -1.0/6)
	sin = math.FMA(u*r, s, r)
	c := math.FMA(u, 1.0/20922789888000, -1.0/87178291200)
	c = math.FMA(u, c, 1.0/479001600)
	c = math.FMA(u, c, -1.0/3628800)
	c = math.FMA(u, c, 1.0/40320)
	c = math.FMA(u, c, -1.0/720)
	c = math.FMA(u, c, 1.0/24)
	c = math.FMA(u, c, -0.5)
	cos = math.FMA(u, c, 1)
	switch math.Float64bits(t) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}
