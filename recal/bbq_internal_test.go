package recal

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// bbqCase is a case of Naeini's code.
type bbqCase struct {
	P     []float64 `json:"p"`
	Y     []float64 `json:"y"`
	XTest []float64 `json:"x_test"`
	BBQ   struct {
		Requested  []int     `json:"requested_bins"`
		Actual     []int     `json:"actual_bins"`
		Scores     []float64 `json:"scores"`
		Likelihood []float64 `json:"relative_likelihood"`
		Kept       []int     `json:"kept_model_indices"`
		Predict    []float64 `json:"predict"`
		BestCuts   []float64 `json:"best_model_cuts"`
		BestP      []float64 `json:"best_model_P"`
	} `json:"bbq"`
}

func bbqCases(t *testing.T) []bbqCase {
	t.Helper()
	f, err := os.Open("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Binary []bbqCase `json:"binary"`
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	if len(all.Binary) == 0 {
		t.Fatal("there are no cases")
	}
	return all.Binary
}

// bbqRowsOf returns rows in rising order, those of a score together or as they are.
func bbqRowsOf(p, y []float64, together bool) *bbqRows {
	by := make([]int, len(p))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	r := &bbqRows{}
	for i := 0; i < len(by); {
		v, n, n1 := p[by[i]], int64(0), int64(0)
		for ; i < len(by) && p[by[i]] == v && (together || n == 0); i++ {
			n, n1 = n+1, n1+int64(y[by[i]])
		}
		r.add(v, n, n1)
	}
	return r
}

func bbqNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestBBQGolden(t *testing.T) {
	for _, c := range bbqCases(t) {
		r := bbqRowsOf(c.P, c.Y, false)
		m := BBQ{Prune: true, AsCoded: true}
		models := m.models(r)
		if len(models) != len(c.BBQ.Requested) {
			t.Fatalf("%d models, want %d", len(models), len(c.BBQ.Requested))
		}
		w := bbqWeights(models)
		best := 0
		for i, o := range models {
			if len(o.p) != c.BBQ.Actual[i] {
				t.Errorf("%d bins, want %d", len(o.p), c.BBQ.Actual[i])
			}
			bbqNear(t, "score", o.score, c.BBQ.Scores[i], 1e-12)
			bbqNear(t, "likelihood", w[i], c.BBQ.Likelihood[i], 1e-11)
			if w[i] > w[best] {
				best = i
			}
		}
		if kept := bbqElbow(w, true); !slices.Equal(kept, c.BBQ.Kept) {
			t.Errorf("kept %v, want %v", kept, c.BBQ.Kept)
		}
		if got := bbqElbow(w, false); len(got) != len(c.BBQ.Kept)+1 {
			t.Errorf("pruned to %d models, want one more than the %d as coded", len(got), len(c.BBQ.Kept))
		}
		for i, e := range models[best].ends {
			bbqNear(t, "cut", r.cut(e), c.BBQ.BestCuts[i], 1e-15)
		}
		for i, p := range models[best].p {
			bbqNear(t, "probability", p, c.BBQ.BestP[i], 1e-13)
		}
		s := m.steps(r)
		for i, x := range c.XTest {
			bbqNear(t, "predict", s.at(x), c.BBQ.Predict[i], 1e-12)
		}
	}
}

func TestLnGamma(t *testing.T) {
	for x := 0.01; x < 2e6; x *= 1.37 {
		want, _ := math.Lgamma(x)
		bbqNear(t, "ln G", lnGamma(x), want, 1e-14)
	}
	f := new(big.Float).SetInt64(1)
	for i := int64(1); i <= 20; i++ { // factorials are floats up to 22!
		v, _ := f.Float64()
		bbqNear(t, "factorial", lnGamma(float64(i)), math.Log(v), 1e-14)
		f.Mul(f, new(big.Float).SetInt64(i))
	}
}

func TestBBQMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("a million rows")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p, y := make([]float64, 1e6), make([]float64, 1e6)
	for i := range p {
		p[i] = rng.Float64()
		if rng.Float64() < p[i]*p[i] {
			y[i] = 1
		}
	}
	r := bbqRowsOf(p, y, true)
	start := time.Now()
	s := BBQ{}.steps(r)
	t.Logf("%v for a million rows: %d steps", time.Since(start), len(s.Values))
}
