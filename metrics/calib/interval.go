package calib

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Interval returns a confidence interval of ECE, within [0,1], for independent rows and fixed edges. It uses no random numbers.
// Let d_b = sum (y-p) / N in bin b, and s_b its standard error, the larger of that under calibration and the empirical one. A
// bin is clear if |d_b| > sqrt(ln N) s_b. The interval is
//
//	low  = ECE - sqrt(2/pi) * sum over unclear bins of s_b - z * sqrt((1-2/pi) * sum unclear s_b^2 + sum clear s_b^2)
//	high = ECE + z * sqrt(sum s_b^2)
//
// truncated to [0,1]. In an unclear bin |d_b| is biased upward by about sqrt(2/pi) s_b, which the lower end subtracts. A
// percentile bootstrap would add this bias a second time. If there is no interval, IntervalReason gives the reason.
func (b *Partition) Interval(level float64) metrics.Interval {
	if b.IntervalReason() != "" {
		return metrics.NoInterval()
	}
	z := metrics.Z(level)
	t := b.total()
	n := t.Float64()
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

// MCEInterval returns a confidence interval of the largest |mean score - frequency| among nonempty bins, for independent rows
// and fixed edges. It is simultaneous over the bins: with m nonempty bins, each gap has an interval of level 1 - (1-level)/m,
// and the ends are the largest lower and the largest upper bound of |gap|.
//
// At either end, a bin's interval is the wider of two: that of Clopper and Pearson for its frequency, subtracted from the mean
// score, and that of the mean of p - y with its standard error. (Wilson's interval misses too often at such levels if events
// are rare.) A single bin with few rows makes the interval wide, as it makes MCE uninformative. If there is no interval,
// IntervalReason gives the reason.
func (b *Partition) MCEInterval(level float64) metrics.Interval {
	if b.IntervalReason() != "" {
		return metrics.NoInterval()
	}
	m := 0
	b.each(func(int, *tally.Cell) { m++ })
	miss := (1 - level) / float64(m)
	z := metrics.Z(1 - miss)
	var i metrics.Interval
	b.each(func(_ int, c *tally.Cell) {
		gap, se := c.MeanGap(false) // p - y
		p := c.Score(false)
		f := clopperPearson(c.Y.Float64(), float64(c.N), miss)
		low, high := math.Min(p-f.High, gap), math.Max(p-f.Low, gap)
		if se-se == 0 {
			low, high = math.Min(low, gap-float64(z*se)), math.Max(high, gap+float64(z*se))
		}
		i.Low = math.Max(i.Low, math.Max(low, -high))
		i.High = math.Max(i.High, math.Max(-low, high))
	})
	i.High = math.Min(1, i.High)
	return i
}

// clopperPearson returns the interval of a frequency with k events in n rows. It misses the true frequency with probability at
// most miss, half of it at either end.
func clopperPearson(k, n, miss float64) metrics.Interval {
	return metrics.Interval{Low: tails.LowerLimit(k, n, miss/2), High: 1 - tails.LowerLimit(n-k, n, miss/2)}
}

// Reasons why there is no answer or no interval.
const (
	reasonTogether = "the entries of a row depend on each other, so the scores are not independent"
	reasonChosen   = "the edges were chosen by the scores; the interval is known for fixed edges only"
)

// IntervalReason returns the reason why Interval and MCEInterval have no interval, or "" if they have one. Possible reasons are
// fewer than two rows, weights, dependent scores (AllClasses), and edges chosen from the scores.
func (b *Partition) IntervalReason() string {
	switch r := b.FloorReason(); {
	case r != "":
		return r
	case b.Len() < 2:
		return reason.OneRow
	case b.chosen:
		return reasonChosen
	}
	return ""
}
