package eval

import (
	"slices"

	"github.com/candor-go/candor/metrics/calib"
)

// EqualMass returns bins of equal mass of the event that Diagram bins: 15 of them, or with fewer than 450 rows one for every 30, so that each
// has rows enough to say something. Equal scores are never split. ok is false if no metric keeps the scores.
func (e *Evaluation) EqualMass() (d Diagram, ok bool) {
	const most, least = 15, 30 // bins, rows of a bin
	b := e.plan.diagram
	if e.Spec.Scored || !slices.Contains(e.plan.cells, e.Spec.from(b.Event)) {
		return Diagram{}, false
	}
	b.adaptive = true
	b.Options = calib.Options{Bins: int(max(1, min(most, e.Audit.Rows/least))), Event: b.Event}
	return e.diagram(&b), true
}
