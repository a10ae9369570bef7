package ensemble

import (
	"errors"
	"math"

	"github.com/candor-go/candor/metrics"
)

// Each returns a measure's mean and writes that of each row to dst[i], i being the row's number; a row that was left out gets NaN.
// DoubleFault is of Kuncheva's form here. o and d may be nil; the error is that of Fold, and dst is then of no use. It panics if dst
// is shorter than there are rows, or if m is not one measure.
func Each(dst []float64, m Measure, src metrics.MemberSource, o *Options, d *DiversityOptions) (float64, error) {
	var dd DiversityOptions
	if d != nil {
		dd = *d
	}
	dd.Measures, dd.Conditional = m, false
	var keep interface {
		Accumulator
		Value(Measure) float64
	}
	if slot(m, ofUncertainty|ofDiversity) < slot(Disagreement, ofDiversity) {
		keep = NewUncertainty()
	} else {
		keep = NewDiversity(&dd)
	}
	if _, err := Run(src, o, keep, NewRows(dst, m, &dd)); err != nil {
		return math.NaN(), err
	}
	return keep.Value(m), nil
}

// Pair returns the measure of two models, KL(a || b) for AverageKL, and writes that of each row to dst unless dst is nil: Each of an
// ensemble of the two. The labels and weights are those of a.
func Pair(dst []float64, m Measure, a, b *metrics.Predictions, d *DiversityOptions) (float64, error) {
	if a.Kind != b.Kind {
		panic(errMembers)
	}
	two := &metrics.Members{Each: []metrics.Scores{a.Scores, b.Scores}, Kind: a.Kind, Labels: a.Labels, Weights: a.Weights}
	if dst == nil {
		dst = make([]float64, a.Rows)
	}
	return Each(dst, m, InMemory(two), nil, d)
}

// NewRows returns an Accumulator that keeps nothing: it writes a measure of each row to dst[i], i being the row's number in the whole
// set, and NaN to all others; DoubleFault is of Kuncheva's form. Its state is an error. It panics if m is not one measure, and AddBlock
// if dst is too short. d may be nil.
func NewRows(dst []float64, m Measure, d *DiversityOptions) Accumulator {
	r := &rows{dst: dst, m: m}
	slot(m, ofUncertainty|ofDiversity)
	if m&ofDiversity != 0 {
		var dd DiversityOptions
		if d != nil {
			dd = *d
		}
		dd.Measures = m
		r.diversity = NewDiversity(&dd)
	}
	for i := range dst {
		dst[i] = math.NaN()
	}
	return r
}

type rows struct {
	dst         []float64
	m           Measure
	uncertainty uncertain
	diversity   *Diversity // of whose columns it is, nil if of the other's
}

func (r *rows) Empty() Accumulator {
	e := &rows{dst: r.dst, m: r.m}
	if r.diversity != nil {
		e.diversity = NewDiversity(&r.diversity.opt)
	}
	return e
}

func (r *rows) AddBlock(b *Block) {
	var v []float64
	if r.diversity != nil {
		r.diversity.row.of(b)
		v = r.diversity.row.column(r.m)
	} else {
		r.uncertainty.of(b)
		v = r.uncertainty.v[slot(r.m, ofUncertainty)]
	}
	for i, x := range v[:b.Rows] {
		at := b.Number(i)
		if at >= int64(len(r.dst)) {
			panic("ensemble: there are more rows than places for their values")
		}
		r.dst[at] = x
	}
}

func (r *rows) Len() int64                            { return 0 }
func (r *rows) Merge(Accumulator) error               { return nil }
func (r *rows) AppendBinary(b []byte) ([]byte, error) { return b, errNoState }
func (r *rows) UnmarshalBinary([]byte) error          { return errNoState }

var errNoState = errors.New("ensemble: rows have no state")
