package calib

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// owen returns Owen's T(h, a) by Simpson's rule.
func owen(h, a float64) float64 {
	if a > 1 {
		p, q := math.Erfc(h/math.Sqrt2)/2, math.Erfc(a*h/math.Sqrt2)/2
		return p/2 + q/2 - p*q - owen(a*h, 1/a)
	}
	const n = 20000
	f := func(angle float64) float64 { c := math.Cos(angle); return math.Exp(-h * h / (2 * c * c)) }
	top := math.Atan(a)
	s := f(0) + f(top)
	for i := 1; i < n; i++ {
		s += float64(2+2*(i&1)) * f(top*float64(i)/n)
	}
	return s * top / (3 * n) / (2 * math.Pi)
}

// TestHalfNormalsClosed compares with the distributions for one bin and for two bins. For two bins it is an integral over a
// rhombus in the plane of (Z_1, Z_2).
func TestHalfNormalsClosed(t *testing.T) {
	for _, s := range []float64{1e-150, 1, 3e5} {
		h := newHalfNormals([]float64{s * s, 0})
		for _, x := range []float64{1e-9, 0.1, 1, 3, 6, 30} {
			if got, want := h.upper(x*s), math.Erfc(x/math.Sqrt2); math.Abs(got-want) > 1e-11*want {
				t.Errorf("one bin of %v at %v: %v, want %v", s, x, got, want)
			}
		}
		if q := h.quantile(0.05) / s; math.Abs(q-1.959963984540054) > 1e-11 {
			t.Errorf("one bin of %v: quantile %v", s, q)
		}
	}
	worst, tail := 0.0, 0.0
	for _, ratio := range []float64{1, 0.9, 0.5, 0.1, 1e-2, 1e-4} {
		h := newHalfNormals([]float64{1, ratio * ratio})
		for _, x := range []float64{1e-5, 1e-3, 0.02, 0.1, 0.3, 0.7, 1, 1.5, 2, 3, 4, 5, 6, 7, 9, 12, 20} {
			d := x / h.unit
			want := 4 * (owen(d, 1/ratio) + owen(d, ratio))
			got := h.upper(x)
			worst = math.Max(worst, math.Abs(got-want))
			tail = math.Max(tail, math.Abs(got/want-1))
		}
		q := h.quantile(0.05)
		if d := q / h.unit; math.Abs(4*(owen(d, 1/ratio)+owen(d, ratio))-0.05) > 1e-10 {
			t.Errorf("two bins, 1 and %v: quantile %v", ratio, q)
		}
	}
	t.Logf("two bins: off by at most %.2g, relative %.2g", worst, tail)
	if worst > 1e-11 || tail > 1e-8 {
		t.Error("two bins are off")
	}
}

// TestHalfNormalsConvolved compares with densities convolved on a grid.
func TestHalfNormalsConvolved(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n, width = 1200, 1.0 / 120 // number of steps and their width; the grid extends to 10
	for i, s := range [][]float64{
		{1, 1, 1}, {1, 0.5, 0.25, 0.125}, {0.1, 1, 0.1, 0.1}, {0.5, 0.4, 0.5, 0.3, 0.2, 0.4, 0.4, 0.3},
		{r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64(), r.Float64()},
	} {
		if testing.Short() && i%2 == 0 {
			continue
		}
		var v []float64
		// p[i] is P(S <= i*width). Each bin is added by Simpson's rule over the values of |Z_b|.
		p := make([]float64, n+1)
		for i := range p {
			p[i] = 1
		}
		for k, b := range s {
			v = append(v, b*b)
			q := make([]float64, n+1)
			for i := range q {
				if k == 0 {
					q[i] = math.Erf(float64(i) * width / (b * math.Sqrt2))
					continue
				}
				// Simpson's rule, with the 3/8 rule at the end if the number of steps is odd.
				f := func(j int) float64 {
					z := float64(j) * width / b
					return p[i-j] * math.Exp(-z*z/2)
				}
				m, sum := i, 0.0
				if m&1 == 1 {
					if m < 3 {
						sum, m = (f(0)+f(1))/2, 0
					} else {
						m -= 3
						sum = (f(m) + 3*f(m+1) + 3*f(m+2) + f(m+3)) * 3 / 8
					}
				}
				if m > 0 {
					even, odd := 0.0, 0.0
					for j := 1; j < m; j++ {
						if j&1 == 1 {
							odd += f(j)
						} else {
							even += f(j)
						}
					}
					sum += (f(0) + 4*odd + 2*even + f(m)) / 3
				}
				q[i] = sum * width / b * math.Sqrt(2/math.Pi)
			}
			p = q
		}
		h := newHalfNormals(v)
		worst := 0.0
		for i := 0; i <= n; i += 37 {
			worst = math.Max(worst, math.Abs(1-p[i]-h.upper(float64(i)*width)))
		}
		t.Logf("%.3v: off by at most %.2g", s, worst)
		if worst > 1e-7 { // error of the grid
			t.Errorf("%v is off", s)
		}
	}
}

