package calib

import (
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// NNCalibration returns the ECE and the MCE of the top label as markus93/NN_calibration computes them, for comparison with
// numbers published by it. It preserves that code's defects. Bins are (upper - 1/n, upper] for the floating-point values upper
// of numpy.arange(1/n, 1 + 1/n, 1/n), so the lower end of a bin is not always the upper end of the previous one. Some scores on
// an edge are therefore in two bins (2/100 and 6/100), others in none (6/15 and 12/15), but all rows count in N. A score of 0
// is in no bin either. The MCE is 0 if no row is in a bin. It is an error if bins is not between 1 and 2^18.
//
// o selects how rows are checked and may be nil; the error may be a *metrics.DataError. The results are NaN without rows.
func NNCalibration(p *metrics.Predictions, bins int, o *metrics.Options) (ece, mce float64, err error) {
	if bins < 1 || bins > maxBins/4 {
		return math.NaN(), math.NaN(), errParityBins(bins)
	}
	width := 1 / float64(bins)
	lower, upper := make([]float64, 0, bins+1), make([]float64, 0, bins+1)
	for i := range int(math.Ceil((1 + width - width) / width)) { // the length of numpy's arange
		u := width + float64(float64(i)*width)
		lower, upper = append(lower, u-width), append(upper, u)
	}
	// Adjacent ends of bins delimit cells, and each bin is a union of these.
	ends := slices.Concat(lower, upper)
	slices.Sort(ends)
	ends = slices.Compact(ends)
	b := newCut(ends)
	if err := metrics.NewPass(o, b).Add(p); err != nil {
		return math.NaN(), math.NaN(), err
	}
	n := b.total()
	if n.IsZero() {
		return math.NaN(), math.NaN(), nil
	}
	var sum exact.Sum
	for i := range upper {
		from, _ := slices.BinarySearch(ends, lower[i])
		to, _ := slices.BinarySearch(ends, upper[i])
		var c tally.Cell
		for j := from + 1; j <= to; j++ {
			c.Merge(&b.cells[j])
		}
		if c.N == 0 {
			continue
		}
		g, w := c.Gap(), c.Total(b.weighted)
		mce = math.Max(mce, math.Abs(exact.Ratio(&g, &w)))
		if g.Sign() < 0 {
			sum.Sub(&g)
		} else {
			sum.Merge(&g)
		}
	}
	return exact.Ratio(&sum, &n), mce, nil
}

func errParityBins(bins int) error {
	return fmt.Errorf("calib: %d bins; there are 1 to %d here", bins, maxBins/4)
}

// cut is a Bins with right-closed cells between any ascending values. There is one more cell than values: the first cell has
// the scores up to the first value, the last cell those above the last value.
type cut struct {
	Bins
	at []float64
}

func newCut(at []float64) *cut {
	b := metrics.Must(NewBins(&Options{Bins: len(at) + 1, Event: TopLabel, Side: kernel.RightClosed, Index: EdgeDiv}))
	b.edges = slices.Concat([]float64{math.Inf(-1)}, at, []float64{math.Inf(1)})
	return &cut{*b, at}
}

func (c *cut) Empty() metrics.Accumulator { return newCut(c.at) }

func (c *cut) Merge(a metrics.Accumulator) error { return c.Bins.Merge(&a.(*cut).Bins) }
