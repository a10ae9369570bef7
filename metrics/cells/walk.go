package cells

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pav"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// places have the bits of a word whose numbers have the bit 0, 1, ... set.
var places = [6]uint64{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}

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
		upTo := ^uint64(0) >> (64 - last)
		g.first, g.block = b*64, h
		g.to = g.first + last
		g.events += bits.OnesCount64(h.Hits & upTo)
		f(&g)
		g.from, g.before, g.events = g.to, g.before+g.events, bits.OnesCount64(h.Hits&^upTo)
	}
}

// Fit adds the cells to a pool, or less that gives the same: see the proof in the code.
func (s *Sorted) Fit(p *pav.Pool) {
	// Of the points (rows, events), counted from the lowest score to each end of a cell, the pools are the edges of the lower
	// convex hull, and pools of equal frequency are one: its corners are strict. They are whole numbers, in which a pool is exact,
	// so two ways to the same corners end in the same bits.
	//
	// First comes the hull of the ends of segments, which are some of the points. The true hull is nowhere above it.
	var outer pav.Pool
	s.segments(func(g *segment) { outer.Add(pav.Block{N: float64(g.to - g.from), Y: float64(g.events)}) })
	// A corner of the true hull that is no corner of this one is strictly below it:
	//   - It is not a corner but a point of this hull, or above it, and between the corners A and B here: the true hull is at or below
	//     A and B, so it is at or below the chord AB between them, and strictly below at a strict corner of its own.
	//   - In particular no end of a segment is one: those are not below this hull.
	// Inside a segment of m rows, e of them with the event, no point is below the line that stays level for m - e rows and then
	// rises by 1 a row. An edge of this hull rises by 0 to 1 a row, so if the place where that line turns is not below the edge,
	// then no point of the segment is, and it has no corner. The others are opened: their cells are added one by one. All that lies
	// between these and corners of the outer hull has no corner and is added as one cell, which is a point's chord left out.
	edges := outer.Blocks()
	var inner pav.Pool     // whose scores are numbers of rows
	var closed pav.Block   // what is added as one cell
	rows, events := 0, 0.0 // where the edge begins
	flush := func(to int) {
		if closed.N > 0 {
			closed.High = float64(to - 1)
			inner.Add(closed)
		}
		closed = pav.Block{Low: float64(to)}
	}
	s.segments(func(g *segment) {
		edge := &edges[0]
		level := product(uint64(g.before-int(events)), uint64(edge.N))
		if g.block.Ends&(g.block.Ends-1) != 0 && level.less(product(uint64(g.to-g.events-rows), uint64(edge.Y))) {
			flush(g.from)
			g.open(&inner)
			closed.Low = float64(g.to)
		} else {
			closed.N += float64(g.to - g.from)
			closed.Y += float64(g.events)
		}
		if g.to == rows+int(edge.N) {
			flush(g.to)
			rows, events, edges = g.to, events+edge.Y, edges[1:]
		}
	})
	for _, b := range inner.Blocks() {
		b.Low, b.High = s.score(int(b.Low)), s.score(int(b.High))
		p.Add(b)
	}
}

// open adds the cells of a segment to a pool, those together between which there is no corner: behind one row with the event, or
// in front of one without.
func (g *segment) open(p *pav.Pool) {
	hits, ends := g.block.Hits, g.block.Ends
	behind := hits & (ends << 1) // one row with the event; the first of the block may be more than that
	ahead := (ends &^ hits) >> 1 & ends
	corners := ends&^(behind|ahead) | 1<<(bits.Len64(ends)-1)
	// Events of the first cell may be in blocks before.
	from, events := g.from, g.events-bits.OnesCount64(hits&(^uint64(0)>>bits.LeadingZeros64(ends)))
	for ; corners != 0; corners &= corners - 1 {
		upTo := throughLowest(corners)
		events += bits.OnesCount64(hits & upTo)
		hits &^= upTo
		end := g.first + bits.TrailingZeros64(corners) + 1
		p.Add(pav.Block{Low: float64(from), High: float64(end - 1), N: float64(end - from), Y: float64(events)})
		from, events = end, 0
	}
}

// Squares returns the sum of (p - y)^2, each rounded to a whole number of units of 2^-50.
func (s *Sorted) Squares() float64 {
	var sum wide
	for i := range s.blocks {
		sum = sum.plus(number(s.blocks[i].Square))
	}
	return 2 * sum.units()
}
