package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Bin is one bar of a reliability diagram.
type Bin struct {
	Lower, Upper float64 // edges of the bin; equal for the separate bins of p = 0 and p >= 1
	Count        int64
	Weight       float64          // sum of weights; Count without weights
	Confidence   float64          // mean score; NaN if the bin is empty
	Frequency    float64          // weighted share of rows with the event, for the top label the accuracy; NaN if the bin is empty
	Interval     metrics.Interval // Wilson's interval of Frequency
	Band         metrics.Interval // range of Frequency for calibrated scores: Confidence +- z sqrt(sum p(1-p))/n
}

// Partition holds sums of scores and outcomes by bin. They give every calibration error over these bins.
type Partition struct {
	cells        []tally.Cell // bins in ascending order, followed by bins set apart
	lower, upper []float64    // edges of each cell
	apart        int          // number of bins at the end of cells that some rules set apart; their place is given by lower and upper
	lost         tally.Weight // scores that are in no bin but count as rows
	weighted     bool
	together     bool // scores are the dependent entries of rows
	chosen       bool // the edges were chosen from these scores
}

// total returns the sum of weights of all rows, including those in no bin.
func (b *Partition) total() exact.Sum {
	t := b.lost.Total(b.weighted)
	for i := range b.cells {
		c := b.cells[i].Total(b.weighted)
		t.Merge(&c)
	}
	return t
}

// each calls f for the nonempty cells.
func (b *Partition) each(f func(i int, c *tally.Cell)) {
	for i := range b.cells {
		if b.cells[i].N > 0 {
			f(i, &b.cells[i])
		}
	}
}

// Len returns the number of scores, including those in no bin: rows, or for AllClasses entries.
func (b *Partition) Len() int64 {
	n := b.lost.N
	for i := range b.cells {
		n += b.cells[i].N
	}
	return n
}

// Bins returns the bars of the reliability diagram in ascending order. The separate bins of p = 0 and p >= 1 that some options
// define are included only if they have rows.
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

// Whole returns the scores of all bins as one bin, from the lowest edge to the highest: their mean, the share of events and its interval, and
// its range for calibrated scores. It is empty if no score is in a bin.
func (b *Partition) Whole(level float64) Bin {
	one := Partition{cells: make([]tally.Cell, 1), weighted: b.weighted}
	low, high := math.Inf(1), math.Inf(-1)
	for i := range b.cells {
		one.cells[0].Merge(&b.cells[i])
		low, high = math.Min(low, b.lower[i]), math.Max(high, b.upper[i])
	}
	one.lower, one.upper = []float64{low}, []float64{high}
	return one.bar(0, level)
}

// bar returns the bar of a cell.
func (b *Partition) bar(i int, level float64) Bin {
	c := &b.cells[i]
	w := c.Total(b.weighted)
	f := c.Frequency(b.weighted)
	bar := Bin{Lower: b.lower[i], Upper: b.upper[i], Count: c.N, Weight: w.Float64(), Confidence: c.Score(b.weighted),
		Frequency: f, Interval: metrics.Wilson(f, c.Effective(b.weighted), level), Band: metrics.NoInterval()}
	if c.N > 0 {
		// With weights, the sum of the variances p(1-p) is scaled to effective rows.
		v := c.Spread()
		se := math.Sqrt(math.Max(0, v.Float64()/bar.Weight) / c.Effective(b.weighted))
		band := metrics.Normal(bar.Confidence, se, level)
		bar.Band = metrics.Interval{Low: math.Max(0, band.Low), High: math.Min(1, band.High)}
	}
	return bar
}

// Joined returns the bins from the given one on, where neighbours are joined until each has this many rows. Rows at the end that are
// fewer are left out, and so are bins that some rules set apart.
func (b *Partition) Joined(from int, least int64, level float64) (l []Bin) {
	var sum tally.Cell
	low := -1
	for i := from; i < len(b.cells)-b.apart; i++ {
		if low < 0 {
			low = i
		}
		sum.Merge(&b.cells[i])
		if sum.N < least {
			continue
		}
		one := Partition{cells: []tally.Cell{sum}, lower: []float64{b.lower[low]}, upper: []float64{b.upper[i]}, weighted: b.weighted}
		l = append(l, one.bar(0, level))
		sum, low = tally.Cell{}, -1
	}
	return l
}
