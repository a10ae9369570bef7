package recal

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/candor-go/candor/metrics"
)

type linearCase struct {
	Seed   int
	Logits [][]float64
	Labels []int32
	Vector linearGolden `json:"vector_scaling"`
	Matrix linearGolden `json:"matrix_scaling"`
}

type linearGolden struct {
	NLL    float64     `json:"nll"`
	Factor []float64   `json:"w"`
	Matrix [][]float64 `json:"W_columns_centered"`
	Biases []float64   `json:"b_centered"`
	Probs  [][]float64 `json:"probs_first5"`
}

func linearCases(t testing.TB) []linearCase {
	b, err := os.ReadFile("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Multiclass []linearCase }
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Multiclass
}

func (c *linearCase) data() *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: c.Labels}
	p.Rows, p.Classes = len(c.Logits), len(c.Logits[0])
	for _, r := range c.Logits {
		p.F64 = append(p.F64, r...)
	}
	return p
}

// linearProbs returns what a map makes of rows of logits, as probabilities.
func linearProbs(m Map, p *metrics.Predictions) []float64 {
	d := metrics.Scores{F64: make([]float64, p.Rows*p.Classes), Rows: p.Rows, Classes: p.Classes}
	m.Apply(&d, &p.Scores, p.Kind)
	return d.F64
}

func TestLinearGolden(t *testing.T) {
	for _, c := range linearCases(t) {
		if c.Vector.Probs == nil {
			continue
		}
		p := c.data()
		for _, g := range []struct {
			method Method
			want   *linearGolden
		}{{Vector{}, &c.Vector}, {Matrix{}, &c.Matrix}} {
			if g.want.Probs == nil {
				continue
			}
			m, err := g.method.Fit(InMemory(p), nil)
			if err != nil {
				t.Fatal(c.Seed, g.method, err)
			}
			got := linearProbs(m, p)
			var nll float64
			for i, y := range p.Labels {
				nll -= math.Log(got[i*p.Classes+int(y)])
			}
			nll /= float64(p.Rows)
			if d := math.Abs(nll/g.want.NLL - 1); d > 1e-12 {
				t.Errorf("%d %v: NLL %v, want %v, %.2g apart", c.Seed, g.method, nll, g.want.NLL, d)
			}
			for i, row := range g.want.Probs {
				for j, want := range row {
					if d := math.Abs(got[i*p.Classes+j] - want); d > 1e-6 {
						t.Errorf("%d %v: row %d class %d: %.2g from the golden one", c.Seed, g.method, i, j, d)
					}
				}
			}
			n, grad := m.(interface{ Passes() (int, float64) }).Passes()
			t.Log(c.Seed, g.method, p.Rows, p.Classes, "passes", n, "gradient", grad)
		}
	}
}
