package binfree

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// walkCounter counts walks through the cells.
type walkCounter struct {
	cells.Rising
	walks int
}

func (s *walkCounter) Each(f func(*cells.Cell)) {
	s.walks++
	s.Rising.Each(f)
}

// TestSmoothWithoutBins checks that without bins in memory every sweep walks through the cells and gives the same answer. With
// bins the rows are walked once, unless the bandwidth is tiny.
func TestSmoothWithoutBins(t *testing.T) {
	for _, scale := range []float64{1, 0.1, 1e-3, 1e-6} {
		r := rand.New(rand.NewPCG(8, 9))
		p := &metrics.Predictions{Labels: make([]int32, 500)}
		p.Rows, p.Classes = len(p.Labels), 1
		for i := range p.Labels {
			u := r.Float64()
			p.F64 = append(p.F64, scale*u)
			p.Weights = append(p.Weights, 1)
			if i%2 == 0 {
				p.Weights[i], p.Labels[i] = scale, 1
			}
		}
		c := metrics.Must(cells.New(nil))
		if err := metrics.NewPass(nil, c).Add(p); err != nil {
			t.Fatal(err)
		}
		walked := &walkCounter{Rising: c}
		s := SmoothOf(walked)
		if walked.walks > 3 || scale > 1e-3 && walked.walks > 1 {
			t.Errorf("scale %v: %d walks", scale, walked.walks)
		}
		bare := *s
		bare.bins = nil
		for sigma := 1e-8; sigma < 1; sigma *= 3 {
			if sigma < fineness*s.width {
				continue
			}
			got, want := bare.at(sigma), s.at(sigma)
			if !(math.Abs(got-want) < 1e-9*want) {
				t.Errorf("scale %v, sigma %v: %v, want %v", scale, sigma, got, want)
			}
		}
		got, open := bare.solve(s.shift/s.weight, 1)
		if open != 0 || !(math.Abs(got-s.sigma) < 1e-9*s.sigma) {
			t.Errorf("scale %v: %v, want %v", scale, got, s.sigma)
		}
	}
}

// TestSmoothModulus compares the integral of the absolute value of a polynomial with several roots with a sum of many terms.
func TestSmoothModulus(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		// (x - a) (x - b) (x - c) (x^2 + d x + e), from its values and derivatives.
		var k [6]float64
		k[0] = 1
		for _, n := range []int{1, 1, 1, 2} {
			f := []float64{-r.Float64(), 1}
			if n == 2 {
				f = []float64{r.NormFloat64(), r.NormFloat64(), 1}
			}
			var next [6]float64
			for a, u := range k {
				for b, v := range f {
					if a+b < len(next) {
						next[a+b] += u * v
					}
				}
			}
			k = next
		}
		at := func(x float64) (v [3]float64) {
			for i := 5; i >= 0; i-- {
				v[2] = v[2]*x + 2*v[1]
				v[1] = v[1]*x + v[0]
				v[0] = v[0]*x + k[i]
			}
			return v
		}
		const n = 20000
		want := 0.0
		for i := range n {
			want += math.Abs(at((float64(i) + 0.5) / n)[0]) / n
		}
		a, b := at(0), at(1)
		if got := modulus(&a, &b); !(math.Abs(got-want) < 1e-8*(1+want)) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestSmoothSharing checks that the shares of a residual preserve its moments.
func TestSmoothSharing(t *testing.T) {
	for _, d := range []float64{-0.5, -0.3, 0, 0.123, 0.5} {
		for power := range smoothNodes {
			got, want := 0.0, math.Pow(d+0.5, float64(power))
			for i, l := range sharing {
				w := 0.0
				for k := smoothNodes - 1; k >= 0; k-- {
					w = w*d + l[k]
				}
				got += w * math.Pow(float64(i-smoothLeft), float64(power))
			}
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("moment %d at %v: %v, want %v", power, d, got, want)
			}
		}
	}
}
