package ensemble

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// Each returns a measure's mean. If dst is not nil, it also writes the value of row i to dst[i], or NaN for a row that was
// dropped. DoubleFault has Kuncheva's form. o and d may be nil. The error is that of Fold; the content of dst is then
// undefined. It panics if dst is shorter than the number of rows, or if m is not one measure.
func Each(dst []float64, m Measure, src metrics.MemberSource, o *Options, d *DiversityOptions) (float64, error) {
	r := newRows(dst, m, d)
	if _, err := Run(src, o, r); err != nil {
		return math.NaN(), err
	}
	return r.keep.Value(m), nil
}

// Pair returns the measure of two models, and writes the value of each row to dst unless dst is nil. AverageKL is KL(a ||
// b). Pair equals Each of an ensemble of the two, with the labels and weights of a.
func Pair(dst []float64, m Measure, a, b *metrics.Predictions, d *DiversityOptions) (float64, error) {
	if a.Kind != b.Kind {
		return math.NaN(), errKinds
	}
	two := &metrics.Members{Each: []metrics.Scores{a.Scores, b.Scores}, Kind: a.Kind, Labels: a.Labels, Weights: a.Weights}
	return Each(dst, m, InMemory(two), nil, d)
}

// NewRows returns an Accumulator that writes a measure of each row to dst[i], where i is the row's number in the whole set,
// and NaN to all other elements. DoubleFault has Kuncheva's form. It has no state to save. It panics if m is not one
// measure, and AddBlock panics if dst is too short. d may be nil.
func NewRows(dst []float64, m Measure, d *DiversityOptions) Accumulator {
	if dst == nil {
		dst = []float64{}
	}
	return newRows(dst, m, d)
}

// rows writes the columns of an accumulator to a destination.
type rows struct {
	dst  []float64 // may be nil
	m    Measure
	keep measured
}

// measured is the common part of both accumulators.
type measured interface {
	Accumulator
	Value(m Measure) float64
	column(m Measure) []float64 // for the last block
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
