package cells

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

var cellsFormat = exact.Format{Name: "cells.Cells", Magic: "cCEL", Version: 4}

// Kinds of cells in a state.
const (
	exactCells = iota
	gridCells
	exactWeighted
	gridWeighted

	decided = 1 << 7 // flag next to the kind
)

func (c *Cells) kind() uint8 {
	switch {
	case c.weightedGrid:
		return gridWeighted
	case c.seen.Weighted:
		return exactWeighted
	case c.grid != nil:
		return gridCells
	}
	return exactCells
}

// AppendBinary appends the state.
func (c *Cells) AppendBinary(dst []byte) ([]byte, error) {
	c.settle()
	return cellsFormat.Append(dst, c.fields)
}

// UnmarshalBinary replaces c, including its options, with a state that AppendBinary wrote.
func (c *Cells) UnmarshalBinary(data []byte) error {
	return exact.Replace(cellsFormat, data, c, (*Cells).fields)
}

const badCell = "a cell is not valid"

func (c *Cells) fields(f *exact.Fields) {
	kind, numbers := c.kind(), c.keys()
	if c.grid != nil {
		for i := range c.grid.sums {
			if c.grid.sums[i].n > 0 {
				numbers = append(numbers, uint64(i))
			}
		}
	}
	if c.seen.Decided {
		kind |= decided
	}
	exact.Byte(f, &c.opt.Event)
	exact.Byte(f, &kind)
	f.Int(&c.seen.Classes)
	exact.Byte(f, &c.digits)
	exact.Byte(f, &c.origin)
	f.N(&c.outside)
	own := kind&decided != 0
	kind &^= decided
	if f.Reading() {
		classes := c.seen.Classes
		positive := c.opt.Event.Resolve(classes) == metrics.Positive
		f.Must(c.opt.Event <= metrics.Positive && kind <= gridWeighted && c.outside <= mostRows &&
			(classes > 0 || c.outside == 0 && !own && kind == exactCells) && (!positive || classes <= 2 && !own) &&
			(c.digits == 0 || classes == 1 && (c.digits == 24 || c.digits == 53)) && c.origin < origins &&
			(c.origin == ofScores || classes == 1 && c.digits == 0 && !own) && (c.origin != ofLogProbs || positive), "its options are not valid")
		c.seen.Decided, c.seen.Weighted, c.weightedGrid = own, kind >= exactWeighted, kind == gridWeighted
	}
	if !f.OK() {
		return
	}
	rows := rowCount(c.outside)
	if kind == exactCells {
		c.exactFields(f)
	} else {
		count := len(numbers)
		if f.Count(&count, 6); kind == gridCells {
			c.gridFields(f, numbers, count, &rows)
		} else {
			c.weightedFields(f, numbers, count, &rows)
		}
	}
	if f.Reading() && f.OK() {
		f.Must(c.possible(), badCell)
	}
}

// rowCount counts the rows of cells while they are read.
type rowCount int64

// add adds n rows, and reports whether so many are possible.
func (r *rowCount) add(n uint64) bool {
	if n == 0 || n > mostRows || *r > mostRows-rowCount(n) {
		return false
	}
	*r += rowCount(n)
	return true
}

// keyRange returns the smallest and the largest number of a cell, except for the unweighted grid.
func (c *Cells) keyRange() (least, last uint64) {
	switch {
	case c.weightedGrid:
		_, rising := kernel.GridPlaces()
		return 0, 2*uint64(len(rising)) - 1
	case c.origin == ofScores:
		return 0, 2 * half
	case c.Event() == metrics.Positive:
		return zeroKey - farRaw, lastRaw
	}
	return zeroKey, lastRaw
}

// exactFields lists unweighted cells: their number, and the cells, packed.
func (c *Cells) exactFields(f *exact.Fields) {
	count := uint64(c.cells())
	f.U64(&count)
	f.Must(count <= MaxExact && (c.seen.Classes > 0 || count == 0), badCell)
	f.Part(c.appendPacked, func(b []byte) (err error) {
		least, last := c.keyRange()
		c.exact, err = unpack(b, int(count), least, last, rowCount(c.outside))
		return err
	})
}

