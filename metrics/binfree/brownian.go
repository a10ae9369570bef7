package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// Tails of the distributions of the supremum and the range of a Brownian motion B with B(0) = 0 on a unit of time. Each has
// two series. The first, in erfc, comes from reflected images and converges fast for large x; as an upper tail it keeps its
// digits. The second, in exp, is its Poisson transform and converges fast for small x. Up to x = 1 (1.5 for the range) the
// tail is 1 minus the second series.

// supTail returns P(sup |B| >= x), 2 sum over k >= 0 of (-1)^k erfc((2k+1) x / sqrt 2).
func supTail(x float64) float64 {
	if !(x > 1) {
		return 1 - supBelow(x)
	}
	return 2 * images(x, 2, func(float64) float64 { return 1 })
}

// supBelow returns P(sup |B| < x), 4/pi sum over odd n of +-exp(-n^2 pi^2 / (8 x^2)) / n.
func supBelow(x float64) float64 {
	sum, sign := 0.0, 4/math.Pi
	for n := 1.0; ; n += 2 {
		c := n * (math.Pi / math.Sqrt2 / 2) / x
		e := kernel.Exp64(-float64(c * c))
		if e < 1e-18 {
			return sum
		}
		sum += float64(sign / n * e)
		sign = -sign
	}
}

// rangeTail returns P(max B - min B >= x), 4 sum over k >= 1 of (-1)^(k-1) k erfc(k x / sqrt 2).
func rangeTail(x float64) float64 {
	if !(x > 1.5) {
		return 1 - rangeBelow(x)
	}
	return 4 * images(x, 1, func(k float64) float64 { return k })
}

// rangeBelow returns P(max B - min B < x), sum over odd n of (8/x^2 + 8/(n pi)^2) exp(-n^2 pi^2 / (2 x^2)). It is the
// integral of Feller's density 8 sum (-1)^(k-1) k^2 phi(k x) after the Poisson transform.
func rangeBelow(x float64) float64 {
	sum := 0.0
	for n := 1.0; ; n += 2 {
		a := float64(n * math.Pi)
		c := a / math.Sqrt2 / x
		e := kernel.Exp64(-float64(c * c))
		if e < 1e-20 {
			return sum
		}
		sum += float64((8/float64(x*x) + 8/float64(a*a)) * e)
	}
}

// images returns the sum of +-f(k) erfc(k x / sqrt 2) over k = 1, 1+step, ..., with erfc(k x / sqrt 2) = 2 Phi(-k x).
func images(x, step float64, f func(k float64) float64) float64 {
	sum, sign, first := 0.0, 1.0, 0.0
	for k := 1.0; ; k += step {
		t := float64(f(k) * (2 * kernel.NormCDF64(-float64(k*x))))
		if k == 1 {
			first = t
		}
		if t <= 1e-18*first {
			return sum + float64(sign*t)
		}
		sum += float64(sign * t)
		sign = -sign
	}
}

// KuiperTail returns the probability that the range of a Brownian motion on [0,1], max B - min B, is at least x. It is 1 for
// x <= 0 and 0 for an infinite x.
func KuiperTail(x float64) float64 {
	switch {
	case !(x > 1e-3):
		return 1
	case math.IsInf(x, 1):
		return 0
	}
	return rangeTail(x)
}
