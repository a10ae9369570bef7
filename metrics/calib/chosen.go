package calib

import (
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Chosen accumulates confidence and right answers by the class that was chosen: the arg max, or the caller's decision. It is a
// metrics.Accumulator. It takes about 250 bytes per class, up to the largest class that was chosen.
type Chosen struct {
	seen state.Rows
	rows int64
	of   []tally.Cell // by class
}

var _ metrics.Accumulator = (*Chosen)(nil)

// NewChosen returns an empty accumulator.
func NewChosen() *Chosen { return &Chosen{} }

// Needs returns 0: the columns that every block has suffice.
func (a *Chosen) Needs() metrics.Need { return 0 }

// Empty returns an accumulator without rows.
func (a *Chosen) Empty() metrics.Accumulator { return NewChosen() }

// Size estimates the memory in bytes.
func (a *Chosen) Size(x metrics.Extent) int64 {
	return int64(x.Classes) * int64(unsafe.Sizeof(tally.Cell{}))
}

// Len returns the number of rows seen.
func (a *Chosen) Len() int64 { return a.rows }

// AddBlock adds a block's rows.
func (a *Chosen) AddBlock(b *metrics.Block) {
	a.seen.Begin(b)
	chosen := b.Stats.ArgMax[:b.Rows]
	if a.seen.Decided = b.Decisions != nil; a.seen.Decided {
		chosen = b.Decisions[:b.Rows]
	}
	a.rows += int64(b.Rows)
	for i, k := range chosen {
		a.grow(int(k) + 1)
		if b.Weights != nil {
			a.of[k].AddWeighted(b.Score[i], b.Right[i], b.Weights[i])
		} else {
			a.of[k].AddScore(b.Score[i], b.Right[i])
		}
	}
}

// grow makes room for n classes.
func (a *Chosen) grow(n int) {
	if n > len(a.of) {
		a.of = append(a.of, make([]tally.Cell, n-len(a.of))...)
	}
}

// Class returns the rows for which a class was chosen, as a bin from 0 to 1: their number, mean confidence, and share of right answers with
// its interval. It panics if there is no such class.
func (a *Chosen) Class(class int, level float64) Bin {
	if class < 0 || a.seen.Classes > 0 && class >= max(2, a.seen.Classes) {
		panic("calib: there is no such class")
	}
	p := Partition{cells: make([]tally.Cell, 1), lower: []float64{0}, upper: []float64{1}, weighted: a.seen.Weighted}
	if class < len(a.of) {
		p.cells[0].Merge(&a.of[class])
	}
	return p.Bins(level)[0]
}

// Merge adds what another *Chosen has seen.
func (a *Chosen) Merge(other metrics.Accumulator) error {
	o, err := state.Same[*Chosen](chosenFormat, other)
	if err != nil {
		return err
	}
	if err := a.seen.Merge(o.seen, chosenFormat, "classes"); err != nil {
		return err
	}
	a.rows += o.rows
	a.grow(len(o.of))
	for j := range o.of {
		a.of[j].Merge(&o.of[j])
	}
	return nil
}

var chosenFormat = exact.Format{Name: "calib.Chosen", Magic: "cCHO", Version: 1}

// mostChosen limits the classes of a state.
const mostChosen = 1 << 20

func (a *Chosen) fields(f *exact.Fields) {
	a.seen.Fields(f)
	f.Flags(&a.seen.Decided)
	n := 0
	for j := range a.of {
		if a.of[j].N > 0 {
			n++
		}
	}
	f.Count(&n, 12)
	const damaged = "its classes are not those of its rows"
	next := func(class int, c *tally.Cell) {
		f.Int(&class)
		c.Fields(f)
		if !f.Reading() {
			return
		}
		f.Must(class >= len(a.of) && class < min(max(2, a.seen.Classes), mostChosen) && c.N > 0 && a.rows+c.N > a.rows &&
			c.W2.Sign() == c.W.Sign() && (c.W.Sign() > 0) == a.seen.Weighted && c.Y.Sign() >= 0, damaged)
		wrong := c.Total(a.seen.Weighted)
		wrong.Sub(&c.Y)
		f.Must(wrong.Sign() >= 0, damaged)
		if f.OK() {
			a.grow(class + 1)
			a.of[class] = *c
			a.rows += c.N
		}
	}
	if !f.Reading() {
		for j := range a.of {
			if c := &a.of[j]; c.N > 0 {
				next(j, c)
			}
		}
		return
	}
	for i := 0; i < n && f.OK(); i++ {
		next(0, &tally.Cell{})
	}
	f.Must((a.rows == 0) == (a.seen.Classes == 0), damaged)
}

// AppendBinary appends the state: the classes that were chosen.
func (a *Chosen) AppendBinary(dst []byte) ([]byte, error) { return chosenFormat.Append(dst, a.fields) }

// UnmarshalBinary replaces a with a state that AppendBinary wrote.
func (a *Chosen) UnmarshalBinary(data []byte) error {
	return exact.Replace(chosenFormat, data, a, (*Chosen).fields)
}
