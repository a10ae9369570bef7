package binfree

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// CoxOptions select what is fitted.
type CoxOptions struct {
	UnitSlope bool // fix the slope at 1 and fit only the intercept: calibration in the large
}

// Cox is the logistic regression of the outcome on the logit of the score,
//
//	P(y = 1) = 1 / (1 + exp(-(intercept + slope * ln(p / (1-p)))))
//
// fitted by maximum likelihood. Calibrated scores have slope 1 and intercept 0. A slope below 1 means scores that are too
// extreme (overconfident), one above 1 scores that are too cautious, one below 0 scores in reverse order. The intercept is
// the log odds of the event where the score is 1/2. With the slope fixed at 1, it is above 0 if scores are too low on
// average.
//
// A score of exactly 0 or 1 has an infinite logit. Such rows are left out of the fit, and LeftOut counts them.
//
// Sources: Cox 1958; Miller, Hui and Tierney 1991.
type Cox struct {
	intercept, slope estimate
	leftOut          int64
	weighted, unit   bool
	reason           string
}

// estimate is a coefficient, its standard error, and the most by which it can differ from that of the rows themselves.
type estimate struct{ value, se, bound float64 }

// CoxOf fits the rows in r; o may be nil. The fit does not depend on the order of rows. Coefficients are accurate to about
// 1e-12, unless rounding of the scores limits them.
//
// If cells are not exact, the rows with one outcome in a grid cell are all placed at their mean score.
func CoxOf(r cells.Rising, o *CoxOptions) *Cox {
	c := &Cox{weighted: r.Weighted(), unit: o != nil && o.UnitSlope}
	none := estimate{math.NaN(), math.NaN(), math.NaN()}
	c.intercept, c.slope = none, none
	if r.Outside() > 0 {
		c.reason = reason.Outside
		return c
	}
	f := &coxFit{of: r, unit: c.unit, keep: keptPoints}
	f.survey()
	c.leftOut = f.leftOut
	if c.reason = f.reason(); c.reason != "" {
		return c
	}
	if !f.solve() {
		c.reason = reasonAstray
		return c
	}
	c.intercept, c.slope = f.estimates()
	return c
}

// Slope returns the slope: 1 if it is fixed, NaN if Reason gives a reason. bound is the most by which it can differ from
// that of the rows themselves: 0 if cells are exact. It is NaN if no bound is known: with weights, if rows were left out
// (their scores may only be close to 0 or 1), and for fits that are sensitive to small shifts of the scores.
func (c *Cox) Slope() (value, bound float64) { return c.slope.value, c.slope.bound }

// Intercept returns the intercept. NaN and bound are as for Slope.
func (c *Cox) Intercept() (value, bound float64) { return c.intercept.value, c.intercept.bound }

// SlopeInterval returns Wald's confidence interval of the slope for independent rows: slope +- z se, with the standard error
// from the information matrix. There is none if the slope is fixed or IntervalReason gives a reason.
func (c *Cox) SlopeInterval(level float64) metrics.Interval {
	if c.unit {
		return metrics.NoInterval()
	}
	return c.interval(&c.slope, level)
}

// InterceptInterval returns Wald's confidence interval of the intercept. There is none if IntervalReason gives a reason.
func (c *Cox) InterceptInterval(level float64) metrics.Interval {
	return c.interval(&c.intercept, level)
}

func (c *Cox) interval(e *estimate, level float64) metrics.Interval {
	if c.IntervalReason() != "" {
		return metrics.NoInterval()
	}
	return metrics.Normal(e.value, e.se, level)
}

// LeftOut returns the number of rows left out of the fit because their score is exactly 0 or 1. If cells are not exact, it
// includes rows in the same grid cell: those within 2^-64 of 0 or 1 (with weights, within 2^-53 of 1).
func (c *Cox) LeftOut() int64 { return c.leftOut }

// Reason says why there is no fit. The possible reasons are scores outside [0,1], no rows, no scores other than 0 and 1, or
// outcomes that are all equal. Unless the slope is fixed, further reasons are that all scores are equal, or that a score
// separates the outcomes, so that the likelihood has no maximum. It is "" if there is a fit.
func (c *Cox) Reason() string { return c.reason }

// IntervalReason says why there are no intervals: any reason for Reason, or weights. It is "" if there are.
func (c *Cox) IntervalReason() string {
	if c.reason == "" && c.weighted {
		return reasonCoxWeighted
	}
	return c.reason
}

const (
	reasonNoLogits      = "all scores are 0 or 1, whose logits are infinite"
	reasonSame01        = "all outcomes are the same: the intercept is infinite"
	reasonOneScore      = "all scores are equal: any slope fits"
	reasonSeparated     = "the scores separate the outcomes perfectly: the slope is infinite"
	reasonSeparatedGrid = "scores that are rounded to a grid separate the outcomes perfectly: the slope is infinite"
	reasonAstray        = "the fit does not converge: the scores nearly separate the outcomes, or are too close together"
	reasonCoxWeighted   = "with weights the variance of the fit needs the sums of their squares by outcome, which are not kept"
)
