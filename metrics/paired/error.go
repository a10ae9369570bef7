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
	// Skew is the skewness that intervals and p-values allow for, of a difference of rows in clusters that were mapped by fits: below 0 a few
	// clusters move it far down, and a set without them has a difference that is too high and an SE that is too small. It is 0 for others.
	Skew float64

	skew     float64 // sum T_g^3 / (sum T_g^2)^(3/2) for clusters that move a mean by T_g; 0 for rows without clusters
	clusters float64 // the number of clusters of one size that count as much as those of the rows; 0 for rows without clusters
}

var unknown = Error{SE: math.NaN(), DF: math.NaN()}

// Interval returns the confidence interval of a difference with this error. It is widened by bound, the most by which value may be off. There is none
// if the error is unknown. It panics unless 0 < level < 1.
//
// Where there is skewness, each end is the further one of Student's and of Hall's interval, which corrects Student's t for it.
func (e Error) Interval(value, bound, level float64) metrics.Interval {
	z := metrics.Z(level)
	if !(e.SE >= 0) {
		return metrics.NoInterval()
	}
	if e.DF > 0 {
		z = tails.StudentQuantile(1-level, e.DF)
	}
	below, above := tails.SkewEnds(z, e.Skew)
	return metrics.Interval{Low: value - (float64(below*e.SE) + bound), High: value + (float64(above*e.SE) + bound)}
}

// P returns the two-sided p-value of no difference, where the value may be off by a bound. It is NaN if the error is unknown, and
// 1 for a difference of 0 without spread. It is below 1 - level where the interval at this level leaves 0 out.
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
	if value < 0 {
		e = e.Negated()
	}
	t := gap / e.SE
	p := tails.Student(t, e.DF)
	if e.Skew == 0 {
		return p
	}
	if t = tails.Straight(t, e.Skew); !(t > 0) {
		return 1
	}
	return math.Max(p, tails.Student(t, e.DF))
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
	}
	p := e.above(gap / e.SE)
	if e.Skew == 0 {
		return p
	}
	return math.Max(p, e.above(tails.Straight(gap/e.SE, e.Skew)))
}

// above returns the probability that Student's t is at least this, or a normal one without degrees of freedom.
func (e Error) above(t float64) float64 {
	if !(e.DF > 0) {
		return kernel.NormCDF64(-t)
	}
	tail := float64(tails.Student(math.Abs(t), e.DF) / 2)
	if t < 0 {
		return 1 - tail
	}
	return tail
}

// Negated returns the error of the difference with its sign changed.
func (e Error) Negated() Error {
	e.Skew = -e.Skew
	return e
}

// Plus returns the error of a difference to which something is added that is independent of it and has this standard error.
func (e Error) Plus(se float64) Error {
	if sum := math.Sqrt(float64(e.SE*e.SE) + float64(se*se)); sum > e.SE {
		r := e.SE / sum
		e.SE, e.Skew = sum, float64(e.Skew*float64(r*float64(r*r)))
	}
	return e
}

// Fitted returns the error of a difference of rows in clusters that were mapped by these many maps, each fitted to the clusters that it does not
// map. The rows by which a map is judged are those to which others were fitted, which the sums of clusters do not show: the variance is larger by
// the number of maps over that of clusters, as that of a prediction by a regression of as many coefficients. And what a map gains is mostly by the few
// clusters that are far off, so that it is skewed. With both, intervals after a temperature contain the truth as often as they say in
// simulations. Without clusters, of which there are as many as rows, the error is as it was.
func (e Error) Fitted(maps int) Error {
	if maps > 0 && e.clusters > 0 {
		e.SE, e.Skew = float64(e.SE*math.Sqrt(1+float64(maps)/e.clusters)), e.skew
	}
	return e
}
