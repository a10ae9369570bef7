package calib

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// BinaryFrequency returns the reliability diagram of the positive class as LaplaceRedux computes it
// (empirical_frequency_binary_classification), for comparison with plots that were made by it. Each interval is (a, b] with the edges
// i/bins; a score of 0 is in none. Its faults are kept: an interval without rows has a frequency of 0, and what stands for the
// predicted average is the interval's centre. Its default is 20 bins. A bins that is not 1 to 2^18, and more than two classes, are errors.
//
// candor's own is Bins, which says Frequency with its interval, the mean score as Confidence, and NaN of a bin without rows.
//
// o, which may be nil, says how the rows are checked; an error is a *metrics.DataError. Weights make frequency a weighted one.
func BinaryFrequency(p *metrics.Predictions, bins int, o *metrics.Options) (count []int64, frequency, centre []float64, err error) {
	if bins < 1 || bins > maxBins/4 {
		return nil, nil, nil, errParityBins(bins)
	}
	if p.Classes > 2 {
		return nil, nil, nil, errBinaryOnly(p.Classes)
	}
	b := metrics.Must(NewBins(&Options{Bins: bins, Event: Positive, Side: kernel.RightClosed, Index: EdgeDiv, Zero: DropZero, One: LastBinOnly}))
	if err := metrics.NewPass(o, b).Add(p); err != nil {
		return nil, nil, nil, err
	}
	for _, bar := range b.Bins(metrics.DefaultLevel)[:bins] {
		if math.IsNaN(bar.Frequency) {
			bar.Frequency = 0
		}
		count, frequency, centre = append(count, bar.Count), append(frequency, bar.Frequency), append(centre, bar.Centre())
	}
	return count, frequency, centre, nil
}
