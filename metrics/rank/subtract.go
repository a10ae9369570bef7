package rank

import (
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Subtract takes out the rows of another *Entries: a Merge of these rows restores e. The errors are those of cells.Cells.Subtract.
func (e *Entries) Subtract(a metrics.Accumulator) error {
	o, err := state.Same[*Entries](entriesFormat, a)
	if err != nil || o.classes == 0 {
		return err
	}
	if e.classes != o.classes {
		return state.Mismatch(entriesFormat, "of %d classes and of %d", e.classes, o.classes)
	}
	e.rows -= o.rows
	return e.cells.Subtract(o.cells)
}
