package eval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// Merge adds the rows of another evaluation with the same spec. Otherwise it returns an error that names the first
// difference, and changes nothing.
func (e *Evaluation) Merge(o *Evaluation) error {
	if err := e.Spec.Match(&o.Spec); err != nil {
		return err
	}
	audit := e.Audit
	if err := audit.Merge(&o.Audit); err != nil {
		return err
	}
	away := e.Out
	if err := away.Merge(&o.Out); err != nil {
		return fmt.Errorf("out-of-distribution rows: %w", err)
	}
	if err := alike(&audit, &away); err != nil {
		return err
	}
	if err := e.matchTokens(o); err != nil {
		return err
	}
	given := e.Given
	switch {
	case o.Audit.Classes == 0: // no rows
	case e.Audit.Classes == 0:
		given = o.Given
	case e.Given != o.Given:
		return fmt.Errorf("%w: members' scores are %v and %v", metrics.ErrMismatch, e.Given, o.Given)
	}
	// Audits and specs match, and so do accumulators that were created and fed by an evaluation, so no merge fails.
	others := o.states()
	for i, s := range e.states() {
		if err := merge(s.stored, others[i].stored); err != nil {
			return err
		}
	}
	e.Audit, e.Out, e.Given = audit, away, given
	e.inform()
	e.memo, e.top, e.rank, e.Scaled = nil, nil, nil, nil
	return nil
}

// alike returns an error unless rows and out-of-distribution rows, which scores rank together, both have weights or both
// have none.
func alike(rows, out *metrics.Audit) error {
	switch {
	case rows.Classes == 0 || out.Classes == 0 || rows.Weighted == out.Weighted:
		return nil
	case rows.Weighted:
		return fmt.Errorf("%w: the rows have weights, the out-of-distribution rows have none", metrics.ErrMismatch)
	}
	return fmt.Errorf("%w: the out-of-distribution rows have weights, the others have none", metrics.ErrMismatch)
}

func (s *Spec) Match(o *Spec) error {
	names := func(l []Metric) string {
		n := make([]string, len(l))
		for i, m := range l {
			n[i] = m.String()
		}
		return strings.Join(n, ",")
	}
	switch {
	case s.Kind != o.Kind:
		return fmt.Errorf("%w: scores are %v and %v", metrics.ErrMismatch, s.Kind, o.Kind)
	case s.Classes != o.Classes:
		return fmt.Errorf("%w: %d %s and %d %[3]s", metrics.ErrMismatch, s.Classes, s.columns(), o.Classes)
	case s.Choices != o.Choices:
		return fmt.Errorf("%w: %s and %s", metrics.ErrMismatch, s.Choices.said(), o.Choices.said())
	case s.Transform != o.Transform:
		return fmt.Errorf("%w: forecasts were transformed by %v and by %v", metrics.ErrMismatch, s.Transform, o.Transform)
	case !slices.Equal(s.Names, o.Names):
		return fmt.Errorf("%w: %s and %s", metrics.ErrMismatch, named(s.Names), named(o.Names))
	case s.Members != o.Members:
		return fmt.Errorf("%w: ensembles of %d and of %d members", metrics.ErrMismatch, s.Members, o.Members)
	case s.Out != o.Out:
		return fmt.Errorf("%w: one has out-of-distribution rows, the other has none", metrics.ErrMismatch)
	case s.Law != o.Law:
		return fmt.Errorf("%w: %v and %v distributions", metrics.ErrMismatch, s.Law, o.Law)
	case !slices.Equal(s.Levels, o.Levels):
		return fmt.Errorf("%w: quantiles at the levels %v and at %v", metrics.ErrMismatch, s.Levels, o.Levels)
	case s.Dimensions != o.Dimensions:
		return fmt.Errorf("%w: forecasts of %d numbers and of %d", metrics.ErrMismatch, s.Dimensions, o.Dimensions)
	case !slices.Equal(s.Times, o.Times):
		return fmt.Errorf("%w: probabilities at the times %v and at %v", metrics.ErrMismatch, s.Times, o.Times)
	case !slices.Equal(s.Horizons, o.Horizons):
		return fmt.Errorf("%w: judged at the horizons %v and at %v", metrics.ErrMismatch, s.Horizons, o.Horizons)
	case !s.Costs.Equal(o.Costs):
		return fmt.Errorf("%w: decisions by other costs", metrics.ErrMismatch)
	case s.Base != o.Base:
		return fmt.Errorf("%w: bins of (%s) and of (%s)", metrics.ErrMismatch, s.Base.Text(), o.Base.Text())
	case s.UM != o.UM:
		return fmt.Errorf("%w: one has the choices of uncertainty_metrics, the other has not", metrics.ErrMismatch)
	case s.Brier != o.Brier:
		return fmt.Errorf("%w: brier in the form %s and in the form %s", metrics.ErrMismatch, brierForms[s.Brier], brierForms[o.Brier])
	case s.Level != o.Level:
		return fmt.Errorf("%w: confidence levels %v and %v", metrics.ErrMismatch, s.Level, o.Level)
	case s.Decided != o.Decided:
		return fmt.Errorf("%w: one has decisions, the other has none", metrics.ErrMismatch)
	case s.Correct != o.Correct:
		return fmt.Errorf("%w: one has labels, the other whether the top label was right", metrics.ErrMismatch)
	case s.Scored != o.Scored:
		return fmt.Errorf("%w: one has confidence scores, the other has none", metrics.ErrMismatch)
	case s.Cluster != o.Cluster:
		return fmt.Errorf("%w: %s and %s", metrics.ErrMismatch, clusteredText(s.Cluster), clusteredText(o.Cluster))
	case s.Seed != o.Seed:
		return fmt.Errorf("%w: seeds %d and %d", metrics.ErrMismatch, s.Seed, o.Seed)
	case !slices.Equal(s.Ignore, o.Ignore):
		return fmt.Errorf("%w: %s and %s", metrics.ErrMismatch, ignoring(s.Ignore), ignoring(o.Ignore))
	case names(s.Metrics) != names(o.Metrics):
		return &MetricsError{names(s.Metrics), names(o.Metrics)}
	case s.Memory != o.Memory:
		return &MemoryError{s.Memory, o.Memory}
	case s.Lean != o.Lean:
		lean := s
		if o.Lean {
			lean = o
		}
		return &LeanError{lean.LeftOut()}
	}
	return nil
}

