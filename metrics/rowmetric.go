package metrics

import "errors"

// RowMetric is a metric that has a value for each single row, such as the terms of a mean.
type RowMetric struct {
	Name string // with its options, as written: "brier(form=sum)"
	Need Need   // columns that the blocks must carry
	// New returns a function that writes the values of a block's rows to dst, which has b.Rows elements. The function may
	// keep memory between calls, so each goroutine needs its own.
	New func() func(dst []float64, b *Block)
}

// ErrNoRows is wrapped by the error for a metric that is unknown or has no value for each row.
var ErrNoRows = errors.New("it has no value for each row")
