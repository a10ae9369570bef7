package cells

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// places have the bits of a word whose numbers have the bit 0, 1, ... set.
var places = [6]uint64{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}

// positions returns the sum of the numbers of the bits that are set.
func positions(x uint64) (n int) {
	for k, mask := range &places {
		n += bits.OnesCount64(x&mask) << k
	}
	return n
}

// Pairs compares the rows with the event with those without.
//
// Of equal scores the rows without the event stand first. So all pairs in that order are those above and the tied ones.
func (s *Sorted) Pairs() Pairs {
	if len(s.raw) > 0 {
		return s.Ranked().Pairs()
	}
	var d duels
	var ordered wide
	var open struct{ rest, events uint64 } // of a cell that goes on in the next block
	n := s.rows()
	for b := range s.blocks {
		h := &s.blocks[b]
		size := uint64(min(64, n-b*64))
		events := uint64(bits.OnesCount64(h.Hits))
		// A row at position i with j events before it in its block has i - j rows of the others before it there.
		inside := uint64(positions(h.Hits)) - events*(events-1)/2
		ordered = ordered.plus(product(events, d.rest)).plus(wide{0, inside})
		d.events += events
		d.rest += size - events
		// The pairs of a cell, whose last row without the event has one with the event behind it.
		mixed := h.Hits >> 1 &^ (h.Hits | h.Ends)
		if open.rest|open.events > 0 {
			cell := ^uint64(0)
			if h.Ends != 0 {
				cell = throughLowest(h.Ends)
			}
			open.events += uint64(bits.OnesCount64(h.Hits & cell))
			open.rest += uint64(bits.OnesCount64(cell &^ h.Hits)) // of the last block all ends are known
			if h.Ends == 0 {
				continue
			}
			d.tied = d.tied.plus(product(open.events, open.rest))
			open.rest, open.events = 0, 0
			mixed &^= cell
		}
		if last := bits.LeadingZeros64(h.Ends); last > 0 && size == 64 {
			cell := ^uint64(0) << (64 - last)
			open.events = uint64(bits.OnesCount64(h.Hits & cell))
			open.rest = uint64(bits.OnesCount64(cell &^ h.Hits))
			mixed &^= cell
		}
		// Most are cells of two rows.
		two := mixed & (h.Ends<<1 | 1) & (h.Ends >> 1)
		tied := uint64(bits.OnesCount64(two))
		for mixed &^= two; mixed != 0; mixed &= mixed - 1 {
			at := bits.TrailingZeros64(mixed)
			rest := bits.LeadingZeros64(h.Ends << (63 - at))
			tied += uint64(min(rest, at+1) * (bits.TrailingZeros64(h.Ends >> at)))
		}
		d.tied = d.tied.plus(wide{0, tied})
	}
	d.above = ordered.minus(d.tied)
	return d.pairs()
}

// scoreUnits returns a score in units of 2^-51.
func scoreUnits(q float64, upper bool) uint64 {
	u := tally.Units(q)
	if upper {
		return one - u
	}
	return u
}

// Gaps returns the least and the largest partial sum.
func (s *Sorted) Gaps() Gaps {
	// The sums at the ends of blocks, as far as they are those of cells, come first: inside a block there are as many steps up, by
	// at most 1, as events, and as many down as other rows, and mostly so few that no sum can be beyond what is known.
	var p path
	for b := range s.blocks {
		h := &s.blocks[b]
		if p.sum = p.sum.minus(number(h.Gap)); h.Ends>>63 == 1 || b == len(s.blocks)-1 {
			p.low, p.high = least(p.low, p.sum), most(p.high, p.sum)
		}
	}
	var sum wide
	n := s.rows()
	for b := range s.blocks {
		h := &s.blocks[b]
		size, events := min(64, n-b*64), bits.OnesCount64(h.Hits)
		if h.Ends<<1 != 0 {
			over, under := sum.plus(wide{0, uint64(events) << 51}), sum.minus(wide{0, uint64(size-events) << 51})
			if p.high.less(over) || under.less(p.low) {
				low, high := s.inside(h, b*64, size)
				p.low, p.high = least(p.low, sum.plus(number(low))), most(p.high, sum.plus(number(high)))
			}
		}
		sum = sum.minus(number(h.Gap))
	}
	g := p.gaps(true)
	g.Total, g.Variance = float64(n), s.variance.units()
	return g
}

