package tails

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// Binomials is a sum of independent binomial numbers: of N[i] trials with probability P[i], where Q[i] is 1 - P[i].
type Binomials struct{ N, P, Q []float64 }

// Mean returns the mean and the variance.
func (b *Binomials) Mean() (mean, variance float64) {
	for i, n := range b.N {
		mean += float64(n * b.P[i])
		variance += float64(n * float64(b.P[i]*b.Q[i]))
	}
	return mean, variance
}

// AtLeast returns the probability of k or more. If exact is set it is computed from the distribution, to a relative error of about
// 1e-11, in time that grows with the standard deviation. Otherwise it is the saddlepoint approximation of Lugannani and Rice with the
// second continuity correction (Daniels 1987), whose relative error is 8% at most where the tail is above 1e-12.
func (b *Binomials) AtLeast(k float64, exact bool) float64 {
	// Trials whose outcome is certain shift the number.
	most, mean := 0.0, 0.0
	all := true
	for i, n := range b.N {
		switch {
		case n == 0 || b.P[i] == 0:
		case b.Q[i] == 0:
			k -= n
		default:
			most += n
			mean += float64(n * b.P[i])
		}
		all = all && (n == 0 || b.P[i] == 0 || b.Q[i] == 0)
	}
	switch {
	case k <= 0:
		return 1
	case k > most || all:
		return 0
	case k == most: // every trial
		log := 0.0
		for i, n := range b.N {
			if b.varies(i) {
				log += float64(n * kernel.Log64(b.P[i]))
			}
		}
		return kernel.Exp64(log)
	case exact:
		return b.exactly(k)
	}
	x := k - 0.5
	t, _ := b.saddle(x)
	c, variance, third := b.cumulants(t)
	if w2 := 2 * (float64(t*x) - c); math.Abs(t) > 1e-3 && w2 > 0 {
		w := math.Copysign(math.Sqrt(w2), t)
		// 2 sinh(t/2)
		u := (kernel.Exp64(t/2) - kernel.Exp64(-t/2)) * math.Sqrt(variance)
		density := kernel.Exp64(-w2/2) * 0.39894228040143267794
		return math.Max(0, math.Min(1, kernel.NormCDF64(-w)-float64(density*(1/w-1/u))))
	}
	// The limit at the mean.
	return math.Max(0, math.Min(1, kernel.NormCDF64(-(x-mean)/math.Sqrt(variance))-float64(third/float64(6*variance*math.Sqrt(variance))*0.39894228040143267794)))
}

// AtMost returns the probability of k or fewer, as AtLeast.
func (b *Binomials) AtMost(k float64, exact bool) float64 {
	all := 0.0
	for _, n := range b.N {
		all += n
	}
	return (&Binomials{b.N, b.Q, b.P}).AtLeast(all-k, exact)
}

// AtLeastAlike returns the probability of k or more if trials come in blocks of d that have the same outcome, d being 1 or more: that of k/d
// among N/d trials, neither of which need be whole, by the saddlepoint approximation.
func (b *Binomials) AtLeastAlike(k, d float64) float64 {
	if k = k / d; k <= 0.5 { // less than a block, within the correction for continuity
		return 1
	}
	n := make([]float64, len(b.N))
	for i, x := range b.N {
		n[i] = x / d
	}
	return (&Binomials{n, b.P, b.Q}).AtLeast(k, false)
}

// AtMostAlike returns the probability of k or fewer, as AtLeastAlike.
func (b *Binomials) AtMostAlike(k, d float64) float64 {
	all := 0.0
	for _, n := range b.N {
		all += n
	}
	return (&Binomials{b.N, b.Q, b.P}).AtLeastAlike(all-k, d)
}

func (b *Binomials) varies(i int) bool { return b.N[i] > 0 && b.P[i] > 0 && b.Q[i] > 0 }

