package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
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
	Band         metrics.Interval // where Frequency would lie if the scores were calibrated: Confidence +- z sqrt(sum p(1-p))/n
}

// Partition is scores and outcomes summed by bins, from which every calibration error over these bins is answered.
type Partition struct {
	cells        []tally.Cell // the bins in rising order, then those set apart
	lower, upper []float64    // edges, one pair a cell
	apart        int          // cells at the end that some rules set apart; where they stand is in lower and upper
	lost         tally.Weight // scores in no bin that count as rows
	weighted     bool
	together     bool // scores are entries of rows, which hang together
	chosen       bool // the edges were chosen by these scores
}

// total returns the sum of the weights of all rows, also of those in no bin.
func (b *Partition) total() exact.Sum {
	t := b.lost.Total(b.weighted)
	for i := range b.cells {
		c := b.cells[i].Total(b.weighted)
		t.Merge(&c)
	}
	return t
}

// each calls f for the cells that have rows.
func (b *Partition) each(f func(i int, c *tally.Cell)) {
	for i := range b.cells {
		if b.cells[i].N > 0 {
			f(i, &b.cells[i])
		}
	}
}

// Len returns the number of scores seen, those in no bin included: rows, or for AllClasses entries.
func (b *Partition) Len() int64 {
	n := b.lost.N
	for i := range b.cells {
		n += b.cells[i].N
	}
	return n
}

// Bins returns the bars of the reliability diagram in rising order. The bins of p = 0 and p >= 1, which some options
// set apart, are there only if they have rows.
func (b *Partition) Bins(level float64) []Bin {
	n := len(b.cells) - b.apart
	out := make([]Bin, 0, len(b.cells))
	aside := func(low bool) {
		for i := n; i < len(b.cells); i++ {
			if b.cells[i].N > 0 && (b.lower[i] <= 0) == low {
				out = append(out, b.bar(i, level))
			}
		}
	}
	aside(true)
	for i := range n {
		out = append(out, b.bar(i, level))
	}
	aside(false)
	return out
}

// bar returns the bar of a cell.
func (b *Partition) bar(i int, level float64) Bin {
	c := &b.cells[i]
	w := c.Total(b.weighted)
	f := c.Frequency(b.weighted)
	bar := Bin{Lower: b.lower[i], Upper: b.upper[i], Count: c.N, Weight: w.Float64(), Confidence: c.Score(b.weighted),
		Frequency: f, Interval: metrics.Wilson(f, c.Effective(b.weighted), level), Band: metrics.NoInterval()}
	if c.N > 0 {
		// The sum of p(1-p) is that of variances; with weights it is one of effective rows.
		v := c.Spread()
		se := math.Sqrt(math.Max(0, v.Float64()/bar.Weight) / c.Effective(b.weighted))
		band := metrics.Normal(bar.Confidence, se, level)
		bar.Band = metrics.Interval{Low: math.Max(0, band.Low), High: math.Min(1, band.High)}
	}
	return bar
}
