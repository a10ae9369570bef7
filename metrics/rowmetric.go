package metrics

import "errors"

// RowMetric is a metric that has a value for each row by itself, such as the terms of a mean.
type RowMetric struct {
	Name string // with its options, as it is written: "brier(form=sum)"
	Need Need   // what the blocks have to carry
	// New returns a function that writes the values of a block's rows to dst, which has b.Rows elements. The function may keep
	// memory between calls, so each goroutine takes one of its own.
	New func() func(dst []float64, b *Block)
}

// ErrNoRows is wrapped by the error of asking for the rows of a metric that has none, or that is not known.
var ErrNoRows = errors.New("it has no value for each row")
