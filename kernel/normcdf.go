package kernel

import "math"

// The polynomials in this file are our own minimax fits (Remez exchange, 150 bits).

const (
	halfLog2Pi = 0.91893853320467274178 // ln(2 pi)/2
	invSqrt2Pi = 0.39894228040143267794 // phi(0)
	invSqrtPi  = 0.56418958354775628695
)

// NormCDF64 returns the standard normal distribution function, the probability that a standard normal number is at most z.
// Its relative error is below 1e-15 where the result is a normal number, which is down to z = -37.5; below, down to -38.5,
// it is rounded a second time, to the subnormal grid. The upper tail is NormCDF64(-z), with the same relative error.
//
// Special cases: NormCDF64(0) = 1/2, NormCDF64(+Inf) = 1, NormCDF64(-Inf) = 0, NormCDF64(NaN) = NaN.
func NormCDF64(z float64) float64 {
	a := math.Abs(z)
	switch {
	case z != z:
		return nan64
	case a <= 1:
		return 0.5 + float64(z*phiCentre(z*z))
	case z < 0:
		return normalTail(a)
	}
	return 1 - normalTail(a)
}

// phiCentre returns (Phi(z) - 1/2) / z for u = z^2 <= 1. Error of the fit: 2**-62.
func phiCentre(u float64) float64 {
	q := fma64(u, 0x1.1e87d89f3fe9ap-38, -0x1.e68f42a02caedp-34)
	q = fma64(u, q, 0x1.380a267bc7f2ep-29)
	q = fma64(u, q, -0x1.621cb3cef5201p-25)
	q = fma64(u, q, 0x1.6589f0b4133c7p-21)
	q = fma64(u, q, -0x1.3ce8f9b543f02p-17)
	q = fma64(u, q, 0x1.e42b0d4ae51d0p-14)
	q = fma64(u, q, -0x1.37403f6b929e3p-10)
	q = fma64(u, q, 0x1.46d0429768ffdp-7)
	q = fma64(u, q, -0x1.1058377e2cedfp-4)
	return fma64(u, q, 0x1.9884533d43651p-2)
}

// normalTail returns 1 - Phi(a) for a >= 1. The rounding error of a^2/2 is corrected to first order.
func normalTail(a float64) float64 {
	if a > 39 {
		return 0
	}
	h := float64(0.5 * float64(a*a))
	lost := fma64(0.5*a, a, -h)
	e := Exp64(-h)
	return fma64(-e, lost, e) * tailRatio(a)
}

// tailRatio returns (1 - Phi(a)) * e**(a^2/2) for 1 <= a <= 39: a polynomial in (a-4)/(a+4), divided by a+4. Error of the
// fit: 2**-60.
func tailRatio(a float64) float64 {
	r := 1 / (a + 4)
	t := (a - 4) * r
	q := fma64(t, -0x1.060725fbccf75p-27, 0x1.6cd6d88e0b6e5p-26)
	q = fma64(t, q, 0x1.e5a50c2e8fe1ap-26)
	q = fma64(t, q, -0x1.90465d381a1f7p-24)
	q = fma64(t, q, -0x1.6303d07c37163p-23)
	q = fma64(t, q, 0x1.2bb5cbc645376p-22)
	q = fma64(t, q, 0x1.1345c99d8e2cdp-20)
	q = fma64(t, q, -0x1.53ea769c0475ap-21)
	q = fma64(t, q, -0x1.8d5aafa2cd370p-18)
	q = fma64(t, q, 0x1.814499b36b4a1p-21)
	q = fma64(t, q, 0x1.26d0e05a59756p-15)
	q = fma64(t, q, -0x1.0024ca9807f10p-19)
	q = fma64(t, q, -0x1.e4a427090c19dp-13)
	q = fma64(t, q, 0x1.17a4b105c79cap-13)
	q = fma64(t, q, 0x1.ab825fc414051p-10)
	q = fma64(t, q, -0x1.c81719d836ce3p-9)
	q = fma64(t, q, -0x1.ee276104875d3p-8)
	q = fma64(t, q, 0x1.eec4cc3e4ebfdp-5)
	q = fma64(t, q, -0x1.7dff2bff68381p-3)
	q = fma64(t, q, 0x1.8c6dbf2cfc2a9p-2)
	q = fma64(t, q, -0x1.373e3a893c28ap-1)
	q = fma64(t, q, 0x1.82b4bb8c94dcep-1)
	return q * r
}

// NormQuantile64 returns the quantile of the standard normal distribution: the z for which Phi(z) = p, to a relative error
// below 1e-15.
//
// Near 1/2 it uses Newton's iteration on Phi(z) - 1/2. In the tails it uses Newton's iteration on the logarithm of the
// smaller of p and 1-p, starting from Hastings' approximation (Abramowitz and Stegun 26.2.23).
//
// Special cases: NormQuantile64(1/2) = 0, NormQuantile64(0) = -Inf, NormQuantile64(1) = +Inf, NormQuantile64(p) = NaN for p
// below 0, above 1 and NaN.
func NormQuantile64(p float64) float64 {
	switch {
	case !(p >= 0 && p <= 1):
		return nan64
	case p == 0:
		return -inf64
	case p == 1:
		return inf64
	}
	if d := p - 0.5; math.Abs(d) <= 0.34 {
		u := d * d
		q := fma64(u, 0x1.2ae27a012b1cap+7, 0x1.33db732fdba8ap+1)
		q = fma64(u, q, 0x1.99836870961b4p+2)
		q = fma64(u, q, 0x1.4eb91e6d57034p+1)
		z := d * fma64(u, q, 0x1.40da00536d7e1p+1) // to a relative 1e-5
		for range 2 {
			s := z * z
			z -= fma64(z, phiCentre(s), -d) / (invSqrt2Pi * Exp64(-0.5*s))
		}
		return z
	}
	tail := min(p, 1-p) // exact for p above 1/2
	ln := Log64(tail)
	t := math.Sqrt(-2 * ln)
	a := t - fma64(t, fma64(t, 0.010328, 0.802853), 2.515517)/fma64(t, fma64(t, fma64(t, 0.001308, 0.189269), 1.432788), 1)
	for range 3 {
		m := tailRatio(a)
		h := float64(0.5 * float64(a*a))
		a += float64((Log64(m) - h - ln) * (m * (1 / invSqrt2Pi)))
	}
	if p < 0.5 {
		return -a
	}
	return a
}
