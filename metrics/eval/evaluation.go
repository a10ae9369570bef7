package eval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// Spec says what is to be evaluated, before any predictions are seen.
type Spec struct {
	Classes int           // of the predictions; 1 for a binary task
	Metrics []Metric      // see ParseMetrics
	Base    calib.Options // what a metric over bins means where its own options say nothing; its Event is ByShape, or TopLabel
	// for an ece that is of the top label in a binary task too
	Brier score.BrierForm // what brier means without an option
	Level float64         // of intervals; 0 means 0.95
}

// Evaluation is a set of accumulators and the metrics that are answered from them.
type Evaluation struct {
	Spec  Spec
	Audit metrics.Audit
	Loss  *score.Loss
	Bins  []*calib.Bins // of distinct options; the first is that of the metric ece without options
}

// New returns an evaluation that has seen no rows.
func New(s Spec) (*Evaluation, error) {
	if s.Level == 0 {
		s.Level = metrics.DefaultLevel
	}
	switch {
	case !(s.Level > 0 && s.Level < 1):
		return nil, fmt.Errorf("the confidence level is %v; it lies between 0 and 1", s.Level)
	case s.Classes < 1:
		return nil, errors.New("eval: no classes")
	case s.Base.Event != calib.ByShape && s.Base.Event != calib.TopLabel:
		return nil, errors.New("eval: the base's event is neither ByShape nor TopLabel")
	}
	if s.Base.Bins == 0 {
		s.Base.Bins = calib.DefaultBins
	}
	if err := s.Base.Validate(); err != nil {
		return nil, err
	}
	opts, top, err := s.plan()
	if err != nil {
		return nil, err
	}
	e := &Evaluation{Spec: s, Loss: score.NewLoss(&score.Options{TopK: top})}
	for i := range opts {
		e.Bins = append(e.Bins, calib.NewBins(&opts[i]))
	}
	return e, nil
}

// plan returns what the metrics need: bins of distinct options, the first the diagram's, and the largest k. Ranks, which
// cost another look at every score, are not kept of many classes where none of the metrics asks for them.
func (s *Spec) plan() (bins []calib.Options, top int, err error) {
	top = 1
	if !many(s.Classes) {
		top = 5
	}
	ece := Metric{Name: "ece"} // its bins are the diagram's
	for _, m := range append([]Metric{ece}, s.Metrics...) {
		d := Describe(m.Name)
		if d == nil {
			return nil, 0, fmt.Errorf("there is no metric %q", m.Name)
		}
		if !d.applies(s.Classes) {
			return nil, 0, fmt.Errorf("metric %v: %s", m, d.Applies)
		}
		switch m.Name {
		case "top5_accuracy":
			top = max(top, 5)
		case "topk_accuracy":
			k, err := m.k()
			if err != nil {
				return nil, 0, err
			}
			if k > 1 {
				top = max(top, 5, k)
			}
		}
		if d.binned {
			o, err := m.binned(s.Base, s.Classes, d.event(s.Base, s.Classes))
			if err != nil {
				return nil, 0, fmt.Errorf("metric %v: %w", m, err)
			}
			if !slices.Contains(bins, o) {
				bins = append(bins, o)
			}
		}
	}
	return bins, top, nil
}

func (e *Evaluation) find(o calib.Options) *calib.Bins {
	for _, b := range e.Bins {
		if b.Options() == o {
			return b
		}
	}
	return nil
}

// bins returns the accumulator that answers a metric over bins.
func (e *Evaluation) bins(m Metric) *calib.Bins {
	d := Describe(m.Name)
	o, err := m.binned(e.Spec.Base, e.Spec.Classes, d.event(e.Spec.Base, e.Spec.Classes))
	if err != nil {
		panic("eval: a metric was not checked: " + err.Error())
	}
	return e.find(o)
}

// Options returns the options of a metric over bins, nil for another.
func (e *Evaluation) Options(m Metric) *calib.Options {
	if d := Describe(m.Name); d == nil || !d.binned {
		return nil
	}
	o := e.bins(m).Options()
	return &o
}

