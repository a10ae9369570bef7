package ensemble_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

const golden = "../../testdata/golden"

// members returns an ensemble of float64 scores, members x rows x classes.
func members(v [][][]float64, kind metrics.Kind, labels []int32) *metrics.Members {
	e := &metrics.Members{Kind: kind, Labels: labels}
	for _, m := range v {
		s := metrics.Scores{Rows: len(m), Classes: len(m[0])}
		for _, row := range m {
			s.F64 = append(s.F64, row...)
		}
		e.Each = append(e.Each, s)
	}
	return e
}

// each returns a measure's mean and its rows.
func each(t *testing.T, m ensemble.Measure, e *metrics.Members, o *ensemble.Options,
	d *ensemble.DiversityOptions) (float64, []float64) {
	t.Helper()
	dst := make([]float64, e.Each[0].Rows)
	v, err := ensemble.Each(dst, m, ensemble.InMemory(e), o, d)
	if err != nil {
		t.Fatal(err)
	}
	return v, dst
}

// compare counts the comparisons with the reference.
type compare struct {
	t *testing.T
	n int
}

func (c *compare) number(what string, got float64, want number) {
	c.t.Helper()
	c.value(what, got, float64(want))
}

// numbers compares with the reference, or with other if that is NaN, because 0 ln 0 is 0 here.
func (c *compare) numbers(what string, got []float64, want []number, other func(i int) float64) {
	c.t.Helper()
	if len(got) != len(want) {
		c.t.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if v := float64(w); v == v {
			c.value(what, got[i], v)
		} else {
			c.value(what, got[i], other(i))
		}
	}
}

func (c *compare) value(what string, got, want float64) {
	c.t.Helper()
	c.n++
	if got != want && !(got != got && want != want) && !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		c.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (c *compare) rows(what string, got, want []float64) {
	c.t.Helper()
	if len(got) != len(want) {
		c.t.Fatalf("%s: %d rows, want %d", what, len(got), len(want))
	}
	for i := range got {
		c.value(what, got[i], want[i])
	}
}

func average(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

type uncertainties struct {
	K            int
	Labels       []int32
	Logits       json.RawMessage
	Ensemble     []float64 `json:"ensemble_ce_vector"`
	EnsembleMean float64   `json:"ensemble_ce"`
	Gibbs        []float64 `json:"gibbs_ce_vector"`
	GibbsMean    float64   `json:"gibbs_ce"`
	Mutual       []float64 `json:"model_uncertainty"`
	Total        []float64 `json:"total_uncertainty"`
	Data         []float64 `json:"expected_data_uncertainty"`
}

func (u *uncertainties) logits(t *testing.T) [][][]float64 {
	var v [][][]float64
	if json.Unmarshal(u.Logits, &v) == nil {
		return v
	}
	var name string
	if err := json.Unmarshal(u.Logits, &name); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]float64, (len(b)-128)/8)
	if err := binary.Read(bytes.NewReader(b[128:]), binary.LittleEndian, all); err != nil {
		t.Fatal(err)
	}
	n := len(u.Labels)
	for len(all) > 0 {
		var m [][]float64
		for range n {
			m, all = append(m, all[:u.K]), all[u.K:]
		}
		v = append(v, m)
	}
	return v
}

