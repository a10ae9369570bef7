package recal_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// TestDirichletGolden: the probabilities of dirichletcal 0.5.3, whose search ends within 1e-8 of the optimum that scipy finds, with and without
// penalties, of both kinds. testdata/make_dirichlet.py made them.
func TestDirichletGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/dirichlet.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			OffDiagonal           float64 `json:"off_diagonal"`
			Bias                  float64
			RefRow                bool `json:"ref_row"`
			Scores, X             [][]float64
			Labels                []int32
			Dirichletcal, Optimum [][]float64
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 6 {
		t.Fatal("cases are missing")
	}
	for i, c := range g.Cases {
		m := recal.Dirichlet{OffDiagonal: c.OffDiagonal, Bias: c.Bias, RefRow: c.RefRow}
		p := &metrics.Predictions{Scores: *flat(c.Scores), Labels: c.Labels}
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := applied(f, flat(c.X))
		for k, want := range slices.Concat(c.Dirichletcal...) {
			if best := slices.Concat(c.Optimum...)[k]; math.Abs(got[k]-want) > 1e-7 || math.Abs(got[k]-best) > 1e-7 {
				t.Errorf("case %d, %s: %v, dirichletcal %v, the optimum %v", i, m, got[k], want, best)
			}
		}
		// The other reference is another map, where there are penalties.
		other := m
		other.RefRow = !m.RefRow
		o, err := other.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		far := 0.0
		for k, v := range applied(o, flat(c.X)) {
			far = max(far, math.Abs(v-got[k]))
		}
		if (far > 1e-5) != (c.OffDiagonal > 0) {
			t.Errorf("case %d: the other reference is %v away", i, far)
		}
	}
}

// TestDirichletInputs: for probabilities it is matrix scaling, and logits with any number added to a row are the same rows.
func TestDirichletInputs(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const n, k = 500, 4
	logits := &metrics.Predictions{Labels: make([]int32, n), Kind: metrics.Logits}
	logits.Rows, logits.Classes, logits.F64 = n, k, make([]float64, n*k)
	probs := &metrics.Predictions{Labels: logits.Labels}
	probs.Rows, probs.Classes, probs.F64 = n, k, make([]float64, n*k)
	for i := range n {
		shift, sum := 20*r.NormFloat64(), 0.0
		row := probs.F64[k*i:][:k]
		for j := range row {
			z := 1.5 * r.NormFloat64()
			row[j] = math.Exp(z)
			sum += row[j]
			logits.F64[k*i+j] = z + shift
		}
		u := r.Float64()
		for j := range row {
			row[j] /= sum
			if u -= 0.7*row[j] + 0.3/k; u < 0 {
				logits.Labels[i], u = int32(j), math.Inf(1)
			}
		}
	}
	fit := func(m recal.Method, p *metrics.Predictions) recal.Map {
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := fit(recal.Dirichlet{OffDiagonal: 0.3, Bias: 0.1}, probs), fit(recal.Matrix{OffDiagonal: 0.3, Bias: 0.1}, probs)
	if got, want := applied(a, &probs.Scores), applied(b, &probs.Scores); !slices.Equal(got, want) {
		t.Error("of probabilities it is not matrix scaling")
	}
	c := fit(recal.Dirichlet{OffDiagonal: 0.3, Bias: 0.1}, logits)
	d := &metrics.Scores{Rows: n, Classes: k, F64: make([]float64, n*k)}
	for name, by := range map[string]recal.Map{"logits": c, "probabilities": a} {
		by.Apply(d, &logits.Scores, metrics.Logits)
		for i, v := range applied(a, &probs.Scores) {
			if math.Abs(d.F64[i]-v) > 1e-8 {
				t.Fatalf("fitted to %s: %v of logits, and %v of probabilities", name, d.F64[i], v)
			}
		}
	}
	if recal.Parameters(c) != k*k-1 {
		t.Error(recal.Parameters(c))
	}
}