// TestHalfNormalsDrawn compares with random draws.
func TestHalfNormalsDrawn(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, bins := range []int{2, 5, 15, 100} {
		v := make([]float64, bins)
		for i := range v {
			v[i] = math.Exp(3 * r.NormFloat64())
		}
		h := newHalfNormals(v)
		draws := make([]float64, n/max(1, bins/20))
		for i := range draws {
			for _, x := range v {
				draws[i] += math.Sqrt(x) * math.Abs(r.NormFloat64())
			}
		}
		slices.Sort(draws)
		worst := 0.0
		for i := 0; i < len(draws); i += len(draws) / 100 {
			worst = math.Max(worst, math.Abs(1-float64(i)/float64(len(draws))-h.upper(draws[i])))
		}
		if worst > 1.95/math.Sqrt(float64(len(draws))) { // Kolmogorov's critical value for 1 in 1,000
			t.Errorf("%d bins: off by %v", bins, worst)
		}
	}
}

// TestHalfNormalsMany compares sums of very many bins with their Edgeworth series, and checks that they are fast.
func TestHalfNormalsMany(t *testing.T) {
	for _, bins := range []int{20_000, 1 << 20} {
		v := make([]float64, bins)
		for i := range v {
			v[i] = 1 + float64(i%7)
		}
		h := newHalfNormals(v)
		// The cumulants of |Z|, and of S in units.
		k2 := 1 - 2/math.Pi
		m := math.Sqrt(2 / math.Pi)
		k3 := m * (4/math.Pi - 1)
		k4 := 3 - 4*m*2*m + 6*m*m - 3*m*m*m*m - 3*k2*k2
		var s3, s4 float64
		for _, x := range v {
			s := math.Sqrt(x) / h.unit
			s3 += s * s * s
			s4 += s * s * s * s
		}
		sd := math.Sqrt(k2)
		g3, g4 := k3*s3/(sd*sd*sd), k4*s4/(k2*k2)
		for _, z := range []float64{-3, -1, 0, 0.5, 1.645, 3, 4.5} {
			want := math.Erfc(z/math.Sqrt2)/2 + math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)*
				(g3/6*(z*z-1)+g4/24*(z*z*z-3*z)+g3*g3/72*(z*z*z*z*z-10*z*z*z+15*z))
			if got := h.upper((h.mean + z*sd) * h.unit); math.Abs(got-want) > 1e-8 {
				t.Errorf("%d bins, %v deviations: %v, want %v", bins, z, got, want)
			}
		}
		if q := (h.quantile(0.05)/h.unit - h.mean) / sd; math.Abs(q-1.6449) > 0.01 {
			t.Errorf("%d bins: quantile at %v deviations", bins, q)
		}
	}
}

