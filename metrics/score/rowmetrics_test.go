package score_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// drawn returns random predictions of n rows, with k classes or samples.
func drawn(kind metrics.Kind, n, k int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(4, uint64(k)))
	p := &metrics.Predictions{Kind: kind, Scores: metrics.Scores{Rows: n, Classes: k}}
	for range n {
		for range k {
			v := r.NormFloat64()
			if kind == metrics.Probs {
				v = r.Float64() // a binary task
			}
			p.F64 = append(p.F64, v)
		}
		if kind == metrics.Samples {
			p.Observed = append(p.Observed, r.NormFloat64())
		} else {
			p.Labels = append(p.Labels, int32(r.IntN(max(2, k))))
		}
	}
	return p
}

// rowsOf returns the values of a metric for each row.
func rowsOf(t *testing.T, m metrics.RowMetric, p *metrics.Predictions) []float64 {
	t.Helper()
	dst := make([]float64, p.Rows)
	f := m.New()
	w := metrics.NewWalker(nil, m.Need, func(b *metrics.Block) { f(dst[b.Number(0):][:b.Rows], b) })
	w.Add(&metrics.Chunk{Predictions: *p})
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestRowMetricsAreTermsOfTheMeans(t *testing.T) {
	for _, p := range []*metrics.Predictions{drawn(metrics.Logits, 20_000, 7), drawn(metrics.Logits, 3000, 2), drawn(metrics.Probs, 3000, 1)} {
		l, spherical, ranked := metrics.Must(score.NewLoss(nil)), score.NewMean(score.SphericalRule), score.NewMean(score.RankedRule)
		clipped := metrics.Must(score.NewClipped(score.NLLOptions{Clip: 0.01}))
		if err := metrics.NewPass(nil, l, spherical, ranked, clipped).Add(p); err != nil {
			t.Fatal(err)
		}
		want := map[string]float64{"accuracy": l.Accuracy(), "topk_accuracy": l.TopK(5), "topk_accuracy(k=2)": l.TopK(2), "topk_accuracy( k = 02 )": l.TopK(2),
			"confidence": l.Confidence(), "overconfidence": l.Overconfidence(), "nll": l.NLL(), "nll(clip=0.01)": clipped.Value(), "nll(clip=0)": l.NLL(), " entropy ": l.Entropy(), "brier": l.Brier(score.BrierDefault),
			"brier(form=default)": l.Brier(score.BrierDefault), "brier(form=sum)": l.Brier(score.BrierSum), "brier(form=minus_one)": l.Brier(score.BrierMinusOne),
			"brier(form=per_class)": l.Brier(score.BrierPerClass), "brier()": l.Brier(score.BrierDefault),
			"spherical": spherical.Value(), "rps": ranked.Value()}
		if p.Classes <= 2 {
			want["brier(form=binary)"] = l.Brier(score.BrierBinary)
		} else {
			want["top5_accuracy"] = l.TopK(5)
		}
		for name, v := range want {
			m, err := score.ParseRowMetric(name, p.Kind, p.Classes)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, x := range rowsOf(t, m, p) {
				sum += x
			}
			if got := sum / float64(p.Rows); !(math.Abs(got-v) <= 1e-11*max(1, math.Abs(v))) {
				t.Errorf("%s of %d classes: rows have the mean %v, want %v", name, p.Classes, got, v)
			}
		}
	}
	p := drawn(metrics.Samples, 3000, 9)
	for name, f := range map[string]score.CRPSForm{"crps": score.CRPSV, "crps_fair": score.CRPSFair, "crps_pwm": score.CRPSPWM, "crps_rolled": score.CRPSRolled} {
		want := make([]float64, p.Rows)
		if _, err := score.CRPSRows(want, p, f, nil); err != nil {
			t.Fatal(err)
		}
		m, err := score.ParseRowMetric(name, p.Kind, p.Classes)
		if err != nil {
			t.Fatal(err)
		}
		if got := rowsOf(t, m, p); !slices.Equal(got, want) {
			t.Errorf("%s: %v ..., want %v ...", name, got[:5], want[:5])
		}
	}
}

func TestRowMetricsByName(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    metrics.Kind
		classes int
		want    string
	}{
		{"ece", metrics.Probs, 3, "metric ece: it has no value for each row"},
		{"crps", metrics.Probs, 3, "metric crps: it has no value"},
		{"nll", metrics.Samples, 3, "metric nll: it has no value"},
		{"nll", metrics.LogLiks, 3, "metric nll: it has no value"},
		{"", metrics.Probs, 3, "metric : it has no value"},
		{"entropy(k=1)", metrics.Probs, 3, "metric entropy: it takes no options"},
		{"nll(rescale=after)", metrics.Probs, 3, `metric nll: there is no option "rescale"; there is clip`},
		{"nll(clip=0.5)", metrics.Probs, 3, `clip is "0.5"; it is a number from 0 to 0.1`},
		{"brier(k=1)", metrics.Probs, 3, `metric brier: there is no option "k"; there is form`},
		{"brier(form)", metrics.Probs, 3, "metric brier: option form has no value"},
		{"brier(form=odd)", metrics.Probs, 3, `form is "odd"; it is one of default, sum`},
		{"brier(form=binary)", metrics.Probs, 3, "the form binary is for binary tasks"},
		{"brier(form=sum", metrics.Probs, 3, `"brier(form=sum": it is NAME or NAME(OPTION=VALUE)`},
		{"topk_accuracy(k=0)", metrics.Probs, 3, `k is "0"; it is a whole number from 1 to 1000`},
		{"topk_accuracy(k=x)", metrics.Probs, 3, `k is "x"`},
		{"top5_accuracy", metrics.Probs, 5, "it is for more than five classes"},
	} {
		_, err := score.ParseRowMetric(c.name, c.kind, c.classes)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, metrics.ErrNoRows) != strings.Contains(c.want, "it has no value") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	names := func(l []metrics.RowMetric) (s string) {
		for _, m := range l {
			s += " " + m.Name
			if again, err := score.ParseRowMetric(m.Name, metrics.Probs, 9); err != nil && !strings.HasPrefix(m.Name, "crps") || err == nil && again.Name != m.Name {
				t.Error(m.Name, err)
			}
		}
		return s
	}
	if got := names(score.RowMetrics(metrics.Logits, 3, true)); got != " accuracy confidence nll brier entropy" {
		t.Error(got)
	}
	if got := names(score.RowMetrics(metrics.Dirichlet, 9, false)); got != " accuracy top5_accuracy confidence overconfidence nll brier spherical rps entropy" {
		t.Error(got)
	}
	if got := names(score.RowMetrics(metrics.Samples, 9, false)); got != " crps crps_fair crps_rolled" {
		t.Error(got)
	}
	if l := score.RowMetrics(metrics.LogLiks, 9, false); l != nil {
		t.Error(names(l))
	}
	if l := score.RowNames(metrics.Samples); len(l) != 4 {
		t.Error(l)
	}
}
