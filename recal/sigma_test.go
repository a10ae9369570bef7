package recal_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/recal"
)

func sigmaNear(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }

func sigmaFit(t *testing.T, m recal.Sigma, p *metrics.Predictions) *recal.SigmaMap {
	t.Helper()
	f, err := m.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*recal.SigmaMap)
}

func sigmaZMS(t *testing.T, p *metrics.Predictions) float64 {
	t.Helper()
	n := regress.NewNormal(nil)
	if err := metrics.NewPass(nil, n).Add(p); err != nil {
		t.Fatal(err)
	}
	return n.Value(regress.ZMS)
}

// sigmaForecasts returns n forecasts whose errors are as large as their standard deviations times a factor, all in a unit.
func sigmaForecasts(n int, factor, unit float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(41, uint64(n)))
	y, mean, sd := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		mean[i] = r.NormFloat64() * unit
		sd[i] = (0.1 + r.Float64()) * unit
		y[i] = mean[i] + float64(factor*sd[i])*r.NormFloat64()
	}
	return regress.NormalPredictions(y, mean, sd)
}

// TestSigmaGolden compares with LaplaceRedux, documented and as coded; see testdata/golden/README.md.
func TestSigmaGolden(t *testing.T) {
	f, err := os.Open("../testdata/golden/regression_laplace.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Regression []struct {
			Y, Mean, Std []float64
			Documented   float64 `json:"sigma_scaling_documented"`
			AsCoded      float64 `json:"sigma_scaling_as_coded"`
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	for i, c := range golden.Regression {
		p := regress.NormalPredictions(c.Y, c.Mean, c.Std)
		if s := sigmaFit(t, recal.Sigma{}, p).Scale(); c.Documented == 0 || !sigmaNear(s, c.Documented, 1e-13) {
			t.Errorf("case %d: %.17g, want %.17g", i, s, c.Documented)
		}
		if s := sigmaFit(t, recal.Sigma{AsCoded: true}, p).Scale(); c.AsCoded == 0 || !sigmaNear(s, c.AsCoded, 1e-13) {
			t.Errorf("case %d: as coded %.17g, want %.17g", i, s, c.AsCoded)
		}
	}
	if len(golden.Regression) != 3 {
		t.Errorf("%d cases", len(golden.Regression))
	}
}

// TestSigmaUnits holds that z^2 has the mean 1 after it, in any unit, in place and elsewhere.
func TestSigmaUnits(t *testing.T) {
	first := 0.0
	for _, unit := range []float64{1, 0x1p-996, 0x1p-300, 0x1p400, 0x1p990} {
		p := sigmaForecasts(1000, 2.5, unit)
		f := sigmaFit(t, recal.Sigma{}, p)
		if s := f.Scale(); !sigmaNear(s, 2.5, 0.1) {
			t.Errorf("unit %g: %v", unit, s)
		} else if first == 0 {
			first = s
		} else if s != first {
			t.Errorf("unit %g: %v, and of 1 %v", unit, s, first)
		}
		before := append([]float64(nil), p.F64...)
		f.Apply(&p.Scores, &p.Scores, metrics.Normals)
		if z := sigmaZMS(t, p); !sigmaNear(z, 1, 1e-12) {
			t.Errorf("unit %g: z^2 is %.17g", unit, z)
		}
		for i, v := range p.F64 {
			if i%3 != 1 && v != before[i] {
				t.Fatal("more than the standard deviation has changed")
			}
		}
	}
}

var _ = fmt.Sprint
var _ = errors.Is
var _ = strings.Contains
var _ = kernel.Phi64
