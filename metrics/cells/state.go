package cells

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

const (
	cellsMagic   = "cCEL"
	cellsVersion = 3
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
	case c.weightedGrid:
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
	from := len(dst)
	e := exact.Enc{B: exact.BeginSeal(dst, cellsMagic, cellsVersion)}
	e.U8(uint8(c.opt.Event))
	kind := c.kind()
	if c.decided {
		kind |= decided
	}
	e.U8(kind)
	e.U32(uint32(c.classes))
	e.U8(c.digits)
	e.U8(uint8(c.origin))
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
	return exact.EndSeal(e.B, from), nil
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

// mostRows is more than there ever are, and little enough that such numbers can be subtracted.
const mostRows = 1 << 62

// fits tells whether the sums of a cell of the grid are such as scores there have.
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

// gridEnds returns the least and the largest q of a cell of the grid.
func gridEnds(cell int) (x, end float64) {
	places, rising := kernel.GridPlaces()
	x, end = places[cell], 0.5
	if at := kernel.GridRank(x); at+1 < len(rising) {
		end = math.Nextafter(places[rising[at+1]], 0)
	}
	return x, end
}

// weighs tells whether the sums of a cell with weights are such as scores in [0,1] have.
func weighs(h *tally.Cell) bool {
	most := func(a, b *exact.Sum) bool { // a is from 0 to b
		d := b.Clone()
		d.Sub(a)
		return a.Sign() >= 0 && d.Sign() >= 0
	}
	return h.W.Sign() > 0 && h.W2.Sign() > 0 && most(&h.Y, &h.W) && most(&h.P, &h.W) && most(&h.PP, &h.P) && most(&h.PY, &h.P) &&
		most(&h.PY, &h.Y)
}

var errCell = errors.New("a cell is none")

// possible tells whether raw keys are of scores in [0,1]: log-probabilities may be above 0.
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

func decode(data []byte) (*Cells, error) {
	d, err := exact.OpenFields(cellsMagic, cellsVersion, data)
	if err != nil {
		return nil, err
	}
	event, kind := metrics.Event(d.U8()), d.U8()
	own := kind&decided != 0
	kind &^= decided
	classes := int(d.U32())
	digits := d.U8()
	from := origin(d.U8())
	outside := d.I64()
	count := d.Count(3)
	if err := d.Err(); err != nil {
		return nil, err
	}
	positive := event.Resolve(classes) == metrics.Positive
	if event > metrics.Positive || kind > gridWeighted || classes < 0 || outside < 0 || outside > mostRows ||
		classes == 0 && (count > 0 || outside > 0 || own || kind != exactCells) || positive && (classes > 2 || own) ||
		digits > 0 && classes != 1 || digits != 0 && digits != 24 && digits != 53 ||
		from >= origins || from != ofScores && (classes != 1 || digits > 0 || own) || from == ofLogProbs && !positive {
		return nil, fmt.Errorf("%w: its options are not valid", exact.ErrDamaged)
	}
	c := metrics.Must(New(&Options{Event: event}))
	c.classes, c.outside, c.decided, c.weighted, c.weightedGrid, c.digits = classes, outside, own, kind >= exactWeighted, kind == gridWeighted, digits
	c.origin = from
	least, last := uint64(0), uint64(2*half)
	switch {
	case from != ofScores && positive:
		least, last = zeroKey-farRaw, lastRaw
	case from != ofScores:
		least, last = zeroKey, lastRaw
	}
	bad := fmt.Errorf("%w: %w", exact.ErrDamaged, errCell)
	rows := outside
	holds := func(n uint64) bool { // so many more rows
		if n == 0 || n > mostRows || rows > mostRows-int64(n) {
			return false
		}
		rows += int64(n)
		return true
	}
	switch kind {
	case exactCells:
		if count > MaxExact {
			return nil, bad
		}
		c.exact = make([]exactCell, count)
		before := uint64(0)
		for i := range c.exact {
			step, n, y := d.Uvarint(), d.Uvarint(), d.Uvarint()
			key := before + step
			if i > 0 && step == 0 || key < before || key < least || key > last || !holds(n) || y > n {
				return nil, bad
			}
			c.exact[i] = exactCell{key, int64(n), int64(y)}
			before = key
		}
	case gridCells:
		c.grid = newGrid()
		before := -1
		for range count {
			i := d.Uvarint()
			s := gridSum{n: d.Uvarint(), q: tally.Wide{Lo: d.Uvarint(), Hi: d.Uvarint()}, qq: tally.Wide{Lo: d.Uvarint(), Hi: d.Uvarint()}}
			if i >= uint64(len(c.grid.sums)) || int(i) <= before || !holds(s.n) || !s.fits(int(i)>>2) {
				return nil, bad
			}
			c.grid.sums[i] = s
			before = int(i)
		}
		if d.Err() == nil && rows-outside <= MaxExact {
			return nil, bad
		}
	default:
		_, rising := kernel.GridPlaces()
		limit := MaxExactWeighted
		if c.weightedGrid {
			least, last, limit = 0, 2*uint64(len(rising))-1, 2*len(rising)
		}
		if count > limit {
			return nil, bad
		}
		c.heavy = make(map[uint64]*tally.Cell, count)
		before := uint64(0)
		for i := range count {
			k := d.U64()
			h := new(tally.Cell)
			h.Decode(d)
			if d.Err() == nil && (k < least || k > last || i > 0 && k <= before || !holds(uint64(h.N)) || !weighs(h)) {
				return nil, bad
			}
			c.heavy[k], before = h, k
		}
		if d.Err() == nil && c.weightedGrid && rows-outside <= MaxExactWeighted {
			return nil, bad
		}
	}
	if err := d.Done(); err != nil {
		return nil, err
	}
	if !c.possible() {
		return nil, bad
	}
	return c, nil
}
