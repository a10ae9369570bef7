package regress

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// NormalNLL returns the negative log-likelihood of a normal forecast, in nats. Lower is better, and there is no best value.
// With z = (y - mean)/sd it is
//
//	ln sd + z^2/2 + ln(2*pi)/2
//
// It is +Inf if it overflows float64, and NaN for sd <= 0, and if sd or y - mean is NaN or infinite. score.NormalCRPS is the
// CRPS of the same forecast.
func NormalNLL(y, mean, sd float64) float64 {
	e := y - mean
	if !(sd > 0 && sd <= math.MaxFloat64) || e-e != 0 {
		return math.NaN()
	}
	z := e / sd
	return kernel.Log64(sd) + float64(float64(z*z)/2) + 0.91893853320467274178
}

// NormalsOf returns Errors and Normal, with their default statistics, for normal forecasts in memory: the observed values,
// the forecasts' means and their standard deviations, one per row. o may be nil. The error is a *metrics.DataError, or a
// *metrics.LengthError if the slices differ in length.
func NormalsOf(observed, mean, sd []float64, o *metrics.Options) (*Errors, *Normal, error) {
	p, err := NormalPredictions(observed, mean, sd)
	if err != nil {
		return nil, nil, err
	}
	e, n := metrics.Must(NewErrors(nil)), metrics.Must(NewNormal(nil))
	if err := metrics.NewPass(o, e, n).Add(p); err != nil {
		return nil, nil, err
	}
	return e, n, nil
}

// NormalPredictions copies columns into predictions of the kind metrics.Normals, for any accumulators. The error is a
// *metrics.LengthError if the slices differ in length.
func NormalPredictions(observed, mean, sd []float64) (*metrics.Predictions, error) {
	switch n := len(observed); {
	case len(mean) != n:
		return nil, &metrics.LengthError{Column: "means", Len: len(mean), Rows: n}
	case len(sd) != n:
		return nil, &metrics.LengthError{Column: "standard deviations", Len: len(sd), Rows: n}
	}
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = make([]float64, 3*len(observed)), len(observed), 3
	for i, y := range observed {
		row := p.F64[3*i : 3*i+3]
		row[0], row[1], row[2] = mean[i], sd[i], y
	}
	return p, nil
}

// SharpnessOf returns the mean of the squared standard deviations, as LaplaceRedux does, and its square root, as
// uncertainty-toolbox does. They tell how narrow the forecasts are, for any distribution. Both are NaN without rows, and if
// an sd is negative, NaN or infinite. The first is +Inf if it overflows float64.
func SharpnessOf(sd []float64) (variance, root float64) {
	var s tally.MeanSquare
	var count tally.Weight
	for _, v := range sd {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return math.NaN(), math.NaN()
		}
	}
	s.Add(sd, nil)
	count.Add(len(sd), nil)
	m := s.Mean(&count, false)
	return tally.Float(m), tally.Root(m)
}
