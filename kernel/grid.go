package kernel

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/kernel/asm"
)

// The grid divides scores into cells that do not depend on the data. They are narrow towards 0 and 1, where scores of
// confident models crowd, and equal-width bins of the usual numbers are unions of cells.
//
// A score p is placed by the half of [0,1] that it is in and by its distance q from the nearer end: p itself below 1/2,
// otherwise the tail 1 - p, which keeps its digits where p is near 1. Both halves are divided at the same places of q, so
// the cells of 1 - p are those of p in the other half. A place is the smallest q of a cell. The places are
//
//	0; up to 1/100 every 32nd part of each power of 2 from 33/32 * 2**-64 on; from there on every i/1200;
//	i*(1/B), seen from either end, for every B up to 100 that divides 1200.
//
// Places of the last kind differ by units in the last place from each other and from i/1200, which is not a place itself
// where one of them is near. The cells between such neighbours must exist, but are hardly ever used.

// GridCell holds sums for one cell of the grid, one half and one outcome: the number of scores, and sums of their q and q*q
// in the form that GridTotals reads.
type GridCell struct{ N, Q, QQ, _ uint64 }

// GridSlack is the number of units in the last place by which a tail may exceed 1/2 and still count as 1/2. The tail of a
// probability of 1/2 may be rounded that much.
const GridSlack = 4

// MaxGrid is the number of scores that GridSums may add before the cells must be read and cleared.
const MaxGrid = 1 << 22

var gridBins = [...]int{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 48, 50, 60, 75, 80, 100}

// GridBins reports whether n bins of equal width, left-closed with the edges Edges(n), are unions of cells.
func GridBins(n int) bool { return slices.Contains(gridBins[:], n) }

const (
	gridSteps = 1200     // steps per unit of p in the even part
	gridFrom  = 12       // number of these that the other part replaces
	gridShift = 52 - 5   // 32 parts of a power of 2
	gridLeast = 0x1p-64  // start of the first part
	gridMost  = 0.0099   // inside the last part
	gridNear  = 0x1p-43  // no edge is this far from the step next to it
	gridPoint = 21       // bits of the fraction of a number of steps
	gridFixed = 0x1.8p31 // adding this to such a number moves its point there
	gridDoubt = 0x1p-20  // also added, so that scores next to an edge have
	gridClose = 4        // a fraction less than this: more than gridNear to either side
)

// The number of the first part in the bits, and the number of parts.
const (
	gridBase = (1023 - 64) << (52 - gridShift)
	gridLogs = 1833
)

var gridMade struct {
	sync.Once
	places []float64 // by cell: first those of parts and steps, then those between neighbours
	rising []int32   // cells in order of place
	ranks  []int32   // the number of each cell in that order
	steps  []gridStep
}

func gridMake() {
	gridMade.Do(func() {
		parts := []float64{0}
		for i := 1; i < gridLogs; i++ {
			parts = append(parts, math.Float64frombits(uint64(gridBase+i)<<gridShift))
		}
		var edges []float64
		for _, n := range gridBins {
			for _, e := range Edges(n)[1:n] {
				if e > 0.5 {
					e = firstBeyond(e)
				}
				if e < 0.5 {
					edges = append(edges, e)
				}
			}
		}
		slices.Sort(edges)
		edges = slices.Compact(edges)
		places, between := parts, []float64(nil)
		const evenEnd = gridLogs + gridSteps/2 - gridFrom + 1
		for i := gridFrom; i <= gridSteps/2; i++ {
			x := float64(i) / gridSteps
			// The step's cell begins at the last of the edges here.
			var here []float64
			for _, e := range edges {
				if math.Abs(e-x) < gridNear {
					here = append(here, e)
				}
			}
			s := gridStep{below: [3]uint64{math.MaxInt64, math.MaxInt64, math.MaxInt64}}
			s.cells[0] = int32(len(places) - 1)
			n := max(len(here), 1)
			if len(here) > 0 {
				x = here[n-1]
			}
			for j, e := range here[:n-1] {
				s.below[j] = math.Float64bits(e) - 1
				s.cells[j+1] = int32(evenEnd + len(between))
				between = append(between, e)
			}
			s.below[n-1], s.cells[n] = math.Float64bits(x)-1, int32(len(places))
			gridMade.steps = append(gridMade.steps, s)
			places = append(places, x)
		}
		gridMade.places = append(places, between...)
		gridMade.rising = make([]int32, len(gridMade.places))
		for i := range gridMade.rising {
			gridMade.rising[i] = int32(i)
		}
		slices.SortFunc(gridMade.rising, func(a, b int32) int {
			return cmp.Compare(gridMade.places[a], gridMade.places[b])
		})
		gridMade.ranks = make([]int32, len(gridMade.rising))
		for i, g := range gridMade.rising {
			gridMade.ranks[g] = int32(i)
		}
	})
}

