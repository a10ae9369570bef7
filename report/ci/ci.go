package ci

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

// Form is the form of a report.
type Form string

// The forms.
const (
	JUnit       Form = "junit"
	GitHub      Form = "github"
	MLflow      Form = "mlflow"
	OpenMetrics Form = "openmetrics"
)

// Forms returns all forms.
func Forms() []Form { return []Form{JUnit, GitHub, MLflow, OpenMetrics} }

// Result is what a report tells.
type Result struct {
	Command string // what was run, as "candor eval"
	Says    string // the verdict of several sets together, as of their differences; "" if there is none
	Sets    []Set  // one for an evaluation, several for a comparison
	Gates   []report.Outcome
	Notes   []string // about the whole result
	Deltas  []Delta  // of a comparison
	// Rankings are of a comparison's groups. JUnit and GitHub have them.
	Rankings []Ranking
}

// Delta is a metric of the set B minus that of the set A.
type Delta struct {
	A, B string
	report.Metric
	Only     bool    // there are no other sets, so that names of sets are not needed
	Adjusted float64 // p-value, adjusted over the pairs; NaN if there is none
	Outcome  string  // better, worse or undecided; "" if there is none
}

// Set is the result for one set of predictions.
type Set struct {
	Name    string // "" for the only one
	Verdict string
	Rows    int64
	Dropped int64
	Metrics []report.Metric
	Notes   []string
	// Rankings are of the slices of the rows, and of groups that are tested. JUnit and GitHub have them.
	Rankings []Ranking
	Parts    iter.Seq[Part] // groups of rows, labels or members, in order; nil if there are none. The Metrics of a Part are valid until the next.
}

// Part is a part of a set. Its metrics may be others than those of the set.
type Part struct {
	Of      []Label
	Rows    int64
	Metrics []report.Metric
}

// Label names a part: the value of a column, the name of a label, or the number of a member.
type Label struct{ Name, Value string }

// OfDocument returns the set of a document, with its groups or members as parts.
func OfDocument(d *report.Document) Set {
	s := Set{Verdict: d.Verdict(), Rows: d.Input.Rows, Dropped: d.Input.Dropped, Metrics: d.Metrics, Notes: slices.Concat(d.Undefined(), d.Warnings), Rankings: rankingsOf(d)}
	switch {
	case len(d.Groups) > 0:
		s.Parts = func(yield func(Part) bool) {
			for _, g := range d.Groups {
				p := Part{Rows: g.Input.Rows, Metrics: g.Metrics}
				for i, c := range g.Columns {
					p.Of = append(p.Of, Label{c, g.Values[i]})
				}
				if !yield(p) {
					return
				}
			}
		}
	case len(d.Members) > 0:
		s.Parts = func(yield func(Part) bool) {
			for i, m := range d.Members {
				if !yield(Part{[]Label{{"member", strconv.Itoa(i)}}, d.Input.Rows, m.Metrics}) {
					return
				}
			}
		}
	}
	return s
}

// OfMultilabel returns the set of several labels: the averages, with the labels as parts. The metrics of a label have no interval.
func OfMultilabel(m *report.Multilabel) Set {
	return Set{Verdict: m.Verdict(), Rows: m.Input.Rows, Dropped: m.Input.Dropped, Metrics: m.Metrics, Notes: m.Notes(), Parts: func(yield func(Part) bool) {
		own := slices.Clone(m.Metrics)
		for i := range m.Labels {
			name, values := m.Label(i)
			for k, v := range values {
				own[k].Value = eval.Value{Value: v, Interval: metrics.NoInterval()}
			}
			if !yield(Part{[]Label{{"label", name}}, m.Input.Rows, own}) {
				return
			}
		}
	}}
}

// OfComparison returns the sets of a comparison. The verdict of the first one begins with which set is better.
func OfComparison(c *report.Comparison) []Set {
	var l []Set
	for _, d := range c.Sets {
		s := OfDocument(d.Document)
		s.Name = d.Name
		l = append(l, s)
	}
	return l
}

// DeltasOf returns the differences of a comparison, pair by pair and metric by metric.
func DeltasOf(c *report.Comparison) []Delta {
	if c.Differences == nil {
		return nil
	}
	var l []Delta
	for i := range c.Differences.List {
		x := &c.Differences.List[i]
		m := report.Metric{Key: x.Metric.String(), Name: x.Metric.Name, Better: x.Better, Level: c.Differences.Level,
			Value: eval.Value{Value: x.Value, Interval: x.Interval, Method: x.Method, Reason: x.Reason}}
		l = append(l, Delta{c.Differences.Names[x.A], c.Differences.Names[x.B], m, len(c.Sets) == 2, x.Adjusted, string(x.Outcome)})
	}
	return l
}

// OfDrift returns the old and the new set of a drift.
func OfDrift(d *report.Drift) []Set {
	l := []Set{OfDocument(report.New(d.Result.Old.AtLevel(d.Level))), OfDocument(report.New(d.Result.New.AtLevel(d.Level)))}
	for i := range l {
		l[i].Name = d.Names[i]
	}
	return l
}

// Write writes a result in a form. An unknown form is an error.
func Write(w io.Writer, f Form, r *Result) error {
	switch f {
	case JUnit:
		return writeJUnit(w, r)
	case GitHub:
		return writeGitHub(w, r)
	case MLflow:
		return writeMLflow(w, r)
	case OpenMetrics:
		return writeOpenMetrics(w, r)
	}
	return fmt.Errorf("ci: there is no form %q", string(f))
}

// failed returns the number of failed gates.
func (r *Result) failed() (n int) {
	for _, o := range r.Gates {
		if o.Failed {
			n++
		}
	}
	return n
}

// asked returns a gate as the caller asked for it, with the setting.
func asked(g report.Gate) string {
	of := setting.Gate
	if g.Required() {
		of = setting.Requirement
	}
	return of.String() + " " + g.String()
}

// ends returns the ends of the interval, with the suffixes of their names; none without an interval.
func ends(m *report.Metric) map[string]float64 {
	if math.IsNaN(m.Interval.Low) || math.IsNaN(m.Interval.High) {
		return nil
	}
	return map[string]float64{"low": m.Interval.Low, "high": m.Interval.High}
}

// exact formats a number with all its digits, infinities as +Inf and -Inf.
func exact(v float64) string {
	if math.IsInf(v, 0) {
		return fmt.Sprintf("%+v", v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