// saddle returns the t at which the tilted distribution, with weights e^(t k), has the mean x, and e^t. x is above 0 and below the number
// of trials that vary.
func (b *Binomials) saddle(x float64) (t, u float64) {
	low, high := math.Inf(-1), math.Inf(1)
	for range 200 {
		u = kernel.Exp64(t)
		mean, variance := 0.0, 0.0
		for i, n := range b.N {
			if !b.varies(i) {
				continue
			}
			up := float64(b.P[i] * u)
			f := up / (b.Q[i] + up)
			mean += float64(n * f)
			variance += float64(n * float64(f*(1-f)))
		}
		d := x - mean
		switch {
		case math.Abs(d) <= 1e-10*(1+x):
			return t, u
		case d > 0:
			low = t
		default:
			high = t
		}
		next := t + math.Max(-3, math.Min(3, d/variance))
		if !(next > low && next < high) {
			next = low + float64((high-low)/2)
		}
		if next == t || next-next != 0 {
			break
		}
		t = next
	}
	return t, u
}

// cumulants returns the cumulant generating function at t, and the second and third derivative.
func (b *Binomials) cumulants(t float64) (c, variance, third float64) {
	u := kernel.Exp64(t)
	for i, n := range b.N {
		if !b.varies(i) {
			continue
		}
		up := float64(b.P[i] * u)
		s := b.Q[i] + up
		f := up / s
		v := float64(n * float64(f*(1-f)))
		// ln(q + p u) without cancellation for small p.
		c += float64(n * kernel.Log1p64(float64(b.P[i]*(u-1))))
		variance += v
		third += float64(v * (1 - 2*f))
	}
	return c, variance, third
}

// exactly adds up the tail of the tilted distribution whose mean is k, so that no digits are lost far in the tail. Up to the mean nothing is
// tilted.
func (b *Binomials) exactly(k float64) float64 {
	t, u := 0.0, 1.0
	mean, _ := b.Mean()
	for i, n := range b.N {
		if b.Q[i] == 0 {
			mean -= n // k is without certain events too
		}
	}
	if k > mean {
		t, u = b.saddle(k)
	}
	c, variance, _ := b.cumulants(t)
	high := math.Ceil(math.Max(k, mean) + float64(12*math.Sqrt(variance)) + 40)
	law, from := []float64{1}, 0.0
	for i, n := range b.N {
		if !b.varies(i) {
			continue
		}
		up := float64(b.P[i] * u)
		one, at := binomialLaw(n, up/(b.Q[i]+up))
		sum := make([]float64, len(law)+len(one)-1)
		for j, x := range law {
			for l, y := range one {
				sum[j+l] += float64(x * y)
			}
		}
		law, from = sum, from+at
		// What is this far beyond k is negligible.
		for len(law) > 1 && from+float64(len(law)-1) > high {
			law = law[:len(law)-1]
		}
	}
	tail := 0.0
	for j := len(law) - 1; j >= 0; j-- {
		if x := from + float64(j); x >= k {
			tail += float64(law[j] * kernel.Exp64(-float64(t*(x-k))))
		}
	}
	return math.Min(1, float64(tail*kernel.Exp64(c-float64(t*k))))
}

// binomialLaw returns the probabilities of at, at+1, ... successes, without those at the ends that are negligible.
func binomialLaw(n, f float64) (law []float64, at float64) {
	mode := math.Min(n, math.Floor(float64((n+1)*f)))
	const none = 1e-22
	top := binomial(mode, n, f)
	odds := f / (1 - f)
	var below []float64
	for x, k := top, mode; k > 0; k-- {
		x *= k / (n - k + 1) / odds
		if x < none {
			break
		}
		below = append(below, x)
	}
	at = mode - float64(len(below))
	for i := len(below) - 1; i >= 0; i-- {
		law = append(law, below[i])
	}
	law = append(law, top)
	for x, k := top, mode; k < n; k++ {
		x *= (n - k) / (k + 1) * odds
		if x < none {
			break
		}
		law = append(law, x)
	}
	return law, at
}
