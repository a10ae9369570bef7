// Package draw makes random numbers that depend on a seed alone: the same on every CPU, and for any number of threads,
// since each task has a stream of its own.
package draw

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/candor-go/candor/kernel"
)

// Source is a stream of random numbers.
type Source struct{ pcg rand.PCG }

// New returns the stream with this number, for a seed.
func New(seed, stream uint64) *Source {
	s := &Source{}
	s.pcg.Seed(seed, stream)
	return s
}

// Uint64 returns 64 random bits.
func (s *Source) Uint64() uint64 { return s.pcg.Uint64() }

// Below returns an integer from 0 to n-1, all equally likely; n must be above 0.
func (s *Source) Below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.Uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Uniform returns a number in (0,1), never an end: an odd multiple of 2^-53. (With one bit more, halves would be rounded,
// and the largest number would become 1.)
func (s *Source) Uniform() float64 { return (float64(int64(s.Uint64()>>12)) + 0.5) * 0x1p-52 }

// Normal returns a standard normal number, by Marsaglia's polar method.
func (s *Source) Normal() float64 {
	for {
		u, v := 2*s.Uniform()-1, 2*s.Uniform()-1
		if q := float64(u*u) + float64(v*v); q < 1 && q > 0 {
			return u * math.Sqrt(-2*kernel.Log64(q)/q)
		}
	}
}

// Gamma returns a gamma-distributed number with the given shape, which must be above 0, and scale 1. For small shapes it may
// be 0 by underflow, half the time for 0.001; use LogGamma for these.
//
// Source: Marsaglia and Tsang 2000.
func (s *Source) Gamma(shape float64) float64 {
	if !(shape < 1) {
		return s.gamma(shape)
	}
	return kernel.Exp64(s.boost(shape)) * s.gamma(shape+1)
}

// LogGamma returns the natural logarithm of a gamma-distributed number with the given shape, at least 1e-300, and scale 1.
func (s *Source) LogGamma(shape float64) float64 {
	if !(shape < 1) {
		return kernel.Log64(s.gamma(shape))
	}
	return s.boost(shape) + kernel.Log64(s.gamma(shape+1))
}

// boost returns the logarithm of the factor that turns a gamma number of shape+1 into one of shape.
func (s *Source) boost(shape float64) float64 {
	if !(shape > 0) {
		panic(errShape)
	}
	return kernel.Log64(s.Uniform()) / shape
}

const errShape = "draw: the shape of a gamma distribution is above 0"

// gamma is Gamma for a shape of at least 1.
func (s *Source) gamma(shape float64) float64 {
	if !(shape >= 1) {
		panic(errShape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		u, x2 := s.Uniform(), float64(x*x)
		if u < surely(x2) || kernel.Log64(u) < limit(d, x2, v) {
			return d * v
		}
	}
}

// limit returns the logarithm of the acceptance probability of the gamma number d*v, made from a normal number whose square
// is x2.
func limit(d, x2, v float64) float64 {
	if d > 1e6 {
		return -x2 * x2 / (108 * d) // the first term of the series; the direct form would lose its digits
	}
	return float64(x2/2) + float64(d*(1-v+kernel.Log64(v)))
}

// surely returns a lower bound of the acceptance probability that needs no logarithm.
func surely(x2 float64) float64 { return 1 - float64(0.0331*x2*x2) }

// Dirichlet fills dst with shares that sum to 1, from the Dirichlet distribution with parameters alpha, each at least
// 1e-300. Shares may be 0 by underflow, but never all of them.
func (s *Source) Dirichlet(dst, alpha []float64) {
	if len(dst) != len(alpha) {
		panic("draw: a Dirichlet distribution has as many shares as parameters")
	}
	most := math.Inf(-1)
	for i, a := range alpha {
		dst[i] = s.LogGamma(a)
		most = math.Max(most, dst[i])
	}
	sum := 0.0
	for i, l := range dst {
		dst[i] = kernel.Exp64(l - most)
		sum += dst[i]
	}
	for i := range dst {
		dst[i] /= sum
	}
}

// TruncatedNormal returns a number from the normal distribution with this mean and standard deviation (above 0), truncated
// to [low, high], an interval of positive length. Either end may be infinite, and the interval may be arbitrarily far in a
// tail.
//
// Source: Robert 1995.
func (s *Source) TruncatedNormal(mean, sd, low, high float64) float64 {
	if !(low < high && sd > 0) || mean-mean != 0 {
		panic("draw: a normal distribution has a mean and a deviation above 0, and is cut to an interval")
	}
	switch {
	case low > mean:
		return math.Min(high, low+float64(sd*s.tail((low-mean)/sd, (high-low)/sd)))
	case high < mean:
		return math.Max(low, high-float64(sd*s.tail((mean-high)/sd, (high-low)/sd)))
	}
	if high-low > rootTwoPi*sd {
		for {
			if x := mean + float64(sd*s.Normal()); x >= low && x <= high {
				return x
			}
		}
	}
	for {
		x := math.Min(high, low+float64((high-low)*s.Uniform()))
		z := (x - mean) / sd
		if kernel.Log64(s.Uniform()) <= -z*z/2 {
			return x
		}
	}
}

const rootTwoPi = 2.5066282746310005024

// tail returns the distance beyond a >= 0 of a standard normal number truncated to [a, a+width].
func (s *Source) tail(a, width float64) float64 {
	// Beyond a the density falls like that of an exponential distribution, for which this rate is best. In a narrow interval
	// it hardly falls. The formulas avoid differences of large numbers, which would cancel.
	a = math.Min(a, 1e150)
	rate := (a + math.Sqrt(float64(a*a)+4)) / 2
	if width > kernel.Exp64(0.5-float64(a/rate/2))/rate {
		for {
			e := -kernel.Log64(s.Uniform()) / rate
			if d := e - 1/rate; e <= width && kernel.Log64(s.Uniform()) <= -d*d/2 {
				return e
			}
		}
	}
	for {
		t := float64(width * s.Uniform())
		if kernel.Log64(s.Uniform()) <= -t*(a+float64(t/2)) {
			return t
		}
	}
}

// Coin is a probability for Toss.
type Coin struct {
	below uint64 // numbers of 52 bits below it make the rarer outcome
	rarer int64
}

// NewCoin returns the coin that shows 1 with probability p, in (0,1).
func NewCoin(p float64) Coin {
	c := Coin{rarer: 1}
	if p > 0.5 {
		p, c.rarer = 1-p, 0
	}
	// Uniform is (k + 1/2) 2^-52: below p if k < p 2^52 - 1/2, whose right side is exact above 1/4.
	c.below = uint64(max(0, math.Ceil(float64(p*0x1p52)-0.5)))
	return c
}

// Toss returns Binomial(1, p) with the coin's p, without a branch.
func (s *Source) Toss(c Coin) int64 {
	rare := int64((s.Uint64()>>12 - c.below) >> 63)
	return 1 ^ rare ^ c.rarer
}

// Binomial returns the number of successes in n trials, at most 2^53, with probability p in [0,1].
//
// Source: Hoermann 1993 (BTRS); inversion if fewer than ten are expected.
func (s *Source) Binomial(n int64, p float64) int64 {
	switch {
	case p != p:
		panic("draw: a probability is not a number")
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

// inverted subtracts the probabilities of 0, 1, 2... from a uniform number.
func (s *Source) inverted(n int64, p float64) int64 {
	ratio := p / (1 - p)
	none := kernel.Exp64(float64(n) * kernel.Log1p64(-p))
	for {
		u, f := s.Uniform(), none
		// If rounding leaves u beyond all probabilities, a new u is drawn.
		for k := int64(0); k <= n && f > 0; k++ {
			if u < f {
				return k
			}
			u -= f
			f *= float64(ratio * (float64(n-k) / float64(k+1)))
		}
	}
}

// rejected draws by rejection from a hat over the probabilities; most of its inner part needs no logarithm.
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
		if v <= overMode(k, mode, n, odds) {
			return int64(k)
		}
	}
}

// overMode returns the logarithm of the probability of k relative to that of the mode, by Stirling's formula. It is arranged
// such that each term is small for k near the mode, however many trials there are.
func overMode(k, mode, n, odds float64) float64 {
	off := k - mode
	return float64(off*kernel.Log64(float64(odds*(n-k+1))/(k+1))) -
		float64((mode+0.5)*kernel.Log1p64(off/(mode+1))) +
		float64((n-mode+0.5)*kernel.Log1p64(off/(n-k+1))) +
		stirling(mode) + stirling(n-mode) - stirling(k) - stirling(n-k)
}

// stirling returns ln k! - ((k+1/2) ln(k+1) - (k+1) + ln(2 pi)/2).
func stirling(k float64) float64 {
	if k < float64(len(small)) {
		return small[int(k)]
	}
	r := 1 / float64((k+1)*(k+1))
	return (1.0/12 - float64(r*(1.0/360-float64(r/1260)))) / (k + 1)
}

// small holds stirling of the first numbers.
var small = func() (t [10]float64) {
	ln := 0.0
	for k := range t {
		x := float64(k + 1)
		t[k] = ln - (float64((x-0.5)*kernel.Log64(x)) - x + 0.91893853320467274178)
		ln += kernel.Log64(x)
	}
	return t
}()

// Quantile returns the quantile of level q of sorted numbers, interpolated linearly.
func Quantile(sorted []float64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
