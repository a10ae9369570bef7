package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Bin is one bar of a reliability diagram.
type Bin struct {
	Lower, Upper float64 // the bin's edges; equal for the bins that hold only p = 0 or p >= 1
	Count        int64
	Weight       float64          // sum of the weights; Count where there are none
	Confidence   float64          // mean score; NaN if the bin is empty
	Frequency    float64          // weighted share of rows with the event: the accuracy, for the top label; NaN if empty
	Interval     metrics.Interval // Wilson's, of Frequency
}

// total returns the sum of the weights of all rows, also of those in no bin.
func (b *Bins) total() exact.Sum {
	t := b.lost.Total(b.weighted)
	for i := range b.cells {
		c := b.cells[i].Total(b.weighted)
		t.Merge(&c)
	}
	return t
}

// each calls f for the cells that have rows.
func (b *Bins) each(f func(i int, c *tally.Cell)) {
	for i := range b.cells {
		if b.cells[i].N > 0 {
			f(i, &b.cells[i])
		}
	}
}

// ECE returns the expected calibration error, in [0,1], 0 is best: (1/N) * sum over bins of |sum (p - y)|. The sum is
// exact and rounded once. NaN if nothing was seen.
//
// Source: Naeini, Cooper and Hauskrecht 2015; for the top label Guo, Pleiss, Sun and Weinberger 2017.
func (b *Bins) ECE() float64 {
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
func (b *Bins) RMSCE() float64 {
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
func (b *Bins) MCE() (mce float64, count int64) {
	mce = math.NaN()
	b.each(func(_ int, c *tally.Cell) {
		g, w := c.Gap(), c.Total(b.weighted)
		if d := math.Abs(exact.Ratio(&g, &w)); !(d <= mce) {
			mce, count = d, c.N
		}
	})
	return mce, count
}

// Bins returns the bars of the reliability diagram in rising order. The bins of p = 0 and p >= 1, which some options
// set apart, are there only if they have rows.
func (b *Bins) Bins(level float64) []Bin {
	n := b.opt.bins()
	out := make([]Bin, 0, n+2)
	bar := func(i int, lo, hi float64) {
		c := &b.cells[i]
		w := c.Total(b.weighted)
		f := c.Frequency(b.weighted)
		out = append(out, Bin{Lower: lo, Upper: hi, Count: c.N, Weight: w.Float64(), Confidence: c.Score(b.weighted),
			Frequency: f, Interval: metrics.Wilson(f, c.Effective(b.weighted), level)})
	}
	if b.cells[n+1].N > 0 {
		bar(n+1, 0, 0)
	}
	for i := range n {
		bar(i, b.edges[i], b.edges[i+1])
	}
	if b.cells[n].N > 0 {
		bar(n, 1, 1)
	}
	return out
}

// Floor returns what ECE would show on average over perfectly calibrated predictions with these scores,
// sqrt(2/pi) * sum over bins of sqrt(sum p(1-p)) / N: an ECE near it is no evidence of miscalibration. NaN with weights
// and for AllClasses, where the entries of a row hang together.
func (b *Bins) Floor() float64 {
	if b.weighted || b.opt.Event == AllClasses {
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
func (b *Bins) Interval(level float64) metrics.Interval {
	t := b.total()
	n := t.Float64()
	if b.weighted || b.opt.Event == AllClasses || !(n >= 2) {
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
