package kernel

import (
	"cmp"
	"math"
	"slices"
	"sync"
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

// MaxGrid is how many scores GridCells may sum before they have to be read and emptied.
const MaxGrid = 1 << 22

var gridBins = [...]int{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 48, 50, 60, 75, 80, 100}

// GridBins tells whether so many bins of equal width, left-closed with the edges Edges(n), are unions of cells.
func GridBins(n int) bool { return slices.Contains(gridBins[:], n) }

const (
	gridSteps  = 1200    // steps of the even part, in a unit of p
	gridFrom   = 12      // and how many are taken up by the other
	gridShift  = 52 - 5  // 32 parts of a power of 2
	gridLeast  = 0x1p-64 // the start of the first part
	gridMost   = 0.0099  // inside the last part
	gridNear   = 0x1p-20 // so near to a whole step the places are looked up
	gridSmooth = gridFrom - 0.5
	gridMagic  = 0x1.8p52
)

// gridBase is the number of the first part, and gridLogs how many there are.
var (
	gridBase = math.Float64bits(gridLeast) >> gridShift
	gridLogs = int(math.Float64bits(gridMost)>>gridShift-gridBase) + 1
)

var gridMade struct {
	sync.Once
	places []float64 // by cell: those of parts and steps, then those between neighbours
	rising []int32   // cells by place
}

func gridMake() {
	gridMade.Do(func() {
		parts := []float64{0}
		for i := 1; i < gridLogs; i++ {
			parts = append(parts, math.Float64frombits((gridBase+uint64(i))<<gridShift))
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
		for i := gridFrom; i <= gridSteps/2; i++ {
			x := float64(i) / gridSteps
			// The step's cell begins at the last of the edges there.
			var here []float64
			for _, e := range edges {
				if math.Abs(e-x) < 1e-9 {
					here = append(here, e)
				}
			}
			if n := len(here); n > 0 {
				x = here[n-1]
				between = append(between, here[:n-1]...)
			}
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

const gridChunk = 256

// GridSums adds scores to cells, of which there are GridSize: to element 4*g + 2*half + y of the cell g of q, which is p[i], or where
// that is at least 1/2 tail[i]. Scores whose q is not in [0, 1/2] are left out, and counted in out. y is 0 or 1.
func GridSums(cells []GridCell, p, tail []float64, y []uint8) (out int) {
	checkEqual(len(p), len(tail))
	checkEqual(len(p), len(y))
	if len(cells) != GridSize() {
		panic(errGrid)
	}
	var at [gridChunk]int32
	var first, second [gridChunk]uint64
	for len(p) > 0 {
		n := min(len(p), gridChunk)
		gridIndex(at[:n], first[:n], second[:n], p[:n], tail[:n], y[:n])
		for i, k := range at[:n] {
			if k < 0 {
				if k = gridLookUp(p[i], tail[i], y[i]); k < 0 {
					out++
					continue
				}
			}
			c := &cells[k]
			c.N++
			c.Q += first[i]
			c.QQ += second[i]
		}
		p, tail, y = p[n:], tail[n:], y[n:]
	}
	return out
}

const errGrid = "kernel: number of grid cells is not GridSize"

// gridIndex finds the elements of cells that scores belong to, -1 where they are to be looked up, and the bits of q + 3 and q*q + 3.
func gridIndex(at []int32, first, second []uint64, p, tail []float64, y []uint8) {
	n := len(p)
	at, first, second, tail, y = at[:n], first[:n], second[:n], tail[:n], y[:n]
	step := math.Float64bits(gridMagic) + gridFrom - 1
	for i, v := range p {
		// A branch on the half is one that no CPU foresees.
		b, t := math.Float64bits(v), math.Float64bits(tail[i])
		low := uint64(int64(b-math.Float64bits(0.5)) >> 63) // all ones where p < 1/2
		q := math.Float64frombits(t ^ (t^b)&low)
		part := int32(math.Float64bits(min(max(q, gridLeast), gridMost))>>gridShift - gridBase)
		f := max(float64(q*gridSteps), gridSmooth)
		whole := f + gridMagic
		d := f - (whole - gridMagic)
		u := int32(math.Float64bits(whole) - step - math.Float64bits(d)>>63)
		k := (part+u)<<2 | int32(2&^low) | int32(y[i])
		if math.Abs(d) < gridNear || !(q >= 0 && q <= 0.5) {
			k = -1
		}
		at[i] = k
		first[i] = math.Float64bits(q + 3)
		second[i] = math.Float64bits(float64(q*q) + 3)
	}
}

// gridLookUp does the same for one score; -1 where its q is not in [0, 1/2].
func gridLookUp(p, tail float64, y uint8) int32 {
	q, half := p, int32(0)
	if !(p < 0.5) {
		q, half = tail, 2
	}
	if !(q >= 0 && q <= 0.5) {
		return -1
	}
	return gridMade.rising[GridRank(q)]<<2 | half | int32(y)
}

// GridTotals returns what element i of GridSums' cells has summed: the number of scores n, and how much more than n times the place
// of the cell the sum of q is, and than n times the place's square that of q*q. Every term and place is rounded once to a multiple
// of 2**-51, which is the unit. The sums are exact up to MaxGrid scores in the cell.
func GridTotals(c *GridCell, i int) (n, q, qq uint64) {
	gridMake()
	x := gridMade.places[i>>2]
	return c.N, c.Q - c.N*math.Float64bits(x+3), c.QQ - c.N*math.Float64bits(float64(x*x)+3)
}
