package survival

import (
	"cmp"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Kept keeps all rows of metrics.Survival, for functions of this package. It is a metrics.Accumulator.
//
// What most of these functions return is no function of sums, so the state has every row, and takes eight bytes for each of its columns.
type Kept struct {
	seen   state.Rows // Classes are the columns: risks, time, event
	rows   int64
	parts  [][]float64 // rows of columns, and the weight if there are weights
	sorted []float64   // the same in order; nil if not asked for since rows were added
}

var _ metrics.Accumulator = (*Kept)(nil)

// NewKept returns an accumulator without rows.
func NewKept() *Kept { return &Kept{} }

// Needs returns NeedRows.
func (k *Kept) Needs() metrics.Need { return metrics.NeedRows }

// Empty returns an accumulator without rows.
func (k *Kept) Empty() metrics.Accumulator { return NewKept() }

// Len returns the number of rows seen.
func (k *Kept) Len() int64 { return k.rows }

// RowBytes returns the memory of a row with this many columns, counting that of putting rows in order and of answers.
func RowBytes(columns int, weighted bool) int64 {
	if weighted {
		columns++
	}
	return 4*8*int64(columns) + 64
}

// Size estimates the memory in bytes.
func (k *Kept) Size(x metrics.Extent) int64 { return RowBytes(x.Classes, x.Weighted) * max(0, x.Rows) }

func (k *Kept) width() int {
	if k.seen.Weighted {
		return k.seen.Classes + 1
	}
	return k.seen.Classes
}

const errKind = "survival: rows of another kind than metrics.Survival"

// AddBlock adds a block's rows. It panics unless they are of metrics.Survival.
func (k *Kept) AddBlock(b *metrics.Block) {
	if b.Kind != metrics.Survival {
		panic(errKind)
	}
	k.seen.Begin(b)
	k.rows += int64(b.Rows)
	k.sorted = nil
	const room = 1 << 13 // rows of a part
	w, t := k.width(), &b.Probs
	for i := range b.Rows {
		last := len(k.parts) - 1
		if last < 0 || len(k.parts[last])+w > cap(k.parts[last]) {
			k.parts = append(k.parts, make([]float64, 0, room*w))
			last++
		}
		p, at := k.parts[last], i*t.Stride
		for j := range b.Classes {
			v := 0.0
			if t.F32 != nil {
				v = float64(t.F32[at+j])
			} else {
				v = t.F64[at+j]
			}
			if v == 0 {
				v = 0 // not -0, which is the same number
			}
			p = append(p, v)
		}
		if b.Weights != nil {
			p = append(p, b.Weights[i])
		}
		k.parts[last] = p
	}
}

var keptFormat = exact.Format{Name: "survival.Kept", Magic: "sKEP", Version: 1}

// Merge adds the rows of another *Kept.
func (k *Kept) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Kept](keptFormat, a)
	if err != nil {
		return err
	}
	if err := k.seen.Merge(o.seen, keptFormat, "columns"); err != nil {
		return err
	}
	k.rows += o.rows
	k.sorted = nil
	for _, p := range o.parts {
		k.parts = append(k.parts, p[:len(p):len(p)])
	}
	return nil
}

// order returns the rows in an order that depends on their set alone.
func (k *Kept) order() []float64 {
	if k.sorted != nil || k.rows == 0 {
		return k.sorted
	}
	w := k.width()
	all := make([]float64, 0, int(k.rows)*w)
	for _, p := range k.parts {
		all = append(all, p...)
	}
	number := make([]int32, k.rows)
	for i := range number {
		number[i] = int32(i)
	}
	row := func(i int32) []float64 { return all[int(i)*w:][:w] }
	slices.SortFunc(number, func(a, b int32) int { return compareRows(row(a), row(b), k.seen.Classes) })
	k.sorted = make([]float64, 0, len(all))
	for _, i := range number {
		k.sorted = append(k.sorted, row(i)...)
	}
	k.parts = [][]float64{k.sorted[:len(k.sorted):len(k.sorted)]}
	return k.sorted
}

// compareRows goes by time, then events before censored rows, then what is left from the left.
func compareRows(a, b []float64, columns int) int {
	if c := cmp.Compare(a[columns-2], b[columns-2]); c != 0 {
		return c
	}
	if c := cmp.Compare(b[columns-1], a[columns-1]); c != 0 {
		return c
	}
	return slices.Compare(a, b)
}

// Rows returns the rows with the probabilities of column i, from 0, as Risks. It panics if there is no such column. Columns share the other fields
// of Rows, which must not be changed.
func (k *Kept) Rows(i int) *Rows { return k.Columns(i)[0] }

// Columns is Rows for several columns.
func (k *Kept) Columns(columns ...int) []*Rows {
	all, w := k.order(), k.width()
	r := Rows{Times: make([]float64, k.rows), Events: make([]bool, k.rows)}
	if k.seen.Weighted {
		r.Weights = make([]float64, k.rows)
	}
	for i := range r.Times {
		row := all[i*w:][:w]
		r.Times[i], r.Events[i] = row[k.seen.Classes-2], row[k.seen.Classes-1] == 1
		if r.Weights != nil {
			r.Weights[i] = row[w-1]
		}
	}
	out := make([]*Rows, len(columns))
	for j, c := range columns {
		if k.rows > 0 && (c < 0 || c >= k.seen.Classes-2) {
			panic("survival: there is no such column of probabilities")
		}
		one := r
		one.Risks = make([]float64, k.rows)
		for i := range one.Risks {
			one.Risks[i] = all[i*w+c]
		}
		out[j] = &one
	}
	return out
}

// maxColumns limits what a state can ask for.
const maxColumns = 1 << 24

const keptDamaged = "rows that no predictions have"

func (k *Kept) fields(f *exact.Fields) {
	k.seen.Fields(f)
	f.Must(k.seen.Classes == 0 || k.seen.Classes >= 3 && k.seen.Classes <= maxColumns, exact.OutOfRange)
	if !f.OK() {
		return
	}
	w, n := k.width(), int(k.rows)
	f.Count(&n, max(8, 8*w))
	if !f.Reading() {
		all := k.order()
		for i := range all {
			f.F64(&all[i])
		}
		return
	}
	f.Must((n > 0) == (k.seen.Classes > 0), keptDamaged)
	if !f.OK() || n == 0 {
		return
	}
	all := make([]float64, n*w)
	for i := range all {
		f.F64(&all[i])
		f.Must(all[i] != 0 || !math.Signbit(all[i]), keptDamaged)
	}
	if !f.OK() {
		return
	}
	for at := 0; at < len(all); at += w {
		row := all[at : at+w]
		f.Must(metrics.SurvivalRow(row[:k.seen.Classes]) && (at == 0 || compareRows(all[at-w:at], row, k.seen.Classes) <= 0), keptDamaged)
		f.Must(!k.seen.Weighted || row[w-1] >= 0x1p-32 && row[w-1] <= 0x1p32, keptDamaged)
	}
	k.rows, k.sorted, k.parts = int64(n), all, [][]float64{all[:len(all):len(all)]}
}

// AppendBinary appends the state.
func (k *Kept) AppendBinary(dst []byte) ([]byte, error) { return keptFormat.Append(dst, k.fields) }

// UnmarshalBinary replaces k with a state that AppendBinary wrote.
func (k *Kept) UnmarshalBinary(data []byte) error {
	return exact.Replace(keptFormat, data, k, (*Kept).fields)
}
