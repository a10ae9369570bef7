package grouped_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// part returns rows [from, to) of predictions.
func part(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := p.Slice(from, to)
	return &q
}

// TestMany: of more than 1,000 groups the state is the same however rows are divided, also if no part has more, and the whole is the
// evaluation without groups.
func TestMany(t *testing.T) {
	for _, c := range []struct {
		name string
		spec eval.Spec
		p    *metrics.Predictions
	}{
		{"binary", eval.Spec{Classes: 1}, testrows.Random(1, 9000, 1, false)},
		{"weighted", eval.Spec{Classes: 1}, testrows.Random(1, 9000, 1, true)},
		{"classes", eval.Spec{Classes: 4}, testrows.Random(2, 9000, 4, false)},
		{"normals", eval.Spec{Classes: 3, Kind: metrics.Normals, Seed: 3}, testrows.Normals(3, 9000, true)},
	} {
		c.spec.Metrics, _ = eval.ParseMetrics("default,nll", c.spec.Shape())
		const groups = 1500
		of := func(i int) int32 { return int32(i / 2 * 7 % groups) }
		values := func(g int32) []string { return []string{strconv.Itoa(int(g)), "all"} }
		evaluate := func(from, to, size, threads int) *grouped.Evaluation {
			g, err := grouped.New(c.spec, []string{"site", "what"})
			if err != nil {
				t.Fatal(err)
			}
			err = g.AddSource(&source{p: part(c.p, from, to), size: size, group: func(i int) int32 { return of(from + i) }}, values, &metrics.Options{Threads: threads})
			if err != nil {
				t.Fatal(c.name, err)
			}
			return g
		}
		all := evaluate(0, 9000, 100_000, 1)
		if all.Len() != groups || len(all.Each()) != 0 {
			t.Fatalf("%s: %d groups, %d evaluations", c.name, all.Len(), len(all.Each()))
		}
		want := stateOf(t, all)
		if !bytes.Equal(stateOf(t, all.Whole()), stateOf(t, alone(t, c.spec, c.p))) {
			t.Errorf("%s: the whole is not the evaluation of all rows", c.name)
		}
		if g := evaluate(0, 9000, 77, 3); !bytes.Equal(stateOf(t, g), want) {
			t.Errorf("%s: the state depends on chunks or threads", c.name)
		}
		// Each part has at most 1,000 groups.
		sum, _ := grouped.New(c.spec, []string{"site", "what"})
		for _, cut := range []int{7200, 5400, 3600, 1800, 0} {
			g := evaluate(cut, cut+1800, 500, 2)
			if g.Len() > grouped.MostWhole {
				t.Fatalf("%s: %d groups in a part", c.name, g.Len())
			}
			var again grouped.Evaluation
			if err := again.UnmarshalBinary(stateOf(t, g)); err != nil {
				t.Fatal(c.name, err)
			}
			if err := sum.Merge(&again); err != nil {
				t.Fatal(c.name, err)
			}
		}
		if !bytes.Equal(stateOf(t, sum), want) {
			t.Errorf("%s: parts of few groups do not merge to all", c.name)
		}
		var again grouped.Evaluation
		if err := again.UnmarshalBinary(want); err != nil || !bytes.Equal(stateOf(t, &again), want) {
			t.Errorf("%s: a state read is another: %v", c.name, err)
		}
		for i := 0; i < len(want); i += 1 + len(want)/200 {
			b := bytes.Clone(want)
			b[i] ^= 1
			if again.UnmarshalBinary(b) == nil {
				t.Fatalf("%s: byte %d changed, and read", c.name, i)
			}
		}
	}
}

