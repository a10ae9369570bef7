package cells

import (
	"sync"

	"github.com/candor-go/candor/metrics"
)

// spare holds the memory of cells that were released.
var spare sync.Pool

// newCells returns n cells, whose contents are unspecified.
func newCells(n int) []exactCell {
	if l, ok := spare.Get().(*[]exactCell); ok && cap(*l) >= n {
		return (*l)[:n]
	}
	return make([]exactCell, n)
}

// Release gives the memory of c back, for states that are read later. c must not be used any more. What it has been merged into remains valid.
func (c *Cells) Release() {
	if l := c.exact; !c.lent && cap(l) > 0 {
		spare.Put(&l)
	}
	*c = Cells{}
}

// Adopt is Merge of a *Cells that is not used any more: if c has no rows, no cell is copied, nor shared.
func (c *Cells) Adopt(a metrics.Accumulator) error {
	if o, ok := a.(*Cells); ok && c.opt == o.opt && c.seen.Classes == 0 {
		*c = *o
		return nil
	}
	return c.Merge(a)
}
