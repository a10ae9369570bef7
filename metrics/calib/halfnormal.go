package calib

import (
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/turn"
)

// halfNormals is the distribution of S = sum of s_b |Z_b| for independent standard normal Z_b, in units of sqrt(sum s_b^2).
//
// Its upper tail is an integral of the moment generating function M over a line Re s = c > 0 of the complex plane:
//
//	P(S >= x) = 1/(2 pi i) * integral of M(s) exp(-s x) / s ds
//	M(s) = product over b of exp(z^2/2) erfc(-z/sqrt 2), z = s_b s
//
// The line passes near the saddle point, so small tails keep their digits. It is bent to the right into a hyperbola, along
// which both exp(-s x) and exp(z^2/2) decay. A trapezoidal sum then converges geometrically, and its error is below that of
// rounding.
type halfNormals struct {
	unit    float64 // sqrt(sum s_b^2)
	mean    float64 // mean of S, in units
	count   int     // number of s_b above 0
	octaves []octave
}

// octave holds the s_b with the same power of two. If |s_b s| <= 1 for all of them, the logarithm of their product is a power
// series in the sums of their powers. A million small bins then cost as much as one.
type octave struct {
	max    float64
	sum    float64
	each   []float64
	powers [seriesTerms]float64 // sum of (s_b/max)^(n+1)
	series bool                 // powers are computed
}

const (
	seriesTerms = 28
	rootHalf    = math.Sqrt2 / 2
)

// newHalfNormals returns the distribution for the given squares of the s_b.
func newHalfNormals(variances []float64) *halfNormals {
	var h halfNormals
	total, most := 0.0, 0.0
	for _, v := range variances {
		if v > 0 {
			total += v
			most = math.Max(most, v)
			h.count++
		}
	}
	h.unit = math.Sqrt(total)
	_, top := math.Frexp(math.Sqrt(most) / h.unit)
	for _, v := range variances {
		if !(v > 0) {
			continue
		}
		s := math.Sqrt(v) / h.unit
		h.mean += float64(rootTwoOverPi * s)
		_, e := math.Frexp(s)
		for len(h.octaves) <= top-e {
			h.octaves = append(h.octaves, octave{})
		}
		o := &h.octaves[top-e]
		o.max = math.Max(o.max, s)
		o.sum += s
		o.each = append(o.each, s)
	}
	return &h
}

// fill computes the sums of powers.
func (o *octave) fill() {
	for _, s := range o.each {
		r, p := s/o.max, 1.0
		for n := range o.powers {
			p = float64(p * r)
			o.powers[n] += p
		}
	}
	o.series = true
}

// upper returns P(S >= x), with an error of about 1e-12, or 1e-11 relative for small values.
func (h *halfNormals) upper(x float64) float64 {
	switch {
	case !(x > 0):
		return 1
	case h.count == 0:
		return 0
	case h.count == 1:
		return 2 * kernel.NormCDF64(-(x / h.unit))
	}
	x /= h.unit
	// S is a function of the Z_b with Lipschitz constant 1. It lies more than t below its mean, or more than t above it, with a
	// probability of at most exp(-t^2/2).
	switch {
	case x < h.mean-8:
		return 1
	case x > h.mean+39:
		return 0
	case x < h.mean: // left of 0 the same integral is -P(S < x)
		return math.Min(1, math.Max(0, 1+h.integral(x, h.saddle(x, -10, -1))))
	}
	return math.Min(1, math.Max(0, h.integral(x, h.saddle(x, 1, math.Max(1, x)))))
}

// integral returns the integral on a hyperbola through c.
func (h *halfNormals) integral(x, c float64) float64 {
	const (
		step = 1.0 / 16
		lean = 0.38268343236508977173 // sin(pi/8)
		rise = 0.92387953251128675613 // cos(pi/8)
	)
	sum, peak, small := 0.0, 0.0, 0
	for k := 0; small < 3; k++ {
		e := kernel.Exp64(step * float64(k))
		cosh, sinh := float64((e+1/e)/2), float64((e-1/e)/2)
		s := complex(c+float64(lean*(cosh-1)), float64(rise*sinh))
		f := mul(h.integrand(s, x), complex(lean*sinh, rise*cosh))
		if k == 0 {
			f = scale(f, 0.5)
		}
		sum += imag(f)
		if size := math.Abs(real(f)) + math.Abs(imag(f)); size > 1e-17*peak {
			peak, small = math.Max(peak, size), 0
		} else {
			small++
		}
	}
	return sum * (step / math.Pi)
}

// saddle returns approximately where M(s) exp(-s x) is smallest between two real numbers, with each s_b replaced by the mean of
// its octave. Callers choose the range away from the pole of 1/s at 0.
func (h *halfNormals) saddle(x, lo, hi float64) float64 {
	for range 20 {
		c := (lo + hi) / 2
		slope := c
		for i := range h.octaves {
			o := &h.octaves[i]
			if len(o.each) > 0 {
				z := o.sum / float64(len(o.each)) * c * rootHalf
				slope += float64(o.sum * rootTwoOverPi * kernel.Exp64(-float64(z*z)) / (2 * kernel.NormCDF64(float64(z*math.Sqrt2))))
			}
		}
		if slope < x {
			lo = c
		} else {
			hi = c
		}
	}
	return (lo + hi) / 2
}

