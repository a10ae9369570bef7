// Package surprise shows a tool that uses candor's kernels and nothing else of candor.
package surprise

import (
	"errors"

	"github.com/candor-go/candor/kernel"
)

// Rows is how many rows are taken in one call: their columns stay in the second-level cache.
const rows = 1024

// ErrRow says that a row has a NaN, +Inf or a label that is no class.
var ErrRow = errors.New("surprise: a row cannot be used")

// Mean returns the mean negative log-likelihood in nats, and the accuracy, of logits of shape (len(labels), classes), row-major.
// It panics if the shapes do not fit.
func Mean(logits []float32, classes int, labels []int32) (nll, accuracy float64, err error) {
	column := func() []float64 { return make([]float64, rows) }
	s := kernel.Stats{Top: column(), Tail: column(), Label: column(), NLL: column(), Rest: column(), Entropy: column(), Norm: column(),
		ArgMax: make([]int32, rows), Flags: make([]uint8, rows)}
	for from := 0; from < len(labels); from += rows {
		y := labels[from:min(from+rows, len(labels))]
		if kernel.LogitStatsF32(&s, logits[from*classes:], len(y), classes, classes, y) != 0 {
			return 0, 0, ErrRow
		}
		for i, v := range s.NLL[:len(y)] {
			nll += v
			if s.ArgMax[i] == y[i] {
				accuracy++
			}
		}
	}
	n := float64(len(labels))
	return nll / n, accuracy / n, nil
}