// TestUncertaintyGolden compares cross entropies and uncertainties with those of uncertainty_metrics.
func TestUncertaintyGolden(t *testing.T) {
	var g struct {
		Ensemble []uncertainties
		Binary   struct {
			Logits   [][]float64
			Labels   []float64
			Ensemble []float64 `json:"ensemble_ce_vector"`
			Gibbs    []float64 `json:"gibbs_ce_vector"`
		} `json:"ensemble_binary"`
		Extreme struct {
			Logits [][][]float64 `json:"logits_M_N_K"`
			Mutual []float64     `json:"model_uncertainty"`
			Total  []float64
			Data   []float64
		}
	}
	check.Golden(t, "../../testdata/golden", "ensemble.json.gz", &g)
	c := &compare{t: t}
	check := func(e *metrics.Members, m ensemble.Measure, want []float64) {
		t.Helper()
		mean, rows := each(t, m, e, nil, nil)
		c.rows(m.String(), rows, want)
		c.value(m.String(), mean, average(want))
	}
	for _, u := range g.Ensemble {
		e := members(u.logits(t), metrics.Logits, u.Labels)
		check(e, ensemble.EnsembleNLL, u.Ensemble)
		check(e, ensemble.GibbsNLL, u.Gibbs)
		check(e, ensemble.MutualInformation, u.Mutual)
		check(e, ensemble.TotalUncertainty, u.Total)
		check(e, ensemble.DataUncertainty, u.Data)
		all, err := ensemble.UncertaintyOf(ensemble.InMemory(e), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.value("ensemble_ce", all.Value(ensemble.EnsembleNLL), u.EnsembleMean)
		c.value("gibbs_ce", all.Value(ensemble.GibbsNLL), u.GibbsMean)
	}
	two := make([][][]float64, len(g.Binary.Logits))
	labels := make([]int32, len(g.Binary.Labels))
	for m, v := range g.Binary.Logits {
		for i, x := range v {
			two[m] = append(two[m], []float64{x})
			labels[i] = int32(g.Binary.Labels[i])
		}
	}
	e := members(two, metrics.Logits, labels)
	check(e, ensemble.EnsembleNLL, g.Binary.Ensemble)
	check(e, ensemble.GibbsNLL, g.Binary.Gibbs)
	e = members(g.Extreme.Logits, metrics.Logits, []int32{0, 0})
	check(e, ensemble.MutualInformation, g.Extreme.Mutual)
	check(e, ensemble.TotalUncertainty, g.Extreme.Total)
	check(e, ensemble.DataUncertainty, g.Extreme.Data)
	if c.n < 220 {
		t.Errorf("%d values compared", c.n)
	}
	t.Logf("%d values compared", c.n)
}

type diversities struct {
	Disagreement number
	KL           number `json:"average_kl"`
	Cosine       number `json:"cosine_similarity"`
}

// number is a number that JSON may have as the text "NaN".
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(v)
	return err
}

