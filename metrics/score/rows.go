package score

import (
	"math"

	"github.com/candor-go/candor/metrics"
)

// The functions of this file return the mean over predictions in memory, equal to the accumulator's to the bit. o may be
// nil. The error is a *metrics.DataError or a *metrics.LengthError; the mean is then NaN. For the value of each row see
// ParseRowMetric.

// NLL returns the mean of -ln p_y in nats, or +Inf if a label has probability 0. See Loss.NLL.
func NLL(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return lossOf(p, o, (*Loss).NLL)
}

// Brier returns the mean Brier score in its default form; see BrierDefault. Loss.Brier has the other forms.
func Brier(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return lossOf(p, o, func(l *Loss) float64 { return l.Brier(BrierDefault) })
}

// Entropy returns the mean entropy of the probabilities in nats; see Loss.Entropy.
func Entropy(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return lossOf(p, o, (*Loss).Entropy)
}

// Confidence returns the mean of the largest probability, or of that of the caller's decision; see Loss.Confidence.
func Confidence(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return lossOf(p, o, (*Loss).Confidence)
}

// Accuracy returns the share of rows whose arg max, or the caller's decision, is the label; see Loss.Accuracy.
func Accuracy(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return lossOf(p, o, (*Loss).Accuracy)
}

// TopK returns the share of rows whose label is among the k largest scores; see Loss.TopK. It returns an error unless 1 <= k
// <= 1,000.
func TopK(p *metrics.Predictions, k int, o *metrics.Options) (float64, error) {
	l, err := NewLoss(&Options{TopK: k})
	if k == 0 {
		err = errTopK(k) // NewLoss takes 0 for the default
	}
	return meanOf(l, err, p, o, func(l *Loss) float64 { return l.TopK(k) })
}

// Spherical returns the mean spherical loss; see SphericalRule.
func Spherical(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return meanOf(NewMean(SphericalRule), nil, p, o, (*Mean).Value)
}

// RPS returns the mean ranked probability score; see RankedRule.
func RPS(p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return meanOf(NewMean(RankedRule), nil, p, o, (*Mean).Value)
}

// LossOf returns the losses of predictions in memory.
func LossOf(p *metrics.Predictions, o *metrics.Options) (*Loss, error) {
	l, err := NewLoss(nil)
	if err == nil {
		err = metrics.NewPass(o, l).Add(p)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

func lossOf(p *metrics.Predictions, o *metrics.Options, mean func(*Loss) float64) (float64, error) {
	l, err := NewLoss(nil)
	return meanOf(l, err, p, o, mean)
}

// meanOf returns the mean of an accumulator after it has seen the rows. err is the error of making the accumulator.
func meanOf[A metrics.Accumulator](a A, err error, p *metrics.Predictions, o *metrics.Options, mean func(A) float64) (float64, error) {
	if err == nil {
		err = metrics.NewPass(o, a).Add(p)
	}
	if err != nil {
		return math.NaN(), err
	}
	return mean(a), nil
}

func nlls(dst []float64, b *metrics.Block)        { copy(dst, b.Stats.NLL) }
func entropies(dst []float64, b *metrics.Block)   { copy(dst, b.Stats.Entropy) }
func confidences(dst []float64, b *metrics.Block) { copy(dst, b.Score) }

func hits(dst []float64, b *metrics.Block) {
	for i := range dst {
		dst[i] = float64(b.Right[i])
	}
}

func topHits(k int) func(dst []float64, b *metrics.Block) {
	return func(dst []float64, b *metrics.Block) {
		for i := range dst {
			dst[i] = 0
			if rank(b, i) < k {
				dst[i] = 1
			}
		}
	}
}
