// Package draw makes random numbers that depend on a seed alone: the same on every CPU, and for any number of threads, since each
// task has a stream of its own.
package draw

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/candor-go/candor/kernel"
)

// Source is a stream of random numbers.
type Source struct{ pcg rand.PCG }

// New returns the stream of that number of a seed.
func New(seed, stream uint64) *Source {
	s := &Source{}
	s.pcg.Seed(seed, stream)
	return s
}

// Uint64 returns 64 random bits.
func (s *Source) Uint64() uint64 { return s.pcg.Uint64() }

// Below returns a whole number from 0 to below n, all equally likely: n is above 0.
func (s *Source) Below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Uniform returns a number in (0,1), never an end.
func (s *Source) Uniform() float64 { return float64((float64(s.Uint64()>>11) + 0.5) * 0x1p-53) }

// Normal returns a standard normal number, by Marsaglia's polar method.
func (s *Source) Normal() float64 {
	for {
		u, v := 2*s.Uniform()-1, 2*s.Uniform()-1
		if q := float64(u*u) + float64(v*v); q < 1 && q > 0 {
			return u * math.Sqrt(-2*kernel.Log64(q)/q)
		}
	}
}

// Gamma returns a number of the gamma distribution of that shape, which is above 0, and scale 1. It may be 0 by underflow.
//
// Source: Marsaglia and Tsang 2000.
func (s *Source) Gamma(shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = kernel.Exp64(kernel.Log64(s.Uniform()) / shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if kernel.Log64(s.Uniform()) < float64(x*x/2)+float64(d*(1-v+kernel.Log64(v))) {
			return float64(d*v) * boost
		}
	}
}

// Binomial returns how many of n trials succeed with probability p, in [0,1].
//
// Source: Hoermann 1993 (BTRS); by inversion where fewer than ten are expected.
func (s *Source) Binomial(n int64, p float64) int64 {
	switch {
	case n <= 0 || p <= 0:
		return 0
	case p >= 1:
		return n
	case p > 0.5:
		return n - s.Binomial(n, 1-p)
	case n == 1:
		if s.Uniform() < p {
			return 1
		}
		return 0
	}
	if float64(float64(n)*p) < 10 {
		return s.inverted(n, p)
	}
	return s.rejected(n, p)
}

// inverted counts the probabilities of 0, 1, 2... down from a uniform number.
func (s *Source) inverted(n int64, p float64) int64 {
	ratio := p / (1 - p)
	none := kernel.Exp64(float64(n) * kernel.Log1p64(-p))
	for {
		u, f := s.Uniform(), none
		for k := int64(0); k <= n; k++ {
			if u < f {
				return k
			}
			u -= f
			f *= float64(ratio * (float64(n-k) / float64(k+1)))
		}
	}
}

func (s *Source) rejected(trials int64, p float64) int64 {
	n := float64(trials)
	sd := math.Sqrt(float64(n*p) * (1 - p))
	b := 1.15 + float64(2.53*sd)
	a := -0.0873 + float64(0.0248*b) + float64(0.01*p)
	centre := float64(n*p) + 0.5
	inner := 0.92 - 4.2/b
	alpha := (2.83 + 5.1/b) * sd
	odds := p / (1 - p)
	mode := math.Floor((n + 1) * p)
	for {
		u, v := s.Uniform()-0.5, s.Uniform()
		edge := 0.5 - math.Abs(u)
		k := math.Floor(float64((2*a/edge+b)*u) + centre)
		if edge >= 0.07 && v <= inner {
			return int64(k)
		}
		if k < 0 || k > n {
			continue
		}
		v = kernel.Log64(float64(v*alpha) / (a/float64(edge*edge) + b))
		// ln of the probability of k over that of the mode, by Stirling's formula.
		limit := float64((mode+0.5)*kernel.Log64((mode+1)/float64(odds*(n-mode+1)))) +
			float64((n+1)*kernel.Log64((n-mode+1)/(n-k+1))) +
			float64((k+0.5)*kernel.Log64(float64(odds*(n-k+1))/(k+1))) +
			stirling(mode) + stirling(n-mode) - stirling(k) - stirling(n-k)
		if v <= limit {
			return int64(k)
		}
	}
}

// stirling returns ln k! - ((k+1/2) ln(k+1) - (k+1) + ln(2 pi)/2).
func stirling(k float64) float64 {
	if k < float64(len(small)) {
		return small[int(k)]
	}
	r := 1 / float64((k+1)*(k+1))
	return (1.0/12 - float64(r*(1.0/360-float64(r/1260)))) / (k + 1)
}

// small is stirling of the first numbers.
var small = func() (t [10]float64) {
	ln := 0.0
	for k := range t {
		x := float64(k + 1)
		t[k] = ln - (float64((x-0.5)*kernel.Log64(x)) - x + 0.91893853320467274178)
		ln += kernel.Log64(x)
	}
	return t
}()
