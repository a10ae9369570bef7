package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// The laws of how far a Brownian motion B, which starts at 0, gets within a unit of time. Each has two series: one over the images of
// the far end in the near one, of erfc, whose terms fade fast where x is large, and its Poisson transform, of exp, which is fast where
// x is small. Up to 1 (of the range 1.5) the second one is taken from 1; the upper tail by the first keeps its digits.

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

// rangeBelow returns P(max B - min B < x), sum over odd n of (8/x^2 + 8/(n pi)^2) exp(-n^2 pi^2 / (2 x^2)): the integral of Feller's
// density 8 sum (-1)^(k-1) k^2 phi(k x), transformed.
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

// images returns the sum of +-f(k) erfc(k x / sqrt 2), which is 2 Phi(-k x), over k = 1, 1+step, ...
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
