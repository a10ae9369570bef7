package score

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Rescale says whether and when NLLOf divides a row of probabilities by its sum.
type Rescale uint8

const (
	RescaleNone  Rescale = iota
	RescaleFirst         // before probabilities are clipped: Keras' categorical cross-entropy
	RescaleLast          // afterwards: Keras' sparse categorical cross-entropy
)

// NLLOptions say how NLLOf differs from NLL, for parity with what other systems report. The zero value does not differ.
type NLLOptions struct {
	// Clip is the least probability and what the largest is less than 1: Keras has 1e-7, uncertainty-baselines 1e-15. 0 clips
	// nothing, and a label of probability 0 makes the mean +Inf.
	Clip    float64
	Rescale Rescale
	Sum     bool // the sum over the rows, each times its weight, in place of their mean
}

// NLLOf is the mean of -ln p_y, or the sum, of probabilities that were clipped to [Clip, 1-Clip] and rescaled as n says. It
// hides how wrong a confident model is, and what it says of one depends on Clip: NLL is the honest one. Without rows a mean
// is NaN and a sum 0. It panics unless 0 <= Clip < 1/2, and for a Rescale that is none. With RescaleFirst and RescaleLast a
// row whose sum is not above 0, which only Options.Unchecked admits, gives its label 0.
func NLLOf(dst []float64, p *metrics.Predictions, n NLLOptions, o *metrics.Options) (float64, error) {
	switch {
	case !(n.Clip >= 0 && n.Clip < 0.5):
		panic("score: probabilities are clipped to at least 0 and less than 1/2")
	case n.Rescale > RescaleLast:
		panic("score: there is no such rescaling")
	}
	a := &clipped{opt: n}
	return run(a, a.value, dst, p, o, &rows{need: a.Needs(), row: n.rows})
}

func (n NLLOptions) clip(v float64) float64 { return min(max(v, n.Clip), 1-n.Clip) }

// rows writes the score of each row of a block.
func (n NLLOptions) rows(dst []float64, b *metrics.Block) {
	switch t := &b.Probs; {
	case n.Rescale == RescaleNone:
		for i := range dst {
			// Where nothing is cut the column has more digits than the probability.
			if dst[i] = b.Stats.NLL[i]; n.Clip > 0 && n.clip(b.Stats.Label[i]) != b.Stats.Label[i] {
				dst[i] = minusLog(n.clip(b.Stats.Label[i]))
			}
		}
	case t.F32 != nil:
		rescaled(dst, n, t.F32, t, b.Labels)
	default:
		rescaled(dst, n, t.F64, t, b.Labels)
	}
}

func rescaled[T float32 | float64](dst []float64, n NLLOptions, x []T, t *metrics.Tile, labels []int32) {
	for i := range dst {
		row := x[i*t.Stride:][:t.Width]
		v, sum := float64(row[labels[i]]), 0.0
		if n.Rescale == RescaleLast {
			v = n.clip(v)
			for _, p := range row {
				sum += n.clip(float64(p))
			}
		} else {
			for _, p := range row {
				sum += float64(p)
			}
		}
		if v /= sum; !(sum > 0) {
			v = 0
		}
		if n.Rescale == RescaleFirst {
			v = n.clip(v)
		}
		dst[i] = minusLog(v)
	}
}

// minusLog returns -ln v, +Inf of what is not above 0.
func minusLog(v float64) float64 {
	if !(v > 0) {
		return math.Inf(1)
	}
	return 0 - kernel.Log64(v)
}

// clipped is the accumulator of NLLOf. It has no state.
type clipped struct {
	opt      NLLOptions
	infinite int64
	column
}

func (c *clipped) Needs() metrics.Need {
	if c.opt.Rescale == RescaleNone {
		return metrics.Spread
	}
	return metrics.Spread | metrics.Rows
}
func (c *clipped) Empty() metrics.Accumulator            { return &clipped{opt: c.opt} }
func (c *clipped) Len() int64                            { return c.weight.N }
func (c *clipped) AppendBinary(b []byte) ([]byte, error) { return nil, errNoState }
func (c *clipped) UnmarshalBinary([]byte) error          { return errNoState }

func (c *clipped) AddBlock(b *metrics.Block) {
	for _, v := range c.add(b, c.opt.rows) {
		if v > math.MaxFloat64 {
			c.infinite++
		}
	}
}

// Merge adds what another one of the same pass has seen.
func (c *clipped) Merge(a metrics.Accumulator) error {
	if o := a.(*clipped); o.weight.N > 0 {
		c.merge(&o.column)
		c.infinite += o.infinite
	}
	return nil
}

func (c *clipped) value() float64 {
	switch {
	case c.infinite > 0:
		return math.Inf(1)
	case c.opt.Sum:
		return c.mean.S1.Float64()
	}
	return c.mean.Value(&c.weight, c.weighted)
}
