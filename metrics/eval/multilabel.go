package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/metrics/score"
)

// Multilabel is an evaluation of several independent labels of the same rows: one of a binary task for each, and the averages over
// them. Threads divide the labels among them, so that the labels' states exist once, and nothing depends on the threads.
type Multilabel struct {
	Spec   Spec          // of each label
	Labels int           // how many
	Audit  metrics.Audit // of the rows, which all labels share
	// Threads is how many goroutines Macro may take; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int

	each []*Evaluation // of the labels; nil before the first rows
}

// labelScores is what the scores of one label may take where they are kept by distinct values: a log of some 280,000, or a grid.
const labelScores = 3 << 20

// NewMultilabel returns an evaluation of so many labels that has seen no rows. The spec is that of a binary task; its Memory is for the
// scores of all labels together: metrics that keep these (see Spec.KeepsScores) are refused where they would take more. 0 is no limit.
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

// newMultilabel returns one whose spec is known to be that of a label.
func newMultilabel(s Spec, labels int) (*Multilabel, error) {
	s.binned, s.labels = !slices.ContainsFunc(s.Metrics, s.KeepsScores), labels
	e, err := New(s)
	if err != nil {
		return nil, err
	}
	return &Multilabel{Spec: e.Spec, Labels: labels}, nil
}

// KeepsScores tells whether a metric is answered from the distinct scores of the rows, or from sums of each of them, so that its state
// grows with these. Others need bins and sums alone.
func (s *Spec) KeepsScores(m Metric) bool {
	n, limited := s.kept(m)
	return n+limited > 0
}

// kept returns how many accumulators of metrics grow with the rows' distinct scores, and how many grow with the rows as far as Memory
// lets them.
func (s *Spec) kept(list ...Metric) (n, limited int) {
	one := *s
	one.Metrics, one.binned = list, true
	p, err := one.plan()
	if err != nil {
		return 0, 0 // New says why
	}
	n = len(p.cells)
	for _, k := range p.more {
		switch k.make().(type) {
		case *rank.Retention, *rank.Scores, *score.Decomposition:
			n++
		}
	}
	return n, len(p.scores)
}

// LabelBytes returns how much memory the distinct scores of one of several labels may take, for all metrics of the spec together.
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

// make makes the labels' evaluations, if there are none.
func (m *Multilabel) make() {
	if m.each != nil {
		return
	}
	m.each = make([]*Evaluation, m.Labels)
	for j := range m.each {
		m.each[j] = m.newLabel()
	}
}

// Label returns the evaluation of a label, which is that of a binary task. It is made anew, so that what its answers take goes with it.
// Different labels may be asked for at the same time, one label may not. It panics if there is no such label.
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

// Each calls f with every label and its evaluation, which is gone when f returns, on as many goroutines as Threads says: in any order.
func (m *Multilabel) Each(f func(label int, e *Evaluation)) {
	threads := threadsOf(m.Threads)
	together(threads, m.Labels, func(_, j int) {
		e := m.Label(j)
		e.Threads = max(1, threads/m.Labels)
		f(j, e)
	})
}

// sharedRows says why averages over labels have no interval.
const sharedRows = "labels share rows and are not independent, so their mean has no interval"

// Macro returns the mean of a metric over the labels that have a value of it, as MacroOf does.
func (m *Multilabel) Macro(of Metric) Value {
	values := make([]Value, m.Labels)
	m.Each(func(j int, e *Evaluation) { values[j] = e.Value(of) })
	return MacroOf(values)
}

// MacroOf returns the mean of the labels' values of a metric, each label counting once, over those that are defined: Count says how many
// those are, and Reason why others are not, such as the auroc of a label without a row of class 1. Without any it is NaN. There is no
// interval. Bound is the mean of the values' bounds.
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

// AddSource reads all rows of src. A row that cannot be used in one label is used in none: it is an error, a *metrics.DataError whose
// columns are labels, or left out with Options.Drop. If it fails nothing has changed.
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
		// By way of nothing: the evaluations are made once.
		m.each, m.Audit = n.each, n.Audit
		return nil
	}
	return m.Merge(n)
}

// Merge adds the rows of another evaluation of the same labels with the same spec; an error names the first difference, and then
// nothing has changed.
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
		if err := e.Merge(o.each[j]); err != nil { // the audits and specs agree: none of these fails
			return err
		}
	}
	m.Audit = audit
	return nil
}

// MultilabelMagic is how a state begins.
const MultilabelMagic = "cMLT"

const multilabelVersion = 1

// appendHead appends what all labels share.
func (m *Multilabel) appendHead(dst []byte) ([]byte, error) {
	s := m.Spec
	s.binned = false // which the metrics say
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

// WriteTo writes what AppendBinary appends, of which only a part is in memory at a time.
func (m *Multilabel) WriteTo(w io.Writer) (int64, error) { return m.framed().writeTo(w) }

// framed returns the state in pieces: what all labels share, and each of them.
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

// UnmarshalBinary replaces m by what AppendBinary wrote. It refuses damaged states and those of other versions, and takes no more memory
// than a few times the length of data.
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
		// Before any of it is made: each bin takes bytes.
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

// SHA256 returns a checksum of the state, in hexadecimal: equal for equal specs and rows. It is that of what the labels share and of
// their own states' checksums, so that the state, which may be large, is never there as a whole.
func (m *Multilabel) SHA256() string {
	var sums []string
	if m.each != nil {
		sums = make([]string, m.Labels)
		m.Each(func(j int, e *Evaluation) { sums[j] = e.SHA256() })
	}
	return m.SHA256Of(sums)
}

// SHA256Of is SHA256 where the checksums of all labels' evaluations are known, in their order; without rows there are none.
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

func threadsOf(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// together calls f for 0 to n-1 on several goroutines, each of which has a number. A panic of f becomes one of its own.
func together(threads, n int, f func(thread, i int)) {
	if threads = min(threads, n); threads <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var fault atomic.Pointer[any]
	for t := range threads {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					fault.CompareAndSwap(nil, &r)
				}
			}()
			for fault.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(t, i)
			}
		})
	}
	wg.Wait()
	if r := fault.Load(); r != nil {
		panic(*r)
	}
}
