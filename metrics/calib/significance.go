package calib

import (
	"math"

	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Floor returns the mean ECE of perfectly calibrated predictions with these scores:
//
//	sqrt(2/pi) * sum over bins of sqrt(sum p(1-p)) / N
//
// An ECE near it is no evidence of miscalibration. Edges chosen from the scores are as valid as fixed ones, because they do not
// depend on the outcomes. It returns NaN if FloorReason gives a reason: with weights, and for AllClasses, where the entries of
// a row are dependent.
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

// FloorQ95 returns the 0.95-quantile of the ECE of perfectly calibrated predictions with these scores, by the distribution that
// P uses. It is at least Floor, and NaN if Floor is.
func (b *Partition) FloorQ95() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	return newHalfNormals(v).quantile(0.05) / n
}

// P returns the p-value of calibration in these bins, in [0,1]: the probability that perfectly calibrated predictions with
// these scores have an ECE of at least this one. The gaps of bins are taken as independent and normal with variance sum p(1-p)
// / N^2. For this distribution P is accurate to about 1e-12, and small values down to 1e-300 are accurate to a relative 1e-11.
// With enough rows it is near 0 for every model: it shows that there is miscalibration, not that it matters. It is NaN if Floor
// is.
func (b *Partition) P() float64 {
	v, n := b.spreads()
	if v == nil {
		return math.NaN()
	}
	return newHalfNormals(v).upper(b.ECE() * n)
}

// DetectableGap returns the constant gap between scores and frequencies that a two-sided 5% test of the mean of p - y would
// detect with power 0.8 in rows like these: 2.80 * sqrt(sum p(1-p)) / N. There is no smallest detectable ECE, since
// miscalibration finer than a bin is invisible. It is NaN if Floor is.
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

// Deviation returns the standard deviation that the mean score minus the share of events has if the scores are calibrated,
// sqrt(sum p(1-p)) / N. It is NaN if Floor is.
func (b *Partition) Deviation() float64 { return b.DetectableGap() / detectable }

// detectable is the sum of the 0.975- and 0.8-quantiles of the normal distribution.
const detectable = 2.80

// FloorReason returns the reason why Floor, FloorQ95, P and DetectableGap are NaN, or "" if they are not. Possible reasons are
// no rows, weights, and dependent scores (AllClasses).
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

// spreads returns the number of rows and sum p(1-p) of each bin, the variance of its number of events under calibration. v is
// nil if FloorReason gives a reason.
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
