package eval

import (
	"cmp"
	"errors"
	"slices"

	"github.com/candor-go/candor/metrics/score"
)

// Common returns the metrics that both lists have, in the order of documents.
func Common(a, b []Metric) (l []Metric) {
	place := func(m Metric) int {
		return slices.IndexFunc(table, func(d Descriptor) bool { return d.Name == m.Name })
	}
	for _, m := range a {
		if slices.ContainsFunc(b, func(o Metric) bool { return o.String() == m.String() }) {
			l = append(l, m)
		}
	}
	slices.SortStableFunc(l, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.String(), b.String()))
	})
	return l
}

// Narrow returns the evaluation of the same rows by some of the metrics: what it would be if no others had been asked for. It shares
// accumulators with e, which must not be used any more. It returns an error for metrics that e does not have, and for adaptive class-wise metrics
// without others that shared Spec.Memory with them.
func (e *Evaluation) Narrow(list []Metric) (*Evaluation, error) {
	s := e.Spec
	s.Metrics = list
	n, err := New(s)
	if err != nil {
		return nil, err
	}
	if n.plan.keep() > 0 && n.plan.most != e.plan.most {
		return nil, errors.New("metrics that keep the scores of all classes share a limit of memory: they are left together or not at all")
	}
	n.Audit, n.Out, n.Given, n.Threads, n.Remedy, n.each = e.Audit, e.Out, e.Given, e.Threads, e.Remedy, e.each
	n.Slices = e.Slices
	n.Loss = e.Loss.Narrow(&score.Options{TopK: n.plan.top, Parts: n.plan.parts})
	found := n.Loss != nil
	for i, k := range n.plan.statistics {
		found = take(n.statistics, i, e.statistics, slices.IndexFunc(e.plan.statistics, func(o statistic) bool { return o.key == k.key && o.fed == k.fed })) && found
	}
	for i, event := range n.plan.cells {
		found = take(n.cell, i, e.cell, slices.Index(e.plan.cells, event)) && found
	}
	for i, o := range n.plan.bins {
		found = take(n.bins, i, e.bins, slices.Index(e.plan.bins, o)) && found
	}
	for i := range n.plan.classes {
		text := n.plan.classes[i].String()
		at := -1
		for j := range e.plan.classes {
			if e.plan.classes[j].String() == text {
				at = j
			}
		}
		found = take(n.classBin, i, e.classBin, at) && found
	}
	for i := range n.plan.scores {
		at := -1
		for j := range e.plan.scores {
			if a, b := n.plan.scores[i].Above, e.plan.scores[j].Above; (a == nil) == (b == nil) && (a == nil || *a == *b) {
				at = j
			}
		}
		found = take(n.classEntries, i, e.classEntries, at) && found
	}
	if n.pairs != nil {
		n.pairs = e.pairs
		found = found && n.pairs != nil
	}
	for i, event := range n.plan.rows {
		found = take(n.rows, i, e.rows, slices.Index(e.plan.rows, event)) && found
	}
	if !found {
		return nil, errors.New("the evaluation lacks what the metrics need")
	}
	return n, nil
}

// take sets an element to that of another list; at is -1 if there is none.
func take[T any](to []T, i int, from []T, at int) bool {
	if at >= 0 {
		to[i] = from[at]
	}
	return at >= 0
}
