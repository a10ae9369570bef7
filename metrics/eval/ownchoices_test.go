package eval_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// ofChoices evaluates rows whose columns are choices by all metrics.
func ofChoices(t *testing.T, p *metrics.Predictions, choices eval.Choices) *eval.Evaluation {
	t.Helper()
	s := eval.Spec{Classes: p.Classes, Choices: choices, Seed: 3}
	var err error
	if s.Metrics, err = eval.ParseMetrics("all,topk_accuracy(k=2),spce,brier(form=sum),brier(form=per_class),nll(clip=1e-7)", eval.Shape{Classes: p.Classes}); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// permuted returns the rows with the choices of each in an order of its own, after columns of probability 0 were appended.
func permuted(seed uint64, p *metrics.Predictions, more int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	k := p.Classes + more
	q := &metrics.Predictions{Scores: metrics.Scores{Rows: p.Rows, Classes: k}, Kind: p.Kind}
	absent := map[metrics.Kind]float64{metrics.Probs: 0, metrics.Logits: math.Inf(-1)}[p.Kind]
	for i := range p.Rows {
		row := make([]float64, k)
		order := r.Perm(k)
		for j, to := range order {
			row[to] = absent
			if j < p.Classes {
				row[to] = p.F64[i*p.Classes+j]
			}
		}
		q.F64 = append(q.F64, row...)
		q.Labels = append(q.Labels, int32(order[p.Labels[i]]))
	}
	return q
}

// TestChoices holds that a metric of choices depends neither on the order of the choices of a row nor on columns for the choices that other rows
// have more. What does is of classes, and has the reason.
func TestChoices(t *testing.T) {
	for _, k := range []int{2, 3, 7} {
		p := testrows.Random(uint64(k), 400, k, false)
		logits := *p
		logits.Kind, logits.F64 = metrics.Logits, nil
		for _, v := range p.F64 {
			logits.F64 = append(logits.F64, math.Log(v)-1)
		}
		want := ofChoices(t, p, eval.ChoiceSums)
		none := 0
		for name, q := range map[string]*metrics.Predictions{"permuted": permuted(1, p, 0), "wider": permuted(2, p, 3), "logits": &logits, "wider logits": permuted(3, &logits, 2)} {
			got := ofChoices(t, q, eval.ChoiceSums)
			for _, m := range want.Spec.Metrics {
				if eval.Describe(m.Name).In(got.Spec.Shape()) == nil || !has(got.Spec.Metrics, m.String()) {
					if q.Classes == k {
						t.Errorf("%s, %d choices: no %v", name, k, m)
					}
					continue
				}
				a, b := want.Value(m), got.Value(m)
				if strings.Contains(a.Reason, "choices are not classes") {
					none++
					if !math.IsNaN(a.Value) || b.Reason != a.Reason {
						t.Errorf("%s, %d choices: %v is %v, %q", name, k, m, a.Value, b.Reason)
					}
					continue
				}
				if !near(a.Value, b.Value) || !near(a.Interval.Low, b.Interval.Low) || !near(a.Interval.High, b.Interval.High) {
					t.Errorf("%s, %d choices: %v is %v %v, and %v %v", name, k, m, a.Value, a.Interval, b.Value, b.Interval)
				}
			}
		}
		if none == 0 {
			t.Error("every metric has a value")
		}
	}
}

func has(l []eval.Metric, name string) bool {
	for _, m := range l {
		if m.String() == name {
			return true
		}
	}
	return false
}

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*math.Max(1e-3, math.Abs(a))
}

// TestChoicesOfClasses names metrics that documents must have without a value.
func TestChoicesOfClasses(t *testing.T) {
	e := ofChoices(t, testrows.Random(1, 300, 2, false), eval.ChoiceChars)
	for _, name := range []string{"base_rate", "mean_p", "bias", "oe_ratio", "ece_positive", "ace", "sce", "tace", "balanced_accuracy", "rps", "brier_skill", "nll_skill", "brier_resolution",
		"auroc", "auprc", "oracle_auc", "sharpness_class1", "brier(form=per_class)"} {
		m, err := eval.ParseMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		if v := e.Value(m); !math.IsNaN(v.Value) || !strings.Contains(v.Reason, "choices are not classes") {
			t.Errorf("%s: %v %q", name, v.Value, v.Reason)
		}
		if e.Text(m) == "" {
			t.Errorf("%s has no definition", name)
		}
	}
	list, err := eval.ParseMetrics("ks(event=positive)", eval.Shape{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eval.New(eval.Spec{Classes: 2, Choices: eval.ChoiceSums, Metrics: list}); err == nil || !strings.Contains(err.Error(), "no positive class") {
		t.Error(err)
	}
}

func TestChoicesState(t *testing.T) {
	p := testrows.Random(4, 200, 4, false)
	for _, c := range []eval.Choices{eval.ChoiceSums, eval.ChoiceChars, eval.ChoiceBytes} {
		e := ofChoices(t, p, c)
		b, err := e.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var back eval.Evaluation
		if err := back.UnmarshalBinary(b); err != nil || back.Spec.Choices != c {
			t.Fatal(back.Spec.Choices, err)
		}
		again, err := back.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Error("another state", err)
		}
		for _, other := range []eval.Choices{eval.NoChoices, (c % 3) + 1} {
			if err := e.Merge(ofChoices(t, p, other)); !errors.Is(err, metrics.ErrMismatch) {
				t.Errorf("%v merges with %v: %v", c, other, err)
			}
		}
		if err := e.Merge(&back); err != nil || e.Audit.Rows != 400 {
			t.Error(err)
		}
	}
	for _, s := range []eval.Spec{{Classes: 1, Choices: 1}, {Classes: 3, Choices: 4}, {Classes: 3, Choices: 1, Members: 2}, {Classes: 3, Choices: 1, Names: []string{"a", "b", "c"}},
		{Classes: 3, Choices: 1, Kind: metrics.Normals}} {
		if _, err := eval.New(s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}
