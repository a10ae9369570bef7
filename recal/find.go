package recal

import "math"

// A finder finds the place of a score among rising numbers in [0,1], in a time that hardly depends on how many they are.
//
// A table over the bits of the distance to the nearer of 0 and 1 says between which of the numbers a score is, so that it has to be
// compared with few of them; it is as fine at 1 as at 0.
type finder struct {
	x     []float64
	upTo  []int32 // of each cell, how many of the numbers are in cells before it; and one more for all
	shift uint
	base  int // of the bits, shifted: those of distances from 2^-33 to 2^-32 are cell 0
	cells int // below 1/2, which is above them; as many are above
}

const (
	findBits = 32 // distances below 2^-findBits are all in one cell
	findFew  = 16 // so few numbers are found by halves
)

func newFinder(x []float64) finder {
	f := finder{x: x}
	if len(x) < findFew {
		return f
	}
	fine := uint(0)                                    // bits of the mantissa: of even scores half of the numbers are between two powers of 2
	for fine < 10 && findBits<<(fine+2) <= 32*len(x) { // a curve of each of many classes is to stay small
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

// cell returns that of a score, which rises with it. NaN has one as well.
func (f *finder) cell(p float64) int {
	// Scores come in any order, so that no branch would be foreseen: both halves are computed, and lower has all bits or none.
	lower := int64(math.Float64bits(p-0.5)) >> 63
	own, other := int64(math.Float64bits(p)), int64(math.Float64bits(1-p))
	c := int((other^(other^own)&lower)>>(f.shift&63)) - f.base
	c = min(max(c, 0), f.cells-1)
	d := 2*f.cells - 1 - c
	return d ^ (d^c)&int(lower)
}

// notAbove returns how many of the numbers are not above p, of NaN any number.
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
