package multilabel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// Evaluation evaluates several independent labels of the same rows: an evaluation of a binary task for each, and averages
// over them. Labels are divided among threads, so each label's state exists once, and results do not depend on threads.
type Evaluation struct {
	Spec   eval.Spec     // for each label
	Labels int           // number of labels
	Names  []string      // of the labels, in their order; nil if they have none
	Audit  metrics.Audit // of the rows, common to all labels
	// Threads is the number of goroutines for Macro; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int

	each []*eval.Evaluation // by label; nil before the first rows
}

// New returns an evaluation of this many labels without rows. The spec must be that of a binary task. Its Memory
// is shared by the scores of all labels: metrics that keep scores (see eval.Spec.KeepsScores) are rejected if they would need
// more. 0 sets no limit. Its Names, if there are any, are those of the labels.
func New(s eval.Spec, labels int) (*Evaluation, error) {
	switch {
	case labels < 1:
		return nil, errors.New("multilabel: no labels")
	case s.Classes > 1:
		return nil, fmt.Errorf("multilabel: each label is a binary task, not one of %d classes", s.Classes)
	case s.Members > 0, s.Out, s.Decided, s.Scored:
		return nil, errors.New("multilabel: several labels have no members, decisions, confidence scores or out-of-distribution rows")
	}
	if names := s.KeepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which several labels do not support: %s", names, eval.WithoutExact)
	}
	if s.Classes = 1; s.Shape().Kind != metrics.Probs {
		return nil, fmt.Errorf("multilabel: the scores of several labels cannot be %v", s.Kind)
	}
	if memory := s.Memory; memory > 0 {
		each, limited := s.LabelBytes()
		if need := each * int64(labels); need > memory {
			var names []string
			for _, m := range s.Metrics {
				if s.KeepsScores(m) {
					names = append(names, m.String())
				}
			}
			const mib = 1 << 20
			return nil, fmt.Errorf("metrics %s keep the distinct scores of each of %d labels, up to %d MiB; %d MiB are left for them",
				strings.Join(names, ", "), labels, need/mib, memory/mib)
		}
		s.Memory = max(1, (memory-each*int64(labels))/int64(labels)+limited)
	}
	return checked(s, labels)
}

// checked is New for a spec that has been checked.
func checked(s eval.Spec, labels int) (*Evaluation, error) {
	names := s.Names
	if names != nil && len(names) != labels {
		return nil, fmt.Errorf("multilabel: %d names of %d labels", len(names), labels)
	}
	s.Labels, s.Names = labels, nil
	e, err := eval.New(s)
	if err != nil {
		return nil, err
	}
	return &Evaluation{Spec: e.Spec, Labels: labels, Names: names}, nil
}

func (m *Evaluation) newLabel() *eval.Evaluation {
	e, err := eval.New(m.Spec)
	if err != nil {
		panic("multilabel: a spec was not checked: " + err.Error())
	}
	return e
}

// make creates the evaluations of the labels if there are none.
func (m *Evaluation) make() {
	if m.each != nil {
		return
	}
	m.each = make([]*eval.Evaluation, m.Labels)
	for j := range m.each {
		m.each[j] = m.newLabel()
	}
}

// Label returns the evaluation of label j, a binary task. It is a new copy, so the memory of cached answers is released with
// it. Different labels may be requested concurrently, the same label may not. It panics if there is no such label.
func (m *Evaluation) Label(j int) *eval.Evaluation {
	if j < 0 || j >= m.Labels {
		panic("multilabel: there is no such label")
	}
	e := m.newLabel()
	if m.each != nil {
		if err := e.Merge(m.each[j]); err != nil {
			panic("multilabel: labels are of one spec: " + err.Error())
		}
	}
	e.Threads = m.Threads
	return e
}

// Each calls f with every label and its evaluation, on Threads goroutines and in any order. f must not keep the evaluation.
func (m *Evaluation) Each(f func(label int, e *eval.Evaluation)) {
	threads := pool.Threads(m.Threads, math.MaxInt)
	pool.Do(threads, m.Labels, func(_, j int) {
		e := m.Label(j)
		e.Threads = max(1, threads/m.Labels)
		f(j, e)
	})
}

// sharedRows is the reason why averages over labels have no interval.
const sharedRows = "labels share rows and are not independent, so their mean has no interval"

// Macro returns the mean of a metric over the labels; see MacroOf.
func (m *Evaluation) Macro(of eval.Metric) eval.Value {
	values := make([]eval.Value, m.Labels)
	m.Each(func(j int, e *eval.Evaluation) { values[j] = e.Value(of) })
	return MacroOf(values)
}

// MacroOf returns the unweighted mean of the labels' values, over those that are defined. Count is their number, and Reason
// says why others are undefined, such as the auroc of a label without a row of class 1. It is NaN if none is defined. There
// is no interval. Bound is the mean of the bounds.
func MacroOf(labels []eval.Value) eval.Value {
	v := eval.Value{Interval: metrics.NoInterval(), Reason: sharedRows}
	sum, bound, why := 0.0, 0.0, ""
	for _, l := range labels {
		if math.IsNaN(l.Value) {
			if why == "" {
				why = l.Reason
			}
			continue
		}
		v.Count++
		sum += l.Value
		bound += l.Bound
	}
	n := float64(v.Count)
	v.Value, v.Bound = sum/n, bound/n
	if missing := int64(len(labels)) - v.Count; missing > 0 {
		v.Reason = fmt.Sprintf("%d of %d labels have none: %s", missing, len(labels), why)
	}
	switch {
	case v.Count == 0:
		v.Bound = 0
	case math.IsNaN(v.Value):
		v.Reason, v.Bound = "labels have infinite values of both signs", 0
	}
	return v
}

// AddSource reads all rows of src. A row that cannot be used in one label is not used in any: it is an error, a
// *metrics.DataError whose columns are labels, or it is left out with Options.Drop. After an error nothing has changed.
func (m *Evaluation) AddSource(src metrics.LabelSource, o *metrics.Options) error {
	n := &Evaluation{Spec: m.Spec, Labels: m.Labels}
	f := newFeed(n, o)
	if err := f.read(src); err != nil {
		return err
	}
	for _, e := range n.each {
		e.Audit = n.Audit
	}
	if m.each == nil {
		// Nothing to merge with: take over the evaluations.
		m.each, m.Audit = n.each, n.Audit
		return nil
	}
	return m.Merge(n)
}

// Merge adds the rows of another evaluation with the same labels and spec. Otherwise it returns an error that names the
// first difference, and changes nothing.
func (m *Evaluation) Merge(o *Evaluation) error {
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
	if err := audit.Merge(&o.Audit); err != nil {
		return err
	}
	if o.each == nil {
		return nil
	}
	m.make()
	for j, e := range m.each {
		if err := e.Merge(o.each[j]); err != nil { // cannot fail, since audits and specs agree
			return err
		}
	}
	m.Audit = audit
	return nil
}
