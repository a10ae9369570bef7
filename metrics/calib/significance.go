package calib

import (
	"math"

	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Floor returns what ECE would show on average over perfectly calibrated predictions with these scores,
// sqrt(2/pi) * sum over bins of sqrt(sum p(1-p)) / N: an ECE near it is no evidence of miscalibration. Edges that the
// scores chose are as good as fixed ones: the outcomes had no say. NaN, for FloorReason, with weights and for
// AllClasses, where the entries of a row hang together.
func (b *Partition) Floor() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	s := 0.0
	for _, x := range v {
		s += math.Sqrt(x)
	}
	return rootTwoOverPi * s / n
}

const rootTwoOverPi = 0.79788456080286535588

// FloorQ95 returns the ECE below which 95% of perfectly calibrated predictions with these scores stay, by the law of
// P. It is never below Floor. NaN where Floor is.
func (b *Partition) FloorQ95() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	return newHalfNormals(v).quantile(0.05) / n
}

// P returns the probability that perfectly calibrated predictions with these scores show an ECE at least as large as
// this one, in [0,1]: the p-value of calibration in these bins. The gap of a bin is taken as normal with the variance
// sum p(1-p) / N^2, independently of the others; for that law it is computed to about 1e-12, and small values, down to
// 1e-300, to 1e-11 of themselves. With enough rows every model gets one near 0: it says that there is miscalibration,
// not that it matters. NaN where Floor is.
func (b *Partition) P() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	return newHalfNormals(v).upper(b.ECE() * n)
}

// DetectableGap returns the constant one-signed gap between scores and frequencies that a two-sided 5% test of the mean
// of p - y would find with power 0.8 in rows like these, 2.80 * sqrt(sum p(1-p)) / N. There is no smallest ECE that rows
// can show: miscalibration finer than a bin is invisible. NaN where Floor is.
func (b *Partition) DetectableGap() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	s := 0.0
	for _, x := range v {
		s += x
	}
	return detectable * math.Sqrt(s) / n
}

// detectable is the sum of the normal quantiles of 0.975 and 0.8.
const detectable = 2.80

// FloorReason says why Floor, FloorQ95, P and DetectableGap are NaN: no rows, weights, or scores that hang together
// (AllClasses). It is "" where they are not.
func (b *Partition) FloorReason() string {
	switch {
	case b.Len() == 0:
		return reason.NoRows
	case b.together:
		return reasonTogether
	case b.weighted:
		return reason.Weighted
	}
	return ""
}

// spreads returns each bin's sum p(1-p), the variance of its sum of outcomes under calibration, and the number of rows;
// nil where FloorReason has a reason.
func (b *Partition) spreads() (v []float64, n float64) {
	if b.FloorReason() != "" {
		return nil, 0
	}
	v = make([]float64, 0, len(b.cells))
	b.each(func(_ int, c *tally.Cell) {
		s := c.Spread()
		v = append(v, math.Max(0, s.Float64()))
	})
	return v, float64(b.Len())
}