// clusteredText names a column of clusters in a message.
func clusteredText(column string) string {
	if column == "" {
		return "rows without clusters"
	}
	return fmt.Sprintf("rows in clusters by %q", column)
}

// ignoring names labels that are ignored in a message.
func ignoring(labels []int32) string {
	if len(labels) == 0 {
		return "no label is ignored"
	}
	return "rows are ignored whose label is " + strings.Trim(strings.ReplaceAll(fmt.Sprint(labels), " ", ", "), "[]")
}

// matchTokens returns an error if the rows of one have bytes or sequences and those of the other have none.
func (e *Evaluation) matchTokens(o *Evaluation) error {
	for i, k := range e.plan.statistics {
		if k.key != tokens.key {
			continue
		}
		if err := e.statistics[i].(*score.Tokens).Match(o.statistics[i].(*score.Tokens)); err != nil {
			return err
		}
	}
	return nil
}

// named names classes in a message.
func named(names []string) string {
	const most = 20
	switch {
	case names == nil:
		return "classes without names"
	case len(names) > most:
		return fmt.Sprintf("classes named %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "classes named " + strings.Join(names, ", ")
}

// MetricsError reports that two evaluations, alike otherwise so far, have different metrics; see Narrow. It is a metrics.ErrMismatch.
type MetricsError struct{ A, B string } // their metrics, divided by commas

func (e *MetricsError) Error() string {
	return fmt.Sprintf("%v: metrics %s and %s", metrics.ErrMismatch, e.A, e.B)
}

func (e *MetricsError) Unwrap() error { return metrics.ErrMismatch }

// LeanError reports that one of two evaluations with the same metrics leaves out what no metric needs, and the other does not. It is a
// metrics.ErrMismatch.
type LeanError struct{ LeftOut []string } // as of Spec.LeftOut

func (e *LeanError) Error() string {
	return fmt.Sprintf("%v: one keeps only what its metrics need, without %s, the other keeps all", metrics.ErrMismatch, strings.Join(e.LeftOut, ", "))
}

func (e *LeanError) Unwrap() error { return metrics.ErrMismatch }

// MemoryError reports that two evaluations with entries of all classes have different limits on memory: one may have dropped
// what the other has kept. It is a metrics.ErrMismatch.
type MemoryError struct{ A, B int64 } // values of Spec.Memory

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%v: %d and %d bytes for the entries of adaptive metrics", metrics.ErrMismatch, e.A, e.B)
}

func (e *MemoryError) Unwrap() error { return metrics.ErrMismatch }
