package shares

import (
	"math"
	"testing"
)

// TestOf compares the factors and the degrees of freedom with those of the matrices of the definition: V = m' A m for the means m of
// clusters, and the variance of m is diag(v).
func TestOf(t *testing.T) {
	for _, sizes := range [][]float64{{1, 2}, {3, 1, 1}, {190, 10, 10, 10, 10, 10}, {0.25, 7, 1.5, 80, 2, 2, 3}, {10, 10, 10, 10.5}} {
		g, n := len(sizes), 0.0
		for _, x := range sizes {
			n += x
		}
		s := make([]float64, g)
		for i, x := range sizes {
			s[i] = x / n
		}
		residual := func(i, k int) float64 { // of R_i/n by m_k, scaled
			d := -s[i] * s[k]
			if i == k {
				d += s[i]
			}
			return d / math.Sqrt(1-s[i])
		}
		freedom := func(v func(s float64) float64) float64 {
			trace, square := 0.0, 0.0
			for i := range g {
				for j := range g {
					c := 0.0
					for k := range g {
						c += residual(i, k) * v(s[k]) * residual(j, k)
					}
					if square += c * c; i == j {
						trace += c
					}
				}
			}
			return trace * trace / square
		}
		o := New(sizes)
		want := math.Sqrt(freedom(func(s float64) float64 { return 1 / s }) * freedom(func(float64) float64 { return 1 }))
		if math.Abs(o.DF/want-1) > 1e-12 || !(o.DF >= 1 && o.DF <= float64(g-1)) {
			t.Errorf("%v: %v degrees of freedom, want %v", sizes, o.DF, want)
		}
		squares := 0.0
		for _, x := range s {
			squares += x * x
		}
		if math.Abs(o.Number*squares-1) > 1e-14 {
			t.Errorf("%v: counts as %v clusters of one size, want %v", sizes, o.Number, 1/squares)
		}
		moves := make([]float64, g)
		for i := range moves {
			moves[i] = 1
			if want := math.Sqrt(float64(g-1) / float64(g) / (1 - s[i])); math.Abs(o.Scale(i)-want) > 1e-14 {
				t.Errorf("%v: scale %v, want %v", sizes, o.Scale(i), want)
			}
		}
		o.Even(moves)
		for i, x := range moves {
			if x != o.Scale(i) {
				t.Errorf("%v: %v, not %v", sizes, x, o.Scale(i))
			}
		}
	}
}

// TestAlike: clusters of one size leave everything as it is, and so nearly do those that hardly differ.
func TestAlike(t *testing.T) {
	for _, g := range []int{2, 7, 1000} {
		sizes := make([]float64, g)
		for i := range sizes {
			sizes[i] = 3
		}
		o := New(sizes)
		if o.Number != float64(g) || o.DF != float64(g-1) || o.Scale(g-1) != 1 {
			t.Errorf("%d clusters: %v degrees of freedom, scale %v", g, o.DF, o.Scale(0))
		}
		sizes[0] += 1e-9
		if near := New(sizes); math.Abs(near.DF/o.DF-1) > 1e-6 || math.Abs(near.Scale(0)-1) > 1e-6 {
			t.Errorf("%d clusters: %v degrees of freedom, scale %v, of sizes that differ by nothing", g, near.DF, near.Scale(0))
		}
	}
	if o := New([]float64{5}); o.DF == o.DF {
		t.Error("degrees of freedom of one cluster")
	}
	if o := New([]float64{1e30, 1}); o.DF == o.DF {
		t.Errorf("%v degrees of freedom where the rest is lost in rounding", o.DF)
	}
}

// TestSkew compares with sums of cubes, at any scale.
func TestSkew(t *testing.T) {
	for _, scale := range []float64{1, -3, 0x1p-600, 0x1p600} {
		got := Skew([]float64{scale, 2 * scale, -3 * scale})
		if want := math.Copysign(-18/(14*math.Sqrt(14)), -scale); math.Abs(got-want) > 1e-15 {
			t.Errorf("skewness %v, want %v", got, want)
		}
	}
	for _, moves := range [][]float64{nil, {0, 0}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if got := Skew(moves); got != 0 {
			t.Errorf("%v: skewness %v", moves, got)
		}
	}
}
