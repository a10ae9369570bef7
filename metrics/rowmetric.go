package metrics

import (
	"errors"
	"math"
)

// RowMetric is a metric that has a value for each single row, such as the terms of a mean.
type RowMetric struct {
	Name string // with its options, as written: "brier(form=sum)"
	Need Need   // columns that the blocks must carry
	// New returns a function that writes the values of a block's rows to dst, which has b.Rows elements. The function may
	// keep memory between calls, so each goroutine needs its own.
	New func() func(dst []float64, b *Block)
}

// ErrNoRows is wrapped by the error for a metric that is unknown or has no value for each row.
var ErrNoRows = errors.New("it has no value for each row")

// Rows writes the value of each row of predictions in memory to dst, which has p.Rows elements or Rows panics: dst[i] is that of row i. A
// row that was left out (bad, or of weight 0) gets NaN. o may be nil. The error is a *DataError or a *LengthError, and dst is then of no
// use.
func (m RowMetric) Rows(dst []float64, p *Predictions, o *Options) error {
	if len(dst) != p.Rows {
		panic("metrics: dst and rows differ in number")
	}
	for i := range dst {
		dst[i] = math.NaN()
	}
	return NewPass(o, &rowValues{m: m, dst: dst}).Add(p)
}

// rowValues is an accumulator that keeps nothing: it writes the value of each row where the caller wants it.
type rowValues struct {
	m      RowMetric
	dst, v []float64
	values func(dst []float64, b *Block) // of the goroutine that it is on
}

func (r *rowValues) Needs() Need                           { return r.m.Need }
func (r *rowValues) Empty() Accumulator                    { return &rowValues{m: r.m, dst: r.dst} }
func (r *rowValues) Len() int64                            { return 0 }
func (r *rowValues) Merge(Accumulator) error               { return nil }
func (r *rowValues) AppendBinary(b []byte) ([]byte, error) { return nil, errRowValues }
func (r *rowValues) UnmarshalBinary([]byte) error          { return errRowValues }

var errRowValues = errors.New("metrics: the values of rows have no state")

func (r *rowValues) AddBlock(b *Block) {
	if r.values == nil {
		r.values = r.m.New()
	}
	if len(r.v) < b.Rows {
		r.v = make([]float64, b.Rows)
	}
	v := r.v[:b.Rows]
	r.values(v, b)
	for i, x := range v {
		r.dst[b.Number(i)] = x
	}
}
