package metrics

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// DefaultLevel is the confidence level of intervals where none is asked for.
const DefaultLevel = 0.95

// Interval is a confidence interval; both ends are NaN where there is none.
type Interval struct{ Low, High float64 }

// NoInterval is what stands where no sound interval is known.
func NoInterval() Interval { return Interval{math.NaN(), math.NaN()} }

// Z returns the normal deviate of a two-sided interval of the given level, 1.959963984540 for 0.95. It is rounded to 12
// decimals. It panics unless 0 < level < 1.
func Z(level float64) float64 {
	if !(level > 0 && level < 1) {
		panic("metrics: a confidence level lies between 0 and 1")
	}
	return math.Round(kernel.NormQuantile64(0.5+float64(level/2))*1e12) / 1e12
}

// Wilson returns the score interval of a frequency f seen in n trials (Wilson 1927); n may be an effective number.
// There is none for n <= 0.
func Wilson(f, n, level float64) Interval {
	if !(n > 0) {
		return NoInterval()
	}
	z := Z(level)
	z2 := float64(z * z)
	d := 1 + z2/n
	mid := (f + z2/(2*n)) / d
	half := float64(z / d * math.Sqrt(f*(1-f)/n+z2/(4*n*n)))
	// At f = 0 and f = 1 an end is f itself, which rounding would miss.
	return Interval{math.Max(0, math.Min(f, mid-half)), math.Min(1, math.Max(f, mid+half))}
}

// Normal returns mean +- z * se. There is none if either is not finite.
func Normal(mean, se, level float64) Interval {
	if se-se != 0 || mean-mean != 0 {
		return NoInterval()
	}
	h := float64(Z(level) * se)
	return Interval{mean - h, mean + h}
}
