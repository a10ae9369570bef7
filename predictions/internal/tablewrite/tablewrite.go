// Package tablewrite writes named columns to files of tables: CSV, Parquet and Arrow. Rows come in blocks, and memory does not grow with
// their number. Everything is written front to back, so any io.Writer will do.
package tablewrite

import (
	"github.com/candor-go/candor/predictions/internal/columns"
)

// Writer writes a table. The kinds of columns are Float64, Float32, Int64, Bool and Text.
type Writer interface {
	// Write appends rows. cells has a vector for each column; it is not used afterwards.
	Write(rows int, cells []columns.Vector) error
	// Close completes the table. It does not close what is written to.
	Close() error
}

// missing reports whether a cell has no value.
func missing(v *columns.Vector, i int) bool { return v.Null != nil && v.Null[i] }

// appendBits appends n bits, the lowest first.
func appendBits(b []byte, n int, bit func(i int) bool) []byte {
	for i := 0; i < n; i += 8 {
		var x byte
		for j := range min(8, n-i) {
			if bit(i + j) {
				x |= 1 << j
			}
		}
		b = append(b, x)
	}
	return b
}
