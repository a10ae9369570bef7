package compared

import (
	"bytes"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestResealedStates: a state whose checksums are right, though a bit is not what was written, is refused, or it answers.
func TestResealedStates(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		s := specOf(t, 1, "accuracy,nll,perplexity,brier_skill,auroc,aurc,calibration_slope,calibration_error_squared")
		state := stateOf(t, compare(t, s, []string{"a", "b"}, "b", models(3, 12, 1, 2, weighted), nil))
		open := func(b []byte) error {
			c := new(Comparison)
			if err := c.UnmarshalBinary(b); err != nil {
				return err
			}
			c.Differences(&Answers{Margins: map[string]float64{"nll": 0.01, "accuracy": 0.01, "auroc": 0.01}})
			c.Flips()
			_, err := c.AppendBinary(nil)
			return err
		}
		check.ResealedCells(t, state, open)
		// Every byte of what is kept of the rows of all models, such as whether they have weights.
		from := bytes.Index(state, []byte(partFormat.Magic))
		for at := from; at < min(from+400, len(state)-8); at++ {
			b := bytes.Clone(state)
			b[at] ^= 1
			_ = open(check.Reseal(b)) // another number is one
		}
	}
}