// gridFields lists the numbered cells of the grid.
func (c *Cells) gridFields(f *exact.Fields, numbers []uint64, count int, rows *rowCount) {
	if f.Reading() {
		c.grid = newGrid()
	}
	least := uint64(0)
	for at := 0; at < count && f.OK(); at++ {
		var i uint64
		var s gridSum
		if !f.Reading() {
			i = numbers[at]
			s = c.grid.sums[i]
		}
		for _, v := range [...]*uint64{&i, &s.n, &s.q.Lo, &s.q.Hi, &s.qq.Lo, &s.qq.Hi} {
			f.Uvarint(v)
		}
		if !f.Reading() {
			continue
		}
		if f.Must(i >= least && i < uint64(len(c.grid.sums)) && rows.add(s.n) && s.fits(int(i)>>2), badCell); f.OK() {
			c.grid.sums[i], least = s, i+1
		}
	}
	f.Must(count > 0, badCell) // of more than MaxExact rows, unless some have been taken out
}

// weightedFields lists the numbered weighted cells.
func (c *Cells) weightedFields(f *exact.Fields, numbers []uint64, count int, rows *rowCount) {
	if f.Must(c.weightedGrid || count <= MaxExactWeighted, badCell); f.Reading() {
		c.heavy, c.placed = map[uint64]*tally.Cell{}, nil
	}
	least, last := c.keyRange()
	for at := 0; at < count && f.OK(); at++ {
		k, h := uint64(0), new(tally.Cell)
		if !f.Reading() {
			k = numbers[at]
			h = c.heavy[k]
		}
		f.U64(&k)
		h.Fields(f)
		if !f.Reading() || !f.OK() {
			continue
		}
		if f.Must(k >= least && k <= last && rows.add(uint64(h.N)) && weighs(h), badCell); f.OK() {
			c.heavy[k], least = h, k+1
		}
	}
	f.Must(!c.weightedGrid || count > 0, badCell) // likewise
}

// mostRows exceeds any possible number of rows, and is small enough to subtract such numbers.
const mostRows = 1 << 62

// fits reports whether the sums are possible for a grid cell.
func (s *gridSum) fits(cell int) bool {
	x, end := gridEnds(cell)
	for _, v := range [...]struct {
		sum      tally.Wide
		low, top float64
	}{{s.q, x, end}, {s.qq, float64(x * x), float64(end * end)}} {
		var most tally.Wide
		most.AddProduct(s.n, tally.Units(v.top)-tally.Units(v.low))
		if v.sum.Hi > most.Hi || v.sum.Hi == most.Hi && v.sum.Lo > most.Lo {
			return false
		}
	}
	return true
}

// gridEnds returns the smallest and the largest q of a grid cell.
func gridEnds(cell int) (x, end float64) {
	places, rising := kernel.GridPlaces()
	x, end = places[cell], 0.5
	if at := kernel.GridRank(x); at+1 < len(rising) {
		end = math.Nextafter(places[rising[at+1]], 0)
	}
	return x, end
}

// weighs reports whether the sums of a weighted cell are possible for scores in [0,1].
func weighs(h *tally.Cell) bool {
	most := func(a, b *exact.Sum) bool { // 0 <= a <= b
		d := b.Clone()
		d.Sub(a)
		return a.Sign() >= 0 && d.Sign() >= 0
	}
	return h.W.Sign() > 0 && h.W2.Sign() > 0 && most(&h.Y, &h.W) && most(&h.P, &h.W) && most(&h.PP, &h.P) && most(&h.PY, &h.P) &&
		most(&h.PY, &h.Y)
}

// possible reports whether raw keys belong to scores in [0,1]: log-probabilities may be above 0.
func (c *Cells) possible() bool {
	if c.origin != ofLogProbs || c.grid != nil || c.weightedGrid {
		return true
	}
	raw := c.keys()
	for _, e := range c.exact {
		raw = append(raw, e.key)
	}
	ok := true
	c.decoder().scores(len(raw), func(i int) uint64 { return raw[i] }, func(_ int, key uint64) { ok = ok && key <= 2*half })
	return ok
}
