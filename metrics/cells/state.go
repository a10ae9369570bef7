package cells

import (
	"errors"
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

const (
	cellsMagic   = "cCEL"
	cellsVersion = 1
)

// The kinds of cells in a state.
const (
	exactCells = iota
	gridCells
	exactWeighted
	gridWeighted

	decided = 1 << 7 // a flag beside the kind
)

func (c *Cells) kind() uint8 {
	switch {
	case c.thick:
		return gridWeighted
	case c.weighted:
		return exactWeighted
	case c.grid != nil:
		return gridCells
	}
	return exactCells
}

// AppendBinary appends the state.
func (c *Cells) AppendBinary(dst []byte) ([]byte, error) {
	c.settle()
	var e exact.Enc
	e.U8(uint8(c.opt.Event))
	kind := c.kind()
	if c.decided {
		kind |= decided
	}
	e.U8(kind)
	e.U32(uint32(c.classes))
	e.I64(c.outside)
	switch c.kind() {
	case exactCells:
		e.U64(uint64(c.cells()))
		last := uint64(0)
		c.eachExact(func(x exactCell) {
			for _, v := range [...]uint64{x.key - last, uint64(x.n), uint64(x.y)} {
				e.Uvarint(v)
			}
			last = x.key
		})
	case gridCells:
		n := 0
		for i := range c.grid.sums {
			if c.grid.sums[i].n > 0 {
				n++
			}
		}
		e.U64(uint64(n))
		for i := range c.grid.sums {
			if s := &c.grid.sums[i]; s.n > 0 {
				for _, v := range [...]uint64{uint64(i), s.n, s.q.Lo, s.q.Hi, s.qq.Lo, s.qq.Hi} {
					e.Uvarint(v)
				}
			}
		}
	default:
		e.U64(uint64(len(c.heavy)))
		for _, k := range c.keys() {
			e.U64(k)
			c.heavy[k].Encode(&e)
		}
	}
	return append(dst, exact.Seal(cellsMagic, cellsVersion, e.B)...), nil
}

// UnmarshalBinary replaces c, options and all, by what AppendBinary wrote.
func (c *Cells) UnmarshalBinary(data []byte) error {
	n, err := decode(data)
	if err != nil {
		return fmt.Errorf("cells.Cells: %w", err)
	}
	*c = *n
	return nil
}

var errCell = errors.New("a cell is none")

func decode(data []byte) (*Cells, error) {
	d, err := exact.OpenFields(cellsMagic, cellsVersion, data)
	if err != nil {
		return nil, err
	}
	event, kind := metrics.Event(d.U8()), d.U8()
	own := kind&decided != 0
	kind &^= decided
	classes := int(d.U32())
	outside := d.I64()
	count := d.Count(3)
	if err := d.Err(); err != nil {
		return nil, err
	}
	if event > metrics.Positive || kind > gridWeighted || outside < 0 || classes == 0 && count > 0 {
		return nil, fmt.Errorf("%w: its options are not valid", exact.ErrDamaged)
	}
	c := New(&Options{Event: event})
	c.classes, c.outside, c.decided, c.weighted, c.thick = classes, outside, own, kind >= exactWeighted, kind == gridWeighted
	bad := fmt.Errorf("%w: %w", exact.ErrDamaged, errCell)
	switch kind {
	case exactCells:
		if count > MaxExact {
			return nil, bad
		}
		c.exact = make([]exactCell, count)
		last := uint64(0)
		for i := range c.exact {
			step, n, y := d.Uvarint(), d.Uvarint(), d.Uvarint()
			key := last + step
			if i > 0 && step == 0 || key < last || key > 2*half || n == 0 || n > 1<<62 || y > n {
				return nil, bad
			}
			c.exact[i] = exactCell{key, int64(n), int64(y)}
			last = key
		}
	case gridCells:
		c.grid = newGrid()
		last := -1
		for range count {
			i := d.Uvarint()
			s := gridSum{n: d.Uvarint(), q: tally.Wide{Lo: d.Uvarint(), Hi: d.Uvarint()}, qq: tally.Wide{Lo: d.Uvarint(), Hi: d.Uvarint()}}
			if i >= uint64(len(c.grid.sums)) || int(i) <= last || s.n == 0 || s.n > 1<<62 {
				return nil, bad
			}
			c.grid.sums[i] = s
			last = int(i)
		}
	default:
		_, rising := kernel.GridPlaces()
		most, limit := uint64(2*half), MaxExactWeighted
		if c.thick {
			most, limit = 2*uint64(len(rising))-1, 2*len(rising)
		}
		if count > limit {
			return nil, bad
		}
		c.heavy = make(map[uint64]*tally.Cell, count)
		last := uint64(0)
		for i := range count {
			k := d.U64()
			h := new(tally.Cell)
			h.Decode(d)
			if d.Err() == nil && (k > most || i > 0 && k <= last || h.N < 1) {
				return nil, bad
			}
			c.heavy[k], last = h, k
		}
	}
	return c, d.Done()
}
