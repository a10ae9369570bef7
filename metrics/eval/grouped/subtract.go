package grouped

import (
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// Subtract takes out the rows of other groups with the same columns and spec: what is left has the bytes of the other rows alone, but for what
// eval.Evaluation.Subtract says. Groups without rows vanish. The error is one of it; it wraps eval.ErrKept too if g has more than MostWhole
// groups and what is left has not, as the evaluations of these are unknown. g is unchanged then.
func (g *Evaluation) Subtract(o *Evaluation) error {
	if !slices.Equal(g.Columns, o.Columns) {
		return fmt.Errorf("%w: rows are grouped by %s and by %s", metrics.ErrMismatch, strings.Join(g.Columns, ", "), strings.Join(o.Columns, ", "))
	}
	all, err := g.whole.Copy()
	if err != nil {
		return err
	}
	if err := all.Subtract(o.whole); err != nil { // which refuses what does not match
		return err
	}
	rest, taken := new(Evaluation), new(Evaluation)
	if err := again(rest, g); err != nil {
		return err
	}
	if err := again(taken, o); err != nil {
		return err
	}
	to := make([]int32, taken.Len())
	for i, v := range taken.values {
		had := rest.Len()
		if to[i], err = rest.number(v); err != nil || rest.Len() > had {
			return metrics.ErrMissing
		}
	}
	if !rest.table.Subtract(taken.table, to) {
		return metrics.ErrMissing
	}
	many := rest.Len() > MostWhole
	for _, t := range taken.each {
		if many {
			break
		}
		i, _ := slices.BinarySearchFunc(rest.each, t.Values, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
		if err := rest.each[i].Evaluation.Subtract(t.Evaluation); err != nil {
			return err
		}
	}
	n, err := New(g.Spec, g.Columns)
	if err != nil {
		return err
	}
	left := make([]int32, rest.Len())
	for i, v := range rest.values {
		left[i] = -1
		has := rest.table.Sums(int32(i)).N > 0
		if !many {
			at, _ := slices.BinarySearchFunc(rest.each, v, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
			e := rest.each[at].Evaluation
			if has = e.Audit.Classes != 0; has {
				if err := n.add(v, e); err != nil {
					return err
				}
			}
		}
		if has {
			if left[i], err = n.number(v); err != nil {
				return err
			}
		}
	}
	n.table.Grow(n.Len())
	n.table.Merge(rest.table, left)
	switch {
	case many && n.Len() > MostWhole:
		n.whole = all
	case many && n.Len() > 0:
		return fmt.Errorf("%w: the metrics of the %d groups that are left would need rows that more than 1,000 groups do not keep", eval.ErrKept, n.Len())
	default:
		if n.whole, err = n.merged(n.each); err != nil {
			return err
		}
	}
	if all.Audit.Rows != n.whole.Audit.Rows || again(new(Evaluation), n) != nil { // counts and sums that no rows have
		return metrics.ErrMissing
	}
	g.take(n)
	return nil
}

// again reads the state of e into n.
func again(n, e *Evaluation) error {
	b, err := e.AppendBinary(nil)
	if err != nil {
		return err
	}
	return n.UnmarshalBinary(b)
}

// OnGrid reports whether scores of rows, or of a group of them, are on a grid, as eval.Evaluation.OnGrid.
func (g *Evaluation) OnGrid() bool {
	return g.whole.OnGrid() || slices.ContainsFunc(g.each, func(e Group) bool { return e.OnGrid() })
}
