package kernel

import (
	"math"
	"unsafe"
)

// SampleSpreadF32 writes, for each row x_1..x_m of rows x m samples and its number y,
//
//	abs     the sum of |x_j - y| over all j
//	spread  the sum of |x_j - x_k| over all j < k
//
// The CRPS of the samples follows from these: abs/m - spread/m^2 for their empirical distribution, and without bias abs/m -
// spread/(m*(m-1)) for the distribution that they were drawn from. Both are NaN for a row with a sample or a y that is not
// finite, and +Inf on overflow of float64. They do not depend on the order of the samples.
//
// Sorted samples are processed in pairs at equal distance from both ends, all in float64: a from below and b from above,
// with w = m-1 at first, then m-3 and so on. spread is the chain of fused w*(b-a) + spread, abs that of (|a-y| + |b-y|) +
// abs, followed by |a-y| of the middle sample if m is odd. No term is negative, so the relative error is below (m/2+3) *
// 2^-53.
//
// scratch has at least SampleSpreadScratch(m) elements. Rows of 4 to 1,024 samples are sorted by a network as in
// SortRowsF32, as many at a time as a register has lanes, so one row takes as long as that many. Others are sorted one by
// one.
func SampleSpreadF32(abs, spread []float64, x []float32, rows, m, stride int, y []float64, scratch []float32) {
	checkSamples(len(abs), len(spread), len(x), rows, m, stride, len(y), len(scratch))
	if simdSpread(abs, spread, x, rows, m, stride, y, scratch) {
		return
	}
	keys := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(scratch))), len(scratch))
	for i := range rows {
		row := scratch[:copy(scratch[:m], x[i*stride:])]
		SortF32(row, keys[m:])
		abs[i], spread[i] = spreadOf(row, y[i])
	}
}

// SampleSpreadF64 is SampleSpreadF32 for float64.
func SampleSpreadF64(abs, spread []float64, x []float64, rows, m, stride int, y []float64, scratch []float64) {
	checkSamples(len(abs), len(spread), len(x), rows, m, stride, len(y), len(scratch))
	if simdSpread(abs, spread, x, rows, m, stride, y, scratch) {
		return
	}
	keys := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(scratch))), len(scratch))
	for i := range rows {
		row := scratch[:copy(scratch[:m], x[i*stride:])]
		SortF64(row, keys[m:])
		abs[i], spread[i] = spreadOf(row, y[i])
	}
}

// SampleSpreadScratch returns the number of elements of scratch that SampleSpreadF32 and SampleSpreadF64 need for rows of m
// samples, at every level: 16*m + 48 up to 1,024, beyond that m + SortScratch(m).
func SampleSpreadScratch(m int) int {
	if m > sortMax {
		return m + SortScratch(m)
	}
	return 16*m + 48
}

func checkSamples(abs, spread, x, rows, m, stride, y, scratch int) {
	checkRows(x, rows, m, stride)
	if min(abs, spread, y) < rows {
		panic(errColumns)
	}
	if rows > 0 {
		checkScratch(scratch, SampleSpreadScratch(m))
	}
}

// spreadOf is the definition for a sorted row, with NaN and infinities at its ends.
func spreadOf[T float32 | float64](row []T, y float64) (abs, spread float64) {
	last := len(row) - 1
	if (row[0]-row[0])+(row[last]-row[last]) != 0 || y-y != 0 {
		return nan64, nan64
	}
	for i := range len(row) / 2 {
		a, b := float64(row[i]), float64(row[last-i])
		spread = fma64(float64(last-2*i), b-a, spread)
		abs += math.Abs(a-y) + math.Abs(b-y)
	}
	if last%2 == 0 {
		abs += math.Abs(float64(row[last/2]) - y)
	}
	return abs, spread
}
