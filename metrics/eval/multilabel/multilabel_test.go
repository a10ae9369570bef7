package multilabel_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/multilabel"
)

// tagged holds rows of several labels in memory, as a LabelSource with chunks of this many rows.
type tagged struct {
	rows, labels int
	kind         metrics.Kind
	scores       []float64
	truth        []int32
	weights      []float64
	dtype        metrics.DType
	chunk, at    int
	stride       int // more than labels, of both
}

func newTagged(seed uint64, rows, labels int) *tagged {
	r := rand.New(rand.NewPCG(seed, 7))
	s := &tagged{rows: rows, labels: labels, dtype: metrics.Float32, chunk: 97}
	for range rows {
		for j := range labels {
			p := float64(float32(r.Float64()))
			if r.IntN(6) == 0 {
				p = math.Round(8*p) / 8
			}
			s.scores = append(s.scores, p)
			s.truth = append(s.truth, b2i(r.Float64() < math.Pow(p, 1+float64(j%5)/4)))
		}
		s.weights = append(s.weights, float64(r.IntN(4)))
	}
	return s
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// put fills the slice of the type with scores.
func put(s *metrics.Scores, d metrics.DType, v []float64) {
	switch d {
	case metrics.Float64:
		s.F64 = v
	case metrics.Float32:
		for _, x := range v {
			s.F32 = append(s.F32, float32(x))
		}
	case metrics.Float16: // of eighths
		for _, x := range v {
			b := math.Float64bits(x)
			h := uint16(0)
			if x != 0 {
				h = uint16(b>>48&0x8000) | uint16(int(b>>52&0x7ff)-1023+15)<<10 | uint16(b>>42&0x3ff)
			}
			s.F16 = append(s.F16, h)
		}
	default:
		for _, x := range v {
			s.BF16 = append(s.BF16, uint16(math.Float32bits(float32(x))>>16))
		}
	}
}

func (s *tagged) Next() (*metrics.LabelChunk, error) {
	if s.at == s.rows {
		return nil, io.EOF
	}
	n := min(s.chunk, s.rows-s.at)
	c := &metrics.LabelChunk{Kind: s.kind, First: int64(s.at)}
	st := max(s.stride, s.labels)
	var v []float64
	for i := s.at; i < s.at+n; i++ {
		v = append(append(v, s.scores[i*s.labels:(i+1)*s.labels]...), make([]float64, st-s.labels)...)
		c.Labels = append(append(c.Labels, s.truth[i*s.labels:(i+1)*s.labels]...), make([]int32, st-s.labels)...)
	}
	put(&c.Scores, s.dtype, v)
	c.Rows, c.Classes, c.Stride, c.LabelStride = n, s.labels, s.stride, s.stride
	if s.weights != nil {
		c.Weights = s.weights[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}

// column is one label as predictions of a binary task.
func (s *tagged) column(j int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: s.kind, Weights: s.weights}
	var v []float64
	for i := range s.rows {
		v = append(v, s.scores[i*s.labels+j])
		p.Labels = append(p.Labels, s.truth[i*s.labels+j])
	}
	put(&p.Scores, s.dtype, v)
	p.Rows, p.Classes = s.rows, 1
	return p
}

func (s *tagged) part(from, to int) *tagged {
	p := *s
	p.rows, p.at = to-from, 0
	p.scores, p.truth = s.scores[from*s.labels:to*s.labels], s.truth[from*s.labels:to*s.labels]
	if s.weights != nil {
		p.weights = s.weights[from:to]
	}
	return &p
}

func tagSpec(t testing.TB, list string, kind metrics.Kind) eval.Spec {
	t.Helper()
	l, err := eval.ParseMetrics(list, eval.Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	return eval.Spec{Classes: 1, Kind: kind, Metrics: l}
}

func ofTagged(t testing.TB, spec eval.Spec, labels int, o *metrics.Options, parts ...*tagged) *multilabel.Evaluation {
	t.Helper()
	m, err := multilabel.New(spec, labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		p.at = 0
		if err := m.AddSource(p, o); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// same reports whether two answers are, NaN for NaN.
func same(a, b eval.Value) bool {
	eq := func(x, y float64) bool { return x == y || x != x && y != y }
	return eq(a.Value, b.Value) && eq(a.Interval.Low, b.Interval.Low) && eq(a.Interval.High, b.Interval.High) && a.Reason == b.Reason && eq(a.Bound, b.Bound)
}

// TestIsBinary: every label is what an evaluation of its column alone is, of any type, kind and layout, for any threads.
func TestIsBinary(t *testing.T) {
	for _, c := range []struct {
		rows, labels int
		kind         metrics.Kind
		dtype        metrics.DType
		stride       int
		weights      bool
		list         string
	}{
		{700, 1, metrics.Probs, metrics.Float32, 0, false, "default,auroc"},
		{700, 3, metrics.Probs, metrics.Float32, 5, true, "default,auroc,retention_accuracy"},
		{333, 37, metrics.Probs, metrics.Float64, 0, false, "nll,brier,ece,mce,ece_floor"},
		{200, 40, metrics.Logits, metrics.Float32, 41, false, "default"},
		{200, 18, metrics.LogProbs, metrics.Float64, 0, true, "default"},
		{300, 5, metrics.Logits, metrics.Float16, 0, false, "default"},
		{300, 17, metrics.Probs, metrics.BFloat16, 0, false, "default"},
		{300, 17, metrics.LogProbs, metrics.Float16, 0, true, "nll,ece"},
		{1, 2, metrics.Probs, metrics.Float32, 0, false, "default,auroc"},
	} {
		s := newTagged(uint64(c.rows+c.labels), c.rows, c.labels)
		s.kind, s.dtype, s.stride = c.kind, c.dtype, c.stride
		if !c.weights {
			s.weights = nil
		}
		for i, p := range s.scores {
			if c.dtype == metrics.Float16 || c.dtype == metrics.BFloat16 {
				p = math.Round(8*p) / 8
			}
			switch c.kind {
			case metrics.Logits:
				p = 8 * (p - 0.5)
			case metrics.LogProbs:
				p = -math.Round(16*p) / 8
			}
			s.scores[i] = p
		}
		spec := tagSpec(t, c.list, c.kind)
		var first []byte
		for _, threads := range []int{1, 2, 7} {
			o := &metrics.Options{Threads: threads}
			m := ofTagged(t, spec, c.labels, o, s)
			state, err := m.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = state
			} else if !bytes.Equal(first, state) {
				t.Fatalf("%+v: another state with %d threads", c, threads)
			}
			if threads != 2 {
				continue
			}
			for j := range c.labels {
				e, err := eval.New(spec)
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Add(s.column(j), o); err != nil {
					t.Fatal(err)
				}
				got := m.Label(j)
				if got.Audit != e.Audit {
					t.Fatalf("%+v: label %d: %+v, by itself %+v", c, j, got.Audit, e.Audit)
				}
				for _, of := range spec.Metrics {
					if a, b := got.Value(of), e.Value(of); !same(a, b) {
						t.Errorf("%+v: %v of label %d is %+v, by itself %+v", c, of, j, a, b)
					}
				}
			}
		}
		var back multilabel.Evaluation
		if err := back.UnmarshalBinary(first); err != nil {
			t.Fatal(err)
		}
		if again, _ := back.AppendBinary(nil); !bytes.Equal(again, first) || back.Labels != c.labels {
			t.Errorf("%+v: a state does not read back to itself", c)
		}
	}
}

// TestMerges: however rows are divided, and in any order parts are merged, the state is one.
func TestMerges(t *testing.T) {
	for _, list := range []string{"default,auroc", "nll,ece"} {
		spec := tagSpec(t, list, metrics.Probs)
		s := newTagged(3, 500, 6)
		want, err := ofTagged(t, spec, 6, nil, s).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b, c := s.part(0, 11), s.part(11, 300), s.part(300, 500)
		all := ofTagged(t, spec, 6, nil, c, a, b)
		merged := ofTagged(t, spec, 6, nil)
		for _, p := range []*tagged{b, c, a} {
			one := ofTagged(t, spec, 6, nil, p)
			before := one.SHA256()
			if err := merged.Merge(one); err != nil {
				t.Fatal(err)
			}
			if one.SHA256() != before {
				t.Fatal("what is merged has changed")
			}
		}
		for _, m := range []*multilabel.Evaluation{all, merged} {
			got, err := m.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) || m.Audit.Rows+m.Audit.Absent != 500 {
				t.Errorf("%s: another state of the same rows", list)
			}
			var sums []string
			for j := range 6 {
				sums = append(sums, m.Label(j).SHA256())
			}
			if m.SHA256Of(sums) != m.SHA256() {
				t.Error("SHA256Of is not SHA256")
			}
		}
	}
	m := ofTagged(t, tagSpec(t, "nll", metrics.Probs), 6, nil, newTagged(3, 50, 6))
	sha := m.SHA256()
	for _, o := range []*multilabel.Evaluation{
		ofTagged(t, tagSpec(t, "nll", metrics.Probs), 5, nil, newTagged(3, 50, 5)),
		ofTagged(t, tagSpec(t, "brier", metrics.Probs), 6, nil),
		ofTagged(t, tagSpec(t, "nll", metrics.Logits), 6, nil, &tagged{rows: 1, labels: 6, kind: metrics.Logits, scores: make([]float64, 6),
			truth: make([]int32, 6), weights: []float64{1}, dtype: metrics.Float32, chunk: 1}),
	} {
		if err := m.Merge(o); !errors.Is(err, metrics.ErrMismatch) || m.SHA256() != sha {
			t.Errorf("unlike evaluations are merged: %v", err)
		}
	}
}

// TestBadRows: a row that is bad in one label is used in none.
func TestBadRows(t *testing.T) {
	s := newTagged(9, 300, 20)
	s.weights = nil
	good := *s
	good.scores, good.truth = nil, nil
	for i := range s.rows {
		if i != 7 && i != 120 && i != 250 && i != 251 {
			good.scores = append(good.scores, s.scores[i*20:(i+1)*20]...)
			good.truth = append(good.truth, s.truth[i*20:(i+1)*20]...)
		}
	}
	good.rows -= 4
	s.scores[120*20+19], s.truth[7*20+3], s.scores[250*20], s.scores[251*20+1] = 1.5, -1, math.NaN(), math.Inf(1)
	spec := tagSpec(t, "default", metrics.Probs)
	for _, threads := range []int{1, 3} {
		m := ofTagged(t, spec, 20, nil)
		sha := m.SHA256()
		s.at = 0
		var d *metrics.DataError
		err := m.AddSource(s, &metrics.Options{Threads: threads})
		if !errors.As(err, &d) || d.Rows != 300 || fmt.Sprint(d.Faults) != "[{0 1 7 3 -1} {9 1 120 19 1.5} {6 2 250 0 NaN}]" {
			t.Errorf("%v of %d rows: %+v", err, d.Rows, d.Faults)
		}
		if want := "row 7, column 3: label is -1"; err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
		if m.SHA256() != sha {
			t.Error("an evaluation that failed has changed")
		}
		got := ofTagged(t, spec, 20, &metrics.Options{Drop: true, Threads: threads}, s)
		want := ofTagged(t, spec, 20, nil, &good)
		if got.Audit.Dropped != 4 || got.Audit.Rows != 296 {
			t.Errorf("%+v", got.Audit)
		}
		for _, of := range spec.Metrics {
			if a, b := got.Macro(of), want.Macro(of); !same(a, b) {
				t.Errorf("%v is %+v, without the bad rows %+v", of, a, b)
			}
		}
	}
	// Rows of weight 0 may hold anything.
	s.weights = slices.Repeat([]float64{1}, 300)
	for _, i := range []int{7, 120, 250, 251} {
		s.weights[i] = 0
	}
	if m := ofTagged(t, spec, 20, nil, s); m.Audit.Absent != 4 || m.Audit.Rows != 296 || m.Audit.Dropped != 0 {
		t.Errorf("%+v", m.Audit)
	}
	s.weights[8] = -1
	s.at = 0
	if err := ofTagged(t, spec, 20, nil).AddSource(s, nil); err == nil || !strings.Contains(err.Error(), "row 8: weight is -1") {
		t.Error(err)
	}
	for _, c := range []struct {
		kind metrics.Kind
		v    float64
		ok   bool
	}{{metrics.Logits, math.Inf(-1), true}, {metrics.Logits, math.Inf(1), false}, {metrics.Logits, 1e300, true}, {metrics.LogProbs, math.Inf(-1), true},
		{metrics.LogProbs, 0.5, false}, {metrics.LogProbs, math.NaN(), false}, {metrics.Probs, math.Inf(-1), false}, {metrics.Probs, math.Copysign(0, -1), true}} {
		one := &tagged{rows: 2, labels: 2, kind: c.kind, scores: []float64{0, 0, 0, c.v}, truth: []int32{0, 1, 1, 0}, dtype: metrics.Float64, chunk: 2}
		if err := ofTagged(t, tagSpec(t, "nll", c.kind), 2, nil).AddSource(one, nil); (err == nil) != c.ok {
			t.Errorf("%v of %v: %v", c.kind, c.v, err)
		}
	}
}

func TestMacro(t *testing.T) {
	s := newTagged(4, 60, 4)
	for i := range s.rows {
		s.truth[i*4+2] = 0
	}
	spec := tagSpec(t, "default,auroc", metrics.Probs)
	m := ofTagged(t, spec, 4, nil, s)
	of, _ := eval.ParseMetric("auroc")
	v, sum := m.Macro(of), 0.0
	for _, j := range []int{0, 1, 3} {
		sum += m.Label(j).Value(of).Value
	}
	if v.Value != sum/3 || v.Count != 3 || !strings.HasPrefix(v.Reason, "1 of 4 labels have none: ") || !math.IsNaN(v.Interval.Low) {
		t.Errorf("%+v, want %v", v, sum/3)
	}
	inf, nan := eval.Value{Value: math.Inf(1)}, eval.Value{Value: math.NaN(), Reason: "so"}
	for _, c := range []struct {
		l     []eval.Value
		v     float64
		count int64
		why   string
	}{
		{[]eval.Value{{Value: 1}, {Value: 2, Bound: 0.5}}, 1.5, 2, "labels share rows"},
		{[]eval.Value{nan, nan}, math.NaN(), 0, "2 of 2 labels have none: so"},
		{[]eval.Value{inf, {Value: 1}}, math.Inf(1), 2, "labels share rows"},
		{[]eval.Value{inf, {Value: math.Inf(-1)}}, math.NaN(), 2, "labels have infinite values of both signs"},
	} {
		got := multilabel.MacroOf(c.l)
		if !same(got, eval.Value{Value: c.v, Interval: metrics.NoInterval(), Reason: got.Reason, Bound: got.Bound}) || got.Count != c.count || !strings.HasPrefix(got.Reason, c.why) {
			t.Errorf("%+v of %+v", got, c)
		}
	}
}

func TestRefuses(t *testing.T) {
	spec := tagSpec(t, "default,auroc", metrics.Probs)
	spec.Memory = 5 * 3 << 20
	if _, err := multilabel.New(spec, 5); err != nil {
		t.Error(err)
	}
	if _, err := multilabel.New(spec, 6); err == nil || !strings.Contains(err.Error(), "auroc keep the distinct scores of each of 6 labels") || strings.Contains(err.Error(), "nll") {
		t.Error(err)
	}
	for _, change := range []func(s *eval.Spec) int{
		func(*eval.Spec) int { return 0 },
		func(s *eval.Spec) int { s.Classes = 2; return 3 },
		func(s *eval.Spec) int { s.Members = 2; return 3 },
		func(s *eval.Spec) int { s.Kind = metrics.Samples; return 3 },
		func(s *eval.Spec) int { s.Kind = metrics.Dirichlet; return 3 },
		func(s *eval.Spec) int { s.Level = 2; return 3 },
	} {
		s := tagSpec(t, "nll", metrics.Probs)
		if _, err := multilabel.New(s, change(&s)); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	if err := ofTagged(t, tagSpec(t, "nll", metrics.Probs), 3, nil).AddSource(newTagged(1, 9, 4), nil); !errors.Is(err, metrics.ErrMismatch) {
		t.Error(err)
	}
	for name, c := range map[string]*metrics.LabelChunk{
		"scores":  {Scores: metrics.Scores{F32: make([]float32, 5), Rows: 2, Classes: 3}, Labels: make([]int32, 6)},
		"labels":  {Scores: metrics.Scores{F32: make([]float32, 6), Rows: 2, Classes: 3}, Labels: make([]int32, 5)},
		"weights": {Scores: metrics.Scores{F32: make([]float32, 6), Rows: 2, Classes: 3}, Labels: make([]int32, 6), Weights: make([]float64, 3)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a wrong shape are taken", name)
				}
			}()
			_ = ofTagged(t, tagSpec(t, "nll", metrics.Probs), 3, nil).AddSource(&tags{c}, nil)
		}()
	}
}

func TestStateRefusesDamage(t *testing.T) {
	state, err := ofTagged(t, tagSpec(t, "nll,ece,auroc", metrics.Probs), 3, nil, newTagged(2, 40, 3)).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(state); i += 1 + len(state)/500 {
		b := bytes.Clone(state)
		b[i] ^= 1
		if new(multilabel.Evaluation).UnmarshalBinary(b) == nil || new(multilabel.Evaluation).UnmarshalBinary(state[:i]) == nil {
			t.Fatalf("byte %d may be damaged", i)
		}
	}
	// With the checksum right: no panic, and what is read is written so again.
	_, payload, _, err := exact.Open(multilabel.Magic, state)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(payload); i += 1 + len(payload)/500 {
		b := bytes.Clone(payload)
		b[i] ^= 4
		b = exact.Seal(multilabel.Magic, 1, b)
		var m multilabel.Evaluation
		if m.UnmarshalBinary(b) == nil {
			if again, err := m.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("byte %d: read, and written otherwise", i)
			}
		}
	}
	if err := new(eval.Evaluation).UnmarshalBinary(state); !errors.Is(err, exact.ErrMagic) {
		t.Error(err)
	}
}

// TestResealedStates: a state whose checksums are right, though a bit is not what was written, is refused, or it answers.
func TestResealedStates(t *testing.T) {
	c := &metrics.LabelChunk{}
	c.Rows, c.Classes = 12, 2
	for i := range 24 {
		c.F64 = append(c.F64, float64(i*37%64)/64)
		c.Labels = append(c.Labels, int32(i*i%5%2))
	}
	m, err := multilabel.New(tagSpec(t, "accuracy,nll,ece,auroc,ks,aurc", metrics.Probs), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AddSource(&tags{c}, nil); err != nil {
		t.Fatal(err)
	}
	b, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	check.ResealedCells(t, b, func(b []byte) error {
		m := new(multilabel.Evaluation)
		if err := m.UnmarshalBinary(b); err != nil {
			return err
		}
		for j := range m.Labels {
			e := m.Label(j)
			for _, of := range e.Spec.Metrics {
				e.Value(of)
			}
		}
		return nil
	})
}

func TestKeepsRows(t *testing.T) {
	if _, err := multilabel.New(tagSpec(t, "auroc(exact)", metrics.Probs), 3); err == nil {
		t.Error("several labels keep rows")
	}
}
