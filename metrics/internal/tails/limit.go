package tails

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// LowerLimit returns the frequency for which the probability of k or more events in n rows is tail, 0 for k = 0. It is the quantile of
// the beta distribution with the parameters k and n-k+1 at tail, and the lower end of the interval of Clopper and Pearson.
func LowerLimit(k, n, tail float64) float64 {
	if k == 0 {
		return 0
	}
	// At frequency h this probability is at most exp(-n (f-h)^2 / (2 f)), by Chernoff's bound, and at most (e n h / k)^k.
	f, log := k/n, kernel.Log64(tail)
	lo, hi := math.Max(f-math.Sqrt(-2*f*log/n), f*kernel.Exp64(log/k-1)), f
	above := func(h float64) float64 { return kernel.Log64(Binomial(k, n, h)) - log }
	return Root(above, lo, hi, 1e-15)
}

// Root returns the zero of an increasing function between lo and hi, to a relative precision. It uses the Illinois variant of
// false position: the value at an end that is retained twice is halved, or that end would never move.
func Root(f func(float64) float64, lo, hi, precision float64) float64 {
	flo, fhi := f(lo), f(hi)
	for side := 0; hi-lo > precision*hi; {
		x := (float64(lo*fhi) - float64(hi*flo)) / (fhi - flo)
		if !(x > lo && x < hi) {
			if x = (lo + hi) / 2; x == lo || x == hi {
				break
			}
		}
		switch y := f(x); {
		case y == 0:
			return x
		case y < 0:
			lo, flo = x, y
			if side == 1 {
				fhi /= 2
			}
			side = 1
		default:
			hi, fhi = x, y
			if side == -1 {
				flo /= 2
			}
			side = -1
		}
	}
	return (lo + hi) / 2
}
