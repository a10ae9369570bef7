package eval

import (
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestResealedStates: a state whose checksums are right, though a bit is not what was written, is refused, or it answers.
func TestResealedStates(t *testing.T) {
	spec := Spec{Classes: 1, Metrics: list(t, "accuracy,nll,ece,auroc,ks,aurc", 1)}
	check.ResealedCells(t, state(t, fill(t, spec, predictions(4, 12, 1, false))), func(b []byte) error {
		e := new(Evaluation)
		if err := e.UnmarshalBinary(b); err != nil {
			return err
		}
		for _, of := range e.Spec.Metrics {
			e.Value(of)
		}
		return nil
	})
}
