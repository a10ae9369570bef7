package score

import (
	"errors"
	"math"

	"github.com/candor-go/candor/metrics"
)

// The functions of this file return a mean over predictions in memory and, if dst is not nil, write each row's score to
// dst[i], i being the row's index. dst is as long as there are rows, or the function panics. A row that was left out
// (bad, or of weight 0) gets NaN. The mean is the accumulator's, to the bit. o may be nil; the error is a
// *metrics.DataError, and dst is then of no use.

// NLL is the mean of -ln p_y; +Inf for a row whose label got probability 0. See Loss.NLL.
func NLL(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return each(dst, p, o, (*Loss).NLL, nlls)
}

// Brier is the mean Brier score; see BrierDefault.
func Brier(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return each(dst, p, o, func(l *Loss) float64 { return l.Brier(BrierDefault) }, squared)
}

// BrierOf is the mean Brier score in the given form. BrierBinary of more than two classes is NaN, each row's too.
func BrierOf(dst []float64, p *metrics.Predictions, f BrierForm, o *metrics.Options) (float64, error) {
	return each(dst, p, o, func(l *Loss) float64 { return l.Brier(f) }, func(dst []float64, b *metrics.Block) {
		squared(dst, b)
		scale, shift := f.of(b.Classes)
		for i, v := range dst {
			dst[i] = float64(scale*v) + shift
		}
	})
}

// Spherical is the mean spherical loss; see SphericalRule.
func Spherical(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return meanOf(NewMean(SphericalRule), dst, p, o)
}

// RPS is the mean ranked probability score; see RankedRule.
func RPS(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return meanOf(NewMean(RankedRule), dst, p, o)
}

func meanOf(m *Mean, dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return run(m, m.Value, dst, p, o, &rows{need: m.Needs(), row: m.rule.rows})
}

// Entropy is the mean entropy of the probabilities in nats; see Loss.Entropy.
func Entropy(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return each(dst, p, o, (*Loss).Entropy, entropies)
}

// Confidence is the mean of the largest probability, or of the caller's decision's; see Loss.Confidence.
func Confidence(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return each(dst, p, o, (*Loss).Confidence, confidences)
}

// Accuracy is the share of rows whose arg max, or the caller's decision, is the label: 1 or 0 a row. See Loss.Accuracy.
func Accuracy(dst []float64, p *metrics.Predictions, o *metrics.Options) (float64, error) {
	return each(dst, p, o, (*Loss).Accuracy, hits)
}

// TopK is the share of rows whose label is among the k largest scores: 1 or 0 a row. See Loss.TopK.
func TopK(dst []float64, p *metrics.Predictions, k int, o *metrics.Options) (float64, error) {
	return eachOf(NewLoss(&Options{TopK: k}), dst, p, o, func(l *Loss) float64 { return l.TopK(k) }, topHits(k))
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

// Of returns the accumulator of predictions in memory.
func Of(p *metrics.Predictions, o *metrics.Options) (*Loss, error) {
	l := NewLoss(nil)
	if err := metrics.NewPass(o, l).Add(p); err != nil {
		return nil, err
	}
	return l, nil
}

// rowScores writes the score of each row of a block; dst is as long as there are rows.
type rowScores func(dst []float64, b *metrics.Block)

func each(dst []float64, p *metrics.Predictions, o *metrics.Options, mean func(*Loss) float64, row rowScores,
) (float64, error) {
	return eachOf(NewLoss(nil), dst, p, o, mean, row)
}

func eachOf[A metrics.Accumulator](a A, dst []float64, p *metrics.Predictions, o *metrics.Options, mean func(A) float64, row rowScores,
) (float64, error) {
	return run(a, func() float64 { return mean(a) }, dst, p, o, &rows{need: a.Needs(), row: row})
}

// run feeds the accumulator a, whose answer is mean, and, if dst is not nil, what writes the rows' scores there.
func run(a metrics.Accumulator, mean func() float64, dst []float64, p *metrics.Predictions, o *metrics.Options, r *rows,
) (float64, error) {
	accs := []metrics.Accumulator{a}
	if dst != nil {
		if len(dst) != p.Rows {
			panic("score: dst and rows differ in number")
		}
		for i := range dst {
			dst[i] = math.NaN()
		}
		r.dst = dst
		accs = append(accs, r)
	}
	if err := metrics.NewPass(o, accs...).Add(p); err != nil {
		return math.NaN(), err
	}
	return mean(), nil
}

// rows is an accumulator that keeps nothing: it writes each row's score where the caller wants it.
type rows struct {
	dst, v []float64
	need   metrics.Need
	row    rowScores // on the goroutines of a Pass
}

func (r *rows) Needs() metrics.Need                   { return r.need }
func (r *rows) Empty() metrics.Accumulator            { return &rows{dst: r.dst, need: r.need, row: r.row} }
func (r *rows) Len() int64                            { return 0 }
func (r *rows) Merge(metrics.Accumulator) error       { return nil }
func (r *rows) AppendBinary(b []byte) ([]byte, error) { return nil, errNoState }
func (r *rows) UnmarshalBinary([]byte) error          { return errNoState }

var errNoState = errors.New("score: rows have no state")

func (r *rows) AddBlock(b *metrics.Block) {
	if len(r.v) < b.Rows {
		r.v = make([]float64, b.Rows)
	}
	v := r.v[:b.Rows]
	r.row(v, b)
	for i, x := range v {
		r.dst[b.Number(i)] = x
	}
}
