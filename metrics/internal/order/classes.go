package order

import (
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// ClassEqualMassF32 writes to dst[c], for each class c, the bins of equal mass of column c of a row-major matrix of rows x
// classes probabilities, where row i is x[i*stride : i*stride+classes]. They are those of EqualMass for the scores of the
// column with the outcomes labels[i] == c. A label that is no class is no column's outcome. The slices of dst are reused if
// they are large enough.
//
// A tile of columns at a time is transposed. It has as many columns as fit into 4 MiB, up to 64, but at least two cache
// lines of them (32 for float32, 16 for float64) unless these take more than 64 MiB, and at least 4. Each thread has memory
// for a tile and one more column: 6.6 MB for 50,000 rows of float32, 200 MB for ten million.
func ClassEqualMassF32(dst []Bins, x []float32, rows, classes, stride int, labels []int32, bins int, above float64,
	threads int) {
	classEqualMass(dst, x, rows, classes, stride, labels, bins, above, threads, kernel.ColumnKeysF32)
}

// ClassEqualMassF64 is ClassEqualMassF32 for float64.
func ClassEqualMassF64(dst []Bins, x []float64, rows, classes, stride int, labels []int32, bins int, above float64,
	threads int) {
	classEqualMass(dst, x, rows, classes, stride, labels, bins, above, threads, kernel.ColumnKeysF64)
}

const (
	errShape  = "order: rows, classes and stride do not fit the slice"
	errLabels = "order: labels and rows differ in number"
	errDst    = "order: results and classes differ in number"
)

func classEqualMass[K kernel.Key, F any](dst []Bins, x []F, rows, classes, stride int, labels []int32, bins int, above float64,
	threads int, columnKeys func(dst []K, x []F, rows, cols, stride int) (least K, out int)) {
	switch {
	case rows < 0 || classes < 1 || stride < classes || rows > 0 && (len(x) < classes || (len(x)-classes)/stride < rows-1):
		panic(errShape)
	case len(labels) != rows:
		panic(errLabels)
	case len(dst) != classes:
		panic(errDst)
	case bins < 1:
		panic(errBins)
	}
	threads = pool.Threads(threads, (classes+3)/4)
	width := min(tileColumns[K](rows, classes), (classes/threads+3)&^3) // so that each thread has a tile
	tiles := (classes + width - 1) / width
	low := lastBelow[K](above)
	pool.Share(min(threads, tiles), tiles, func(int) func(int) {
		var w worker[K]
		tile := make([]K, rows*width)
		return func(t int) {
			first := t * width
			cols := min(width, classes-first)
			keys := tile[:rows*cols]
			all := inside
			if rows > 0 {
				least, out := columnKeys(keys, x[first:], rows, cols, stride)
				if out > 0 {
					all = anywhere
				} else if !low.any || least > low.last {
					all = kept
				}
			}
			for i, y := range labels {
				if c := int(y) - first; uint(c) < uint(cols) {
					keys[c*rows+i] |= 1
				}
			}
			for c := range cols {
				w.equalMass(&dst[first+c], keyed[K](keys[c*rows:(c+1)*rows]), bins, low, all, 1)
			}
		}
	})
}

// tileColumns returns the number of columns in a tile. Rows are far apart, and each costs a TLB lookup, so a single cache
// line of each would not be worth it.
func tileColumns[K kernel.Key](rows, classes int) int {
	const usual, most, lines, columns = 4 << 20, 64 << 20, 2 * 64, 64
	size := int(unsafe.Sizeof(K(0)))
	column := max(1, rows) * size
	n := max(usual/column, min(lines/size, most/column)) &^ 3
	return min(max(n, 4), columns, classes)
}