// TestHalfNormalsOdd checks extreme arguments.
func TestHalfNormalsOdd(t *testing.T) {
	for _, v := range [][]float64{{1}, {1, 1}, {1, 1e-300}, {5e-324, 1e300}, {1, 2, 3, 1e-40},
		slices.Repeat([]float64{1e-9}, 5000)} {
		h := newHalfNormals(v)
		last := 1.0
		for i := range 400 {
			x := h.unit * h.mean * float64(i) / 100
			p := h.upper(x)
			if !(p >= 0 && p <= 1) || p > last+1e-11 || i == 0 && p != 1 {
				t.Errorf("%d bins at %v: %v after %v", len(v), x, p, last)
			}
			last = p
		}
		if q := h.quantile(0.05); math.Abs(h.upper(q)-0.05) > 1e-10 || !(q >= h.mean*h.unit) {
			t.Errorf("%d bins: quantile %v of mean %v", len(v), q, h.mean*h.unit)
		}
		if p := h.upper(h.unit * (h.mean + 60)); p != 0 {
			t.Errorf("%d bins far out: %v", len(v), p)
		}
	}
	h := newHalfNormals([]float64{0, 0})
	if h.upper(0) != 1 || h.upper(1e-300) != 0 || h.quantile(0.05) != 0 {
		t.Error("no variance:", h.upper(0), h.upper(1e-300), h.quantile(0.05))
	}
	// The far tail keeps its digits: for 15 equal bins P(S >= x) is at most 2^15 times the tail of their normal sum.
	h = newHalfNormals(slices.Repeat([]float64{1}, 15))
	for _, x := range []float64{60, 100, 140} {
		if got, want := h.upper(x), 0x1p14*math.Erfc(x/math.Sqrt(30)); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("15 bins at %v: %v, want about %v", x, got, want)
		}
	}
}

// TestErfcx compares with the continued fraction and the power series of erfc, in 200 bits.
func TestErfcx(t *testing.T) {
	for _, z := range []complex128{0, 0.1, 1, 3, complex(0, 1), complex(0, 3), complex(0.5, 2), complex(2, 2), complex(1, 0.3),
		complex(0, 0.01)} {
		want := slowErfcx(z)
		got := erfcx(z)
		if d := math.Hypot(real(got-want), imag(got-want)); d > 2e-13*math.Hypot(real(want), imag(want)) {
			t.Errorf("%v: %v, want %v (%.2g)", z, got, want, d)
		}
	}
	for _, z := range []complex128{30, complex(0, 100), complex(1e6, 1e6), complex(10, 1000)} {
		// The asymptotic series.
		i := 1 / (z * z)
		want := 1 / (z * complex(math.Sqrt(math.Pi), 0)) * (1 - i/2 + 3*i*i/4 - 15*i*i*i/8 + 105*i*i*i*i/16)
		got := erfcx(z)
		if d := math.Hypot(real(got-want), imag(got-want)); d > 1e-12*math.Hypot(real(want), imag(want)) {
			t.Errorf("%v: %v, want %v (%.2g)", z, got, want, d)
		}
	}
}

// slowErfcx returns exp(z^2) - exp(z^2) erf(z), where exp(z^2) erf(z) = 2/sqrt(pi) * sum of 2^n z^(2n+1) / (2n+1)!!.
func slowErfcx(z complex128) complex128 {
	type c struct{ re, im *big.Float }
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	mul := func(a, b c) c {
		p, q := f(0).Mul(a.re, b.re), f(0).Mul(a.im, b.im)
		r, s := f(0).Mul(a.re, b.im), f(0).Mul(a.im, b.re)
		return c{p.Sub(p, q), r.Add(r, s)}
	}
	add := func(a, b c) c { return c{f(0).Add(a.re, b.re), f(0).Add(a.im, b.im)} }
	times := func(a c, x *big.Float) c { return c{f(0).Mul(a.re, x), f(0).Mul(a.im, x)} }
	w := c{f(real(z)), f(imag(z))}
	ww := mul(w, w)
	e, odd := c{f(1), f(0)}, w
	te, to := e, w
	for n := 1; n < 400; n++ {
		te = times(mul(te, ww), f(0).Quo(f(1), f(float64(n))))
		to = times(mul(to, ww), f(0).Quo(f(2), f(float64(2*n+1))))
		e, odd = add(e, te), add(odd, to)
	}
	pi, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899", 10, 300, 0)
	odd = times(odd, f(0).Quo(f(-2), f(0).Sqrt(pi)))
	s := add(e, odd)
	re, _ := s.re.Float64()
	im, _ := s.im.Float64()
	return complex(re, im)
}