// Value answers a metric of the spec. A value that is not defined is NaN and has a reason.
func (e *Evaluation) Value(m Metric) Value {
	v := Describe(m.Name).value(e, m)
	if math.IsNaN(v.Value) && v.Reason == "" {
		v.Reason = "no rows"
	}
	return v
}

// Text returns a metric's whole definition: its formula, with the options that it has here.
func (e *Evaluation) Text(m Metric) string {
	d := Describe(m.Name)
	switch {
	case d.binned:
		return e.bins(m).Text() + "; " + d.Formula
	case e.Audit.Decided && (m.Name == "accuracy" || m.Name == "confidence" || m.Name == "overconfidence"):
		return d.Formula + "; of the caller's decisions in place of the arg max"
	case d.text != nil:
		return d.text(e, m)
	}
	return d.Formula
}

// Diagram returns the accumulator of the reliability diagram.
func (e *Evaluation) Diagram() *calib.Bins { return e.Bins[0] }

func (e *Evaluation) accumulators() []metrics.Accumulator {
	a := []metrics.Accumulator{e.Loss}
	for _, b := range e.Bins {
		a = append(a, b)
	}
	return a
}

// AddSource reads all rows of src. If it fails nothing has changed.
func (e *Evaluation) AddSource(src metrics.Source, o *metrics.Options) error {
	// By way of an evaluation without rows: what was added before may be of another type or kind, which is known only
	// when src has been read.
	n, err := New(e.Spec)
	if err != nil {
		return err
	}
	p := metrics.NewPass(o, n.accumulators()...)
	if err := p.AddSource(&ofClasses{src, e.Spec.Classes}); err != nil {
		return err
	}
	n.Audit = p.Audit()
	return e.Merge(n)
}

// ofClasses is a source that ends at rows of another number of classes than the spec's, which some metrics cannot take.
type ofClasses struct {
	metrics.Source
	classes int
}

func (s *ofClasses) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err != nil || c.Classes == s.classes || c.Rows == 0 {
		return c, err
	}
	if c.Recycle != nil {
		c.Recycle()
	}
	return nil, fmt.Errorf("%w: rows of %d classes for an evaluation of %d", metrics.ErrMismatch, c.Classes, s.classes)
}

// Merge adds the rows of another evaluation with the same spec; an error names the first difference, and then nothing
// has changed.
func (e *Evaluation) Merge(o *Evaluation) error {
	if err := e.Spec.equal(&o.Spec); err != nil {
		return err
	}
	audit := e.Audit
	if err := audit.Merge(&o.Audit); err != nil {
		return err
	}
	// The audits and specs agree, and so do accumulators that were made and fed by an evaluation: none of these fails.
	if err := e.Loss.Merge(o.Loss); err != nil {
		return err
	}
	for i, b := range e.Bins {
		if err := b.Merge(o.Bins[i]); err != nil {
			return err
		}
	}
	e.Audit = audit
	return nil
}

func (s *Spec) equal(o *Spec) error {
	names := func(l []Metric) string {
		n := make([]string, len(l))
		for i, m := range l {
			n[i] = m.String()
		}
		return strings.Join(n, ",")
	}
	switch {
	case s.Classes != o.Classes:
		return fmt.Errorf("%w: %d classes and %d classes", metrics.ErrMismatch, s.Classes, o.Classes)
	case s.Base != o.Base:
		return fmt.Errorf("%w: bins of (%s) and of (%s)", metrics.ErrMismatch, s.Base.Text(), o.Base.Text())
	case s.Brier != o.Brier:
		return fmt.Errorf("%w: brier in the form %s and in the form %s", metrics.ErrMismatch, brierForms[s.Brier], brierForms[o.Brier])
	case s.Level != o.Level:
		return fmt.Errorf("%w: confidence levels %v and %v", metrics.ErrMismatch, s.Level, o.Level)
	case names(s.Metrics) != names(o.Metrics):
		return fmt.Errorf("%w: metrics %s and %s", metrics.ErrMismatch, names(s.Metrics), names(o.Metrics))
	}
	return nil
}