// integrand returns M(s) exp(-s x) / s.
func (h *halfNormals) integrand(s complex128, x float64) complex128 {
	half := scale(mul(s, s), 0.5)
	log := half - scale(s, x)
	product, twos := complex(1, 0), 0
	for i := range h.octaves {
		o := &h.octaves[i]
		if len(o.each) == 0 {
			continue
		}
		u := scale(s, o.max)
		if size := float64(real(u)*real(u)) + float64(imag(u)*imag(u)); size <= 1 {
			if !o.series {
				o.fill()
			}
			var t complex128
			for n, l := range slices.Backward(logSeries()[:]) {
				t = mul(t+complex(float64(l*o.powers[n]), 0), u)
			}
			log += t
			continue
		}
		for _, b := range o.each {
			// The factor is exp(q) erfc(-z), with z = s b / sqrt 2. log already includes exp(q), which is removed where it
			// would overflow.
			z := scale(s, b*rootHalf)
			q := scale(half, b*b)
			switch {
			case real(z) <= 0:
				product = mul(product, erfcx(-z))
				log -= q
			case real(q) > 0:
				product = mul(product, 2-mul(exp(-q), erfcx(z)))
			default:
				product = mul(product, scale(exp(q), 2)-erfcx(z))
				log -= q
			}
			_, n := math.Frexp(math.Max(math.Abs(real(product)), math.Abs(imag(product))))
			if n > 500 || n < -500 {
				product = complex(math.Ldexp(real(product), -n), math.Ldexp(imag(product), -n))
				twos += n
			}
		}
	}
	log += complex(float64(float64(twos)*math.Ln2), 0)
	return mul(mul(product, exp(log)), inverse(s))
}

// quantile returns the x that S exceeds with probability p, for p <= 1/2.
func (h *halfNormals) quantile(p float64) float64 {
	switch h.count {
	case 0:
		return 0
	case 1:
		return h.unit * metrics.Z(1-p)
	}
	// S is concentrated around its mean: see upper.
	lo, hi := math.Max(0, h.mean-1.2), h.mean+math.Sqrt(-2*kernel.Log64(p))
	return h.unit * tails.Root(func(x float64) float64 { return p - h.upper(x*h.unit) }, lo, hi, 1e-13)
}

// logSeries returns the coefficients of z, z^2, ... in log(erfc(-z/sqrt 2)). The series converges for |z| < 3.4.
var logSeries = sync.OnceValue(func() *[seriesTerms]float64 {
	var l [seriesTerms]float64
	var a [seriesTerms + 1]float64 // coefficients of erfc(-z/sqrt 2)
	for k, c := 0, rootTwoOverPi; 2*k+1 <= seriesTerms; k++ {
		a[2*k+1] = c / float64(2*k+1)
		c /= -2 * float64(k+1)
	}
	for n := 1; n <= seriesTerms; n++ {
		t := float64(n) * a[n]
		for k := 1; k < n; k++ {
			t -= float64(float64(k) * l[k-1] * a[n-k])
		}
		l[n-1] = t / float64(n)
	}
	return &l
})

// weidemanSeries is Weideman's rational series for exp(z^2) erfc(z) (SIAM J. Numer. Anal. 31, 1994), accurate to about 1e-13
// for Re z >= 0.
type weidemanSeries struct {
	l float64
	a [weidemanTerms]float64
}

const weidemanTerms = 40

var weideman = sync.OnceValue(func() *weidemanSeries {
	var w weidemanSeries
	const m = 2 * weidemanTerms
	w.l = math.Sqrt(weidemanTerms * rootHalf)
	for k := 1 - m; k < m; k++ {
		angle := float64(k) * math.Pi / m
		sin, cos := turn.SinCos(angle / 2)
		t := w.l * (sin / cos)
		f := kernel.Exp64(-float64(t*t)) * (float64(w.l*w.l) + float64(t*t)) / (2 * m)
		for n := range w.a {
			_, cos := turn.SinCos(float64(n+1) * angle)
			w.a[n] += float64(f * cos)
		}
	}
	return &w
})

// erfcx returns exp(z^2) erfc(z) for Re z >= 0.
func erfcx(z complex128) complex128 {
	w := weideman()
	l := complex(w.l, 0)
	inv := inverse(l + z)
	r := mul(l-z, inv)
	p := complex(w.a[weidemanTerms-1], 0)
	for n := weidemanTerms - 2; n >= 0; n-- {
		p = mul(p, r) + complex(w.a[n], 0)
	}
	return mul(inv, scale(mul(p, inv), 2)+complex(1/rootPi, 0))
}

const rootPi = 1.7724538509055160273
