package eval

import (
	"io"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// twoLabels is rows of two labels, in one chunk.
type twoLabels struct {
	rows int
	done bool
}

func (s *twoLabels) Next() (*metrics.LabelChunk, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	c := &metrics.LabelChunk{}
	c.Rows, c.Classes = s.rows, 2
	for i := range 2 * s.rows {
		c.F64 = append(c.F64, float64(i*37%64)/64)
		c.Labels = append(c.Labels, int32(i*i%5%2))
	}
	return c, nil
}

// TestResealedStates: a state whose checksums are right, though a byte is not what was written, is refused, or it answers: it never
// panics. Cells with too many classes for a positive one are rejected.
func TestResealedStates(t *testing.T) {
	list, err := ParseMetrics("accuracy,nll,ece,auroc,ks,aurc", Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMultilabel(Spec{Classes: 1, Metrics: list}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AddSource(&twoLabels{rows: 12}, nil); err != nil {
		t.Fatal(err)
	}
	labels, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	binary := state(t, fill(t, Spec{Classes: 1, Metrics: list}, predictions(4, 12, 1, false)))
	try := func(at int, f func() error) (err error) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("byte %d: %v", at, r)
			}
		}()
		return f()
	}
	answer := func(e *Evaluation) {
		for _, of := range e.Spec.Metrics {
			e.Value(of)
		}
	}
	read := 0
	for _, s := range []struct {
		state []byte
		open  func(b []byte) error
	}{
		{labels, func(b []byte) error {
			m := new(Multilabel)
			if err := m.UnmarshalBinary(b); err != nil {
				return err
			}
			read++
			for j := range m.Labels {
				answer(m.Label(j))
			}
			return nil
		}},
		{binary, func(b []byte) error {
			e := new(Evaluation)
			if err := e.UnmarshalBinary(b); err != nil {
				return err
			}
			read++
			answer(e)
			return nil
		}},
	} {
		if err := s.open(reseal(s.state)); err != nil {
			t.Fatal(err)
		}
		for i := 14; i < len(s.state)-8 && !t.Failed(); i += 1 + len(s.state)/400 {
			b := []byte(string(s.state))
			b[i] ^= 1 << (i % 8)
			_ = try(i, func() error { return s.open(reseal(b)) }) // another number is one
		}
		cells := strings.LastIndex(string(s.state), "cCEL") // the first may be those without rows
		for _, classes := range []byte{0, 2, 5} {
			b := []byte(string(s.state))
			b[cells+14+2] = classes
			if err := try(cells, func() error { return s.open(reseal(b)) }); err == nil {
				t.Errorf("cells of %d classes in a binary task were read", classes)
			}
		}
	}
	if read < 10 {
		t.Errorf("%d of the states could be read: the test does not see their answers", read)
	}
}