// inside returns the least and the largest sum that ends with a cell of a block, from the block's first row on.
func (s *Sorted) inside(h *kernel.HitBlock, first, size int) (low, high int64) {
	low, high = math.MaxInt64, math.MinInt64
	sum := int64(0)
	for i := range size {
		sum += int64(h.Hits>>i&1)<<51 - int64(scoreUnits(s.distance(first+i)))
		if h.Ends>>i&1 == 1 {
			low, high = min(low, sum), max(high, sum)
		}
	}
	return low, high
}

// segment is the rows between two ends of cells. Each of these is the last one in its block, and no block between has any.
type segment struct {
	from, to       int // rows
	before, events int // rows with the event in front of it, and in it
	block          *kernel.HitBlock
	first          int // row of the block
}

// segments calls f for all segments.
func (s *Sorted) segments(f func(*segment)) {
	var g segment
	for b := range s.blocks {
		h := &s.blocks[b]
		if h.Ends == 0 {
			g.events += bits.OnesCount64(h.Hits)
			continue
		}
		last := bits.Len64(h.Ends)
		upTo := throughHighest(h.Ends)
		g.first, g.block = b*64, h
		g.to = g.first + last
		g.events += bits.OnesCount64(h.Hits & upTo)
		f(&g)
		g.from, g.before, g.events = g.to, g.before+g.events, bits.OnesCount64(h.Hits&^upTo)
	}
}

// Fit adds the cells to a pool, those together that are in one pool whatever comes before and after.
func (s *Sorted) Fit(p *Pool) {
	// Of the points (rows, events), counted from the lowest score to each end of a cell, the pools are the edges of the lower convex
	// hull. Its corners are strict, as pools of equal frequency are one. Counts are whole numbers, in which a pool is exact: cells
	// that leave the same corners end in the same bits.
	//
	// First comes the outer hull, of those points alone where segments end.
	var outer Pool
	s.segments(func(g *segment) { outer.Add(Block{N: float64(g.to - g.from), Y: float64(g.events)}) })
	// A corner of the true hull is a corner of the outer one or strictly below it. For else it is on or above an edge from A to B,
	// which are points too: the true hull is not above A and B, so not above the edge, and at a strict corner between them, where
	// it bends, it is strictly below.
	//
	// All these points are cuts, and what is between two cuts is added as one cell. They are looked for in a segment only if there
	// may be some: of m rows, e with the event, no point is below the line that stays level for m - e rows and then rises by 1 a row,
	// and as an edge rises by 0 to 1 a row, it is nowhere above that line unless it is so at the bend.
	edges := outer.Blocks()
	rows, events := 0, 0 // where the edge begins
	below := func(to, had int) bool {
		return product(uint64(had-events), uint64(edges[0].N)).less(product(uint64(to-rows), uint64(edges[0].Y)))
	}
	var inner Pool       // whose scores are numbers of rows
	from, before := 0, 0 // the last cut
	cut := func(to, had int) {
		inner.Add(Block{Low: float64(from), High: float64(to - 1), N: float64(to - from), Y: float64(had - before)})
		from, before = to, had
	}
	s.segments(func(g *segment) {
		if inside := g.inside(); inside != 0 && below(g.to-g.events, g.before) {
			hits := g.block.Hits
			had := g.before + g.events - bits.OnesCount64(hits&throughHighest(g.block.Ends)) // with the events in blocks before
			for ; inside != 0; inside &= inside - 1 {
				to, events := g.first+bits.TrailingZeros64(inside)+1, had+bits.OnesCount64(hits&throughLowest(inside))
				if below(to, events) {
					cut(to, events)
				}
			}
		}
		if edge := &edges[0]; g.to == rows+int(edge.N) {
			rows, events, edges = g.to, g.before+g.events, edges[1:]
			cut(rows, events)
		}
	})
	for _, b := range inner.Blocks() {
		b.Low, b.High = s.score(int(b.Low)), s.score(int(b.High))
		p.Add(b)
	}
}

// inside returns the ends of cells inside a segment where there may be a corner: not behind one row with the event, nor in front of
// one without, for frequencies rise at a corner.
func (g *segment) inside() uint64 {
	hits, ends := g.block.Hits, g.block.Ends
	behind := hits & (ends << 1) // the first cell of the block may have more rows
	ahead := (ends &^ hits) >> 1
	return ends &^ (behind | ahead) & (throughHighest(ends) >> 1)
}

// Squares returns the sum of (p - y)^2, each rounded to a whole number of units of 2^-50.
func (s *Sorted) Squares() float64 {
	var sum wide
	for i := range s.blocks {
		sum = sum.plus(number(s.blocks[i].Square))
	}
	return 2 * sum.units()
}
