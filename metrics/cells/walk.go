package cells

import (
	"math"
	"math/bits"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// places[k] selects the positions in a word that have bit k set.
var places = [6]uint64{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}

// positions returns the sum of the positions of the bits set.
func positions(x uint64) (n int) {
	for k, mask := range &places {
		n += bits.OnesCount64(x&mask) << k
	}
	return n
}

// Pairs compares rows with the event to rows without it.
//
// Rows of equal score are sorted with events last. All pairs in sorted order are therefore the pairs above and the tied pairs.
func (s *Sorted) Pairs() Pairs {
	if len(s.raw) > 0 {
		return s.Ranked().Pairs()
	}
	var d duels
	var ordered wide
	var open struct{ rest, events uint64 } // cell that continues in the next block
	n := s.rows()
	for b := range s.blocks {
		h := &s.blocks[b]
		size := uint64(min(64, n-b*64))
		events := uint64(bits.OnesCount64(h.Hits))
		// An event at position i with j events before it in its block has i - j other rows before it there.
		inside := uint64(positions(h.Hits)) - events*(events-1)/2
		ordered = ordered.plus(product(events, d.rest)).plus(wide{0, inside})
		d.events += events
		d.rest += size - events
		// Last rows without the event in cells where an event follows.
		mixed := h.Hits >> 1 &^ (h.Hits | h.Ends)
		if open.rest|open.events > 0 {
			cell := ^uint64(0)
			if h.Ends != 0 {
				cell = throughLowest(h.Ends)
			}
			open.events += uint64(bits.OnesCount64(h.Hits & cell))
			open.rest += uint64(bits.OnesCount64(cell &^ h.Hits)) // the last block has no unknown ends
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
		// Most of these cells have two rows.
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

// Gaps returns the extremes of the partial sums.
func (s *Sorted) Gaps() Gaps {
	// First the sums at the ends of blocks that are ends of cells. Inside a block, the sum rises by at most 1 for each event
	// and falls by at most 1 for each other row. There are mostly too few of them for a sum beyond the known extremes.
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

// inside returns the smallest and the largest sum at the end of a cell in a block, starting from the block's first row.
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

// segment holds the rows between two ends of cells. Each of these is the last end in its block, and blocks in between have
// none.
type segment struct {
	from, to       int // range of rows
	before, events int // events before the segment, and in it
	block          *kernel.HitBlock
	first          int // first row of the block
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

// Fit adds the cells to a pool. It combines cells that are in the same pool whatever comes before and after.
func (s *Sorted) Fit(p *Pool) {
	// Take the points (rows, events), counted from the lowest score to each end of a cell. The pools are the edges of their
	// lower convex hull. Its corners are strict, because pools of equal frequency are one. Counts are integers, for which pools
	// are exact, so all cells with the same corners give the same bits.
	//
	// First comes the outer hull, that of the points at the ends of segments.
	var outer Pool
	s.segments(func(g *segment) { outer.Add(Block{N: float64(g.to - g.from), Y: float64(g.events)}) })
	// A corner of the true hull is a corner of the outer hull or strictly below it. Otherwise it would be on or above an edge
	// of the outer hull from A to B. A and B are points too, so the true hull is not above them, nor above the edge. At a
	// strict corner between A and B the true hull bends, so it is strictly below the edge.
	//
	// All these points are cuts, and the rows between two cuts are added as one cell. A segment is searched for them only if it
	// can have some. In a segment of m rows with e events, no point is below the line that is level for m - e rows and then
	// rises by 1 per row. An edge rises by 0 to 1 per row, so it is above that line somewhere only if it is above it at the
	// bend.
	edges := outer.Blocks()
	rows, events := 0, 0 // start of the edge
	below := func(to, had int) bool {
		return product(uint64(had-events), uint64(edges[0].N)).less(product(uint64(to-rows), uint64(edges[0].Y)))
	}
	var inner Pool       // its scores are row numbers
	from, before := 0, 0 // last cut
	cut := func(to, had int) {
		inner.Add(Block{Low: float64(from), High: float64(to - 1), N: float64(to - from), Y: float64(had - before)})
		from, before = to, had
	}
	s.segments(func(g *segment) {
		if inside := g.inside(); inside != 0 && below(g.to-g.events, g.before) {
			hits := g.block.Hits
			had := g.before + g.events - bits.OnesCount64(hits&throughHighest(g.block.Ends)) // including the events of earlier blocks
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

// inside returns the ends of cells inside a segment that can be corners. Frequencies rise at a corner, so it does not follow a
// cell of one row with the event and does not precede a cell of one row without it.
func (g *segment) inside() uint64 {
	hits, ends := g.block.Hits, g.block.Ends
	behind := hits & (ends << 1) // the first cell of the block may have more rows, before the block
	ahead := (ends &^ hits) >> 1
	return ends &^ (behind | ahead) & (throughHighest(ends) >> 1)
}

// Squares returns the sum of (p - y)^2, with each square rounded to an integer multiple of 2^-50.
func (s *Sorted) Squares() float64 {
	var sum wide
	for i := range s.blocks {
		sum = sum.plus(number(s.blocks[i].Square))
	}
	return 2 * sum.units()
}
