package eval

import (
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// Fields returns the options, with values, of a metric over bins or over ordered scores. They include fixed rules in which
// systems differ, and the seed if it draws random numbers. It returns nil for other metrics.
func (e *Evaluation) Fields(m Metric) (f []Field) {
	switch d := e.Spec.describe(m); {
	case d.classes != nil:
		return e.byClass(m).fields()
	case d.event != nil && !d.uncut:
		f = append(e.binning(m).fields(), d.own.fields(m)...)
	case d.own != nil:
		f = plainFields(d.own.fields(m))
		for i := range f {
			switch f[i].Name {
			case curveOwn.name:
				if s := &e.Spec; s.Levels != nil && slices.Contains(ofCurves, m.Name) {
					f[i].Value = nil // the levels are those of the quantiles
				}
			case ofEvent.name:
				f[i].Value = ofEvent.words[e.event(m)]
			case costAtOwn[len(costAtOwn)-1].name: // which the costs imply if it is not given
				if m.Name == "expected_cost" {
					f[i].Value, _ = costThreshold(m)
				}
			case "span", "delta": // only for a loess
				if d.own.of(m, "smoother") == 0 {
					f[i].Value = nil
				}
			case groupedBy.name: // whose bins apply only if it groups by bins
				if f[i].Value = groupedBy.words[1]; byPredicted(e.Spec.Classes, m) {
					f[i].Value, f[i+1].Value = groupedBy.words[2], nil
				}
			}
		}
	}
	f = append(f, e.Spec.describe(m).rules...)
	if m.draws() {
		f = append(f, Field{"seed", e.Spec.Seed})
	}
	return f
}

// Event returns the event whose probability the metric's scores state, or ByShape if it is not over scores of rows.
func (e *Evaluation) Event(m Metric) calib.Event {
	if e.Spec.describe(m).event == nil {
		return calib.ByShape
	}
	return e.binning(m).Event
}

// Text returns the full definition of a metric: its formula, with its options here.
func (e *Evaluation) Text(m Metric) string {
	d := e.Spec.describe(m)
	if d.own.index(exactly.name) >= 0 && m.exact() {
		return e.Text(choices{exactly}.without(m)) + "; every row kept"
	}
	switch {
	case d.classes != nil:
		c := e.byClass(m)
		return c.text(e.Spec.Classes) + "; " + c.formula()
	case d.text != nil:
		return d.text(e, m)
	case d.event != nil && !d.uncut:
		b := e.binning(m)
		return e.text(b) + "; " + b.formula(d.Formula, d.norm)
	}
	t := d.own.formula(d.Formula, m)
	if ofLaw(m) {
		t += e.Spec.lawOf()
	}
	if e.Audit.Decided && !e.Spec.Correct && e.ofDecisions(m) {
		t += "; of the caller's decisions in place of the arg max"
	}
	if e.Audit.Scored && (d.ranked || d.retained) {
		t += "; in the order of the caller's confidence scores"
	}
	return t
}

// Meaning returns a short and a one-line description of a metric. An error over bins in another norm has the description of
// the metric of that norm.
func (e *Evaluation) Meaning(m Metric) (short, line string) {
	d := e.Spec.describe(m)
	if d.event != nil && !d.uncut {
		if n := e.binning(m).norm; n != d.norm {
			d = Describe([]string{l2: "rmsce", largest: "mce"}[n])
		}
	}
	if m.Name == "brier" {
		if f, _ := m.form(e.Spec.Brier); f == score.BrierMinusOne {
			return "squared error, minus 1", d.Meaning + ", minus 1"
		}
	}
	if s := ofScore(m); s != binfree.Squared {
		name := map[binfree.ProperScore]string{binfree.Logarithmic: "log score", binfree.Spherical: "spherical loss"}[s]
		return d.Short, strings.NewReplacer("squared error", name, "mean (p - y)^2", "the "+name).Replace(d.Meaning)
	}
	return d.Short, d.Meaning
}

// ofDecisions reports whether a metric that is not over bins refers to the caller's decisions, if there are any.
func (e *Evaluation) ofDecisions(m Metric) bool {
	switch m.Name {
	case "accuracy", "balanced_accuracy", "confidence", "overconfidence":
		return true
	}
	return e.Spec.describe(m).retained || e.Event(m) == calib.TopLabel
}

// text describes the bins, and what in the rows comes from the caller.
func (e *Evaluation) text(b *binning) string {
	t := b.Text()
	if e.Audit.Decided && !e.Spec.Correct && b.Event == calib.TopLabel {
		t += "; the caller's decisions"
	}
	if e.Audit.Scored && !b.adaptive {
		t += "; binned by the caller's scores"
	}
	return t
}
