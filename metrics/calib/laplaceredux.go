package calib

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// BinaryFrequency returns the reliability diagram of the positive class as LaplaceRedux computes it
// (empirical_frequency_binary_classification), for comparison with plots made by it. It preserves that code's defects: an
// interval without rows has frequency 0, and the predicted average is the midpoint of the interval. Intervals are (a, b] with
// edges i/bins; a score of 0 is in none. That code's default is 20 bins. It is an error if bins is not between 1 and 2^18, or
// if there are more than two classes.
//
// candor's own diagram is that of Bins: it has Frequency with an interval, the mean score as Confidence, and NaN for a bin
// without rows.
//
// o selects how rows are checked and may be nil; the error may be a *metrics.DataError. With weights, frequency is weighted.
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
