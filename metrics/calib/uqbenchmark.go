package calib

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// UQBenchmark returns the ECE of the top label as google-research's uq_benchmark_2019 computes it, for comparison with numbers
// published by it. It preserves that code's defect: rows are counted in left-closed bins, but a bin's confidence and accuracy
// are means over right-closed bins. Scores on an edge are therefore weighted by the rows of a neighboring bin. If a bin has
// rows when left-closed but none when right-closed, the result is NaN. It is an error if bins is not between 1 and 2^18.
//
// o selects how rows are checked and may be nil. The error may be a *metrics.DataError, or say that there are fewer than two
// rows, that a probability is above 1, or that the sum of a row differs from 1 by more than 2e-5. o.Unchecked accepts any sum.
func UQBenchmark(p *metrics.Predictions, bins int, o *metrics.Options) (float64, error) {
	if bins < 1 || bins > maxBins/4 {
		return math.NaN(), errParityBins(bins)
	}
	left := metrics.Must(NewBins(&Options{Bins: bins, Event: TopLabel}))
	right := metrics.Must(NewBins(&Options{Bins: bins, Event: TopLabel, Side: kernel.RightClosed, One: LastBinOnly}))
	pass := metrics.NewPass(o, left, right)
	if err := pass.Add(p); err != nil {
		return math.NaN(), err
	}
	switch a := pass.Audit(); {
	case left.Len() < 2:
		return math.NaN(), fmt.Errorf("calib: uq_benchmark_2019 needs two rows or more; there are %d", left.Len())
	case right.lost.N > 0:
		return math.NaN(), errors.New("calib: uq_benchmark_2019 refuses probabilities above 1; clip them to [0, 1]")
	case a.SumsOff > 0 && !a.Unchecked && !a.Renormalized && (a.SumMin < 1-sumsClose || a.SumMax > 1+sumsClose):
		return math.NaN(), fmt.Errorf("calib: uq_benchmark_2019 refuses rows whose sum is off 1 by more than %g; "+
			"there are sums from %.7g to %.7g: divide each row by its sum", sumsClose, a.SumMin, a.SumMax)
	}
	ece := 0.0
	n := left.total()
	for i := range bins {
		if left.cells[i].N == 0 {
			continue
		}
		c := &right.cells[i]
		g, w, count := c.Gap(), c.Total(right.weighted), left.cells[i].Total(left.weighted)
		ece += float64(exact.Ratio(&count, &n) * math.Abs(exact.Ratio(&g, &w)))
	}
	return ece, nil
}

// sumsClose is the tolerance of numpy.allclose(1, sum, atol=1e-5), which adds a relative tolerance of 1e-5.
const sumsClose = 2e-5
