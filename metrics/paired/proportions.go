package paired

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Discordance counts the rows where one model is right and the other wrong, among n rows.
type Discordance struct {
	N     int64
	OnlyA int64 // rows that only A has right
	OnlyB int64
}

// Difference returns the accuracy of B minus that of A; NaN without rows.
func (d Discordance) Difference() float64 { return float64(d.OnlyB-d.OnlyA) / float64(d.N) }

// Interval returns Tango's score interval of the difference, within [-1, 1]: the differences that a score test with the
// likeliest discordance under each does not reject. It holds for few discordant rows too. There is none without rows. It panics
// unless 0 < level < 1.
//
// Source: Tango 1998.
func (d Discordance) Interval(level float64) metrics.Interval {
	z := metrics.Z(level)
	if d.N < 1 {
		return metrics.NoInterval()
	}
	n, b, c := float64(d.N), float64(d.OnlyB), float64(d.OnlyA)
	mean := (b - c) / n
	// score returns how many standard errors the difference is above x.
	score := func(x float64) float64 {
		// The share of rows that only A has right, at its likeliest: the larger root of 2n q^2 + h q - c x (1-x) = 0.
		h := float64((2*n-b+c)*x) - b - c
		q := (math.Sqrt(math.Max(0, float64(h*h)+float64(8*n*float64(c*float64(x*(1-x)))))) - h) / (4 * n)
		v := float64(n * (2*q + float64(x*(1-x))))
		gap := b - c - float64(n*x)
		if v <= 0 {
			return math.Copysign(math.Inf(1), gap)
		}
		return gap / math.Sqrt(v)
	}
	// The score falls with x: halve the part where it crosses z.
	cross := func(low, high, at float64) float64 {
		for range 200 {
			x := low + (high-low)/2
			if x == low || x == high {
				break
			}
			if score(x) > at {
				low = x
			} else {
				high = x
			}
		}
		return low + (high-low)/2
	}
	return metrics.Interval{Low: cross(-1, mean, z), High: cross(mean, 1, -z)}
}

// McNemar returns the two-sided p-values of equal accuracy: mid-p, which is close to the nominal level, and the exact one, which
// is above it. Both are 1 without discordant rows.
//
// Source: McNemar 1947; Fagerland, Lydersen and Laake 2013.
func (d Discordance) McNemar() (mid, exact float64) {
	if d.OnlyA == d.OnlyB {
		return 1, 1
	}
	n, most := float64(d.OnlyA+d.OnlyB), float64(max(d.OnlyA, d.OnlyB))
	tail := tails.Binomial(most, n, 0.5)
	beyond := 0.0
	if most < n {
		beyond = tails.Binomial(most+1, n, 0.5)
	}
	return math.Min(1, tail+beyond), math.Min(1, 2*tail)
}

// Error returns the standard error of the difference, by the discordant rows. It is for sizes of samples and margins: intervals
// and p-values are better by Interval and McNemar.
func (d Discordance) Error() Error {
	n, x := float64(d.N), float64(d.OnlyB-d.OnlyA)
	return Error{math.Sqrt(float64(d.OnlyA+d.OnlyB)-float64(x*x)/n) / n, n - 1}
}