// TestDiversityGolden compares diversity with uncertainty_metrics and robustness_metrics, in their modes.
func TestDiversityGolden(t *testing.T) {
	var g struct {
		Cases []struct {
			Probs  [][][]float64
			Labels []int32
			Pairs  []struct {
				I, J         int
				Disagreement number
				KL           []number `json:"kl_vector"`
				Clip         []number `json:"kl_clip_vector"`
				Reverse      []number `json:"reverse_kl_vector"`
				L1, L2, L3   number
				Cosine       number
				LogitKL      number   `json:"logit_kl_of_these_as_logits"`
				Given        number   `json:"double_fault_um"`
				Joint        number   `json:"double_fault_kuncheva"`
				Generalized  []number `json:"generalized_kl_edward2_vector"`
			}
			Average    diversities `json:"average_pairwise"`
			Error      float64
			Normalised diversities `json:"average_pairwise_normalised"`
			Bound      number      `json:"variance_bound"`
			Bregman    []number    `json:"rm_bregman_kl_variance_vector"`
		}
		Test struct {
			Probs  [][][]float64
			Labels []int32
			Value  float64
		} `json:"variance_bound_um_test"`
	}
	check.Golden(t, "../../testdata/golden", "diversity.json.gz", &g)
	c := &compare{t: t}
	for _, in := range g.Cases {
		e := members(in.Probs, metrics.Probs, in.Labels)
		plain := func(m, m2 int) func(i int) float64 {
			return func(i int) float64 { return divergence(in.Probs[m][i], in.Probs[m2][i]) }
		}
		for _, p := range in.Pairs {
			of := func(m ensemble.Measure, i, j int, d *ensemble.DiversityOptions) (float64, []float64) {
				t.Helper()
				one := func(m int) *metrics.Predictions {
					return &metrics.Predictions{Scores: e.Each[m], Labels: in.Labels}
				}
				dst := make([]float64, len(in.Labels))
				v, err := ensemble.Pair(dst, m, one(i), one(j), d)
				if err != nil {
					t.Fatal(err)
				}
				return v, dst
			}
			mean := func(m ensemble.Measure, d *ensemble.DiversityOptions) float64 {
				t.Helper()
				v, _ := of(m, p.I, p.J, d)
				return v
			}
			kl := func(i, j int, d *ensemble.DiversityOptions) []float64 {
				t.Helper()
				_, rows := of(ensemble.AverageKL, i, j, d)
				return rows
			}
			c.number("disagreement", mean(ensemble.Disagreement, nil), p.Disagreement)
			c.numbers("kl", kl(p.I, p.J, nil), p.KL, plain(p.I, p.J))
			c.numbers("kl, clipped", kl(p.I, p.J, &ensemble.DiversityOptions{Clip: 1e-7}), p.Clip, nil)
			c.numbers("kl, reversed", kl(p.J, p.I, nil), p.Reverse, plain(p.J, p.I))
			c.numbers("kl, generalized", kl(p.I, p.J, &ensemble.DiversityOptions{Generalized: true}), p.Generalized, plain(p.I, p.J))
			c.number("l1", mean(ensemble.LpDistance, nil), p.L1)
			c.number("l2", mean(ensemble.LpDistance, &ensemble.DiversityOptions{P: 2}), p.L2)
			c.number("l3", mean(ensemble.LpDistance, &ensemble.DiversityOptions{P: 3}), p.L3)
			c.number("cosine", mean(ensemble.CosineSimilarity, nil), p.Cosine)
			c.number("logit kl", mean(ensemble.LogitKL, nil), p.LogitKL)
			c.number("double fault", mean(ensemble.DoubleFault, nil), p.Joint)
			two := &metrics.Members{Each: []metrics.Scores{e.Each[p.I], e.Each[p.J]}, Labels: in.Labels}
			given := diversity(t, two, &ensemble.DiversityOptions{Conditional: true})
			c.number("double fault given", given.Value(ensemble.DoubleFault), p.Given)
		}
		d := diversity(t, e, nil)
		c.number("disagreement", d.Value(ensemble.Disagreement), in.Average.Disagreement)
		c.number("cosine_similarity", d.Value(ensemble.CosineSimilarity), in.Average.Cosine)
		c.number("normalised", d.DisagreementOver(in.Error), in.Normalised.Disagreement)
		c.number("normalised", d.Value(ensemble.CosineSimilarity), in.Normalised.Cosine)
		kl, rows := each(t, ensemble.AverageKL, e, nil, nil)
		mean := average(rows)
		if v := float64(in.Average.KL); v == v {
			mean = v
		}
		c.value("average_kl", kl, mean)
		bound, rows := each(t, ensemble.VarianceBound, e, nil, nil)
		if v := float64(in.Bound); v == v {
			c.value("variance_bound", bound, v)
		} else { // all members give the label 0
			c.value("variance_bound", bound, average(rows))
			for i, v := range rows {
				if zero := in.Labels[i] == 0; zero != (v == 0) {
					t.Errorf("variance bound of row %d: %v", i, v)
				}
			}
		}
		mean, rows = each(t, ensemble.BregmanKLVariance, e, nil, nil)
		c.numbers("bregman_kl_variance", rows, in.Bregman, func(i int) float64 {
			q := make([]float64, len(in.Probs[0][i]))
			s, v := 0.0, 0.0
			for k := range q {
				for _, p := range in.Probs {
					q[k] += math.Log(p[i][k]) / float64(len(in.Probs))
				}
				q[k] = math.Exp(q[k])
				s += q[k]
			}
			for k := range q {
				q[k] /= s
			}
			for _, p := range in.Probs {
				v += divergence(q, p[i]) / float64(len(in.Probs))
			}
			return v
		})
		c.value("bregman_kl_variance", mean, average(rows))
	}
	e := members(g.Test.Probs, metrics.Probs, g.Test.Labels) // rows do not sum to 1
	v, _ := each(t, ensemble.VarianceBound, e, &ensemble.Options{Options: metrics.Options{Unchecked: true}}, nil)
	c.value("variance_bound", v, g.Test.Value)
	if c.n < 600 {
		t.Errorf("%d values compared", c.n)
	}
	t.Logf("%d values compared", c.n)
}

func diversity(t testing.TB, e *metrics.Members, d *ensemble.DiversityOptions) *ensemble.Diversity {
	t.Helper()
	a, err := ensemble.DiversityOf(ensemble.InMemory(e), nil, d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// divergence is KL(p || q) with 0 ln 0 = 0.
func divergence(p, q []float64) float64 {
	s := 0.0
	for k, v := range p {
		if v > 0 {
			s += v * math.Log(v/q[k])
		}
	}
	return s
}
