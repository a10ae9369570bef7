package compared

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// rowsOf returns the rows of a model as values of columns, with its decisions.
func rowsOf(t *testing.T, p *metrics.Predictions, columns ...string) *metrics.Predictions {
	t.Helper()
	q := &metrics.Predictions{Labels: p.Labels, Weights: p.Weights}
	q.F64, q.Rows, q.Classes = make([]float64, p.Rows*len(columns)), p.Rows, len(columns)
	column := make([]float64, p.Rows)
	for k, name := range columns {
		if name == DecisionColumn {
			for i := range column {
				row := p.F64[i*p.Classes:][:p.Classes]
				if column[i] = float64(slices.Index(row, slices.Max(row))); p.Classes == 1 {
					column[i] = 0
					if row[0] >= 0.5 {
						column[i] = 1
					}
				}
			}
		} else {
			m, err := score.ParseRowMetric(name, metrics.Probs, p.Classes)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Rows(column, p, nil); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range column {
			q.F64[i*len(columns)+k] = v
		}
	}
	return q
}

// grouping gives the rows of a source clusters.
type grouping struct {
	metrics.Source
	of int
}

func (s grouping) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err != nil {
		return nil, err
	}
	n := *c
	n.Clusters = make([]int32, c.Rows)
	for i := range n.Clusters {
		n.Clusters[i] = int32(c.Number(i)) / int32(s.of)
	}
	return &n, nil
}

func withKnown(t *testing.T, s eval.Spec, baseline string, l []*metrics.Predictions, model int, columns []string, per int) *Comparison {
	t.Helper()
	names := []string{"a", "b", "c"}[:len(l)]
	c, err := New(s, names, baseline)
	if err != nil {
		t.Fatal(err)
	}
	var srcs []metrics.Source
	for m, p := range l {
		src := metrics.InMemory(p)
		switch {
		case m == model && columns != nil:
			c.Know(m, columns)
			src = metrics.InMemory(rowsOf(t, p, columns...))
		case per > 0:
			src = grouping{src, per}
		}
		srcs = append(srcs, src)
	}
	if err := c.AddSources(srcs, &metrics.Options{Threads: 3}); err != nil {
		t.Fatal(err)
	}
	return c
}

// Losses by row say the same of means of rows as the predictions that they were found from, wherever the model stands, with weights and
// clusters, and of a pair of other models everything.
func TestKnown(t *testing.T) {
	const list = "nll,brier,accuracy,perplexity,nll_skill,ece,aurc,calibration_error_squared"
	columns := []string{"brier", DecisionColumn, "accuracy", "nll"}
	of := []string{"nll", "brier", "accuracy", "perplexity"}
	for _, classes := range []int{1, 3} {
		for _, weighted := range []bool{false, true} {
			for _, per := range []int{0, 10} {
				for model := range 3 {
					l := models(uint64(7+model), 3000, classes, 3, weighted)
					s := specOf(t, classes, list)
					if per > 0 {
						s.Cluster = "video"
					}
					what := fmt.Sprintf("%d classes, weighted %v, clusters of %d, model %d", classes, weighted, per, model)
					all, got := withKnown(t, s, "", l, model, nil, per), withKnown(t, s, "", l, model, columns, per)
					w, g := all.Differences(nil), got.Differences(nil)
					for i := range w {
						name := w[i].Metric.String()
						whole := w[i].A != model && w[i].B != model
						switch {
						case whole || slices.Contains(of, name):
							a, b := w[i], g[i]
							a.Adjusted, b.Adjusted, a.Outcome, b.Outcome, a.RowsToDecide, b.RowsToDecide, a.ClustersToDecide, b.ClustersToDecide = 0, 0, "", "", 0, 0, 0, 0
							if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); x != y {
								t.Errorf("%s:\n%s\n%s", what, y, x)
							}
						case name == "nll_skill":
							if !(math.Abs(g[i].Value-w[i].Value) < 1e-14) || g[i].Error != w[i].Error {
								t.Errorf("%s: nll_skill differs by %v +- %v, want %v +- %v", what, g[i].Value, g[i].Error.SE, w[i].Value, w[i].Error.SE)
							}
						case !math.IsNaN(g[i].Value) || !strings.Contains(g[i].Reason, "it is not a mean of them"):
							t.Errorf("%s: %s is %v, %q", what, name, g[i].Value, g[i].Reason)
						}
					}
					if !reflect.DeepEqual(got.Flips(), all.Flips()) {
						t.Errorf("%s: flips %v, want %v", what, got.Flips(), all.Flips())
					}
					for m := range l {
						for _, name := range of {
							metric := eval.Metric{Name: name}
							v := got.Value(m, metric)
							if want := all.Value(m, metric); v.Value != want.Value {
								t.Errorf("%s: %s of model %d is %v, want %v", what, name, m, v.Value, want.Value)
							} else if m == model && (v.Interval.Low == v.Interval.Low || v.Reason == "") {
								t.Errorf("%s: %s has an interval", what, name)
							}
						}
					}
				}
			}
		}
	}
}

