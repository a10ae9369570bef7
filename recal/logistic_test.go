package recal_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/recal"
)

// logisticCase is a case of the oracle, see testdata/golden/README.md.
type logisticCase struct {
	Name                  string
	P, Weights            []float64
	Y                     []int32
	Beta, Platt, Smoothed struct{ A, B, C float64 }
}

func logisticCases(t *testing.T) (l []logisticCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "golden", "logistic.json"))
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func logisticRows(p []float64, y []int32, w []float64) *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y, Weights: w}
}

func logisticMap(t *testing.T, m recal.Method, p *metrics.Predictions) *recal.CurveMap {
	t.Helper()
	f, err := m.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	return f.(*recal.CurveMap)
}

func logisticClose(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v; want %v", what, got, want)
	}
}

func TestLogisticOracle(t *testing.T) {
	for _, c := range logisticCases(t) {
		p := logisticRows(c.P, c.Y, c.Weights)
		m := logisticMap(t, recal.Platt{}, p)
		f := m.Platt(0)
		logisticClose(t, c.Name+": platt a", f.A, c.Platt.A, 1e-12)
		logisticClose(t, c.Name+": platt b", f.B, c.Platt.B, 1e-12)
		t.Log(c.Name, m.Fit().Reads)
		m = logisticMap(t, recal.Platt{Smoothed: true}, p)
		f = m.Platt(0)
		logisticClose(t, c.Name+": smoothed a", f.A, c.Smoothed.A, 1e-12)
		logisticClose(t, c.Name+": smoothed b", f.B, c.Smoothed.B, 1e-12)
		m = logisticMap(t, recal.Beta{}, p)
		g := m.Beta(0)
		logisticClose(t, c.Name+": beta a", g.A, c.Beta.A, 1e-10)
		logisticClose(t, c.Name+": beta b", g.B, c.Beta.B, 1e-10)
		logisticClose(t, c.Name+": beta c", g.C, c.Beta.C, 1e-10)
		t.Log(c.Name, m.Fit().Reads, g.A/c.Beta.A-1, g.B/c.Beta.B-1)
		if (g.A == 0) != (c.Beta.A == 0) || (g.B == 0) != (c.Beta.B == 0) {
			t.Errorf("%s: beta's coefficients are %v; want %v", c.Name, g, c.Beta)
		}
	}
}

var _ = []any{bytes.NewReader, gzip.NewReader, errors.Is, rand.New, slices.Sort[[]int], strings.Contains, calib.CoxOf, cells.New}

// logisticMany returns n binary rows of float32 probabilities.
func logisticMany(n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(5, 6))
	p := &metrics.Predictions{Scores: metrics.Scores{F32: make([]float32, n), Rows: n, Classes: 1}, Labels: make([]int32, n)}
	for i := range n {
		z := 2 * r.NormFloat64()
		p.F32[i] = float32(1 / (1 + math.Exp(-z)))
		if r.Float64() < 1/(1+math.Exp(0.3-0.7*z)) {
			p.Labels[i] = 1
		}
	}
	return p
}

func BenchmarkLogisticFit(b *testing.B) {
	p := logisticMany(10_000_000)
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		b.Run(m.String(), func(b *testing.B) {
			reads := 0
			for b.Loop() {
				f, err := m.Fit(recal.InMemory(p), &recal.Options{Threads: 1})
				if err != nil {
					b.Fatal(err)
				}
				reads += f.Fit().Reads
			}
			b.ReportMetric(float64(reads)/float64(b.N), "reads")
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(reads), "ms/read")
		})
	}
}

func BenchmarkLogisticApply(b *testing.B) {
	p := logisticMany(1 << 20)
	for _, m := range []recal.Method{recal.Platt{}, recal.Beta{}} {
		b.Run(m.String(), func(b *testing.B) {
			f, err := m.Fit(recal.InMemory(p), nil)
			if err != nil {
				b.Fatal(err)
			}
			dst := metrics.Scores{F32: make([]float32, p.Rows), Rows: p.Rows, Classes: 1}
			for b.Loop() {
				f.Apply(&dst, &p.Scores, p.Kind)
			}
			b.ReportMetric(float64(p.Rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
