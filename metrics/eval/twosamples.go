package eval

import (
	"github.com/candor-go/candor/metrics/cells"
)

// Judged returns the scores and outcomes of the event that Judge judges. ok is false if they are not kept, or if some scores are outside
// [0,1].
func (e *Evaluation) Judged() (r cells.Rising, ok bool) {
	if !e.Spec.Shape().HasClasses() {
		return nil, false
	}
	if c := e.judgedCells(); c != nil {
		return c, true
	}
	return nil, false
}

// Untested says why the difference of two independent sets has no interval although each has one; "" if it has one.
func (d *Descriptor) Untested() string {
	switch d.Name {
	case "brier_skill", "nll_skill", "oe_ratio":
		return "the interval of each set takes its reference as it is, and two sets differ in that too"
	case "calibration_error_squared":
		return "the interval of each set is not sharp enough for that of a difference: it holds the truth too seldom where a model is off; the tests of the gap and of the bins are about calibration"
	case "corp_mcb", "corp_dsc", "spce":
	default:
		if d.event == nil || d.uncut {
			return ""
		}
	}
	return "chance alone adds to it, the more the fewer rows; the tests of the gap and of the bins are about calibration"
}
