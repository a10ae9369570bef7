package eval

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// ErrKept is wrapped by the error of Subtract for an evaluation whose metrics keep more than counts and sums of rows.
var ErrKept = errors.New("rows cannot be taken out of what some metrics keep")

// subtracter is an accumulator that checks, as far as it can, whether it has the rows that it gives up.
type subtracter interface {
	Subtract(metrics.Accumulator) error
}

// negater is an accumulator whose merges are sums of whole numbers, and which can turn them into their negatives.
type negater interface{ Negate() }

// Subtract takes out the rows of another evaluation with the same spec, such as those of a shard: a Merge of o restores e, to the byte. If e
// is that of a Merge of other rows with o, the result has the bytes of the other rows alone, unless scores have been moved to a grid:
// they stay on it, see OnGrid. Among rows of probabilities whose sums are off, the smallest and the largest sum are NaN, which stands for
// unknown, if some of these rows are taken out and some stay.
//
// The error wraps metrics.ErrMismatch if the two would not merge, metrics.ErrMissing if e does not have all of the rows, and ErrKept. e is
// unchanged then. Rows are told apart by what states keep of them, so that not every other row is noticed.
func (e *Evaluation) Subtract(o *Evaluation) error {
	if err := e.Spec.Match(&o.Spec); err != nil {
		return err
	}
	if names := e.Spec.keeping(); names != nil {
		return fmt.Errorf("%w: %s", ErrKept, strings.Join(names, ", "))
	}
	whole, err := e.AppendBinary(nil)
	if err != nil {
		return err
	}
	part, err := o.AppendBinary(nil)
	if err != nil {
		return err
	}
	rest, taken := new(Evaluation), new(Evaluation) // which may be changed
	if err := errors.Join(rest.UnmarshalBinary(whole), taken.UnmarshalBinary(part)); err != nil {
		return err
	}
	if err := errors.Join(rest.Audit.Subtract(&o.Audit), rest.Out.Subtract(&o.Out)); err != nil {
		return err
	}
	others := taken.states()
	for i, s := range rest.states() {
		if err := subtract(s.stored, others[i].stored); err != nil {
			return err
		}
	}
	if rest.Audit.Rows == 0 && rest.Out.Rows == 0 {
		audit := rest.Audit
		if rest, err = New(e.Spec); err != nil {
			return err
		}
		if audit.Dropped+audit.Absent+audit.Ignored > 0 {
			rest.Audit = audit
		}
	}
	left, err := rest.AppendBinary(nil)
	if err != nil {
		return err
	}
	n, again := new(Evaluation), new(Evaluation)
	if n.UnmarshalBinary(left) != nil || again.UnmarshalBinary(left) != nil || again.Merge(o) != nil { // counts and sums that no rows have
		return metrics.ErrMissing
	}
	again.Audit.SumMin, again.Audit.SumMax = e.Audit.SumMin, e.Audit.SumMax
	again.Out.SumMin, again.Out.SumMax = e.Out.SumMin, e.Out.SumMax
	if b, err := again.AppendBinary(nil); err != nil || !bytes.Equal(b, whole) {
		return metrics.ErrMissing
	}
	*e = *n
	return nil
}

// Copy returns an evaluation of the same rows, by its state.
func (e *Evaluation) Copy() (*Evaluation, error) {
	b, err := e.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	n := new(Evaluation)
	return n, n.UnmarshalBinary(b)
}

// subtract takes the rows of o out of s. o may be changed.
func subtract(s, o stored) error {
	if t, ok := s.(subtracter); ok {
		return t.Subtract(o.(metrics.Accumulator))
	}
	o.(negater).Negate()
	return merge(s, o)
}

// keeping returns the metrics of the spec whose accumulators do not give up rows.
func (s *Spec) keeping() (names []string) {
	gives := func(metrics []Metric) bool {
		one := *s
		one.Metrics = metrics
		e, err := New(one)
		if err != nil {
			return false
		}
		for _, a := range e.states() {
			_, sub := a.stored.(subtracter)
			if _, neg := a.stored.(negater); !sub && !neg {
				return false
			}
		}
		return true
	}
	if gives(s.Metrics) {
		return nil
	}
	for i, m := range s.Metrics {
		if !gives(s.Metrics[i : i+1]) {
			names = append(names, m.String())
		}
	}
	if names == nil {
		names = []string{"all metrics together"}
	}
	return names
}

// OnGrid reports whether the scores of rows are on a grid, as those of many rows are, and of what is left of them by Subtract.
func (e *Evaluation) OnGrid() bool {
	for _, s := range e.states() {
		if c, ok := s.stored.(interface{ Exact() bool }); ok && !c.Exact() {
			return true
		}
	}
	return false
}
