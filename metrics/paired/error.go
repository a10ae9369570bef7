package paired

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Error is the standard error of a difference, and how well it is known.
type Error struct {
	SE float64 // NaN if there is none
	// DF is the number of degrees of freedom of Student's distribution that the difference in units of SE has. Where a few rows make
	// up most of the variance it is as uncertain as that of a few rows: with the kurtosis k of what rows contribute, DF is 2n/(k-1),
	// and at most n-1.
	DF float64
}

var unknown = Error{math.NaN(), math.NaN()}

// Interval returns the confidence interval of a difference with this error. It is widened by bound, the most by which value may be off. There is none
// if the error is unknown. It panics unless 0 < level < 1.
func (e Error) Interval(value, bound, level float64) metrics.Interval {
	z := metrics.Z(level)
	if !(e.SE >= 0) {
		return metrics.NoInterval()
	}
	if e.DF > 0 {
		z = tails.StudentQuantile(1-level, e.DF)
	}
	half := float64(z*e.SE) + bound
	return metrics.Interval{Low: value - half, High: value + half}
}

// P returns the two-sided p-value of no difference, where the value may be off by a bound. It is NaN if the error is unknown, and
// 1 for a difference of 0 without spread.
func (e Error) P(value, bound float64) float64 {
	gap := math.Max(0, math.Abs(value)-bound)
	switch {
	case !(e.SE >= 0):
		return math.NaN()
	case gap == 0:
		return 1
	case e.SE == 0:
		return 0
	}
	return tails.Student(gap/e.SE, e.DF)
}

// Beyond returns the one-sided p-value of the hypothesis that a difference is at most some number, which its estimate exceeds by gap.
func (e Error) Beyond(gap float64) float64 {
	switch {
	case !(e.SE >= 0):
		return math.NaN()
	case e.SE == 0 && gap > 0:
		return 0
	case e.SE == 0:
		return 1
	case !(e.DF > 0):
		return kernel.NormCDF64(-gap / e.SE)
	}
	tail := float64(tails.Student(math.Abs(gap)/e.SE, e.DF) / 2)
	if gap < 0 {
		return 1 - tail
	}
	return tail
}
