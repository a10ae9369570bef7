package kernel

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/candor-go/candor/kernel/asm"
)

// The grid divides scores into cells that do not depend on the data: narrow ones towards 0 and towards 1, where confident models'
// scores crowd, and such that bins of equal width of the usual numbers are unions of cells.
//
// A score p is placed by which half it is in and by its distance q from the near end: p itself below 1/2, otherwise the tail
// 1 - p, which keeps its digits where p is near 1. Both halves are divided at the same places of q, so the cells of 1 - p are
// those of p in the other half. A place is the first q of its cell; they are
//
//	0; up to 1/100 every 32nd part of each power of 2 from 33/32 * 2**-64 on; from there on every i/1200;
//	where i*(1/B) is, seen from either end, for every B up to 100 that divides 1200.
//
// The last kind are units in the last place from each other and from i/1200, which is none where one of them is. So the cells
// between such neighbours, though there have to be some, are hardly ever used.

// GridCell sums what one cell of the grid has seen of one half and outcome: the number of scores, and sums of their q and q*q in
// the form that GridTotals reads.
type GridCell struct{ N, Q, QQ, _ uint64 }

// GridSlack is how many units in the last place a tail may be above 1/2 and still count as 1/2: that of a probability of 1/2 may be
// rounded to one.
const GridSlack = 4

// MaxGrid is how many scores GridCells may sum before they have to be read and emptied.
const MaxGrid = 1 << 22

var gridBins = [...]int{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 48, 50, 60, 75, 80, 100}

// GridBins tells whether so many bins of equal width, left-closed with the edges Edges(n), are unions of cells.
func GridBins(n int) bool { return slices.Contains(gridBins[:], n) }

const (
	gridSteps = 1200     // steps of the even part, in a unit of p
	gridFrom  = 12       // and how many are taken up by the other
	gridShift = 52 - 5   // 32 parts of a power of 2
	gridLeast = 0x1p-64  // the start of the first part
	gridMost  = 0.0099   // inside the last part
	gridNear  = 0x1p-43  // no edge is as far from the step beside it
	gridPoint = 21       // bits of what is behind the point of a number of steps
	gridFixed = 0x1.8p31 // added to such a number moves the point there
	gridDoubt = 0x1p-20  // also added, so that scores beside an edge have
	gridClose = 4        // less than so much behind the point: more than gridNear to either side
)

// The number of the first part as it stands in bits, and how many parts there are.
const (
	gridBase = (1023 - 64) << (52 - gridShift)
	gridLogs = 1833
)

var gridMade struct {
	sync.Once
	places []float64 // by cell: those of parts and steps, then those between neighbours
	rising []int32   // cells by place
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
			// The step's cell begins at the last of the edges there.
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
	})
}

// gridStep has the cells beside a step: those that begin above the scores whose bits are below, and first the one before.
type gridStep struct {
	below [3]uint64
	cells [4]int32
}

// GridPlaces returns the first q of each cell: of those in rising, one after another, they rise. Neither is to be changed.
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

// GridRank returns how many places are below the one of the cell of q, which is in [0, 1/2]: the cell is element GridRank(q) of
// rising.
func GridRank(q float64) int {
	places, rising := GridPlaces()
	i, found := slices.BinarySearchFunc(rising, q, func(g int32, q float64) int { return cmp.Compare(places[g], q) })
	if !found {
		i--
	}
	return i
}

// GridSize returns the number of GridCells: four for each cell of the grid, for the halves p < 1/2 and p >= 1/2 and in each for the
// outcomes 0 and 1.
func GridSize() int {
	gridMake()
	return 4 * len(gridMade.places)
}

// GridSums adds scores to cells, of which there are GridSize: to element 4*g + 2*half + y of the cell g of q, which is p[i], or where
// that is at least 1/2 tail[i]. Scores whose q is not in [0, 1/2], but for GridSlack, are left out, and counted in out. y is 0 or 1.
// Scores beside an edge of bins, as those of two digits are, take several times as long as others.
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

// gridChunk is how many scores a call of assembly takes, which lists those that are to be looked up.
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
		// Branches on the half and on the kind of cell would be such as no CPU foresees: masks choose.
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

// gridAdd looks up the cell of a score that is near a step, or outside, and adds it there; it tells whether q is in [0, 1/2].
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

// gridLow returns ones where p < 1/2 and zeros where it is not, either for NaN.
func gridLow(p float64) uint64 {
	return uint64((int64(math.Float64bits(p))>>1 - int64(math.Float64bits(0.5)>>1)) >> 63)
}

// gridBeside is the cell of 0 and of what is near a step.
func gridBeside(q float64) int {
	step := int(float64(q*gridSteps)+0.5) - gridFrom
	if step < 0 {
		return 0
	}
	s, bits := &gridMade.steps[step], math.Float64bits(q)
	n := (s.below[0]-bits)>>63 + (s.below[1]-bits)>>63 + (s.below[2]-bits)>>63
	return int(s.cells[n&3])
}

// GridTotals returns what element i of GridSums' cells has summed: the number of scores n, and how much more than n times the place
// of the cell the sum of q is, and than n times the place's square that of q*q. Every term and place is rounded once to a multiple
// of 2**-51, which is the unit. The sums are exact up to MaxGrid scores in the cell.
func GridTotals(c *GridCell, i int) (n, q, qq uint64) {
	gridMake()
	x := gridMade.places[i>>2]
	return c.N, c.Q - c.N*math.Float64bits(x+3), c.QQ - c.N*math.Float64bits(float64(x*x)+3)
}
