package eval

import (
	"bytes"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// TestAtLevel: answers at another level are those of an evaluation whose spec has it, also after other answers, which stay as they were.
func TestAtLevel(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
		list string
		add  func(e *Evaluation) error
	}{
		{"binary", Spec{Classes: 1}, "all,aurc(replicates=20)", func(e *Evaluation) error { return e.Add(predictions(1, 300, 1, false), nil) }},
		{"classes", Spec{Classes: 4}, "all", func(e *Evaluation) error { return e.Add(predictions(2, 300, 4, true), nil) }},
		{"exact", Spec{Classes: 1}, "ks(exact),auroc,ece(adaptive)", func(e *Evaluation) error { return e.Add(predictions(3, 300, 1, false), nil) }},
		{"members", Spec{Classes: 3, Members: 2}, "all", func(e *Evaluation) error {
			return e.AddMembers(ensemble.InMemory(team(4, 200, 3, 2, false)), nil)
		}},
		{"samples", Spec{Classes: 9, Kind: metrics.Samples}, "all", func(e *Evaluation) error { return e.Add(numbers(5, 200, 9, metrics.Samples), nil) }},
	} {
		at := map[float64]*Evaluation{}
		for _, level := range []float64{0.95, 0.999} {
			s := c.spec
			s.Level, s.Metrics, s.Seed = level, listOf(t, c.list, c.spec.Shape()), 3
			e, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.add(e); err != nil {
				t.Fatal(err)
			}
			at[level] = e
		}
		intervals := 0
		compare := func(got, want *Evaluation, level float64) {
			t.Helper()
			for _, m := range want.Spec.Metrics {
				g, w := got.Value(m), want.Value(m)
				if !same(g, w) {
					t.Errorf("%s: %s at %v is %+v, want %+v", c.name, m, level, g, w)
				}
				if w.Interval.Low == w.Interval.Low {
					intervals++
				}
			}
			for i, m := range want.Members() {
				for _, of := range m.Spec.Metrics {
					if g, w := got.Members()[i].Value(of), m.Value(of); !same(g, w) {
						t.Errorf("%s: member %d: %s at %v is %+v, want %+v", c.name, i, of, level, g, w)
					}
				}
			}
		}
		e := at[0.95]
		before, err := e.AppendBinary(nil)
		if err != nil && e.Spec.KeepsRows() == "" {
			t.Fatal(err)
		}
		compare(e.AtLevel(0.999), at[0.999], 0.999) // nothing has been asked of e
		compare(at[0.999].AtLevel(0.95), e, 0.95)   // everything has
		compare(e.AtLevel(0.999), at[0.999], 0.999)
		compare(e, at[0.999].AtLevel(0.95), 0.95)
		if after, _ := e.AppendBinary(nil); !bytes.Equal(before, after) {
			t.Errorf("%s: the state has changed", c.name)
		}
		if intervals == 0 {
			t.Errorf("%s: no metric has an interval", c.name)
		}
	}
	for _, level := range []float64{0, 1, -1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("level %v is taken", level)
				}
			}()
			(&Evaluation{}).AtLevel(level)
		}()
	}
}
