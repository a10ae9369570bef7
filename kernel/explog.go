package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// The functions of this file use only + - * / and fused multiply-adds on float64 and float32, and integer operations on
// their bits. AVX2, AVX-512 and NEON have all of these, so results are the same on every CPU. The polynomials are our own
// minimax fits (Remez exchange, 200 bits); each comment gives the error of the fit.

const (
	log2e   = 1.4426950408889634074
	ln2hi   = 0x1.62e42fefa39efp-1  // ln 2 rounded to float64
	ln2lo   = 0x1.abc9e3b39803fp-56 // ln 2 - ln2hi
	magic64 = 0x1.8p52              // adding it rounds to an integer, which is then in the low bits
	magic32 = 0x1.8p23
)

// Exp64 returns e**x to 1 ulp. Results below the normal range are rounded a second time, to the subnormal grid.
//
// Special cases: Exp64(+Inf) = +Inf, Exp64(-Inf) = 0, Exp64(NaN) = NaN, Exp64(x) = +Inf for x > 709.7827...
func Exp64(x float64) float64 {
	if x != x {
		return nan64
	}
	if !(x > -746) {
		x = -746
	}
	if !(x < 710) {
		x = 710
	}
	n := fma64(x, log2e, magic64) - magic64
	r := fma64(n, -ln2hi, x)
	r = fma64(n, -ln2lo, r)
	y := 1 + expm1Poly(r)
	// Two factors, because 2**n alone can leave the range where y * 2**n does not.
	t := fma64(n, 0.5, magic64)
	a := t - magic64
	b := n - a + magic64
	return y * pow2bits(t) * pow2bits(b)
}

// expm1Poly returns e**r - 1 for |r| <= ln(2)/2. Error of the fit: 2**-64 relative to e**r.
func expm1Poly(r float64) float64 {
	q := fma64(r, 0x1.1e3d33c408befp-29, 0x1.af6bda85bfb07p-26)
	q = fma64(r, q, 0x1.27e5b43506fa6p-22)
	q = fma64(r, q, 0x1.71ddf02854ed4p-19)
	q = fma64(r, q, 0x1.a01a01369ed3cp-16)
	q = fma64(r, q, 0x1.a01a01b37b44ap-13)
	q = fma64(r, q, 0x1.6c16c16c3043cp-10)
	q = fma64(r, q, 0x1.111111110ec65p-7)
	q = fma64(r, q, 0x1.5555555555503p-5)
	q = fma64(r, q, 0x1.555555555555bp-3)
	q = fma64(r, q, 0.5)
	return fma64(r*r, q, r)
}

// pow2bits returns 2**n for t = magic64 + n and -1022 <= n <= 1023.
func pow2bits(t float64) float64 {
	return math.Float64frombits((math.Float64bits(t) + 1023) << 52)
}

// Log64 returns the natural logarithm of x to 1 ulp.
//
// Special cases: Log64(+Inf) = +Inf, Log64(0) = -Inf, Log64(x < 0) = NaN, Log64(NaN) = NaN.
func Log64(x float64) float64 {
	switch {
	case !(x > 0):
		if x == 0 {
			return -inf64
		}
		return nan64
	case x > math.MaxFloat64:
		return x
	}
	k0 := 0.0
	if x < 0x1p-1022 {
		x *= 0x1p54
		k0 = -54
	}
	k, f := splitLog(x)
	return logSplit(k+k0, f)
}

// Log1p64 returns ln(1 + x) to 1.5 ulp, also for x far below the last place of 1.
//
// Special cases: Log1p64(+Inf) = +Inf, Log1p64(-1) = -Inf, Log1p64(x < -1) = NaN, Log1p64(NaN) = NaN, Log1p64(+-0) = +-0.
func Log1p64(x float64) float64 {
	switch {
	case !(x > -1):
		if x == -1 {
			return -inf64
		}
		return nan64
	case x > math.MaxFloat64, x == 0:
		return x
	case x < 0x1p-54 && x > -0x1p-54:
		return x // the next term of the series is below a quarter of the last place
	}
	if x > 0x1p60 {
		return logSplit(splitLog(x))
	}
	u := 1 + x
	b := u - 1
	c := (1 - (u - b)) + (x - b) // TwoSum: 1 + x == u + c exactly
	// With u = 2**k * (1+f) the argument is 2**k * (1 + f + c/2**k). Scaling c needs no division, unlike c/u.
	k, f := splitLog(u)
	return logSplit(k, f+float64(c*pow2bits(magic64-k)))
}

// splitLog returns k and f with x = 2**k * (1+f) and sqrt(1/2) <= 1+f < sqrt(2), for a normal positive x.
func splitLog(x float64) (k, f float64) {
	const bias = 0x3ff0000000000000 - 0x3fe6a09e00000000
	u := math.Float64bits(x) + bias
	// The exponent as the low bits of 2**52 + exponent, which needs no 64-bit integer conversion.
	k = math.Float64frombits(u>>52|0x4330000000000000) - (0x1p52 + 1023)
	m := math.Float64frombits(u&0x000fffffffffffff + 0x3fe6a09e00000000)
	return k, m - 1
}

