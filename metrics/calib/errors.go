package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
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
func (b *Partition) RMSCE() float64 {
	s := 0.0
	b.each(func(_ int, c *tally.Cell) {
		g, w := c.Gap(), c.Total(b.weighted)
		d := g.Float64()
		s += float64(d*d) / w.Float64()
	})
	n := b.total()
	if n.IsZero() {
		return math.NaN()
	}
	return math.Sqrt(s / n.Float64())
}

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

// Floor returns what ECE would show on average over perfectly calibrated predictions with these scores,
// sqrt(2/pi) * sum over bins of sqrt(sum p(1-p)) / N: an ECE near it is no evidence of miscalibration. NaN with weights
// and for AllClasses, where the entries of a row hang together.
func (b *Partition) Floor() float64 {
	if b.weighted || b.together {
		return math.NaN()
	}
	s := 0.0
	b.each(func(_ int, c *tally.Cell) {
		v := c.Spread()
		s += math.Sqrt(math.Max(0, v.Float64()))
	})
	n := b.total()
	return rootTwoOverPi * s / n.Float64()
}

const rootTwoOverPi = 0.79788456080286535588

// Interval returns a confidence interval of ECE for independent rows and fixed edges, without random numbers. With
// d_b = sum (y-p) / N in bin b and s_b its standard error, taken as the larger of the one under calibration and the
// empirical one, a bin is clear if |d_b| > sqrt(ln N) s_b. An unclear bin's |d_b| is biased upward by about
// sqrt(2/pi) s_b, which the lower end takes off; a percentile bootstrap would add that bias once more. There is none
// with weights, for AllClasses, or below two rows.
func (b *Partition) Interval(level float64) metrics.Interval {
	t := b.total()
	n := t.Float64()
	if b.weighted || b.together || !(n >= 2) {
		return metrics.NoInterval()
	}
	z := metrics.Z(level)
	clearing := math.Sqrt(kernel.Log64(n))
	bias, unclear, clear, all := 0.0, 0.0, 0.0, 0.0
	b.each(func(_ int, c *tally.Cell) {
		gap, spread, squares := c.Gap(), c.Spread(), c.Squares()
		g := gap.Float64()
		v := math.Max(spread.Float64(), squares.Float64()-float64(g*g)/n) / n / n
		v = math.Max(0, v)
		s := math.Sqrt(v)
		if math.Abs(g)/n > clearing*s {
			clear += v
		} else {
			bias += s
			unclear += v
		}
		all += v
	})
	ece := b.ECE()
	const left = 1 - rootTwoOverPi*rootTwoOverPi
	low := ece - float64(rootTwoOverPi*bias) - float64(z*math.Sqrt(float64(left*unclear)+clear))
	high := ece + float64(z*math.Sqrt(all))
	return metrics.Interval{Low: math.Max(0, low), High: math.Min(1, high)}
}

// ECE returns the expected calibration error of predictions in memory; see Bins.ECE. o may be nil.
func ECE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := Of(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return b.ECE(), nil
}

// MCE returns the maximum calibration error of predictions in memory and the number of rows in its bin; see Bins.MCE.
func MCE(p *metrics.Predictions, o *Options) (mce float64, count int64, err error) {
	b, err := Of(p, o)
	if err != nil {
		return math.NaN(), 0, err
	}
	mce, count = b.MCE()
	return mce, count, nil
}

// RMSCE returns the root-mean-square calibration error of predictions in memory; see Bins.RMSCE.
func RMSCE(p *metrics.Predictions, o *Options) (float64, error) {
	b, err := Of(p, o)
	if err != nil {
		return math.NaN(), err
	}
	return b.RMSCE(), nil
}

// Of returns the bins of predictions in memory. The error is a *metrics.DataError.
func Of(p *metrics.Predictions, o *Options) (*Bins, error) {
	b := NewBins(o)
	if err := metrics.NewPass(nil, b).Add(p); err != nil {
		return nil, err
	}
	return b, nil
}
