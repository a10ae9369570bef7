package regress_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"gonum.org/v1/gonum/stat/distuv"
)

var (
	_ regress.Distribution = distuv.Normal{}
	_ regress.Distribution = distuv.StudentsT{}
	_ regress.Distribution = distuv.Gamma{}
)

// distributionSeen returns forecasts, and numbers drawn from them.
func distributionSeen[D interface {
	regress.Distribution
	Rand() float64
}](n int, one func() D) (observed []float64, dists []D) {
	for range n {
		d := one()
		observed, dists = append(observed, d.Rand()), append(dists, d)
	}
	return observed, dists
}

func distributionCalibrated[D interface {
	regress.Distribution
	Rand() float64
}](t *testing.T, name string, one func() D) {
	t.Helper()
	n := check.Size(700, 1500, 3000)
	observed, dists := distributionSeen(n, one)
	c, err := regress.Frequency(observed, dists, nil, nil)
	if err != nil {
		t.Fatal(name, err)
	}
	if len(c.Levels) != 21 || c.N != float64(n) || c.Frequencies[0] != 0 || c.Frequencies[20] != 1 {
		t.Errorf("%s: %v", name, c)
	}
	for j, l := range c.Levels {
		if d := c.Frequencies[j] - l; !(math.Abs(d) <= 5*math.Sqrt(l*(1-l)/float64(n))) {
			t.Errorf("%s: frequency %v at %v", name, c.Frequencies[j], l)
		}
	}
	if a := c.Area(regress.AreaCrossing); !(a < 4*c.Floor(regress.AreaCrossing)) {
		t.Errorf("%s: area %v", name, a)
	}
}

// TestFrequency checks that numbers drawn from gonum's distributions are calibrated.
func TestFrequency(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	distributionCalibrated(t, "normal", func() distuv.Normal {
		return distuv.Normal{Mu: r.NormFloat64(), Sigma: 0.5 + r.ExpFloat64(), Src: r}
	})
	distributionCalibrated(t, "student t", func() distuv.StudentsT {
		return distuv.StudentsT{Mu: r.NormFloat64(), Sigma: 0.5 + r.ExpFloat64(), Nu: 2 + 5*r.Float64(), Src: r}
	})
	distributionCalibrated(t, "gamma", func() distuv.Gamma {
		return distuv.Gamma{Alpha: 0.5 + r.ExpFloat64(), Beta: 0.5 + r.ExpFloat64(), Src: r}
	})
	distributionCalibrated(t, "uniform", func() distuv.Uniform {
		return distuv.Uniform{Min: -r.ExpFloat64(), Max: r.ExpFloat64(), Src: r}
	})
}

// TestFrequencyNormal checks that Calibration for normal forecasts and Frequency for the same distributions agree.
func TestFrequencyNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	p := calibrationNormals(r, 800, 0.4, 0.8)
	var observed, mean, sd []float64
	var dists []regress.Distribution
	for i := range p.Rows {
		mean, sd, observed = append(mean, p.F64[3*i]), append(sd, p.F64[3*i+1]), append(observed, p.F64[3*i+2])
		dists = append(dists, distuv.Normal{Mu: p.F64[3*i], Sigma: p.F64[3*i+1]})
	}
	for _, w := range [][]float64{nil, calibrationWeights(r, 800)} {
		for _, bins := range []int{10, 20, 100} {
			p.Weights = w
			want := calibrationOf(t, p, &regress.CalibrationOptions{Bins: bins}).Curve()
			got, err := regress.Frequency(observed, dists, regress.Levels(bins), w)
			if err != nil || !slices.Equal(got.Levels, want.Levels) || !slices.Equal(got.Frequencies, want.Frequencies) || got.N != want.N {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
			if w == nil {
				one, err := regress.EmpiricalFrequency(observed, mean, sd, bins)
				if err != nil || !slices.Equal(one.Frequencies, want.Frequencies) {
					t.Error(one, err)
				}
			}
		}
	}
}

// pointForecast is a distribution with one possible value.
type pointForecast float64

func (d pointForecast) CDF(x float64) float64 {
	if x < float64(d) {
		return 0
	}
	return 1
}

func (d pointForecast) Quantile(float64) float64 { return float64(d) }

func TestFrequencyEdges(t *testing.T) {
	// A value at or below the point counts at every level, a value above it at none.
	c, err := regress.Frequency([]float64{1, 2, 3, 4}, []pointForecast{1, 1, 3, 5}, []float64{0, 0.5, 1}, []float64{1, 0, 2, 5})
	if err != nil || !slices.Equal(c.Frequencies, []float64{1, 1, 1}) || c.N != 64.0/30 {
		t.Error(c, err)
	}
	c, err = regress.Frequency([]float64{1, 2, 3, 4}, []pointForecast{1, 1, 3, 5}, []float64{0.5}, nil)
	if err != nil || !slices.Equal(c.Frequencies, []float64{0.75}) || c.N != 4 {
		t.Error(c, err)
	}
	if c, err = regress.Frequency(nil, []pointForecast{}, nil, nil); err != nil || c.Frequencies[3] == c.Frequencies[3] || c.N != 0 {
		t.Error(c, err)
	}
	nan := math.NaN()
	for want, f := range map[string]func() (regress.Curve, error){
		"observed number of row 1": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1, nan}, []pointForecast{1, 1}, nil, nil)
		},
		"observed number of row 0": func() (regress.Curve, error) {
			return regress.Frequency([]float64{math.Inf(1)}, []pointForecast{1}, nil, nil)
		},
		"quantile of row 0 at level 0": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{pointForecast(nan)}, nil, nil)
		},
		"weight of row 0": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{1}, nil, []float64{-1})
		},
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one about %q", err, want)
		}
	}
	for name, f := range map[string]func() (regress.Curve, error){
		"rows": func() (regress.Curve, error) { return regress.Frequency([]float64{1}, []pointForecast{}, nil, nil) },
		"weights": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{1}, nil, []float64{})
		},
		"levels": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{1}, []float64{0.5, 0.5}, nil)
		},
		"above 1": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{1}, []float64{1.5}, nil)
		},
		"NaN": func() (regress.Curve, error) {
			return regress.Frequency([]float64{1}, []pointForecast{1}, []float64{nan}, nil)
		},
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err = regress.EmpiricalFrequency([]float64{1, nan}, []float64{0, 0}, []float64{1, 1}, 5)
	if !errors.As(err, new(*metrics.DataError)) {
		t.Error(err)
	}
}
