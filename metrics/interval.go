package metrics

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// DefaultLevel is the default confidence level of intervals.
const DefaultLevel = 0.95

// Interval is a confidence interval. Both ends are NaN if there is none.
type Interval struct{ Low, High float64 }

// NoInterval returns the interval that stands where no valid one is known: both ends are NaN.
func NoInterval() Interval { return Interval{math.NaN(), math.NaN()} }

// Z returns the normal quantile of a two-sided interval of the given level: 1.959963984540 for 0.95. It is rounded to 12
// decimals. It panics unless 0 < level < 1.
func Z(level float64) float64 {
	if !(level > 0 && level < 1) {
		panic("metrics: a confidence level lies between 0 and 1")
	}
	return math.Round(kernel.NormQuantile64(0.5+float64(level/2))*1e12) / 1e12
}

// Wilson returns the score interval (Wilson 1927) for a frequency f in n trials, where n may be an effective sample size. It
// returns NoInterval for n <= 0.
func Wilson(f, n, level float64) Interval {
	if !(n > 0) {
		return NoInterval()
	}
	z := Z(level)
	z2 := float64(z * z)
	d := 1 + z2/n
	mid := (f + z2/(2*n)) / d
	half := float64(z / d * math.Sqrt(f*(1-f)/n+z2/(4*n*n)))
	// For f = 0 and f = 1 one end equals f exactly; rounding would miss it.
	return Interval{math.Max(0, math.Min(f, mid-half)), math.Min(1, math.Max(f, mid+half))}
}

// Normal returns mean +- z * se, or NoInterval if either is not finite.
func Normal(mean, se, level float64) Interval {
	if se-se != 0 || mean-mean != 0 {
		return NoInterval()
	}
	h := float64(Z(level) * se)
	return Interval{mean - h, mean + h}
}

// Within returns the interval cut to [least, most]: what is cut off no value can have, so the coverage stays.
func (i Interval) Within(least, most float64) Interval {
	return Interval{math.Max(i.Low, least), math.Min(i.High, most)}
}
