package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ECE returns the expected calibration error, in [0,1], 0 is best:
//
//	(1/N) * sum over bins of |sum (p - y)|
//
// The sum is exact and rounded once. It returns NaN without rows.
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

// RMSCE returns the root-mean-square calibration error over the same bins, sqrt(sum (n_b/N) * gap_b^2), so ECE <= RMSCE <= MCE.
// It returns NaN without rows.
func (b *Partition) RMSCE() float64 { return math.Sqrt(squaredError(b)) }

// MCE returns the maximum calibration error, the largest |confidence - frequency| of a nonempty bin, and the number of rows in
// that bin. With few rows it says little. It returns NaN and 0 without rows.
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

// Debiased returns a bias-corrected estimate of the root-mean-square calibration error over these bins:
//
//	sqrt(max(0, sum over bins of (n_b/N) * (gap_b^2 - v_b/n_b)))
//
// v_b is the sample variance of p - y in bin b. Under calibration the sum has mean 0, whereas the square of RMSCE has a
// positive mean. The result is at most RMSCE. It is not an ECE. A bin with one row has no v_b and adds nothing, but its row
// counts in N. With weights, v_b/n_b is the squared standard error with n_b effective rows. It returns NaN if DebiasedReason
// gives a reason: for AllClasses, or if no bin has two rows.
//
// Source: Kumar, Liang and Ma 2019.
func (b *Partition) Debiased() float64 { return b.debiased((*tally.Cell).MeanGap) }

// DebiasedKumar returns Debiased with the variance of Kumar's library uncertainty-calibration: v_b is the sample variance of
// the outcomes y, ybar (1 - ybar) n_b/(n_b - 1), as if all scores of a bin were equal. If outcomes follow the scores within
// bins, this variance is too large and the estimate too low.
//
// Source: Kumar, Liang and Ma 2019.
func (b *Partition) DebiasedKumar() float64 {
	return b.debiased(func(c *tally.Cell, weighted bool) (mean, se float64) {
		mean, _ = c.MeanGap(weighted)
		return mean, c.FrequencyError(weighted)
	})
}

// debiased subtracts the squared standard errors. gap returns the mean gap of a bin and its standard error.
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

// Squared returns the mean squared calibration error over these bins, without what chance adds to it, and its confidence interval:
//
//	sum over bins of (n_b/N) * (gap_b^2 - v_b/n_b)
//
// v_b is as for Debiased, whose square it is but for the cut at 0: values below 0 are what chance makes of no error, and differences
// of values are unbiased. The interval is value +- z sqrt(V), not cut either, for independent rows. V is the larger of A - C and C:
// with squared standard errors s_b of the gaps and c = sum (n_b/N) gap_b^2, C = 2 sum (n_b/N)^2 s_b^4 is the variance under calibration,
// and A = sum (n_b/N)^2 4 gap_b^2 s_b^2 + sum (n_b/N) (gap_b^2 - c)^2/(N-1), the first-order variance, overstates by 2 C since gaps are
// estimated.
//
// The value is NaN if DebiasedReason gives a reason, and there is no interval with fewer than two effective rows.
//
// Source: Kumar, Liang and Ma 2019; Lee et al. 2022 for the law under calibration.
func (b *Partition) Squared(level float64) (value float64, i metrics.Interval) {
	if b.DebiasedReason() != "" {
		return math.NaN(), metrics.NoInterval()
	}
	all := b.total()
	total, n := all.Float64(), b.effective()
	raw, chance, first, own := 0.0, 0.0, 0.0, 0.0
	b.each(func(_ int, c *tally.Cell) {
		g, se := c.MeanGap(b.weighted)
		of := c.Total(b.weighted)
		share := of.Float64() / total
		raw += float64(share * float64(g*g))
		if se-se != 0 {
			return
		}
		value += float64(share * (float64(g*g) - float64(se*se)))
		t := float64(share * float64(se*se))
		chance += float64(2 * float64(t*t))
		first += float64(4 * float64(float64(share*g)*float64(share*g)) * float64(se*se))
	})
	b.each(func(_ int, c *tally.Cell) {
		g, _ := c.MeanGap(b.weighted)
		of := c.Total(b.weighted)
		d := float64(g*g) - raw
		own += float64(of.Float64() / total * float64(d*d))
	})
	if !(n > 1) {
		return value, metrics.NoInterval()
	}
	first += own / (n - 1)
	return value, metrics.Normal(value, math.Sqrt(math.Max(first-chance, chance)), level)
}

// effective returns the effective number of rows.
func (b *Partition) effective() float64 {
	w := b.lost
	for i := range b.cells {
		w.Merge(&b.cells[i].Weight)
	}
	return w.Effective(b.weighted)
}

// DebiasedReason returns the reason why Debiased is NaN, or "" if it is not.
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

// ConfidenceWeighted returns the ECE with each row weighted by its score, in [0,1], 0 is best:
//
//	(1/N) * sum over bins of |sum (p - y)*p|
//
// Rows of high confidence weigh most. It returns NaN without rows. With the options of Like("tfp") it is the ECE of
// robustness_metrics with weighted=True.
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

// EqualWeight returns the mean of |confidence - frequency| over the nonempty bins, where each bin counts once, however few rows
// it has. This is the average calibration error, which netcal calls ACE. It is at most MCE. It returns NaN without rows.
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

// MCE returns the maximum calibration error of predictions in memory; see Bins.MCE, which also returns the number of rows in
// that bin. o may be nil.
func MCE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := BinsOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	mce, _ := b.MCE()
	return mce, nil
}

// RMSCE returns the root-mean-square calibration error of predictions in memory; see Bins.RMSCE. o may be nil.
func RMSCE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := BinsOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return b.RMSCE(), nil
}

// BinsOf returns the bins of predictions in memory. o may be nil; o.Data selects how rows are read. The error describes invalid
// options, or is a *metrics.DataError or a *metrics.LengthError.
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
