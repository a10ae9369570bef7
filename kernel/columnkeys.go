package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// ColumnKeysF32 writes to dst[c*rows+i] the key that HitKeysF32 gives to element c of row i with outcome 0, for a matrix of
// rows x cols: one column after the other. ORing 1 into a key sets the outcome 1 for a score in [0,1] and leaves other keys
// unchanged. least is the smallest key, or all ones if there is none; out is the number of scores outside [0,1]. dst has
// rows*cols elements. With fewer than 16 rows or 4 columns elements are processed one by one.
func ColumnKeysF32(dst []uint32, x []float32, rows, cols, stride int) (least uint32, out int) {
	checkRows(len(x), rows, cols, stride)
	checkEqual(len(dst), rows*cols)
	const per = 4
	if !simd() || rows < columnKeyRows || cols < per {
		return columnKeysF32(dst, x, rows, cols, stride)
	}
	least, inside := ^uint32(0), true
	columnTiles(rows, cols, per, 4, func(i, n, c, m int) {
		var score float32
		outside := asm.ColumnKeysF32(&dst[c*rows+i], 4*rows, &x[i*stride+c], 4*stride, n, m, &score)
		inside = inside && outside == 0
		least = min(least, math.Float32bits(score)<<1)
	})
	if !inside {
		return leastAndOnes(dst)
	}
	return least, 0
}

// ColumnKeysF64 is ColumnKeysF32 for float64. With fewer than 16 rows or 2 columns elements are processed one by one.
func ColumnKeysF64(dst []uint64, x []float64, rows, cols, stride int) (least uint64, out int) {
	checkRows(len(x), rows, cols, stride)
	checkEqual(len(dst), rows*cols)
	const per = 2
	if !simd() || rows < columnKeyRows || cols < per {
		return columnKeysF64(dst, x, rows, cols, stride)
	}
	least, inside := ^uint64(0), true
	columnTiles(rows, cols, per, 8, func(i, n, c, m int) {
		var score float64
		outside := asm.ColumnKeysF64(&dst[c*rows+i], 8*rows, &x[i*stride+c], 8*stride, n, m, &score)
		inside = inside && outside == 0
		least = min(least, math.Float64bits(score)<<1)
	})
	if !inside {
		return leastAndOnes(dst)
	}
	return least, 0
}

// columnKeyRows divides the number of rows in a call of the assembly.
const columnKeyRows = 16

// columnTiles calls f for tiles of n rows from i on and m columns from c on, of at most about 512 KiB. n is a multiple of
// columnKeyRows and m a multiple of per, so the last ones may be processed twice.
func columnTiles(rows, cols, per, size int, f func(i, n, c, m int)) {
	const most = 256
	for c := 0; c < cols; c += most {
		m := min(most, cols-c)
		whole := m &^ (per - 1)
		down := func(c, m int) {
			for i := 0; i < rows; {
				n := min(rows-i, 1<<19/(most*size)) &^ (columnKeyRows - 1)
				if n == 0 {
					i, n = rows-columnKeyRows, columnKeyRows
				}
				f(i, n, c, m)
				i += n
			}
		}
		if whole > 0 {
			down(c, whole)
		}
		if whole < m {
			down(cols-per, per)
		}
	}
}

// leastAndOnes returns the smallest key, and how many keys are all ones.
func leastAndOnes[K Key](keys []K) (least K, ones int) {
	least = ^K(0)
	for _, k := range keys {
		least = min(least, k)
		if k == ^K(0) {
			ones++
		}
	}
	return least, ones
}

func columnKeysF32(dst []uint32, x []float32, rows, cols, stride int) (least uint32, out int) {
	least = math.MaxUint32
	for i := range rows {
		for c, v := range x[i*stride : i*stride+cols] {
			key := math.Float32bits(v) << 1
			if !(v >= 0 && v <= 1) {
				key = math.MaxUint32
				out++
			}
			dst[c*rows+i] = key
			least = min(least, key)
		}
	}
	return least, out
}

func columnKeysF64(dst []uint64, x []float64, rows, cols, stride int) (least uint64, out int) {
	least = math.MaxUint64
	for i := range rows {
		for c, v := range x[i*stride : i*stride+cols] {
			key := math.Float64bits(v) << 1
			if !(v >= 0 && v <= 1) {
				key = math.MaxUint64
				out++
			}
			dst[c*rows+i] = key
			least = min(least, key)
		}
	}
	return least, out
}
