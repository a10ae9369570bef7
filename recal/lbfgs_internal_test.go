package recal

import (
	"math"
	"testing"
)

// lbfgsCase is a convex function with its gradient.
type lbfgsCase struct {
	name  string
	f     func(x, grad []float64) float64
	start []float64
	want  []float64
}

func TestLBFGS(t *testing.T) {
	for _, c := range []lbfgsCase{
		{"quadratic", func(x, g []float64) (f float64) {
			for i, v := range x {
				w := math.Pow(4, float64(i%7-3))
				d := v - float64(i)
				f += w * d * d / 2
				g[i] = w * d
			}
			return f
		}, make([]float64, 20), []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
		{"exponentials", func(x, g []float64) float64 { // lowest where e^x - 3 + y = 0 and x + 2 y = 0
			g[0], g[1] = math.Exp(x[0])-3+x[1], x[0]+2*x[1]
			return math.Exp(x[0]) - 3*x[0] + x[0]*x[1] + x[1]*x[1]
		}, []float64{4, -3}, []float64{1.2938898039, -0.6469449020}},
		{"steep on one side", func(x, g []float64) float64 {
			e := math.Exp(30 * x[0])
			g[0] = 30*e/(1+e) - 1e-3
			return math.Log1p(e) - 1e-3*x[0]
		}, []float64{0}, []float64{math.Log(1e-3/(30-1e-3)) / 30}},
	} {
		x := append([]float64(nil), c.start...)
		evaluations := 0
		m := &lbfgs{store: 10, grad: make([]float64, len(x))}
		m.eval = func(x []float64) bool {
			evaluations++
			m.value = c.f(x, m.grad)
			return evaluations < 300 && largest(m.grad) > 1e-11
		}
		stuck := m.eval(x) && m.run(x)
		t.Log(c.name, evaluations, "evaluations, stuck", stuck, "gradient", largest(m.grad))
		for i, v := range c.want {
			if math.Abs(x[i]-v) > 1e-9 || evaluations >= 150 {
				t.Errorf("%s: %v after %d, stuck %v, want %v", c.name, x, evaluations, stuck, c.want)
				break
			}
		}
	}
}

// TestLBFGSStuck holds that it gives up where no step leads lower, at the lowest place, and stops where eval says so.
func TestLBFGSStuck(t *testing.T) {
	x := []float64{1}
	m := &lbfgs{store: 5, grad: make([]float64, 1)}
	evaluations, most := 0, 1000
	m.eval = func(x []float64) bool { // a fold, which has no slope near 0 anywhere
		evaluations++
		m.value, m.grad[0] = math.Abs(x[0]-0.3), math.Copysign(1, x[0]-0.3)
		return evaluations < most
	}
	if !m.eval(x) || !m.run(x) || evaluations > 200 || math.Abs(x[0]-0.3) > 1e-8 {
		t.Errorf("%v after %d evaluations", x, evaluations)
	}
	x[0], evaluations, most = 1, 0, 4
	m.steps = nil
	if !m.eval(x) || m.run(x) || evaluations != most || m.value != math.Abs(x[0]-0.3) {
		t.Errorf("%v after %d evaluations of %d", x, evaluations, most)
	}
}

// TestDotOrder holds the order in which dot adds.
func TestDotOrder(t *testing.T) {
	a := []float64{1e16, 1, -1e16, 1, 1, 1, 0, 0, 3}
	b := []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	// (1e16 + 1 + 3) + (1 + 1) + (-1e16 + (1 + 0)), by fourths
	e := 1e16
	want := (e + 1 + 3) + 2 + (-e + 1)
	if got := dot(a, b); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
