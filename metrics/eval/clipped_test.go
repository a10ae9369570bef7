package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/score"
)

// TestClippedNLL: nll(clip=) is score.ClippedNLL, of one score a row, of classes and of the mean of members, and in two parts that are merged.
func TestClippedNLL(t *testing.T) {
	const names = "nll(clip=0.01),nll(clip=0.01,rescale=before),nll(clip=0.01,rescale=after),nll(clip=0),nll"
	for _, k := range []int{1, 3} {
		p := predictions(4, 60, k, k == 3)
		s := Spec{Classes: k, Metrics: list(t, names, k)}
		cut := func(from, to int) *metrics.Predictions {
			q := *p
			q.Rows, q.F64, q.Labels = to-from, p.F64[from*k:to*k], p.Labels[from:to]
			if p.Weights != nil {
				q.Weights = p.Weights[from:to]
			}
			return &q
		}
		whole, e := fill(t, s, p), fill(t, s, cut(0, 25))
		if err := e.Merge(fill(t, s, cut(25, 60))); err != nil {
			t.Fatal(err)
		}
		for i, o := range []score.NLLOptions{{Clip: 0.01}, {Clip: 0.01, Rescale: score.RescaleFirst}, {Clip: 0.01, Rescale: score.RescaleLast}, {}, {}} {
			want, err := score.ClippedNLL(p, o, nil)
			if v := e.Value(s.Metrics[i]); err != nil || v.Value != want || v != whole.Value(s.Metrics[i]) || !(v.Interval.Low < want && want < v.Interval.High) {
				t.Errorf("%v of %d classes: %+v, want %v; %v", s.Metrics[i], k, v, want, err)
			}
		}
		if e.SHA256() != whole.SHA256() {
			t.Errorf("%d classes: the states of parts and of all rows differ", k)
		}
	}
	// A label of probability 0, which makes nll infinite, costs what the clip says.
	never := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0, 0.5}, Rows: 2, Classes: 1}, Labels: []int32{1, 1}}
	l := list(t, "nll,nll(clip=1e-7)", 1)
	e := fill(t, Spec{Classes: 1, Metrics: l}, never)
	if a, b := e.Value(l[0]), e.Value(l[1]); !math.IsInf(a.Value, 1) || math.Abs(b.Value-(7*math.Ln10+math.Ln2)/2) > 1e-15 || b.Reason != "" {
		t.Errorf("%+v and %+v", a, b)
	}

	m := &metrics.Members{Labels: []int32{1, 0}}
	for _, v := range [][]float64{{1, 0, 0.5, 0.5}, {1, 0, 1, 0}} {
		m.Each = append(m.Each, metrics.Scores{F64: v, Rows: 2, Classes: 2})
	}
	s := Spec{Classes: 2, Members: 2}
	s.Metrics = listOf(t, "nll(clip=0.0625)", s.Shape())
	e = fill(t, s, nil)
	if err := e.AddMembers(ensemble.InMemory(m), nil); err != nil {
		t.Fatal(err)
	}
	if v := e.Value(s.Metrics[0]).Value; math.Abs(v-(math.Log(16)-math.Log(0.75))/2) > 1e-15 {
		t.Errorf("%v of the mean of two members", v)
	}

	if _, err := ParseMetrics("nll(clip=1e-7)", Shape{Kind: metrics.Normals, Classes: 2}); err == nil || !strings.Contains(err.Error(), "metric nll: clip and rescale are for probabilities of classes") {
		t.Errorf("of a forecast: %v", err)
	}
}