// TestBrief: what the sums of groups say is what their evaluations say.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		name, metrics, gone string
		spec                eval.Spec
		p                   *metrics.Predictions
	}{
		{"binary", "base_rate,mean_p,bias,accuracy,confidence,overconfidence,nll,brier,brier(form=sum),entropy,ece,ece_positive,perplexity,auroc", "auroc", eval.Spec{Classes: 1}, testrows.Random(1, 5000, 1, false)},
		{"weighted", "base_rate,mean_p,bias,accuracy,nll,brier,ece", "", eval.Spec{Classes: 1}, testrows.Random(1, 5000, 1, true)},
		{"classes", "accuracy,confidence,overconfidence,nll,brier,entropy,ece,spherical,ece(bins=20)", "ece(bins=20)", eval.Spec{Classes: 4}, testrows.Random(2, 5000, 4, false)},
		{"normals", "nll,crps,rmse,mae,coverage_90", "coverage_90", eval.Spec{Classes: 3, Kind: metrics.Normals}, testrows.Normals(3, 5000, true)},
	} {
		var err error
		if c.spec.Metrics, err = eval.ParseMetrics(c.metrics, c.spec.Shape()); err != nil {
			t.Fatal(err)
		}
		g, err := grouped.New(c.spec, []string{"site"})
		if err != nil {
			t.Fatal(err)
		}
		of := func(i int) int32 { return int32(i % 5 * (i % 3)) }
		if err := g.AddSource(&source{p: c.p, size: 999, group: of}, func(g int32) []string { return []string{strconv.Itoa(int(g))} }, nil); err != nil {
			t.Fatal(err)
		}
		briefs := g.Briefs()
		for i, e := range g.Each() {
			b := &briefs[i]
			if !slices.Equal(b.Values, e.Values) || b.Rows != e.Audit.Rows {
				t.Fatalf("%s: group %v of %d rows, want %v of %d", c.name, b.Values, b.Rows, e.Values, e.Audit.Rows)
			}
			for k, got := range b.Answers(g.Spec.Metrics, g.Spec.Level) {
				m := g.Spec.Metrics[k]
				want := e.Value(m)
				if m.String() == c.gone {
					if !math.IsNaN(got.Value) || got.Reason == "" {
						t.Errorf("%s: %v of sums is %v", c.name, m, got)
					}
					continue
				}
				if !(math.Abs(got.Value-want.Value) <= 1e-14*math.Abs(want.Value)) {
					t.Errorf("%s: %v of %v is %v, want %v", c.name, m, b.Values, got.Value, want.Value)
				}
				if i := got.Interval; !math.IsNaN(i.Low) && !(i.Low <= got.Value && got.Value <= i.High) {
					t.Errorf("%s: the interval of %v is %v around %v", c.name, m, i, got.Value)
				}
				if n := m.Name; n == "bias" || n == "base_rate" || n == "accuracy" || n == "mean_p" || n == "confidence" {
					if c.p.Weights != nil { // the squares of weights are not kept
						if got.Interval.Low == got.Interval.Low || got.Reason == "" {
							t.Errorf("%s: %v has the interval %v", c.name, m, got.Interval)
						}
					} else if got.Interval != want.Interval {
						t.Errorf("%s: the interval of %v is %v, want %v", c.name, m, got.Interval, want.Interval)
					}
				}
			}
		}
	}
}

// TestLong: groups of many rows, whose sums leave their words, and rows with infinite losses.
func TestLong(t *testing.T) {
	p := testrows.Random(4, 60_000, 1, false)
	p.F64[5], p.Labels[5] = 0, 1
	p.F64[6], p.Labels[6] = 1, 1
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("nll,brier,ece,bias", spec.Shape())
	g, _ := grouped.New(spec, []string{"site"})
	of := func(i int) int32 { return int32(i % 2) }
	if err := g.AddSource(&source{p: p, size: 7000, group: of}, func(g int32) []string { return []string{fmt.Sprint(g)} }, nil); err != nil {
		t.Fatal(err)
	}
	for i, e := range g.Each() {
		for k, got := range g.Briefs()[i].Answers(spec.Metrics, 0.95) {
			if want := e.Value(spec.Metrics[k]); got.Value != want.Value {
				t.Errorf("%v of group %d is %v, want %v", spec.Metrics[k], i, got.Value, want.Value)
			}
		}
	}
}
