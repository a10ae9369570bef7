package kernel

import (
	"cmp"
	"math"
	"slices"
)

// SortRowsF32 sorts each row of rows x k float32 in place, in rising order: by value, NaN with the sign bit first and NaN
// without it last, in the order of their bits, which are preserved. -0 becomes 0. Memory between the rows is neither read
// nor written.
//
// scratch has at least SortRowsScratch(k) elements and must not overlap x. Rows of 4 to 1,024 elements are sorted by
// assembly with a sorting network, as many at a time as a register has lanes. So the time does not depend on the values, and
// one row takes as long as a register of rows. Other rows are sorted by the definition, which takes many times as long.
func SortRowsF32(x []float32, rows, k, stride int, scratch []float32) {
	checkRows(len(x), rows, k, stride)
	checkScratch(len(scratch), SortRowsScratch(k))
	if simd() && k >= sortMin && k <= sortMax && rows >= 1 && rows*k >= simdSorts {
		simdSortRows32(x, rows, k, stride, scratch)
		return
	}
	for i := range rows {
		sortRow32(x[i*stride : i*stride+k])
	}
}

// SortRowsScratch returns the number of elements of scratch that SortRowsF32 needs for rows of k, at every level: 16*k + 32
// for k from 4 to 1,024, else 0.
func SortRowsScratch(k int) int {
	if k < sortMin || k > sortMax {
		return 0
	}
	return 16*k + 32
}

// sortMin and sortMax limit the lengths of rows that the assembly sorts.
const sortMin, sortMax = 4, 1024

// sortRow32 is the definition: it sorts by the integers of sortKey.
func sortRow32(row []float32) {
	for j, v := range row {
		if v == 0 {
			row[j] = 0
		}
	}
	slices.SortFunc(row, func(a, b float32) int { return cmp.Compare(sortKey(a), sortKey(b)) })
}

// sortKey returns an integer that orders float32 other than -0: the bits, with those below the sign inverted if it is set.
func sortKey(v float32) int32 {
	b := int32(math.Float32bits(v))
	return b ^ b>>31&math.MaxInt32
}
