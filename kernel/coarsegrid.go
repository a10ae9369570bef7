package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// A CoarseGrid divides [0,1] into few places, which do not depend on the data: for the joint places of two scores.
//
// As on the grid of GridSums a score is placed by its distance q from the nearer of 0 and 1, and the places of both halves mirror each
// other. Of those of a half about a tenth are below 2^-20, a third from there to 2^-7, equally many for each power of two, and the
// rest equally wide up to 1/2: confident models crowd near 0 and 1.
type CoarseGrid struct {
	places int
	// Numbers of the kernel. With d the bits of q less those where the first part begins, without the last 20, the number of its place
	// below 2^-7 is d*slope + start of its part, rounded down, and that of the other part is smaller: the larger one is taken. The exact
	// sum is half a step of d or more from a whole number, so its rounding decides nothing. Above 2^-7 it is (q - 2^-7)*slope, and
	// first is added. Slopes and starts have the other sign, since the kernel rounds up.
	k [8]float64
}

// Elements of CoarseGrid.k.
const (
	tinySlope = iota
	tinyStart
	smallSlope
	smallStart
	largeSlope
	largeMost
	largeFirst // as the bits of a float64
	lastPlace  // likewise
)

const (
	coarseLarge = 0x1p-7
	coarseSmall = 0x1p-20
	coarseTiny  = 0x1p-64
	coarseShift = 20 // bits of q that do not matter
	tinyShare   = 27 // of 256
	smallShare  = 86
)

// NoPlace is the place of a score outside [0,1].
const NoPlace = math.MaxUint32

// NewCoarseGrid returns a grid of so many places, an even number from 2 to 2^15.
func NewCoarseGrid(places int) *CoarseGrid {
	if places < 2 || places%2 != 0 || places > 1<<15 {
		panic(errPlaces)
	}
	half := places / 2
	tiny, small := half*tinyShare/256, half*smallShare/256
	large := half - tiny - small
	g := &CoarseGrid{places: places}
	part := func(at, first, n int, from, to float64) {
		steps := func(a, b float64) float64 { return float64((math.Float64bits(b) - math.Float64bits(a)) >> coarseShift) }
		slope, half := float64(n)/steps(from, to), 0.5/steps(from, to)
		g.k[at], g.k[at+1] = -slope, float64(slope*steps(coarseTiny, from))-half-float64(first)
	}
	part(tinySlope, 0, tiny, coarseTiny, coarseSmall)
	part(smallSlope, tiny, small, coarseSmall, coarseLarge)
	g.k[largeSlope] = float64(large) * (1 / (0.5 - coarseLarge))
	g.k[largeMost] = 0.5 - float64(large)
	g.k[largeFirst] = math.Float64frombits(uint64(tiny + small))
	g.k[lastPlace] = math.Float64frombits(uint64(places - 1))
	return g
}

const errPlaces = "kernel: places are not an even number from 2 to 2^15"

// Place returns the place of a score below 1/2 that is q, in [0, 1/2]. It rises with q.
func (g *CoarseGrid) Place(q float64) uint32 {
	k := &g.k
	if q >= coarseLarge {
		return uint32(math.Float64bits(k[largeFirst])) + uint32(-max(float64((coarseLarge-q)*k[largeSlope]), k[largeMost]))
	}
	d := float64((math.Float64bits(max(q, coarseTiny)) - math.Float64bits(coarseTiny)) >> coarseShift)
	return uint32(-min(float64(d*k[tinySlope])+k[tinyStart], float64(d*k[smallSlope])+k[smallStart]))
}

// Places writes the places of scores p, whose tails are 1 - p, each times two plus the outcome y, which is 0 or 1. Those outside
// [0,1] have NoPlace. A tail may exceed 1/2 by GridSlack units in the last place.
func (g *CoarseGrid) Places(dst []uint32, p, tail []float64, y []uint8) {
	checkEqual(len(dst), len(p))
	checkEqual(len(dst), len(tail))
	checkEqual(len(dst), len(y))
	n := 0
	if simd() {
		n = len(dst) &^ (columnStep - 1)
	}
	if n > 0 {
		asm.CoarsePlaces(&dst[0], &p[0], &tail[0], &y[0], n, &g.k[0])
	}
	last := uint32(g.places) - 1
	for i := n; i < len(dst); i++ {
		switch v, q := p[i], tail[i]; {
		case v >= 0 && v < 0.5:
			dst[i] = g.Place(v)<<1 | uint32(y[i])
		case v >= 0.5 && q >= 0 && q <= coarseMost:
			dst[i] = (last-g.Place(min(q, 0.5)))<<1 | uint32(y[i])
		default:
			dst[i] = NoPlace
		}
	}
}

// coarseMost is the largest tail: 1/2 and GridSlack units in the last place.
const coarseMost = 0.5 + GridSlack*0x1p-53

// JointPlaces writes to dst the elements of a matrix that rows with places a and b of two models are: of row 2*a + b&1 column b>>1, of so many
// columns as the grid has places. a and b are what Places wrote; where either is NoPlace the element is NoPlace.
func (g *CoarseGrid) JointPlaces(dst, a, b []uint32) {
	checkEqual(len(dst), len(a))
	checkEqual(len(dst), len(b))
	n, columns := 0, uint32(g.places)
	if simd() {
		n = len(dst) &^ (columnStep - 1)
	}
	if n > 0 {
		asm.JointPlaces(&dst[0], &a[0], &b[0], n, &columns)
	}
	for i := n; i < len(dst); i++ {
		x, z := a[i], b[i]
		dst[i] = (2*x+z&1)*columns + z>>1 | uint32(int32(x|z)>>31)
	}
}
