package calib_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// seen returns the cells of the positive class of binary predictions.
func seen(t testing.TB, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := cells.New(&cells.Options{Event: metrics.Positive})
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// binary returns predictions of class 1.
func binary(p []float64, y []int32) *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
}

// bisected solves the two score equations by bisection of the slope's, with the intercept bisected for each slope.
func bisected(x, y, w []float64, unit bool) (a, b float64) {
	score := func(a, b float64) (s0, s1 float64) {
		for i := range x {
			mu := 1 / (1 + math.Exp(-(a + b*x[i])))
			s0 += w[i] * (y[i] - mu)
			s1 += w[i] * (y[i] - mu) * x[i]
		}
		return s0, s1
	}
	intercept := func(b float64) float64 {
		lo, hi := -3000.0, 3000.0
		for range 100 {
			a := (lo + hi) / 2
			if s, _ := score(a, b); s > 0 {
				lo = a
			} else {
				hi = a
			}
		}
		return lo
	}
	if unit {
		return intercept(1), 1
	}
	lo, hi := -50.0, 50.0
	for range 100 {
		b := (lo + hi) / 2
		if _, s := score(intercept(b), b); s > 0 {
			lo = b
		} else {
			hi = b
		}
	}
	return intercept(lo), lo
}

func TestCoxBisected(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 60 {
		n := 5 + r.IntN(60)
		p, y, w := make([]float64, n), make([]int32, n), make([]float64, n)
		x, yf := make([]float64, n), make([]float64, n)
		k, s, o := 0.2+3*r.Float64(), 2*r.Float64()-0.5, 4*r.NormFloat64()
		for j := range p {
			x[j] = k*r.NormFloat64() + o
			p[j] = 1 / (1 + math.Exp(-x[j]))
			x[j] = math.Log(p[j] / (1 - p[j]))
			if r.Float64() < 1/(1+math.Exp(-s*x[j]+s*o/2)) {
				y[j], yf[j] = 1, 1
			}
			if w[j] = 1; i%3 == 2 {
				w[j] = math.Exp(4 * r.NormFloat64())
			}
		}
		in := binary(p, y)
		if i%3 == 2 {
			in.Weights = w
		}
		c := seen(t, in)
		for _, unit := range []bool{false, true} {
			f := calib.CoxOf(c, &calib.CoxOptions{UnitSlope: unit})
			if f.Reason() != "" {
				t.Logf("%d: %s", i, f.Reason())
				continue
			}
			a, b := bisected(x, yf, w, unit)
			fa, _ := f.Intercept()
			fb, bound := f.Slope()
			if bound != 0 || math.Abs(fa-a) > 1e-10*(1+math.Abs(a)) || math.Abs(fb-b) > 1e-10*(1+math.Abs(b)) {
				t.Errorf("%d, n %d: %v %v, want %v %v", i, n, fa, fb, a, b)
			}
		}
	}
}
