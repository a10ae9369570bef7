package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// Multilabel evaluates several independent labels of the same rows: an evaluation of a binary task for each, and averages
// over them. Labels are divided among threads, so each label's state exists once, and results do not depend on threads.
type Multilabel struct {
	Spec   Spec          // for each label
	Labels int           // number of labels
	Audit  metrics.Audit // of the rows, common to all labels
	// Threads is the number of goroutines for Macro; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int

	each []*Evaluation // by label; nil before the first rows
}

// labelScores is the memory of one label's scores where they are kept by distinct values: a log of about 280,000, or a grid.
const labelScores = 3 << 20

// NewMultilabel returns an evaluation of this many labels without rows. The spec must be that of a binary task. Its Memory
// is shared by the scores of all labels: metrics that keep scores (see Spec.KeepsScores) are rejected if they would need
// more. 0 sets no limit.
func NewMultilabel(s Spec, labels int) (*Multilabel, error) {
	switch {
	case labels < 1:
		return nil, errors.New("eval: no labels")
	case s.Classes > 1:
		return nil, fmt.Errorf("eval: each label is a binary task, not one of %d classes", s.Classes)
	case s.Members > 0, s.Out, s.Decided, s.Scored:
		return nil, errors.New("eval: several labels have no members, decisions, confidence scores or out-of-distribution rows")
	}
	if names := s.keepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which is not done for several labels: leave exact out", names)
	}
	if s.Classes = 1; simple(s.Kind) != metrics.Probs {
		return nil, fmt.Errorf("eval: the scores of several labels cannot be %v", s.Kind)
	}
	if memory := s.Memory; memory > 0 {
		if need := s.LabelBytes() * int64(labels); need > memory {
			var names []string
			for _, m := range s.Metrics {
				if s.KeepsScores(m) {
					names = append(names, m.String())
				}
			}
			const mib = 1 << 20
			return nil, fmt.Errorf("metrics %s keep the distinct scores of each of %d labels, up to %d MiB, and %d MiB are there for them",
				strings.Join(names, ", "), labels, need/mib, memory/mib)
		}
		_, limited := s.kept(s.Metrics...)
		s.Memory = max(1, (memory-s.LabelBytes()*int64(labels))/int64(labels)+int64(limited)*labelScores)
	}
	return newMultilabel(s, labels)
}

// newMultilabel is NewMultilabel for a spec that has been checked.
func newMultilabel(s Spec, labels int) (*Multilabel, error) {
	s.binned, s.labels = !slices.ContainsFunc(s.Metrics, s.KeepsScores), labels
	e, err := New(s)
	if err != nil {
		return nil, err
	}
	return &Multilabel{Spec: e.Spec, Labels: labels}, nil
}

// KeepsScores reports whether a metric is computed from the distinct scores of the rows, or from sums for each of them, so
// that its state grows with their number. Other metrics need only bins and sums.
func (s *Spec) KeepsScores(m Metric) bool {
	n, limited := s.kept(m)
	return n+limited > 0
}

// kept returns how many accumulators of the metrics grow with the distinct scores, and how many grow with the rows as far as
// Memory allows.
func (s *Spec) kept(list ...Metric) (n, limited int) {
	one := *s
	one.Metrics, one.binned = list, true
	p, err := one.plan()
	if err != nil {
		return 0, 0 // New reports the error
	}
	n = len(p.cells)
	for _, k := range p.statistics {
		switch k.make().(type) {
		case *rank.Retention, *rank.Scores, *score.Decomposition:
			n++
		}
	}
	return n, len(p.scores)
}

// LabelBytes returns how much memory the distinct scores of one label can take, over all metrics of the spec.
func (s *Spec) LabelBytes() int64 {
	n, limited := s.kept(s.Metrics...)
	return int64(n+limited) * labelScores
}

func (m *Multilabel) newLabel() *Evaluation {
	e, err := New(m.Spec)
	if err != nil {
		panic("eval: a spec was not checked: " + err.Error())
	}
	return e
}

// make creates the evaluations of the labels if there are none.
func (m *Multilabel) make() {
	if m.each != nil {
		return
	}
	m.each = make([]*Evaluation, m.Labels)
	for j := range m.each {
		m.each[j] = m.newLabel()
	}
}

// Label returns the evaluation of label j, a binary task. It is a new copy, so the memory of cached answers is released with
// it. Different labels may be requested concurrently, the same label may not. It panics if there is no such label.
func (m *Multilabel) Label(j int) *Evaluation {
	if j < 0 || j >= m.Labels {
		panic("eval: there is no such label")
	}
	e := m.newLabel()
	if m.each != nil {
		if err := e.Merge(m.each[j]); err != nil {
			panic("eval: labels are of one spec: " + err.Error())
		}
	}
	e.Threads = m.Threads
	return e
}

