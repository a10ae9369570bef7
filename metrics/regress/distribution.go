package regress

import (
	"errors"
	"fmt"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Distribution is a forecast distribution of any form. The univariate distributions of gonum's distuv implement it.
type Distribution interface {
	CDF(x float64) float64      // the probability of values at or below x
	Quantile(p float64) float64 // the inverse of CDF, for p in [0,1]
}

// Frequency returns the calibration curve of forecasts of any form, one per row: for each level p, the share of the rows
// with observed[i] <= dists[i].Quantile(p). Levels rise and are in [0,1]; nil means Levels(DefaultCalibrationBins). weights
// may be nil; a row of weight 0 is left out. At levels 0 and 1 the quantiles are the ends of a forecast's support, so an
// observed value above the support makes the frequency at level 1 less than 1.
//
// It returns an error for an observed value that is not finite, a weight that metrics.Predictions do not accept, a quantile
// that is NaN, and levels out of order. If slices differ in length, the error is a *metrics.LengthError.
func Frequency[D Distribution](observed []float64, dists []D, levels, weights []float64) (Curve, error) {
	switch n := len(observed); {
	case len(dists) != n:
		return Curve{}, &metrics.LengthError{Column: "distributions", Len: len(dists), Rows: n}
	case weights != nil && len(weights) != n:
		return Curve{}, &metrics.LengthError{Column: "weights", Len: len(weights), Rows: n}
	}
	if levels == nil {
		levels = Levels(DefaultCalibrationBins)
	}
	for j, p := range levels {
		if !(p >= 0 && p <= 1) || j > 0 && p <= levels[j-1] {
			return Curve{}, errors.New("regress: the levels of a curve have to rise, and to lie in [0,1]")
		}
	}
	var count tally.Weight
	upTo := make([]exact.Sum, len(levels))
	for i, y := range observed {
		w := 1.0
		if weights != nil {
			if w = weights[i]; w == 0 {
				continue
			}
			if !(w >= 0x1p-32 && w <= 0x1p32) {
				return Curve{}, fmt.Errorf("regress: the weight of row %d is %v, which is neither 0 nor from 2^-32 to 2^32", i, w)
			}
			count.Add(1, weights[i:i+1])
		} else {
			count.Add(1, nil)
		}
		if y-y != 0 {
			return Curve{}, fmt.Errorf("regress: the observed number of row %d is %v; leave the row out", i, y)
		}
		for j, p := range levels {
			q := dists[i].Quantile(p)
			if q != q {
				return Curve{}, fmt.Errorf("regress: the quantile of row %d at level %v is not a number; look at its parameters", i, p)
			}
			if y <= q {
				upTo[j].AddFloat(w)
			}
		}
	}
	c := Curve{slices.Clone(levels), make([]float64, len(levels)), count.Effective(weights != nil)}
	total := count.Total(weights != nil)
	for j := range upTo {
		c.Frequencies[j] = exact.Ratio(&upTo[j], &total)
	}
	return c, nil
}

// EmpiricalFrequency returns the calibration curve of normal forecasts at the levels j/bins, LaplaceRedux's
// empirical_frequency_regression. It equals that of a Calibration to the bit. The error is a *metrics.DataError, a
// *metrics.LengthError if the slices differ in length, or says that bins is not from 1 to 10,000.
func EmpiricalFrequency(observed, mean, sd []float64, bins int) (Curve, error) {
	p, err := NormalPredictions(observed, mean, sd)
	if err != nil {
		return Curve{}, err
	}
	c, err := NewCalibration(&CalibrationOptions{Bins: bins})
	if bins == 0 {
		err = errCalibrationBins(bins) // NewCalibration takes 0 for the default
	}
	if err == nil {
		err = metrics.NewPass(nil, c).Add(p)
	}
	if err != nil {
		return Curve{}, err
	}
	return c.Curve(), nil
}
