package ensemble

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestExpm1(t *testing.T) {
	for _, x := range []float64{0, 1e-300, 1e-17, 3e-9, 1e-3, 0.1, 0.69, 1, 5, 40, 700, math.Inf(1)} {
		for _, x := range []float64{x, -x} {
			if got, want := expm1(x), math.Expm1(x); !(got == want || math.Abs(got-want) <= 1e-15*math.Abs(want)) {
				t.Errorf("expm1(%v) = %v, want %v", x, got, want)
			}
		}
	}
}

// TestParetoFit estimates shape and scale from samples of generalized Pareto distributions, in any unit.
func TestParetoFit(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, k := range []float64{-0.4, 0, 0.3, 0.7, 1.5} {
		for _, scale := range []float64{1e-100, 3, 1e100} {
			const n = 4000
			x := make([]float64, n)
			for i := range x {
				x[i] = paretoQuantile(r.Float64(), k, scale)
			}
			slices.Sort(x)
			tail := paretoTail{excess: x}
			got, sigma := tail.fit()
			if want := (n*k + 5) / (n + 10); math.Abs(got-want) > 4*(1+k)/math.Sqrt(n) || math.Abs(sigma/scale-1) > 0.15 {
				t.Errorf("shape %v, scale %v: %v, %v", k, scale, got, sigma)
			}
		}
	}
	if k, sigma := paretoShape([]float64{1, 2, 3}, 0); k != 0 || sigma != 2 {
		t.Errorf("an exponential distribution has %v, %v", k, sigma)
	}
	if got := paretoQuantile(0.5, 0, 2); math.Abs(got-2*math.Ln2) > 1e-15 {
		t.Errorf("its median is %v", got)
	}
}
