package binfree

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// CoxOptions say what is fitted.
type CoxOptions struct {
	UnitSlope bool // the slope is held at 1, and only the intercept fitted: calibration in the large
}

// Cox is the logistic regression of the outcome on the logit of the score,
//
//	P(y = 1) = 1 / (1 + exp(-(intercept + slope * ln(p / (1-p)))))
//
// by maximum likelihood. Calibrated scores have slope 1 and intercept 0. A slope below 1 is of scores that are too extreme
// (overconfident), one above 1 of scores that are too cautious, one below 0 of scores that are turned round. The intercept is the log
// odds of the event where the score says 1/2; with the slope held at 1 it is above 0 if the scores are too low on average.
//
// Rows whose score is exactly 0 or 1 have an infinite logit. They are left out of the fit, and LeftOut counts them.
//
// Sources: Cox 1958; Miller, Hui and Tierney 1991.
type Cox struct {
	intercept, slope estimate
	leftOut          int64
	weighted, unit   bool
	reason           string
}

// estimate is a coefficient, its standard error, and how far it may be from that of the rows.
type estimate struct{ value, se, bound float64 }

// CoxOf fits the rows that r has seen; o may be nil. The fit is the same whatever their order, and found to about 1e-12 of the
// coefficients where these are not held up by rounding of the scores.
//
// Where cells are not exact, the rows of either outcome in a cell of the grid stand at their mean score.
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

// Slope returns the slope: 1 if it is held there, NaN where Reason has a reason. bound is how far that of the rows may be from it: 0
// where cells are exact, and NaN where no bound is known: with weights, where rows were left out, which may as well have scores next
// to 0 or 1, and for fits that a small shift of the scores may change much.
func (c *Cox) Slope() (value, bound float64) { return c.slope.value, c.slope.bound }

// Intercept returns the intercept; NaN and bound are as for Slope.
func (c *Cox) Intercept() (value, bound float64) { return c.intercept.value, c.intercept.bound }

// SlopeInterval returns Wald's confidence interval of the slope, slope +- z se with the standard error of the information matrix, for
// independent rows. Where there is none IntervalReason says why, or the slope is held.
func (c *Cox) SlopeInterval(level float64) metrics.Interval {
	if c.unit {
		return metrics.NoInterval()
	}
	return c.interval(&c.slope, level)
}

// InterceptInterval returns Wald's confidence interval of the intercept. Where there is none IntervalReason says why.
func (c *Cox) InterceptInterval(level float64) metrics.Interval {
	return c.interval(&c.intercept, level)
}

func (c *Cox) interval(e *estimate, level float64) metrics.Interval {
	if c.IntervalReason() != "" {
		return metrics.NoInterval()
	}
	return metrics.Normal(e.value, e.se, level)
}

// LeftOut returns the number of rows left out of the fit, whose score is exactly 0 or 1. Where cells are not exact it has those too
// that are in one cell of the grid with them, nearer than 2^-64 to 0 or to 1 (with weights, 2^-53 to 1).
func (c *Cox) LeftOut() int64 { return c.leftOut }

// Reason says why there is no fit: scores outside [0,1], no rows, none with another score than 0 and 1, or outcomes that are all the
// same; and unless the slope is held, scores that are all equal, or one that parts the outcomes, none of 1 on one side and none of 0 on
// the other, so that the likelihood rises for ever with the slope. It is "" where there is a fit.
func (c *Cox) Reason() string { return c.reason }

// IntervalReason says why there are no intervals: Reason's reasons, and weights. It is "" where there are.
func (c *Cox) IntervalReason() string {
	if c.reason == "" && c.weighted {
		return reasonCoxWeighted
	}
	return c.reason
}

const (
	reasonNoLogits      = "all scores are 0 or 1, whose logits are infinite"
	reasonSame01        = "all outcomes are the same: the intercept has no end"
	reasonOneScore      = "all scores are equal: any slope fits"
	reasonSeparated     = "a score parts the outcomes perfectly: the slope has no end"
	reasonSeparatedGrid = "by the cells of the grid a score parts the outcomes perfectly: the slope has no end"
	reasonAstray        = "the fit was not found: a score all but parts the outcomes, or scores are too close together"
	reasonCoxWeighted   = "with weights the variance of the fit needs the sums of their squares by outcome, which are not kept"
)
