package sliced

import (
	"slices"

	"github.com/candor-go/candor/metrics"
)

// Subtract takes out the rows of another evaluation with the same columns and spec: what is left has the bytes of the other rows alone, but for
// what eval.Evaluation.Subtract says, and cells that are on a grid stay there too. The error is one of it; e is unchanged then.
func (e *Evaluation) Subtract(o *Evaluation) error {
	if err := e.matches(o); err != nil {
		return err
	}
	whole, err := e.whole.Copy()
	if err != nil {
		return err
	}
	if err := whole.Subtract(o.whole); err != nil { // also if rows are in clusters
		return err
	}
	cells, ok := e.groupCells.without(&o.groupCells)
	if !ok || cells.table.rows != whole.Audit.Rows {
		return metrics.ErrMissing
	}
	n := &Evaluation{Columns: e.Columns, whole: whole, groupCells: *cells}
	b, err := n.AppendBinary(nil)
	if err != nil {
		return err
	}
	if new(Evaluation).UnmarshalBinary(b) != nil { // counts and sums that no rows have
		return metrics.ErrMissing
	}
	whole.Threads, whole.Remedy = e.whole.Threads, e.whole.Remedy
	e.whole, e.groupCells = whole, *cells
	e.answer()
	return nil
}

// without returns the cells of the other rows, if e has those of o.
func (e *groupCells) without(o *groupCells) (*groupCells, bool) {
	t := *e.table
	t.groups, t.list = slices.Clone(t.groups), slices.Clone(t.list)
	if t.shift < o.table.shift || t.rows < o.table.rows || t.outside < o.table.outside {
		return nil, false
	}
	u := *o.table
	u.list = slices.Clone(u.list)
	for i, v := range o.values { // their groups by the numbers of e
		if _, found := slices.BinarySearchFunc(e.values, v, slices.Compare[[]string]); !found && u.groups[i].n > 0 {
			return nil, false
		}
	}
	to := make([]int32, len(o.values))
	for i, v := range o.values {
		k, _ := slices.BinarySearchFunc(e.values, v, slices.Compare[[]string])
		to[i] = int32(k)
	}
	u.renumber(to, len(e.values))
	u.coarsen(t.shift)
	t.rows, t.outside = t.rows-u.rows, t.outside-u.outside
	taken, left := u.list, t.list[:0]
	for _, c := range t.list {
		if len(taken) > 0 && byKey(taken[0], c) == 0 {
			c.n, c.y = c.n-taken[0].n, c.y-taken[0].y
			taken = taken[1:]
		}
		if c.n < 0 || c.y < 0 || c.y > c.n {
			return nil, false
		}
		if c.n > 0 {
			left = append(left, c)
		}
	}
	if t.list = left; len(taken) > 0 {
		return nil, false
	}
	var values [][]string
	numbers := make([]int32, len(e.values))
	for i := range t.groups {
		g, h := &t.groups[i], &u.groups[i]
		g.n, g.y = g.n-h.n, g.y-h.y
		g.p, g.v, g.d = g.p.minus(h.p), g.v.minus(h.v), g.d.minus(h.d)
		if g.n > 0 {
			numbers[i] = int32(len(values))
			values = append(values, e.values[i])
		}
	}
	t.renumber(numbers, len(values))
	if t.rows == 0 {
		t = table{}
	}
	return &groupCells{values, &t}, true
}

// OnGrid reports whether scores are on a grid, of all rows or of slices.
func (e *Evaluation) OnGrid() bool { return e.whole.OnGrid() || !e.Exact() }