const (
	stateMagic   = "cSTA"
	stateVersion = 1
)

// AppendBinary appends the state: equal specs and rows give equal bytes, however the rows were divided.
func (e *Evaluation) AppendBinary(dst []byte) ([]byte, error) {
	var enc exact.Enc
	s := &e.Spec
	enc.U32(uint32(s.Classes))
	enc.F64(s.Level)
	enc.U8(uint8(s.Brier))
	enc.U32(uint32(s.Base.Bins))
	enc.Str(s.Base.String())
	enc.U64(uint64(len(s.Metrics)))
	for _, m := range s.Metrics {
		enc.Str(m.String())
	}
	a, err := e.Audit.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	enc.Bytes(a)
	for _, acc := range e.accumulators() {
		b, err := acc.AppendBinary(nil)
		if err != nil {
			return dst, err
		}
		enc.Bytes(b)
	}
	return append(dst, exact.Seal(stateMagic, stateVersion, enc.B)...), nil
}

// UnmarshalBinary replaces e by what AppendBinary wrote. It refuses damaged states and those of other versions, and
// takes no more memory than a few times the length of data.
func (e *Evaluation) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(stateMagic, stateVersion, data)
	if err != nil {
		return err
	}
	var s Spec
	s.Classes = int(d.U32())
	s.Level = d.F64()
	s.Brier = score.BrierForm(d.U8())
	s.Base.Bins = int(d.U32())
	base := d.Str()
	names := make([]string, d.Count(8))
	for i := range names {
		names[i] = d.Str()
	}
	audit := d.Bytes()
	if err := d.Err(); err != nil {
		return err
	}
	if int(s.Brier) >= len(brierForms) {
		return fmt.Errorf("%w: there is no such Brier form", exact.ErrDamaged)
	}
	if base != "" {
		for _, a := range strings.Split(base, ",") {
			n, v, _ := strings.Cut(a, "=")
			if err := s.Base.Set(n, v); err != nil {
				return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
			}
		}
	}
	if len(names) > 0 {
		if s.Metrics, err = ParseMetrics(strings.Join(names, ","), s.Classes); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	opts, _, err := s.plan()
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	cells := 0
	for _, o := range opts {
		cells += o.Bins
	}
	if cells > len(data)/leastCell {
		return fmt.Errorf("%w: %d bins in %d bytes", exact.ErrDamaged, cells, len(data))
	}
	n, err := New(s)
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if err := n.Audit.UnmarshalBinary(audit); err != nil {
		return err
	}
	if n.Audit.Classes != 0 && n.Audit.Classes != s.Classes {
		return fmt.Errorf("%w: %d classes, and rows of %d", exact.ErrDamaged, s.Classes, n.Audit.Classes)
	}
	// What was read is merged into what the spec asks for, which refuses accumulators of other options.
	for _, a := range n.accumulators() {
		read := a.Empty()
		if err := read.UnmarshalBinary(d.Bytes()); err != nil {
			return err
		}
		if err := a.Merge(read); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	if n.Loss.Len() != n.Audit.Rows {
		return fmt.Errorf("%w: it has %d rows and %d", exact.ErrDamaged, n.Loss.Len(), n.Audit.Rows)
	}
	if err := d.Done(); err != nil {
		return err
	}
	// A state has one spelling. Another one that means the same would have another checksum.
	again, err := n.AppendBinary(nil)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: its fields are not spelled as they are written", exact.ErrDamaged)
	}
	*e = *n
	return nil
}

// leastCell is less than the bytes of a bin in a state: a count and six sums.
const leastCell = 128

// SHA256 returns the checksum of the state, in hexadecimal: equal for equal specs and rows.
func (e *Evaluation) SHA256() string {
	b, err := e.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