// gridStep lists the cells near a step: cells[n] is that of a score whose bits exceed n elements of below.
type gridStep struct {
	below [3]uint64
	cells [4]int32
}

// GridPlaces returns the smallest q of each cell, and the cells in rising order of it. The slices must not be changed.
func GridPlaces() (places []float64, rising []int32) {
	gridMake()
	return gridMade.places, gridMade.rising
}

// firstBeyond returns the smallest q for which 1 - q, rounded, is below e.
func firstBeyond(e float64) float64 {
	lo, hi := math.Float64bits(1-e), math.Float64bits(1-e+0x1p-52)
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; 1-math.Float64frombits(mid) >= e {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Float64frombits(hi)
}

// GridRank returns the number of places below that of the cell of q, for q in [0, 1/2]: the cell is element GridRank(q) of
// rising.
func GridRank(q float64) int {
	gridMake()
	if !(q >= 0 && q < 0.5) {
		return len(gridMade.rising) - 1
	}
	return int(gridMade.ranks[gridCell(q)])
}

// gridCell returns the cell of q, for q in [0, 1/2).
func gridCell(q float64) int {
	part := max(0, int64(math.Float64bits(q+0)-math.Float64bits(gridLeast))>>gridShift) // -0 is 0
	if part < gridLogs-1 {                                                              // the steps begin within the last one
		return int(part)
	}
	steps := math.Float64bits(float64(q*gridSteps) + (gridFixed + gridDoubt))
	if steps&(1<<gridPoint-1) < gridClose {
		return gridBeside(q)
	}
	return int(steps>>gridPoint&1023) + gridLogs - gridFrom
}

// GridSize returns the number of GridCells: four for each cell of the grid, for the halves p < 1/2 and p >= 1/2 and in each
// for the outcomes 0 and 1.
func GridSize() int {
	gridMake()
	return 4 * len(gridMade.places)
}

// GridSums adds scores to cells, of which there must be GridSize. The score p[i] goes to element 4*g + 2*half + y, where g
// is the cell of its q: p[i], or tail[i] if p[i] is at least 1/2. Scores with q outside [0, 1/2], up to GridSlack, are left
// out and counted in out. y is 0 or 1. Scores next to an edge of bins, such as those with two decimals, take several times
// as long as others.
func GridSums(cells []GridCell, p, tail []float64, y []uint8) (out int) {
	checkEqual(len(p), len(tail))
	checkEqual(len(p), len(y))
	if len(cells) != GridSize() {
		panic(errGrid)
	}
	if n := len(p) &^ (columnStep - 1); simd() && n > 0 {
		out = simdGridSums(cells, p[:n], tail, y)
		p, tail, y = p[n:], tail[n:], y[n:]
	}
	return out + gridSums(cells, p, tail, y)
}

const errGrid = "kernel: number of grid cells is not GridSize"

// gridChunk is the number of scores in a call of the assembly, which lists those that need a lookup.
const gridChunk = 512

func simdGridSums(cells []GridCell, p, tail []float64, y []uint8) (out int) {
	var room [16]uint64
	var list [gridChunk + 16]uint32
	for len(p) > 0 {
		n := min(len(p), gridChunk)
		listed := asm.GridSums(&cells[0].N, &room[0], &list[0], &p[0], &tail[0], &y[0], n)
		for _, i := range list[:listed] {
			if !gridAdd(cells, p[i], tail[i], y[i]) {
				out++
			}
		}
		p, tail, y = p[n:], tail[n:], y[n:]
	}
	return out
}

func gridSums(cells []GridCell, p, tail []float64, y []uint8) (out int) {
	tail, y = tail[:len(p)], y[:len(p)]
	for i, v := range p {
		// Branches on the half and on the kind of cell would be unpredictable, so masks are used.
		b, t, low := math.Float64bits(v), math.Float64bits(tail[i]), gridLow(v)
		bits := t ^ (t^b)&low
		q := math.Float64frombits(bits)
		g := int64(bits-math.Float64bits(gridLeast)) >> gridShift
		g &^= g >> 63
		part := (g - (gridLogs - 1)) >> 63 // not in the last one, at whose end the steps begin
		steps := int64(math.Float64bits(float64(q*gridSteps) + (gridFixed + gridDoubt)))
		if bits >= math.Float64bits(0.5) || (steps|part)&(1<<gridPoint-1) < gridClose {
			if !gridAdd(cells, v, tail[i], y[i]) {
				out++
			}
			continue
		}
		step := steps>>gridPoint&1023 + gridLogs - gridFrom
		g = step ^ (step^g)&part
		c := &cells[4*g+2*int64(low)+2+int64(y[i])]
		c.N++
		c.Q += math.Float64bits(q + 3)
		c.QQ += math.Float64bits(float64(q*q) + 3)
	}
	return out
}

// gridAdd looks up the cell of a score near a step, or outside, and adds it there. It reports whether q is in [0, 1/2].
func gridAdd(cells []GridCell, p, tail float64, y uint8) bool {
	low := gridLow(p)
	if p != p {
		low = 0
	}
	b, t := math.Float64bits(p), math.Float64bits(tail)
	if d := t - math.Float64bits(0.5); d <= GridSlack {
		t -= d
	}
	q := math.Float64frombits(t ^ (t^b)&low)
	if !(q >= 0 && q <= 0.5) {
		return false
	}
	g := gridBeside(q)
	if p != p { // its tail need not be near a step
		g = int(gridMade.rising[GridRank(q)])
	}
	c := &cells[uint64(g)<<2|2&^low|uint64(y)]
	c.N++
	c.Q += math.Float64bits(q + 3)
	c.QQ += math.Float64bits(float64(q*q) + 3)
	return true
}

// gridLow returns all ones if p < 1/2, else 0; the result for NaN is arbitrary.
func gridLow(p float64) uint64 {
	return uint64((int64(math.Float64bits(p))>>1 - int64(math.Float64bits(0.5)>>1)) >> 63)
}

// gridBeside returns the cell of q, for 0 and for q near a step.
func gridBeside(q float64) int {
	step := int(float64(q*gridSteps)+0.5) - gridFrom
	if step < 0 {
		return 0
	}
	s, bits := &gridMade.steps[step], math.Float64bits(q)
	n := (s.below[0]-bits)>>63 + (s.below[1]-bits)>>63 + (s.below[2]-bits)>>63
	return int(s.cells[n&3])
}

// GridTotals returns the sums in element i of the cells of GridSums: the number n of scores, the sum of q minus n times the
// place of the cell, and the sum of q*q minus n times the square of the place. Every term and place is rounded once to a
// multiple of 2**-51, which is the unit. The sums are exact for up to MaxGrid scores in the cell.
func GridTotals(c *GridCell, i int) (n, q, qq uint64) {
	gridMake()
	x := gridMade.places[i>>2]
	return c.N, c.Q - c.N*math.Float64bits(x+3), c.QQ - c.N*math.Float64bits(float64(x*x)+3)
}
