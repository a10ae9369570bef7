package eval

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

// TestTokenMetrics: the metrics of a language model's tokens say why they have no value, or no interval.
func TestTokenMetrics(t *testing.T) {
	spec := Spec{Classes: 3, Metrics: list(t, "nll,bits_per_byte,sequence_nll", 3)}
	of := func(p *metrics.Predictions) (bits, sequence Value) {
		e := fill(t, spec, p)
		return e.Value(spec.Metrics[1]), e.Value(spec.Metrics[2])
	}
	tokens := func(seed uint64, n int) *metrics.Predictions {
		p := predictions(seed, n, 3, false)
		for i := range p.Rows {
			p.Bytes, p.Sequences = append(p.Bytes, float64(i%4)), append(p.Sequences, int64(i/5))
		}
		return p
	}
	p := tokens(1, 40)
	nll := fill(t, spec, p).Value(spec.Metrics[0]).Value
	bits, sequence := of(p)
	if math.Abs(bits.Value-40*nll/math.Ln2/60) > 1e-12 || math.Abs(sequence.Value-5*nll) > 1e-12 || bits.Reason+sequence.Reason != "" || !(bits.Interval.Low < bits.Value) || !(sequence.Interval.High > sequence.Value) {
		t.Errorf("%+v\n%+v", bits, sequence)
	}
	for name, c := range map[string]struct {
		change         func(p *metrics.Predictions)
		bits, sequence string
	}{
		"nothing beside":   {func(p *metrics.Predictions) { p.Bytes, p.Sequences = nil, nil }, "the bytes of the rows are not known", "the sequences of the rows are not known"},
		"bytes of 0":       {func(p *metrics.Predictions) { clear(p.Bytes) }, "the rows have no bytes", ""},
		"one sequence":     {func(p *metrics.Predictions) { clear(p.Sequences) }, "no interval", "no interval"},
		"an infinite loss": {func(p *metrics.Predictions) { p.F64, p.F32 = certain(p.Rows), nil }, "probability 0", "probability 0"},
	} {
		p := tokens(2, 40)
		c.change(p)
		bits, sequence := of(p)
		if !strings.Contains(bits.Reason, c.bits) || !strings.Contains(sequence.Reason, c.sequence) || (bits.Reason == "") != (c.bits == "") || (sequence.Reason == "") != (c.sequence == "") {
			t.Errorf("%s: %q and %q", name, bits.Reason, sequence.Reason)
		}
	}
}

// certain returns n rows that are sure of class 0.
func certain(n int) []float64 {
	x := make([]float64, 3*n)
	for i := range n {
		x[3*i] = 1
	}
	return x
}

// TestIgnoreInStates: the labels that are ignored are part of the state, which is as before where there are none.
func TestIgnoreInStates(t *testing.T) {
	spec := Spec{Classes: 3, Metrics: list(t, "nll,bits_per_byte", 3)}
	p := predictions(3, 30, 3, false)
	without := fill(t, spec, p)
	spec.Ignore = []int32{-100, 7}
	p.Labels[4] = metrics.Ignored
	e := fill(t, spec, p)
	b := state(t, e)
	var read Evaluation
	if err := read.UnmarshalBinary(b); err != nil || len(read.Spec.Ignore) != 2 || read.Spec.Ignore[0] != -100 || read.Audit.Ignored != 1 || read.Audit.Rows != 29 {
		t.Fatalf("%v %+v, %v", read.Spec.Ignore, read.Audit, err)
	}
	if err := read.Merge(e); err != nil || read.Audit.Ignored != 2 || read.Audit.Rows != 58 {
		t.Errorf("%+v, %v", read.Audit, err)
	}
	for _, c := range [][2]*Evaluation{{e, without}, {without, e}} {
		if err := c[0].Merge(c[1]); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "rows are ignored whose label is -100, 7") {
			t.Error(err)
		}
	}
	// Rows with bytes and rows without: nothing changes.
	sized := predictions(3, 30, 3, false)
	sized.Bytes = make([]float64, 30)
	other := fill(t, without.Spec, sized)
	before := string(state(t, without))
	if err := without.Merge(other); !errors.Is(err, metrics.ErrMismatch) || string(state(t, without)) != before {
		t.Error(err)
	}
	check.ResealedCells(t, b, func(b []byte) error {
		e := new(Evaluation)
		if err := e.UnmarshalBinary(b); err != nil {
			return err
		}
		for _, of := range e.Spec.Metrics {
			e.Value(of)
		}
		return nil
	})
}
