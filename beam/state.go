package candorbeam

import (
	"errors"
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// State is the accumulator of both CombineFns. The zero value is the state of no rows.
type State struct {
	e       *eval.Evaluation
	waiting *waiting // rows that are not in e yet
}

// most is how many rows wait for a call of the kernels, whose fixed cost is that of some hundred rows.
const most = 4096

// waiting holds rows as columns.
type waiting struct {
	options Options
	classes int
	f32     []float32
	f64     []float64
	labels  []int32
	weights []float64
}

var (
	errScores = errors.New("candorbeam: a row has scores in both or in none of F32 and F64; fill one of them, the same in all rows")
	errWeight = errors.New("candorbeam: some rows have a weight and some have none; give one to all rows, or to none")
)

func (w *waiting) add(r *Row) error {
	n := max(len(r.F32), len(r.F64))
	switch {
	case (len(r.F32) == 0) == (len(r.F64) == 0), len(w.labels) > 0 && (len(w.f32) > 0) != (len(r.F32) > 0):
		return errScores
	case len(w.labels) > 0 && (len(w.weights) > 0) != (r.Weight != 0):
		return errWeight
	case len(w.labels) > 0 && n != w.classes:
		return fmt.Errorf("candorbeam: a row has %d scores, and others have %d; all rows have one for each class", n, w.classes)
	}
	w.classes = n
	w.f32, w.f64, w.labels = append(w.f32, r.F32...), append(w.f64, r.F64...), append(w.labels, r.Label)
	if r.Weight != 0 {
		w.weights = append(w.weights, r.Weight)
	}
	return nil
}

// settle evaluates the rows that wait.
func (a *State) settle() error {
	w := a.waiting
	if w == nil || len(w.labels) == 0 {
		return nil
	}
	p := &metrics.Predictions{Kind: w.options.Kind, Labels: w.labels, Weights: w.weights}
	p.Scores = metrics.Scores{F32: w.f32, F64: w.f64, Rows: len(w.labels), Classes: w.classes}
	if w.classes == 2 && !w.options.Classification {
		p.OfEvent(1)
	}
	var err error
	e := a.e
	if e == nil {
		if e, err = w.options.evaluation(p.Classes, nil); err != nil {
			return err
		}
	}
	if err := e.Add(p, w.options.pass()); err != nil {
		return fmt.Errorf("candorbeam: %w", err)
	}
	a.e = e
	w.f32, w.f64, w.labels, w.weights = w.f32[:0], w.f64[:0], w.labels[:0], w.weights[:0]
	return nil
}

func (a *State) merge(e *eval.Evaluation) error {
	if a.e == nil {
		a.e = e
		return nil
	}
	return a.e.Merge(e)
}

func merged(a, b State) (State, error) {
	if err := a.settle(); err != nil {
		return a, err
	}
	if err := b.settle(); err != nil {
		return a, err
	}
	if b.e == nil {
		return a, nil
	}
	return a, a.merge(b.e)
}

// bytes returns the form of a file; nil for no rows.
func (a *State) bytes() ([]byte, error) {
	if err := a.settle(); err != nil || a.e == nil {
		return nil, err
	}
	return a.e.AppendBinary(nil)
}

func encode(a State) ([]byte, error) { return a.bytes() }

func decode(b []byte) (State, error) {
	if len(b) == 0 {
		return State{}, nil
	}
	e, err := Open(b)
	return State{e: e}, err
}