// logSplit returns k*ln(2) + ln(1+f). With s = f/(2+f), ln(1+f) = 2s + s*R(s*s) = f - (f*f/2 - s*(f*f/2 + R)). Error of the
// fit of R: 2**-58.
func logSplit(k, f float64) float64 {
	s := f / (2 + f)
	z := s * s
	h := float64(0.5 * f * f)
	r := fma64(z, 0x1.2f05659483424p-3, 0x1.39a1ba82a83b4p-3)
	r = fma64(z, r, 0x1.74663eea824cdp-3)
	r = fma64(z, r, 0x1.c71c52095296dp-3)
	r = fma64(z, r, 0x1.24924941f132bp-2)
	r = fma64(z, r, 0x1.999999997fdb6p-2)
	r = fma64(z, r, 0x1.5555555555592p-1)
	t := fma64(z, r, h)
	t = fma64(s, t, float64(k*ln2lo))
	return fma64(k, ln2hi, f-(h-t))
}

// exp32 returns e**x to 1 ulp.
func exp32(x float32) float32 {
	if x != x {
		return nan32
	}
	if !(x > -104) {
		x = -104
	}
	if !(x < 89) {
		x = 89
	}
	const (
		hi = 0x1.62e430p-1   // ln 2 rounded to float32
		lo = -0x1.05c610p-29 // ln 2 - hi
	)
	t := fma32(x, log2e, magic32)
	n := t - magic32
	r := fma32(n, -hi, x)
	r = fma32(n, -lo, r)
	q := fma32(r, 0x1.6a244cp-10, 0x1.1239d4p-7)
	q = fma32(r, q, 0x1.5558f2p-5)
	q = fma32(r, q, 0x1.555492p-3)
	q = fma32(r, q, 0x1.fffffcp-2)
	y := 1 + fma32(r*r, q, r)
	i := int32(math.Float32bits(t) - 0x4b400000)
	j := i >> 1
	return y * math.Float32frombits(uint32(j+127)<<23) * math.Float32frombits(uint32(i-j+127)<<23)
}

// log32 returns the natural logarithm of x to 1 ulp.
func log32(x float32) float32 {
	switch {
	case !(x > 0):
		if x == 0 {
			return float32(-inf64)
		}
		return nan32
	case x > math.MaxFloat32:
		return x
	case x < 0x1p-126:
		return log32Normal(x*0x1p24, -24)
	}
	return log32Normal(x, 0)
}

// log32Normal returns ln(x) + k*ln(2) for a positive normal x. Error of the fit: 2**-27.
func log32Normal(x, k float32) float32 {
	u := math.Float32bits(x)
	e := int32(u-0x3f3504f3) >> 23
	f := math.Float32frombits(u-uint32(e)<<23) - 1
	k += float32(e)
	z := f * f
	q := fma32(f, -0x1.38b590p-4, 0x1.055b6cp-3)
	q = fma32(f, q, -0x1.0d8540p-3)
	q = fma32(f, q, 0x1.22da1cp-3)
	q = fma32(f, q, -0x1.547244p-3)
	q = fma32(f, q, 0x1.99a008p-3)
	q = fma32(f, q, -0x1.000226p-2)
	q = fma32(f, q, 0x1.555554p-2)
	y := float32(z*f) * q
	y = fma32(k, -2.12194440e-4, y)
	y = fma32(z, -0.5, y)
	return fma32(k, 0.693359375, f+y)
}

// elements64 is the number of float64 elements from which on the assembly is faster. It always waits for a full vector: 11
// ns against 8 for one element, 11 against 13 for two, 11 against 18 for three. For float32, where the definition takes 25
// ns per element, it is always faster.
const elements64 = 2

// ExpSliceF32 writes e**x[i] to dst[i], to 1 ulp; results below the normal range are rounded a second time. The slices have
// equal lengths and may be the same. exp(NaN) is NaN, exp(-Inf) is 0.
func ExpSliceF32(dst, x []float32) {
	checkEqual(len(dst), len(x))
	if simd() && len(x) > 0 {
		asm.ExpF32(&dst[0], &x[0], len(x))
		return
	}
	for i, v := range x {
		dst[i] = exp32(v)
	}
}

// LogSliceF32 writes ln(x[i]) to dst[i], to 1 ulp. The slices have equal lengths and may be the same.
// The logarithm of 0 is -Inf, that of a negative number NaN.
func LogSliceF32(dst, x []float32) {
	checkEqual(len(dst), len(x))
	if simd() && len(x) > 0 {
		asm.LogF32(&dst[0], &x[0], len(x))
		return
	}
	for i, v := range x {
		dst[i] = log32(v)
	}
}

// ExpSliceF64 writes Exp64(x[i]) to dst[i]. The slices have equal lengths and may be the same.
func ExpSliceF64(dst, x []float64) {
	checkEqual(len(dst), len(x))
	if simd() && len(x) >= elements64 {
		asm.ExpF64(&dst[0], &x[0], len(x))
		return
	}
	for i, v := range x {
		dst[i] = Exp64(v)
	}
}

// LogSliceF64 writes Log64(x[i]) to dst[i]. The slices have equal lengths and may be the same.
func LogSliceF64(dst, x []float64) {
	checkEqual(len(dst), len(x))
	if simd() && len(x) >= elements64 {
		asm.LogF64(&dst[0], &x[0], len(x))
		return
	}
	for i, v := range x {
		dst[i] = Log64(v)
	}
}
