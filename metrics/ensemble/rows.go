package ensemble

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// Each returns a measure's mean and, if dst is not nil, writes that of each row to dst[i], i being the row's number; a row
// that was left out gets NaN. DoubleFault is of Kuncheva's form here. o and d may be nil; the error is that of Fold, and dst
// is then of no use. It panics if dst is shorter than there are rows, or if m is not one measure.
func Each(dst []float64, m Measure, src metrics.MemberSource, o *Options, d *DiversityOptions) (float64, error) {
	r := newRows(dst, m, d)
	if _, err := Run(src, o, r); err != nil {
		return math.NaN(), err
	}
	return r.keep.Value(m), nil
}

// Pair returns the measure of two models, KL(a || b) for AverageKL, and writes that of each row to dst unless dst is nil:
// Each of an ensemble of the two. The labels and weights are those of a.
func Pair(dst []float64, m Measure, a, b *metrics.Predictions, d *DiversityOptions) (float64, error) {
	if a.Kind != b.Kind {
		return math.NaN(), errKinds
	}
	two := &metrics.Members{Each: []metrics.Scores{a.Scores, b.Scores}, Kind: a.Kind, Labels: a.Labels, Weights: a.Weights}
	return Each(dst, m, InMemory(two), nil, d)
}

// NewRows returns an Accumulator that writes a measure of each row to dst[i], i being the row's number in the whole set, and
// NaN to all others; DoubleFault is of Kuncheva's form. It has no state to save. It panics if m is not one measure, and
// AddBlock if dst is too short. d may be nil.
func NewRows(dst []float64, m Measure, d *DiversityOptions) Accumulator {
	if dst == nil {
		dst = []float64{}
	}
	return newRows(dst, m, d)
}

// rows writes the columns of an accumulator where the caller wants them.
type rows struct {
	dst  []float64 // nil: nowhere
	m    Measure
	keep measured
}

// measured is what both accumulators are.
type measured interface {
	Accumulator
	Value(m Measure) float64
	column(m Measure) []float64 // of the last block
}

func (u *Uncertainty) column(m Measure) []float64 { return u.row.v[slot(m, ofUncertainty)] }
func (d *Diversity) column(m Measure) []float64   { return d.row.column(m) }

func newRows(dst []float64, m Measure, d *DiversityOptions) *rows {
	r := &rows{dst: dst, m: m, keep: NewUncertainty()}
	if slot(m, ofUncertainty|ofDiversity) >= slot(Disagreement, ofDiversity) {
		var o DiversityOptions
		if d != nil {
			o = *d
		}
		o.Measures, o.Conditional = m, false
		r.keep = metrics.Must(NewDiversity(&o))
	}
	for i := range dst {
		dst[i] = math.NaN()
	}
	return r
}

func (r *rows) AddBlock(b *Block) {
	r.keep.AddBlock(b)
	if r.dst == nil {
		return
	}
	for i, x := range r.keep.column(r.m)[:b.Rows] {
		at := b.Number(i)
		if at >= int64(len(r.dst)) {
			panic("ensemble: there are more rows than places for their values")
		}
		r.dst[at] = x
	}
}

func (r *rows) Empty() Accumulator                    { return &rows{dst: r.dst, m: r.m, keep: r.keep.Empty().(measured)} }
func (r *rows) Len() int64                            { return r.keep.Len() }
func (r *rows) AppendBinary(b []byte) ([]byte, error) { return b, errNoState }
func (r *rows) UnmarshalBinary([]byte) error          { return errNoState }

func (r *rows) Merge(a Accumulator) error {
	o, ok := a.(*rows)
	if !ok {
		return fmt.Errorf("%w: rows of an ensemble and %T", metrics.ErrMismatch, a)
	}
	return r.keep.Merge(o.keep)
}

var errNoState = errors.New("ensemble: rows have no state")
