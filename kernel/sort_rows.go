package kernel

import (
	"cmp"
	"math"
	"slices"
)

// SortRowsF32 sorts each row of rows x k float32 in place, in rising order: by value, NaN with the sign bit first, NaN without
// it last, among themselves by their bits, which stay. A -0 becomes 0. What lies between the rows is neither read nor written.
//
// scratch has at least SortRowsScratch(k) elements and does not overlap x. Rows of 4 to 1,024 elements are sorted by assembly,
// as many at a time as a register has lanes, by a network: the time does not depend on the values, and one row takes as long
// as a register of rows. The definition, which sorts other rows, takes many times as long.
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

// SortRowsScratch returns how many elements of scratch SortRowsF32 takes for rows of k, at every level: 16*k + 32 where k is
// from 4 to 1,024, else 0.
func SortRowsScratch(k int) int {
	if k < sortMin || k > sortMax {
		return 0
	}
	return 16*k + 32
}

// sortMin and sortMax are the least and the most elements of rows that assembly sorts.
const sortMin, sortMax = 4, 1024

// sortRow32 is the definition: the order is that of integers.
func sortRow32(row []float32) {
	for j, v := range row {
		if v == 0 {
			row[j] = 0
		}
	}
	slices.SortFunc(row, func(a, b float32) int { return cmp.Compare(sortKey(a), sortKey(b)) })
}

// sortKey returns the integer of a float32 other than -0: the bits, of which those below the sign are inverted where it is set.
func sortKey(v float32) int32 {
	b := int32(math.Float32bits(v))
	return b ^ b>>31&math.MaxInt32
}
