package recal

import "math"

// A finder locates a score among rising numbers in [0,1], in almost constant time.
//
// A table over the bits of the distance to the nearer of 0 and 1 narrows the search to a few numbers. It is as fine near 1
// as near 0.
type finder struct {
	x     []float64
	upTo  []int32 // for each cell, how many of the numbers are in cells before it; and one more element for the end
	shift uint
	base  int // shifted bits of the first cell, for distances from 2^-33 to 2^-32
	cells int // number of cells for scores below 1/2, and again for those above
}

const (
	findBits = 32 // distances below 2^-findBits share one cell
	findFew  = 16 // at most this many numbers are located by binary search
)

func newFinder(x []float64) finder {
	f := finder{x: x}
	if len(x) < findFew {
		return f
	}
	fine := uint(0)                                    // mantissa bits; for uniform scores half of the numbers lie between two powers of 2
	for fine < 10 && findBits<<(fine+2) <= 32*len(x) { // keep the table small, since each of many classes has a curve
		fine++
	}
	f.shift, f.base, f.cells = 52-fine, (1023-findBits-1)<<fine, findBits<<fine
	f.upTo = make([]int32, 2*f.cells+1)
	for _, v := range x {
		f.upTo[f.cell(v)+1]++
	}
	for i := range f.upTo[1:] {
		f.upTo[i+1] += f.upTo[i]
	}
	return f
}

// cell returns the cell of a score. It rises with the score. NaN has a cell too.
func (f *finder) cell(p float64) int {
	// Scores come in any order, so a branch would be mispredicted. Both halves are computed, and lower is a mask.
	lower := int64(math.Float64bits(p-0.5)) >> 63
	own, other := int64(math.Float64bits(p)), int64(math.Float64bits(1-p))
	c := int((other^(other^own)&lower)>>(f.shift&63)) - f.base
	c = min(max(c, 0), f.cells-1)
	d := 2*f.cells - 1 - c
	return d ^ (d^c)&int(lower)
}

// notAbove returns how many of the numbers are at most p; the result for NaN is arbitrary.
func (f *finder) notAbove(p float64) int {
	lo, hi := 0, len(f.x)
	if f.upTo != nil {
		c := f.cell(p)
		lo, hi = int(f.upTo[c]), int(f.upTo[c+1])
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if f.x[mid] <= p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
