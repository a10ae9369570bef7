package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ECE returns the expected calibration error, in [0,1], 0 is best: (1/N) * sum over bins of |sum (p - y)|. The sum is
// exact and rounded once. NaN if nothing was seen.
//
// Source: Naeini, Cooper and Hauskrecht 2015; for the top label Guo, Pleiss, Sun and Weinberger 2017.
func (b *Partition) ECE() float64 {
	var s exact.Sum
	b.each(func(_ int, c *tally.Cell) {
		g := c.Gap()
		if g.Sign() < 0 {
			s.Sub(&g)
		} else {
			s.Merge(&g)
		}
	})
	n := b.total()
	return exact.Ratio(&s, &n)
}

// RMSCE returns the root-mean-square calibration error over the same bins, sqrt(sum (n_b/N) * gap_b^2), so
// ECE <= RMSCE <= MCE. NaN if nothing was seen.
func (b *Partition) RMSCE() float64 { return math.Sqrt(squaredError(b)) }

// MCE returns the maximum calibration error, the largest |confidence - frequency| of a bin that is not empty, with the
// number of rows in that bin: with few rows it says little. NaN and 0 if nothing was seen.
func (b *Partition) MCE() (mce float64, count int64) {
	mce = math.NaN()
	b.each(func(_ int, c *tally.Cell) {
		g, w := c.Gap(), c.Total(b.weighted)
		if d := math.Abs(exact.Ratio(&g, &w)); !(d <= mce) {
			mce, count = d, c.N
		}
	})
	return mce, count
}

// Debiased returns an estimate of the root-mean-square calibration error over these bins from which the bias is taken
// off, sqrt(max(0, sum over bins of (n_b/N) * (gap_b^2 - v_b/n_b))), v_b the sample variance of p - y in bin b: under
// calibration the square under the root has mean 0, where that of RMSCE is positive. It is never above RMSCE, and not an
// ECE. A bin of one row has no v_b: it adds nothing, but its row counts in N. With weights v_b/n_b becomes the square
// of the standard error with n_b effective rows. NaN, for DebiasedReason, for AllClasses and where no bin has two rows.
//
// Source: Kumar, Liang and Ma 2019.
func (b *Partition) Debiased() float64 { return b.debiased((*tally.Cell).MeanGap) }

// DebiasedKumar returns Debiased with the variance that Kumar's library uncertainty-calibration has: v_b is that of the
// outcomes y, ybar (1 - ybar) n_b/(n_b - 1), as if all scores of a bin were the same. Where outcomes follow the scores within
// bins that is too much, and so the estimate too low.
//
// Source: Kumar, Liang and Ma 2019.
func (b *Partition) DebiasedKumar() float64 {
	return b.debiased(func(c *tally.Cell, weighted bool) (mean, se float64) {
		mean, _ = c.MeanGap(weighted)
		return mean, c.FrequencyError(weighted)
	})
}

// debiased takes off the squares of the standard errors that are given with the mean gaps.
func (b *Partition) debiased(gap func(c *tally.Cell, weighted bool) (mean, se float64)) float64 {
	if b.DebiasedReason() != "" {
		return math.NaN()
	}
	s := 0.0
	b.each(func(_ int, c *tally.Cell) {
		g, se := gap(c, b.weighted)
		if se-se != 0 {
			return
		}
		w := c.Total(b.weighted)
		s += float64(w.Float64() * (float64(g*g) - float64(se*se)))
	})
	n := b.total()
	return math.Sqrt(math.Max(0, s/n.Float64()))
}

// DebiasedReason says why Debiased is NaN; "" where it is not.
func (b *Partition) DebiasedReason() string {
	if b.together {
		return reasonTogether
	}
	most := int64(0)
	b.each(func(_ int, c *tally.Cell) { most = max(most, c.N) })
	if most < 2 {
		return "no bin has two rows, so no variance can be estimated"
	}
	return ""
}

// ConfidenceWeighted returns the ECE in which each row counts as much as its score, (1/N) * sum over bins of
// |sum (p - y)*p|, so that what the model is sure of weighs most; it lies in [0,1] and 0 is best. NaN if nothing was
// seen. With the options of Like("tfp") it is the ECE of robustness_metrics with weighted=True.
//
// Source: Kumar and Sarawagi 2019.
func (b *Partition) ConfidenceWeighted() float64 {
	var s exact.Sum
	b.each(func(_ int, c *tally.Cell) {
		g := c.PP.Clone()
		g.Sub(&c.PY)
		if g.Sign() < 0 {
			s.Sub(&g)
		} else {
			s.Merge(&g)
		}
	})
	n := b.total()
	return exact.Ratio(&s, &n)
}

// EqualWeight returns the mean of |confidence - frequency| over the bins that are not empty, each of which counts once,
// however few rows it has: the average calibration error, which netcal calls ACE. It is at most MCE. NaN if nothing was seen.
//
// Source: Neumann, Zisserman and Vedaldi 2018.
func (b *Partition) EqualWeight() float64 {
	s, n := 0.0, 0.0
	b.each(func(_ int, c *tally.Cell) {
		g, w := c.Gap(), c.Total(b.weighted)
		s += math.Abs(exact.Ratio(&g, &w))
		n++
	})
	return s / n
}

// ECE returns the expected calibration error of predictions in memory; see Bins.ECE. o may be nil.
func ECE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := BinsOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return b.ECE(), nil
}

// MCE returns the maximum calibration error of predictions in memory; see Bins.MCE, which says how many rows are in its bin too. o may be
// nil.
func MCE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := BinsOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	mce, _ := b.MCE()
	return mce, nil
}

// RMSCE returns the root-mean-square calibration error of predictions in memory; see Bins.RMSCE.
func RMSCE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := BinsOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return b.RMSCE(), nil
}

// BinsOf returns the bins of predictions in memory, which o.Data says how to read. o may be nil. The error is that of the options, a
// *metrics.DataError or a *metrics.LengthError.
func BinsOf(p *metrics.Predictions, o *Options) (*Bins, error) {
	b, err := NewBins(o)
	if err != nil {
		return nil, err
	}
	var data metrics.Options
	if o != nil {
		data = o.Data
	}
	if err := metrics.NewPass(&data, b).Add(p); err != nil {
		return nil, err
	}
	return b, nil
}
