package ensemble

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

func TestDigamma(t *testing.T) {
	b, err := os.ReadFile("../../testdata/oracle/information.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Digamma [][3]float64 }
	if err := json.Unmarshal(b, &g); err != nil || len(g.Digamma) != 23 {
		t.Fatal(err, len(g.Digamma))
	}
	for _, r := range g.Digamma {
		x, psi := r[0], r[1]
		if got := digamma1(x); math.Abs(got-psi) > 1e-15*math.Max(1, math.Abs(psi)) {
			t.Errorf("psi(%v + 1) = %v, want %v", x, got, psi)
		}
		if got, want := digammaLog(x), r[2]; math.Abs(got-want) > 1e-14*want {
			t.Errorf("psi(%v + 1) - ln = %v, want %v", x, got, want)
		}
	}
	const gamma = 0.57721566490153286
	for x, want := range map[float64]float64{0: -gamma, 0.5: 2 - gamma - 2*math.Ln2, 1: 1 - gamma} {
		if got := digamma1(x); math.Abs(got-want) > 1e-15 {
			t.Errorf("psi(%v + 1) = %v, want %v", x, got, want)
		}
	}
	if got, want := digammaLog(1e-310), 310*math.Ln10-gamma; math.Abs(got-want) > 1e-14*want {
		t.Errorf("near 0: %v, want %v", got, want)
	}
	// The recurrence, also across the joint of the two methods.
	for i := range 4000 {
		x := float64(i+1) / 200
		if d := digamma1(x) - digamma1(x-1) - 1/x; math.Abs(d) > 4e-15 && x >= 1 {
			t.Errorf("psi(%v + 1) is off by %v", x, d)
		}
	}
	// It falls, and rounding at the joint does not make it rise.
	for x := 9.99; x < 10.01; x += 1e-5 {
		if !(digammaLog(x) > digammaLog(x+1e-5)) {
			t.Errorf("psi(%v + 1) - ln rises", x)
		}
	}
}

func BenchmarkDigammaLog(b *testing.B) {
	for _, x := range []float64{0.5, 5, 50} {
		b.Run("", func(b *testing.B) {
			s := 0.0
			for b.Loop() {
				s += digammaLog(x)
			}
			_ = s
		})
	}
}
