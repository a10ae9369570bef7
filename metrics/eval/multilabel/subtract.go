package multilabel

import (
	"fmt"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// Subtract takes out the rows of another evaluation with the same labels and spec: what is left has the bytes of the other rows alone, but for
// what eval.Evaluation.Subtract says, as does the error. m is unchanged after an error.
func (m *Evaluation) Subtract(o *Evaluation) error {
	if m.Labels != o.Labels {
		return fmt.Errorf("%w: %d labels and %d labels", metrics.ErrMismatch, m.Labels, o.Labels)
	}
	if !slices.Equal(m.Names, o.Names) {
		return fmt.Errorf("%w: the labels have other names", metrics.ErrMismatch)
	}
	if err := m.Spec.Match(&o.Spec); err != nil {
		return err
	}
	audit := m.Audit
	if err := audit.Subtract(&o.Audit); err != nil || o.each == nil {
		return err
	}
	b, err := m.AppendBinary(nil)
	if err != nil {
		return err
	}
	n := new(Evaluation)
	if err := n.UnmarshalBinary(b); err != nil {
		return err
	}
	for j, e := range n.each {
		if err := e.Subtract(o.each[j]); err != nil {
			return err
		}
	}
	if n.Audit = audit; audit.Classes == 0 {
		n.each = nil
	}
	m.Audit, m.each = n.Audit, n.each
	return nil
}

// OnGrid reports whether scores of a label are on a grid, as eval.Evaluation.OnGrid.
func (m *Evaluation) OnGrid() bool {
	for _, e := range m.each {
		if e.OnGrid() {
			return true
		}
	}
	return false
}
