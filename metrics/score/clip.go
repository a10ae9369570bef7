package score

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Rescale selects whether and when ClippedNLL divides a row of probabilities by its sum.
type Rescale uint8

const (
	RescaleNone  Rescale = iota
	RescaleFirst         // before clipping: Keras' categorical cross-entropy
	RescaleLast          // after clipping: Keras' sparse categorical cross-entropy
)

// NLLOptions make ClippedNLL differ from NLL, for parity with other systems. The zero value gives NLL.
type NLLOptions struct {
	// Clip limits probabilities to [Clip, 1-Clip]: 1e-7 in Keras, 1e-15 in uncertainty-baselines. With 0 there is no limit,
	// and a label of probability 0 makes the mean +Inf.
	Clip    float64
	Rescale Rescale
	Sum     bool // return the sum over the rows, each times its weight, instead of the mean
}

// ClippedNLL returns the mean or sum of -ln p_y, after clipping probabilities to [Clip, 1-Clip] and rescaling as in n.
// Clipping hides how wrong a confident model is, and the value for such a model depends on Clip; NLL is the honest score.
// Without rows, the mean is NaN and the sum 0. With RescaleFirst and RescaleLast, a row whose sum is not above 0, which only
// Options.Unchecked allows, gives its label 0.
//
// o may be nil. Invalid n is an error, as in NewClipped; other errors are those of NLL.
func ClippedNLL(p *metrics.Predictions, n NLLOptions, o *metrics.Options) (float64, error) {
	a, err := NewClipped(n)
	return meanOf(a, err, p, o, (*Clipped).Value)
}

func (n NLLOptions) clip(v float64) float64 { return min(max(v, n.Clip), 1-n.Clip) }

// rows writes the score of each row of a block.
func (n NLLOptions) rows(dst []float64, b *metrics.Block) {
	switch t := &b.Probs; {
	case n.Rescale == RescaleNone:
		for i := range dst {
			// If nothing is clipped, the column has more digits than the probability.
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

// minusLog returns -ln v, or +Inf if v is not above 0.
func minusLog(v float64) float64 {
	if !(v > 0) {
		return math.Inf(1)
	}
	return 0 - kernel.Log64(v)
}

// Clipped accumulates ClippedNLL. It is a metrics.Accumulator; its state takes about 150 bytes.
type Clipped struct {
	opt      NLLOptions
	infinite int64
	scoreMean
}

var _ metrics.Accumulator = (*Clipped)(nil)

// NewClipped returns an empty accumulator. It returns an error unless 0 <= Clip < 1/2, and for an unknown Rescale.
func NewClipped(n NLLOptions) (*Clipped, error) {
	switch {
	case !n.valid():
		return nil, fmt.Errorf("score: Clip is %v; it is at least 0 and less than 1/2", n.Clip)
	case n.Rescale > RescaleLast:
		return nil, errors.New("score: there is no such rescaling")
	}
	n.Clip = math.Abs(n.Clip) // turns -0 into 0
	return &Clipped{opt: n}, nil
}

func (n NLLOptions) valid() bool { return n.Clip >= 0 && n.Clip < 0.5 }

// Options returns the options.
func (c *Clipped) Options() NLLOptions { return c.opt }

// Needs returns NeedRows if rows are rescaled.
func (c *Clipped) Needs() metrics.Need {
	if c.opt.Rescale == RescaleNone {
		return metrics.NeedSpread
	}
	return metrics.NeedSpread | metrics.NeedRows
}

// Empty returns an accumulator without rows, with the same options.
func (c *Clipped) Empty() metrics.Accumulator { return metrics.Must(NewClipped(c.opt)) }

// Len returns the number of rows seen.
func (c *Clipped) Len() int64 { return c.weight.N }

// AddBlock adds a block's rows.
func (c *Clipped) AddBlock(b *metrics.Block) {
	for _, v := range c.add(b, c.opt.rows) {
		if v > math.MaxFloat64 {
			c.infinite++
		}
	}
}

// InfiniteRows returns the number of rows without a finite score, for example with a label of probability 0 and no clipping.
func (c *Clipped) InfiniteRows() int64 { return c.infinite }

// Value returns the mean, or the sum; lower is better. The mean is NaN without rows.
func (c *Clipped) Value() float64 {
	switch {
	case c.infinite > 0:
		return math.Inf(1)
	case c.opt.Sum:
		return c.mean.S1.Float64()
	}
	return c.mean.Value(&c.weight, c.seen.Weighted)
}

// Interval returns mean +- z*s/sqrt(n), or with weights as Loss.NLLInterval. There is no interval for a sum, for an infinite mean, or for fewer than two rows.
func (c *Clipped) Interval(level float64) metrics.Interval { return c.IntervalAtLeast(level, 0) }

// IntervalAtLeast is Interval with a variance of a row's score of at least v0, as in Loss.NLLIntervalAtLeast. Without
// rescaling, the v0 of NLL will do, because clipped scores vary less.
func (c *Clipped) IntervalAtLeast(level, v0 float64) metrics.Interval {
	if c.opt.Sum || c.infinite > 0 {
		return metrics.NoInterval()
	}
	return ofLosses(c.Value(), c.stdErr(level), c.weight.Effective(c.seen.Weighted), level, v0)
}

// Merge adds what another *Clipped has seen.
func (c *Clipped) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Clipped](clippedFormat, a)
	if err != nil {
		return err
	}
	if c.opt != o.opt {
		return state.Mismatch(clippedFormat, "of %+v and of %+v", c.opt, o.opt)
	}
	if err := c.merge(&o.scoreMean, clippedFormat); err != nil {
		return err
	}
	c.infinite += o.infinite
	return nil
}

var clippedFormat = exact.Format{Name: "score.Clipped", Magic: "cCLP", Version: 1}

func (c *Clipped) fields(f *exact.Fields) {
	f.F64(&c.opt.Clip)
	exact.Byte(f, &c.opt.Rescale)
	f.Flags(&c.opt.Sum)
	f.Must(c.opt.valid() && !math.Signbit(c.opt.Clip) && c.opt.Rescale <= RescaleLast, exact.OutOfRange)
	c.scoreMean.fields(f)
	f.N(&c.infinite)
	f.Must(c.infinite <= c.mean.Over && c.infinite <= c.weight.N, exact.OutOfRange)
}

// AppendBinary appends the state.
func (c *Clipped) AppendBinary(dst []byte) ([]byte, error) {
	return clippedFormat.Append(dst, c.fields)
}

// UnmarshalBinary replaces c, including its options, with a state that AppendBinary wrote.
func (c *Clipped) UnmarshalBinary(data []byte) error {
	return exact.Replace(clippedFormat, data, c, (*Clipped).fields)
}
