package score_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// number is a float64 that may be spelled "Inf".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == `"Inf"` {
		*n = number(math.Inf(1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// vectors are rows of probabilities; a number p is widened to [1-p, p], as the reference does.
type vectors [][]float64

func (v *vectors) UnmarshalJSON(b []byte) error {
	var one []float64
	if json.Unmarshal(b, &one) == nil {
		for _, p := range one {
			*v = append(*v, []float64{1 - p, p})
		}
		return nil
	}
	return json.Unmarshal(b, (*[][]float64)(v))
}

func (v vectors) predictions(labels []int32) *metrics.Predictions {
	p := &metrics.Predictions{Labels: labels}
	p.Rows, p.Classes = len(v), len(v[0])
	for _, row := range v {
		p.F64 = append(p.F64, row...)
	}
	return p
}

type golden struct {
	Brier []struct {
		Input       string
		Scores      []number `json:"score_vector"`
		Mean        number   `json:"score_mean"`
		Sum         number   `json:"score_mean_0_2_convention"`
		PerClass    number   `json:"score_div_k"`
		Uncertainty number   `json:"um_uncertainty"`
		Resolution  number   `json:"um_resolution"`
		Reliability number   `json:"um_reliability"`
		Right       number   `json:"fixed_resolution"`
		True        number   `json:"true_reliability_no_eps"`
		Within      number   `json:"within_bin_covariance_term"`
		Left        number   `json:"identity_residual_fixed"`
		LeftAsCoded number   `json:"identity_residual_as_coded"`
		NLL         number   `json:"nll_mean"`
		NLLs        []number `json:"nll_vector"`
		First       number   `json:"nll_mean_keras_categorical_norm_then_clip_1e-7"`
		Last        number   `json:"nll_mean_keras_sparse_clip_1e-7_then_norm"`
		Accuracy    number
	}
	Logits struct {
		Logits vectors
		Labels []int32
		Scores []number  `json:"score_vector"`
		UM     [3]number `json:"um_decomposition"`
		TFP    [3]number `json:"tfp_decomposition_retyped"`
	} `json:"brier_logits"`
}

// agree reports whether a result agrees with the reference within 1e-12, relatively if it is above 1.
func agree(got float64, want number) bool {
	w := float64(want)
	return got == w || math.Abs(got-w) <= 1e-12*math.Max(1, math.Abs(w))
}

func TestGoldenBrier(t *testing.T) {
	var g golden
	check.Golden(t, "../../testdata/golden", "brier.json.gz", &g)
	var small struct {
		Inputs map[string]struct {
			Probs  vectors
			Labels []int32
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_small.json.gz", &small)
	if len(g.Brier) != 21 {
		t.Fatalf("%d cases", len(g.Brier))
	}
	o := &metrics.Options{Unchecked: true} // some rows do not sum to 1
	for _, c := range g.Brier {
		in := small.Inputs[c.Input]
		p := in.Probs.predictions(in.Labels)
		l, d := metrics.Must(score.NewLoss(nil)), score.NewDecomposition()
		if err := metrics.NewPass(o, l, d).Add(p); err != nil {
			t.Fatal(err)
		}
		must := func(v float64, err error) float64 {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		rows, nlls := make([]float64, p.Rows), make([]float64, p.Rows)
		terms, um := d.Terms(score.BrierMinusOne), d.AsCoded(score.CodedUM)
		for i, x := range []struct {
			name string
			got  float64
			want number
		}{
			{"mean", must(score.BrierRows(rows, p, score.BrierMinusOne, o)), c.Mean},
			{"loss", l.Brier(score.BrierMinusOne), c.Mean},
			{"sum", must(score.BrierRows(nil, p, score.BrierSum, o)), c.Sum},
			{"per class", must(score.BrierRows(nil, p, score.BrierPerClass, o)), c.PerClass},
			{"uncertainty", terms.Uncertainty, c.Uncertainty},
			{"resolution", terms.Resolution, c.Right},
			{"reliability", terms.Reliability, c.True},
			{"within", terms.WithinBin, c.Within},
			{"what is left", terms.Brier() - float64(c.Mean), c.Left},
			{"coded uncertainty", um.Uncertainty, c.Uncertainty},
			{"coded resolution", um.Resolution, c.Resolution},
			{"coded reliability", um.Reliability, c.Reliability},
			{"what is left as coded", float64(c.Mean) - um.Brier(), c.LeftAsCoded},
			{"nll", must(score.NLLRows(nlls, p, o)), c.NLL},
			{"nll, no options", must(score.ClippedNLLRows(nil, p, score.NLLOptions{}, o)), c.NLL},
			{"nll, sum", must(score.ClippedNLLRows(nil, p, score.NLLOptions{Sum: true}, o)) / float64(p.Rows), c.NLL},
			{"categorical", must(score.ClippedNLLRows(nil, p, score.NLLOptions{Clip: 1e-7, Rescale: score.RescaleFirst}, o)), c.First},
			{"sparse", must(score.ClippedNLLRows(nil, p, score.NLLOptions{Clip: 1e-7, Rescale: score.RescaleLast}, o)), c.Last},
			{"accuracy", l.Accuracy(), c.Accuracy},
		} {
			if !agree(x.got, x.want) {
				t.Errorf("%s: %d, %s is %v, want %v", c.Input, i, x.name, x.got, float64(x.want))
			}
		}
		for i := range rows {
			if !agree(rows[i], c.Scores[i]) || !agree(nlls[i], c.NLLs[i]) {
				t.Errorf("%s: row %d has %v and %v, want %v and %v", c.Input, i, rows[i], nlls[i], c.Scores[i], c.NLLs[i])
			}
		}
	}
}

func TestGoldenBrierLogits(t *testing.T) {
	var g golden
	check.Golden(t, "../../testdata/golden", "brier.json.gz", &g)
	p := g.Logits.Logits.predictions(g.Logits.Labels)
	p.Kind = metrics.Logits
	d := score.NewDecomposition()
	if err := metrics.NewPass(nil, d).Add(p); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		got  score.BrierTerms
		want [3]number
	}{"um": {d.AsCoded(score.CodedUM), g.Logits.UM}, "tfp": {d.AsCoded(score.CodedTFP), g.Logits.TFP}} {
		if !agree(c.got.Uncertainty, c.want[0]) || !agree(c.got.Resolution, c.want[1]) || !agree(c.got.Reliability, c.want[2]) ||
			c.got.WithinBin != 0 {
			t.Errorf("%s: %+v, want %v", name, c.got, c.want)
		}
	}
	rows := make([]float64, p.Rows)
	if _, err := score.BrierRows(rows, p, score.BrierMinusOne, nil); err != nil {
		t.Fatal(err)
	}
	for i, v := range rows {
		if !agree(v, g.Logits.Scores[i]) {
			t.Errorf("row %d has %v, want %v", i, v, g.Logits.Scores[i])
		}
	}
}
