package cells

import (
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Subtract takes out the rows of another *Cells: after a Merge of these rows it restores c. A grid stays one, whatever is left. The error
// is one of a Merge, or says that c does not have all of the rows; c must then not be used. Not every missing row is noticed, on a grid
// still fewer.
func (c *Cells) Subtract(a metrics.Accumulator) error {
	o, err := state.Same[*Cells](cellsFormat, a)
	if err != nil {
		return err
	}
	c.settle()
	o.settle()
	switch {
	case c.opt != o.opt:
		return state.Mismatch(cellsFormat, "of different events")
	case o.seen.Classes == 0:
		return nil
	case c.seen != o.seen || c.digits != o.digits || c.origin != o.origin:
		return state.Mismatch(cellsFormat, "of scores of different types, with and without weights or decisions")
	}
	c.byScore = nil
	c.outside -= o.outside
	ok := c.outside >= 0
	switch {
	case c.seen.Weighted:
		ok = c.subtractWeighted(o) && ok
	case c.grid != nil:
		ok = c.subtractGrid(o) && ok
	default:
		ok = c.subtractExact(o) && ok
	}
	if !ok {
		return state.Missing(cellsFormat)
	}
	return nil
}

func (c *Cells) subtractExact(o *Cells) bool {
	if o.grid != nil {
		return false
	}
	var taken []exactCell
	o.eachExact(func(e exactCell) { taken = append(taken, e) })
	left, below := make([]exactCell, 0, c.cells()), false
	c.eachExact(func(e exactCell) {
		if len(taken) > 0 && taken[0].key == e.key {
			e.n -= taken[0].n
			e.y -= taken[0].y
			taken = taken[1:]
		}
		if below = below || e.n < 0 || e.y < 0 || e.y > e.n; e.n > 0 {
			left = append(left, e)
		}
	})
	c.log, c.sorted, c.shared, c.exact = nil, false, false, left
	return !below && len(taken) == 0
}

func (c *Cells) subtractGrid(o *Cells) bool {
	if o.grid == nil {
		coarse := &Cells{opt: o.opt}
		if coarse.Merge(o) != nil {
			return false
		}
		coarse.collapse()
		coarse.grid.drain()
		o = coarse
	}
	for i := range o.grid.sums {
		from, s := &o.grid.sums[i], &c.grid.sums[i]
		if from.n > s.n || !s.q.Sub(from.q) || !s.qq.Sub(from.qq) {
			return false
		}
		if s.n -= from.n; s.n == 0 && *s != (gridSum{}) {
			return false
		}
	}
	return true
}

func (c *Cells) subtractWeighted(o *Cells) bool {
	other := o.heavy
	c.placed = nil // some may vanish
	switch {
	case o.weightedGrid && !c.weightedGrid:
		return false
	case c.weightedGrid && !o.weightedGrid:
		coarse := &Cells{opt: o.opt}
		if coarse.Merge(o) != nil {
			return false
		}
		coarse.toWeightedGrid()
		other = coarse.heavy
	}
	for k, h := range other {
		to := c.heavy[k]
		if to == nil || to.N < h.N {
			return false
		}
		to.N -= h.N
		for _, s := range to.Sums(h) {
			s[0].Sub(s[1])
			if to.N == 0 && !s[0].IsZero() {
				return false
			}
		}
		if to.N == 0 {
			delete(c.heavy, k)
		}
	}
	return true
}
