package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// The test of the calibration belt chooses the degree of a polynomial by tests of one more coefficient, each at 5%. Under calibration
// the statistics of these tests are squares of independent standard normal numbers, so what the chosen degree says about them is that
// all but the last exceeded the quantile: with degree m, the likelihood ratio against calibration is the sum of a chi-squared variable
// of as many degrees of freedom as the first fit has free, and m minus the first degree squares that are above the quantile.
//
// Nattino et al. 2014 derive the same distribution function in other forms.

// beltSize is the size of the tests that choose the degree.
const beltSize = 0.05

// beltRoot is the root of the chi-squared quantile at 1 - beltSize.
var beltRoot = -kernel.NormQuantile64(beltSize / 2)

// beltTail returns the probability that the statistic is at least t, given the degree; fitted is for rows on which the model was fitted.
func beltTail(t float64, degree int, fitted bool) float64 {
	k := float64(beltRoot * beltRoot)
	n := degree - 1
	if fitted {
		n--
	}
	switch {
	case t <= float64(float64(n)*k):
		return 1
	case fitted && n == 0:
		return normalTail(math.Sqrt(t))
	case fitted:
		end := math.Sqrt(t - float64(float64(n)*k))
		return float64(normalTail(end)) + integral(0, end, func(y float64) float64 {
			return float64(2 * float64(normal(y)) * largeSquares(t-float64(y*y), n))
		})
	case n == 0:
		return kernel.Exp64(-t / 2)
	}
	// The chi-squared variable of two degrees exceeds what the squares leave of t with probability exp(-rest/2), and their density
	// holds the other factor of exp(-t/2).
	each := 2 * float64(normal(0)) / beltSize
	factor := kernel.Exp64(-t / 2)
	for range n {
		factor = float64(factor * each)
	}
	return largeSquares(t, n) + float64(factor*corner(t, n))
}

// largeSquares returns the probability that the sum of n >= 1 squares of normal numbers is at least t, where each square is known to be
// above the quantile.
func largeSquares(t float64, n int) float64 {
	k := float64(beltRoot * beltRoot)
	rest := t - float64(float64(n-1)*k)
	if rest <= k {
		return 1
	}
	end := math.Sqrt(rest)
	p := float64(normalTail(end) / beltSize)
	if n > 1 {
		p += integral(beltRoot, end, func(z float64) float64 {
			return float64(2 * float64(normal(z)) / beltSize * largeSquares(t-float64(z*z), n-1))
		})
	}
	return p
}

// corner returns the volume of the points in n >= 1 dimensions with coordinates above beltRoot and a sum of squares up to t.
func corner(t float64, n int) float64 {
	k := float64(beltRoot * beltRoot)
	rest := t - float64(float64(n-1)*k)
	if rest <= k {
		return 0
	}
	end := math.Sqrt(rest)
	if n == 1 {
		return end - beltRoot
	}
	return integral(beltRoot, end, func(z float64) float64 { return corner(t-float64(z*z), n-1) })
}

// beltQuantile returns the t with beltTail(t) = tail, to about 1e-9.
func beltQuantile(tail float64, degree int, fitted bool) float64 {
	want := kernel.Log64(tail)
	off := func(t float64) float64 { return kernel.Log64(beltTail(t, degree, fitted)) - want }
	n := degree - 1
	if fitted {
		n--
	}
	low := float64(float64(n) * float64(beltRoot*beltRoot)) // the tail is 1 there
	high, above := low+1, -want
	below := off(high)
	for below > 0 {
		low, above = high, below
		high = float64(2*high) + 1
		below = off(high)
	}
	// The logarithm of the tail is nearly straight: regula falsi, halving the end that stays (Illinois).
	side := 0
	for range 100 {
		t := low + float64((high-low)*(above/(above-below)))
		switch v := off(t); {
		case math.Abs(v) < 1e-10 || high-low < 1e-10*high:
			return t
		case v > 0:
			low, above = t, v
			if side > 0 {
				below /= 2
			}
			side = 1
		default:
			high, below = t, v
			if side < 0 {
				above /= 2
			}
			side = -1
		}
	}
	return high
}

// integral integrates a smooth f >= 0 from a to b by Simpson's rule, halving intervals until the result changes by less than 1e-10 of
// the whole.
func integral(a, b float64, f func(float64) float64) float64 {
	rule := func(l, h, fl, fm, fh float64) float64 { return float64((h - l) / 6 * (fl + float64(4*fm) + fh)) }
	var refine func(l, h, fl, fm, fh, whole, off float64, depth int) float64
	refine = func(l, h, fl, fm, fh, whole, off float64, depth int) float64 {
		m := float64((l + h) / 2)
		f1, f2 := f(float64((l+m)/2)), f(float64((m+h)/2))
		left, right := rule(l, m, fl, f1, fm), rule(m, h, fm, f2, fh)
		d := left + right - whole
		if depth == 0 || !(math.Abs(d) > off) {
			return left + right + float64(d/15)
		}
		return refine(l, m, fl, f1, fm, left, off/2, depth-1) + refine(m, h, fm, f2, fh, right, off/2, depth-1)
	}
	const parts = 8
	var at [2*parts + 1]float64
	rough, step := 0.0, float64((b-a)/(2*parts))
	for i := range at {
		at[i] = f(a + float64(float64(i)*step))
	}
	for i := 0; i < 2*parts; i += 2 {
		rough += rule(0, 2*step, at[i], at[i+1], at[i+2])
	}
	sum := 0.0
	for i := 0; i < 2*parts; i += 2 {
		l, h := a+float64(float64(i)*step), a+float64(float64(i+2)*step)
		sum += refine(l, h, at[i], at[i+1], at[i+2], rule(l, h, at[i], at[i+1], at[i+2]), rough*(1e-10/parts*15), 24)
	}
	return sum
}
