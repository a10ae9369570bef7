package remedy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/remedy"
)

// sharp draws n rows of k classes whose logits are twice what they should be; k is 1 for a binary task.
func sharp(seed uint64, n, k int, factor float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 0))
	var p []float64
	var y []int32
	for range n {
		z := make([]float64, max(k, 2))
		for j := range z {
			z[j] = 1.5 * r.NormFloat64()
		}
		sum, said := 0.0, 0.0
		for _, v := range z {
			sum, said = sum+math.Exp(v), said+math.Exp(factor*v)
		}
		u, label := r.Float64()*sum, 0
		for u -= math.Exp(z[label]); u > 0 && label < len(z)-1; u -= math.Exp(z[label]) {
			label++
		}
		y = append(y, int32(label))
		for j, v := range z {
			if k > 1 || j == 1 {
				p = append(p, math.Exp(factor*v)/said)
			}
		}
	}
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: n, Classes: k}, Labels: y}
}

func evaluated(t *testing.T, s eval.Spec, p ...*metrics.Predictions) *eval.Evaluation {
	t.Helper()
	s.Classes = p[0].Scores.Classes
	s.Metrics = metrics.Must(eval.ParseMetrics("default", s.Shape()))
	e := metrics.Must(eval.New(s))
	for _, p := range p {
		if err := e.Add(p, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// TestOf holds the remedies to maps that are fitted to the rows and applied to them, or to rows that they were not fitted to.
func TestOf(t *testing.T) {
	for _, k := range []int{1, 2, 6} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			p := sharp(uint64(k), 800, k, 2)
			e := evaluated(t, eval.Spec{}, p)
			r := remedy.Of(e)
			value := func(e *eval.Evaluation, key string) float64 {
				return e.Value(metrics.Must(eval.ParseMetrics(key, e.Spec.Shape()))[0]).Value
			}
			if r.Before.NLL != value(e, "nll") || r.Before.ECE != value(e, "ece") || k == 1 && r.Before.Brier != value(e, "brier") {
				t.Errorf("before: %+v", r.Before)
			}
			for i, m := range []recal.Method{recal.Platt{TopLabel: k > 1}, recal.Beta{TopLabel: k > 1}} {
				x := &r.List[i]
				if x.Method != m.String() || x.Reason != "" {
					t.Fatalf("%+v", x)
				}
				after := func(src metrics.Source) *eval.Evaluation {
					own := metrics.Must(eval.New(e.Spec))
					if err := own.AddSource(src, nil); err != nil {
						t.Fatal(err)
					}
					return own
				}
				in := recal.InMemory(p)
				rows := after(recal.Applied(metrics.Must(m.Fit(in, nil)), metrics.Must(in.Open())))
				folds := recal.Folds{K: 20}
				others := after(metrics.Must(recal.CrossApplied(metrics.Must(recal.CrossFit(m, in, folds, nil)), in, folds).Open()))
				near := func(what string, got, want, tolerance float64) {
					if !(math.Abs(got-want) <= tolerance) {
						t.Errorf("%v: %s is %v; want %v", m, what, got, want)
					}
				}
				near("nll of the fitted rows", x.Fitted.NLL, value(rows, "nll"), 1e-6)
				near("nll of other rows", x.After.NLL, value(others, "nll"), 1e-3)
				if k == 1 {
					near("brier of the fitted rows", x.Fitted.Brier, value(rows, "brier"), 1e-6)
					near("ece of the fitted rows", x.Fitted.ECE, value(rows, "ece"), 1e-4)
				}
				if !x.Helps() || !(x.Fitted.NLL < x.After.NLL) || math.Abs(x.NLL.Value-(x.After.NLL-r.Before.NLL)) > 1e-12 {
					t.Errorf("%+v", x)
				}
			}
			if b := r.Best(); b == nil || r.Chosen() != b.Method {
				t.Errorf("best: %+v", b)
			}
		})
	}
}

// TestNoGain: of rows that are calibrated no curve helps, except by chance.
func TestNoGain(t *testing.T) {
	helped := 0
	for seed := range uint64(60) {
		for _, m := range remedy.Of(evaluated(t, eval.Spec{}, sharp(seed, 500, 1, 1))).List {
			if m.Helps() {
				helped++
			}
		}
	}
	if helped > 3 { // 2.5% of 120 by the interval, and fewer since curves fit chance as well
		t.Errorf("%d of 120 curves help rows that are calibrated", helped)
	}
}

func TestMerged(t *testing.T) {
	all := sharp(4, 900, 3, 2)
	cut := func(from, to int) *metrics.Predictions {
		return &metrics.Predictions{Scores: metrics.Scores{F64: all.Scores.F64[3*from : 3*to], Rows: to - from, Classes: 3}, Labels: all.Labels[from:to]}
	}
	a, b := evaluated(t, eval.Spec{}, cut(0, 200)), evaluated(t, eval.Spec{}, cut(200, 900))
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	document := func(e *eval.Evaluation) []byte {
		d := report.New(e)
		d.Remedies = remedy.Of(e)
		return metrics.Must(json.Marshal(d))
	}
	if !bytes.Equal(document(b), document(evaluated(t, eval.Spec{}, all))) {
		t.Error("the document of merged states is another one")
	}
}

func TestOdd(t *testing.T) {
	weighted := sharp(8, 500, 1, 2)
	weighted.Weights = make([]float64, 500)
	for i := range weighted.Weights {
		weighted.Weights[i] = 1 + float64(i%4)
	}
	r := remedy.Of(evaluated(t, eval.Spec{}, weighted))
	for _, m := range r.List {
		if m.After.NLL == m.After.NLL || m.Helps() || !(m.NLL.Value < 0) || !(m.Fitted.NLL < r.Before.NLL) {
			t.Errorf("with weights: %+v", m)
		}
	}
	if r.Best() != nil || r.Chosen() != "platt" {
		t.Errorf("with weights %v is best, %v chosen", r.Best(), r.Chosen())
	}
	certain := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0, 1, 1, .3, .6, .4, .2}, Rows: 7, Classes: 1}, Labels: []int32{0, 1, 0, 1, 0, 0, 1}}
	if r = remedy.Of(evaluated(t, eval.Spec{}, certain)); r.Certain != 3 || !math.IsInf(r.Before.NLL, 1) || r.Event != calib.Positive {
		t.Errorf("certain rows: %+v", r)
	}
	for _, m := range r.List {
		if m.Reason == "" && (!math.IsInf(m.Fitted.NLL, 1) || m.NLL.Value == m.NLL.Value) {
			t.Errorf("certain rows: %+v", m)
		}
	}
	same := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0, 1, 1}, Rows: 3, Classes: 1}, Labels: []int32{0, 1, 1}}
	for _, m := range remedy.Of(evaluated(t, eval.Spec{}, same)).List {
		if m.Reason == "" {
			t.Errorf("only 0 and 1: %+v", m)
		}
	}
	if remedy.Of(metrics.Must(eval.New(eval.Spec{Classes: 3, Kind: metrics.Normals}))) != nil {
		t.Error("forecasts have remedies")
	}
}
