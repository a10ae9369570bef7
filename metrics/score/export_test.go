package score

import (
	"errors"
	"math"

	"github.com/candor-go/candor/metrics"
)

// These functions return a mean and, if dst is not nil, write the value of each row to dst.

func NLLRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := NLL(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, 0, nlls))
}

func ClippedNLLRows(dst []float64, p *metrics.Predictions, n NLLOptions, o *metrics.Options) (float64, error) {
	v, err := ClippedNLL(p, n, o)
	return v, errors.Join(err, rowsTo(dst, p, o, (&Clipped{opt: n}).Needs(), n.rows))
}

func BrierRows(dst []float64, p *metrics.Predictions, f BrierForm, o *metrics.Options) (float64, error) {
	l, err := LossOf(p, o)
	if err != nil {
		return math.NaN(), err
	}
	of, err := brierRows(brierNames[f], p.Classes)
	if err == nil {
		err = rowsTo(dst, p, o, metrics.NeedSpread, of())
	}
	return l.Brier(f), err
}

func SphericalRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := Spherical(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, metrics.NeedSpread, spherical))
}

func RPSRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := RPS(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, metrics.NeedRows, RankedRule.rows))
}

func EntropyRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := Entropy(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, metrics.NeedSpread, entropies))
}

func ConfidenceRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := Confidence(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, 0, confidences))
}

func AccuracyRows(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	v, err := Accuracy(p, o)
	return v, errors.Join(err, rowsTo(dst, p, o, 0, hits))
}

func TopKRows(dst []float64, p *metrics.Predictions, k int, o *metrics.Options) (float64, error) {
	v, err := TopK(p, k, o)
	return v, errors.Join(err, rowsTo(dst, p, o, metrics.NeedRank, topHits(k)))
}

func CRPSRows(dst []float64, p *metrics.Predictions, f CRPSForm, o *metrics.Options) (float64, error) {
	v, err := CRPS(p, f, o)
	of, _ := crpsRows(f)("", p.Classes)
	return v, errors.Join(err, rowsTo(dst, p, o, metrics.NeedSpread|metrics.NeedRows, of()))
}

func rowsTo(dst []float64, p *metrics.Predictions, o *metrics.Options, need metrics.Need, f rowFunc) error {
	if dst == nil {
		return nil
	}
	// A function that keeps memory belongs to one goroutine.
	var one metrics.Options
	if o != nil {
		one = *o
	}
	one.Threads = 1
	return metrics.RowMetric{Need: need, New: func() func([]float64, *metrics.Block) { return f }}.Rows(dst, p, &one)
}
