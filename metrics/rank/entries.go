package rank

import (
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Entries accumulates every entry of every row as a score of its own; the event is that its class is the label of the row.
// It answers areas over all classes together, scikit-learn's average="micro". A row of K classes counts K times, with its
// weight. Entries are kept as by cells.Cells: exactly up to MaxExact distinct scores, on the grid beyond. Entries is a
// metrics.Accumulator.
type Entries struct {
	cells   *cells.Cells
	classes int // of the predictions; 0 before the first row
	rows    int64

	p, tail []float64
	hit     []int32
	right   []uint8
}

var _ metrics.Accumulator = (*Entries)(nil)

// NewEntries returns an empty accumulator.
func NewEntries() *Entries { return &Entries{cells: newEntries()} }

func newEntries() *cells.Cells {
	return metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
}

// Ranking returns the ranking of the entries.
func (e *Entries) Ranking() *Ranking { return RankingOf(e.cells) }

// Outside returns the number of entries outside [0,1], which have no place in the ranking. Only unchecked predictions
// contain any.
func (e *Entries) Outside() int64 { return e.cells.Outside() }

// Needs returns NeedRows, since every entry is read.
func (e *Entries) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows.
func (e *Entries) Empty() metrics.Accumulator { return NewEntries() }

// Len returns the number of rows seen.
func (e *Entries) Len() int64 { return e.rows }

// Size estimates the memory in bytes.
func (e *Entries) Size(x metrics.Extent) int64 {
	if x.Rows >= 0 {
		x.Rows *= int64(max(2, x.Classes))
	}
	return e.cells.Size(x)
}

// Held estimates the memory in bytes after this many more rows.
func (e *Entries) Held(more int64, x metrics.Extent) int64 {
	return e.cells.Held(more*int64(max(2, x.Classes)), x)
}

// AddBlock adds a block's rows.
func (e *Entries) AddBlock(b *metrics.Block) {
	e.classes = b.Classes
	e.rows += int64(b.Rows)
	if len(e.p) < b.Rows {
		e.p, e.tail, e.hit, e.right = make([]float64, b.Rows), make([]float64, b.Rows), make([]int32, b.Rows), make([]uint8, b.Rows)
	}
	t := &b.Probs
	column := metrics.Block{Rows: b.Rows, Classes: 1, DType: b.DType, Labels: e.hit, Weights: b.Weights,
		Score: e.p, Right: e.right, Stats: &kernel.Stats{Positive: e.p, Tail: e.tail}}
	for j := range t.Width {
		for i := range b.Rows {
			v := 0.0
			if at := i*t.Stride + j; t.F32 != nil {
				v = float64(t.F32[at])
			} else {
				v = t.F64[at]
			}
			e.p[i], e.tail[i], e.hit[i] = v, 1-v, 0
			if int(b.Labels[i]) == j {
				e.hit[i] = 1
			}
		}
		e.cells.AddBlock(&column)
	}
}

// Merge adds what another *Entries has seen.
func (e *Entries) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Entries](entriesFormat, a)
	switch {
	case err != nil:
		return err
	case e.classes != 0 && o.classes != 0 && e.classes != o.classes:
		return state.Mismatch(entriesFormat, "of %d classes and of %d", e.classes, o.classes)
	}
	if err := e.cells.Merge(o.cells); err != nil {
		return fmt.Errorf("rank.Entries: %w", err)
	}
	if o.classes != 0 {
		e.classes = o.classes
	}
	e.rows += o.rows
	return nil
}

var entriesFormat = exact.Format{Name: "rank.Entries", Magic: "cREN", Version: 1}

func (e *Entries) fields(f *exact.Fields) {
	if f.Reading() {
		e.cells = newEntries()
	}
	f.Int(&e.classes)
	f.N(&e.rows)
	f.Part(e.cells.AppendBinary, e.cells.UnmarshalBinary)
	if !f.Reading() || !f.OK() {
		return
	}
	width := int64(max(2, e.classes))
	f.Must(e.cells.Event() == metrics.Positive && (e.classes == 0) == (e.rows == 0) && (e.classes == 0) == (e.cells.Classes() == 0) &&
		e.cells.Classes() <= 1 && e.cells.Len()%width == 0 && e.cells.Len()/width == e.rows, "its entries are not those of its rows")
}

// AppendBinary appends the state.
func (e *Entries) AppendBinary(dst []byte) ([]byte, error) {
	return entriesFormat.Append(dst, e.fields)
}

// UnmarshalBinary replaces e with a state that AppendBinary wrote.
func (e *Entries) UnmarshalBinary(data []byte) error {
	return exact.Replace(entriesFormat, data, e, (*Entries).fields)
}