// Each calls f with every label and its evaluation, on Threads goroutines and in any order. f must not keep the evaluation.
func (m *Multilabel) Each(f func(label int, e *Evaluation)) {
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
func (m *Multilabel) Macro(of Metric) Value {
	values := make([]Value, m.Labels)
	m.Each(func(j int, e *Evaluation) { values[j] = e.Value(of) })
	return MacroOf(values)
}

// MacroOf returns the unweighted mean of the labels' values, over those that are defined. Count is their number, and Reason
// says why others are undefined, such as the auroc of a label without a row of class 1. It is NaN if none is defined. There
// is no interval. Bound is the mean of the bounds.
func MacroOf(labels []Value) Value {
	v := Value{Interval: metrics.NoInterval(), Reason: sharedRows}
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
func (m *Multilabel) AddSource(src metrics.LabelSource, o *metrics.Options) error {
	n := &Multilabel{Spec: m.Spec, Labels: m.Labels}
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
func (m *Multilabel) Merge(o *Multilabel) error {
	if m.Labels != o.Labels {
		return fmt.Errorf("%w: %d labels and %d labels", metrics.ErrMismatch, m.Labels, o.Labels)
	}
	if err := m.Spec.equal(&o.Spec); err != nil {
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

// MultilabelMagic is the beginning of a state.
const MultilabelMagic = "cMLT"

const multilabelVersion = 1

// appendHead appends what all labels share.
func (m *Multilabel) appendHead(dst []byte) ([]byte, error) {
	s := m.Spec
	s.binned = false // implied by the metrics
	e, err := New(s)
	if err != nil {
		return dst, err
	}
	spec, err := e.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	audit, err := m.Audit.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	enc := exact.Enc{B: dst}
	enc.U32(uint32(m.Labels))
	enc.Bytes(spec)
	enc.Bytes(audit)
	return enc.B, nil
}

// AppendBinary appends the state: equal specs and rows give equal bytes, however the rows were divided.
func (m *Multilabel) AppendBinary(dst []byte) ([]byte, error) { return m.framed().append(dst) }

// WriteTo writes the bytes that AppendBinary appends, with only a part of them in memory at a time.
func (m *Multilabel) WriteTo(w io.Writer) (int64, error) { return m.framed().writeTo(w) }

// framed returns the state in pieces: what all labels share, and each label.
func (m *Multilabel) framed() *framed {
	f := &framed{magic: MultilabelMagic, version: multilabelVersion, pieces: []piece{m.appendHead}}
	for j := range m.each {
		f.pieces = append(f.pieces, sized(func(dst []byte) ([]byte, error) {
			var err error
			for _, acc := range m.Label(j).states() {
				if dst, err = sized(acc.AppendBinary)(dst); err != nil {
					break
				}
			}
			return dst, err
		}))
	}
	return f
}

// UnmarshalBinary replaces m with a state that AppendBinary wrote. It rejects damaged states and states of other versions.
// Its memory is limited to a few times the length of data.
func (m *Multilabel) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(MultilabelMagic, multilabelVersion, data)
	if err != nil {
		return err
	}
	labels, spec, audit := int(d.U32()), d.Bytes(), d.Bytes()
	if err := d.Err(); err != nil {
		return err
	}
	damaged := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", exact.ErrDamaged, fmt.Sprintf(format, a...))
	}
	var e Evaluation
	if err := e.UnmarshalBinary(spec); err != nil {
		return err
	}
	s := e.Spec
	if labels < 1 || s.Classes != 1 || s.Members > 0 || s.Out || s.Decided || s.Scored || s.Kind != metrics.Probs || e.Audit.Classes != 0 {
		return damaged("%d labels of %d classes and %d members", labels, s.Classes, s.Members)
	}
	n, err := newMultilabel(s, labels)
	if err != nil {
		return damaged("%v", err)
	}
	if err := n.Audit.UnmarshalBinary(audit); err != nil {
		return err
	}
	if a := &n.Audit; a.Classes > 1 || a.Classes == 1 && simple(a.Kind) != metrics.Probs || a.Decided || a.Scored || a.SumsOff != 0 {
		return damaged("rows that are not of several labels")
	}
	if n.Audit.Classes == 1 {
		// Check before allocating, since each bin takes memory.
		bins := int64(0)
		for _, o := range n.newLabel().plan.bins {
			bins += int64(o.Bins)
		}
		if most := int64(len(data) / leastCell); int64(labels) > most || bins*int64(labels) > most {
			return damaged("%d labels of %d bins in %d bytes", labels, bins, len(data))
		}
		n.make()
	}
	for _, e := range n.each {
		e.Audit = n.Audit
		l := exact.NewDec(d.Bytes())
		for _, a := range e.states() {
			if err := a.read(l.Bytes()); err != nil {
				return err
			}
			if a.Len() > a.rows {
				return damaged("it has %d rows and %d", a.Len(), a.rows)
			}
		}
		if err := l.Done(); err != nil {
			return err
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	if same, err := n.framed().is(data); err != nil {
		return err
	} else if !same {
		return damaged("its fields are not spelled as they are written")
	}
	*m = *n
	return nil
}

// SHA256 returns a checksum of the state, in hexadecimal. It is equal for equal specs and rows. It is computed from what the
// labels share and from the checksums of their states, so the possibly large state need not be in memory.
func (m *Multilabel) SHA256() string {
	var sums []string
	if m.each != nil {
		sums = make([]string, m.Labels)
		m.Each(func(j int, e *Evaluation) { sums[j] = e.SHA256() })
	}
	return m.SHA256Of(sums)
}

// SHA256Of is SHA256 for given checksums of the labels' evaluations, in order; without rows there are none.
func (m *Multilabel) SHA256Of(labels []string) string {
	head, err := m.appendHead(nil)
	if err != nil {
		panic(err)
	}
	h := sha256.New()
	h.Write(head)
	for _, s := range labels {
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}