// Columns that are not there, and rows that have no values, values that no row has, or other labels or weights.
func TestKnownBad(t *testing.T) {
	l := models(3, 500, 3, 2, false)
	s := specOf(t, 3, "nll,accuracy")
	one := withKnown(t, s, "", l, 0, []string{"nll"}, 0)
	for _, d := range one.Differences(nil) {
		if d.Metric.Name == "accuracy" && !(math.IsNaN(d.Value) && d.Reason == "of a there is no accuracy by row") {
			t.Errorf("accuracy: %v, %q", d.Value, d.Reason)
		}
	}
	if len(one.Flips()) != 0 {
		t.Error("there are flips without decisions")
	}
	if _, err := one.AppendBinary(nil); err == nil {
		t.Error("there is a state")
	}
	if err := one.Merge(withKnown(t, s, "", l, 0, []string{"nll"}, 0)); !errors.Is(err, metrics.ErrMismatch) {
		t.Errorf("merged: %v", err)
	}
	add := func(change func(p *metrics.Predictions), o *metrics.Options) (*Comparison, error) {
		c, err := New(s, []string{"a", "b"}, "")
		if err != nil {
			t.Fatal(err)
		}
		columns := []string{"nll", "accuracy", DecisionColumn}
		c.Know(0, columns)
		p := rowsOf(t, l[0], columns...)
		p.Labels = slices.Clone(p.Labels)
		change(p)
		return c, c.AddSources([]metrics.Source{metrics.InMemory(p), metrics.InMemory(l[1])}, o)
	}
	set := func(row, column int, v float64) func(p *metrics.Predictions) {
		return func(p *metrics.Predictions) { p.F64[3*row+column] = v }
	}
	for _, bad := range []struct {
		change func(p *metrics.Predictions)
		says   string
	}{
		{set(7, 0, math.NaN()), "row 7 has no values in a"},
		{set(8, 0, math.Inf(-1)), "row 8 has the nll -Inf in a"},
		{set(9, 1, 0.5), "row 9 has the accuracy 0.5 in a"},
		{set(10, 2, 3), "row 10 has the decisions 3 in a"},
		{set(10, 2, 0.5), "row 10 has the decisions 0.5 in a"},
		{func(p *metrics.Predictions) { p.Labels[11] = (p.Labels[11] + 1) % 3 }, "row 11 has the label"},
		{func(p *metrics.Predictions) { p.Weights = make([]float64, 500); p.Weights[0] = 1 }, "one has weights"},
		{func(p *metrics.Predictions) { p.Rows, p.F64, p.Labels = 499, p.F64[:3*499], p.Labels[:499] }, "row 499 is in b and not in a"},
	} {
		c, err := add(bad.change, nil)
		if err == nil || !strings.Contains(err.Error(), bad.says) {
			t.Errorf("%v, want %q", err, bad.says)
		}
		if c.Rows() != 0 {
			t.Errorf("%q: %d rows were added", bad.says, c.Rows())
		}
	}
	c, err := add(set(7, 0, math.NaN()), &metrics.Options{Drop: true})
	if err != nil || c.Rows() != 499 || c.Models()[1].Audit.Dropped != 1 {
		t.Errorf("%v, %d rows", err, c.Rows())
	}
	if c, err = add(set(7, 0, math.Inf(1)), nil); err != nil {
		t.Fatal(err)
	}
	if d := c.Differences(nil)[0]; !math.IsInf(d.Value, -1) || d.OnlyA != 1 || !strings.HasPrefix(d.Reason, "a gives probability 0 to the true class of 1 row") {
		t.Errorf("an infinite loss: %v, %d, %q", d.Value, d.OnlyA, d.Reason)
	}
}
