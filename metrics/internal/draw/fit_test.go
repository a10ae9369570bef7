package draw

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
)

// A fit compares draws with a law by the shares that fall between cuts: rising numbers, with the probability of each of the
// cells that they make, which are one more.
type fit struct {
	name  string
	draw  func(s *Source) float64
	cuts  []float64
	share []float64
}

// check draws n numbers and returns by how many deviations Pearson's statistic is off, by Wilson and Hilferty's formula.
func (f *fit) check(t *testing.T, n int) {
	t.Helper()
	s := New(uint64(len(f.name)), 7)
	seen := make([]float64, len(f.share))
	for range n {
		v := f.draw(s)
		if v != v {
			t.Fatalf("%s: a draw is NaN", f.name)
		}
		at, _ := slices.BinarySearch(f.cuts, v)
		seen[at]++
	}
	sum, x, cells := 0.0, 0.0, -1.0
	var o, e float64 // of cells that are put together until 10 are expected
	for i, p := range f.share {
		sum += p
		o, e = o+seen[i], e+float64(n)*p
		if e < 10 {
			continue
		}
		x += (o - e) * (o - e) / e
		cells++
		o, e = 0, 0
	}
	if o > 0 && e < 1e-3 {
		t.Errorf("%s: %v draws where %v are expected", f.name, o, e)
	}
	if math.Abs(sum-1) > 1e-7 || cells < 1 {
		t.Fatalf("%s: the probabilities of %v cells sum to %v", f.name, cells+1, sum)
	}
	z := (math.Cbrt(x/cells) - 1 + 2/(9*cells)) / math.Sqrt(2/(9*cells))
	if testing.Verbose() {
		t.Logf("%s: %v cells, chi-square %.1f, %.2f deviations", f.name, cells+1, x, z)
	}
	if z > 4.5 {
		t.Errorf("%s: chi-square is %v of %v degrees, %.1f deviations off", f.name, x, cells, z)
	}
}

// draws returns how many numbers a fit takes.
func draws() int {
	return check.Size(1<<14, 1<<17, 1<<19)
}

// cut returns the fit of a law on [lo, hi] by its density, which may be off by a factor: into cells of equal width in the
// variable of the density.
func cut(name string, draw func(s *Source) float64, density func(x float64) float64, lo, hi float64) fit {
	const cells = 100
	f := fit{name: name, draw: draw, cuts: make([]float64, 0, cells), share: make([]float64, 0, cells+1)}
	sum, width := 0.0, (hi-lo)/cells
	f.share = append(f.share, 0) // nothing is below lo
	f.cuts = append(f.cuts, lo)
	for i := range cells {
		a := lo + float64(i)*width
		p := 0.0
		const steps = 200 // Simpson's
		for k := range steps {
			x, h := a+width*float64(k)/steps, width/steps
			p += (density(x) + 4*density(x+h/2) + density(x+h)) * h / 6
		}
		f.share = append(f.share, p)
		sum += p
		if i < cells-1 {
			f.cuts = append(f.cuts, a+width)
		}
	}
	for i := range f.share {
		f.share[i] /= sum
	}
	return f
}

func TestUniform(t *testing.T) {
	u := func(s *Source) float64 { return s.Uniform() }
	f := cut("uniform", u, func(float64) float64 { return 1 }, 0, 1)
	f.check(t, draws())
	n := cut("normal", (*Source).Normal, func(x float64) float64 { return math.Exp(-x * x / 2) }, -9, 9)
	n.check(t, draws())
	// The ends of the range.
	for _, bits := range []uint64{0, 1<<52 - 1} {
		if v := (float64(bits) + 0.5) * 0x1p-52; !(v > 0 && v < 1) {
			t.Error(v)
		}
	}
	for _, n := range []uint64{1, 2, 3, 10, 1<<63 + 1} {
		f := fit{name: fmt.Sprint("below ", n), draw: func(s *Source) float64 { return float64(s.Below(n)) / float64(n) }}
		cells := min(n, 100)
		for i := range cells {
			if i > 0 {
				f.cuts = append(f.cuts, (float64(i)-0.5)/float64(min(n, 1e9)))
			}
			f.share = append(f.share, 1/float64(cells))
		}
		if n > 100 {
			for i := range f.cuts {
				f.cuts[i] = float64(i+1) / 100
			}
		}
		if n > 1 {
			f.check(t, draws())
		} else if New(1, 1).Below(1) != 0 {
			t.Error("a number below 1 is not 0")
		}
	}
}

// Streams and seeds beside each other have nothing in common: their first numbers are as those of one stream.
func TestStreams(t *testing.T) {
	for name, start := range map[string]func(i uint64) *Source{
		"streams": func(i uint64) *Source { return New(1, i) },
		"seeds":   func(i uint64) *Source { return New(i, 2) },
	} {
		i, last := uint64(0), 0.5
		f := cut(name, func(*Source) float64 {
			v := start(i).Uniform()
			i++
			// Pairs: which of ten the last number was in, and this one within.
			pair := (math.Floor(last*10) + v) / 10
			last = v
			return pair
		}, func(float64) float64 { return 1 }, 0, 1)
		f.check(t, draws()/4)
	}
}

// The density of ln x for x of a gamma distribution, and of x.
func logGamma(shape float64) func(t float64) float64 {
	c, _ := math.Lgamma(shape)
	return func(t float64) float64 { return math.Exp(shape*t - math.Exp(t) - c) }
}

func gamma(shape float64) func(x float64) float64 {
	c, _ := math.Lgamma(shape)
	return func(x float64) float64 { return math.Exp((shape-1)*math.Log(x) - x - c) }
}

func TestGamma(t *testing.T) {
	for _, shape := range []float64{1e-3, 0.01, 1.0 / 30, 0.3, 0.999, 1, 1.5, 3, 40, 1e3, 9e5, 2e6, 1e10} {
		sd := math.Sqrt(shape)
		if shape < 2 {
			of := func(s *Source) float64 { return s.LogGamma(shape) }
			f := cut(fmt.Sprint("ln gamma ", shape), of, logGamma(shape), -25/shape, 4)
			f.check(t, draws())
			// Where it does not underflow, the number is that of its logarithm.
			a, b := New(3, 4), New(3, 4)
			for range 1000 {
				g, l := a.Gamma(shape), b.LogGamma(shape)
				if math.Abs(g-kernel.Exp64(l)) > 1e-13*math.Max(1, math.Abs(l))*g+1e-320 {
					t.Fatalf("gamma %v: %v and of the logarithm %v", shape, g, kernel.Exp64(l))
				}
			}
			continue
		}
		density := gamma(shape)
		if shape > 1e6 { // Lgamma would cancel: the density over that of the mode
			density = func(x float64) float64 {
				d := x - (shape - 1)
				return math.Exp((shape-1)*math.Log1p(d/(shape-1)) - d)
			}
		}
		of := func(s *Source) float64 { return s.Gamma(shape) }
		f := cut(fmt.Sprint("gamma ", shape), of, density, math.Max(1e-9, shape-8*sd), shape+12*sd)
		f.check(t, draws())
	}
	for _, bad := range []float64{0, -0.5, math.Inf(-1), math.NaN()} {
		panics(t, func() { New(1, 1).Gamma(bad) })
		panics(t, func() { New(1, 1).LogGamma(bad) })
	}
	if v := New(1, 1).Gamma(math.Inf(1)); !math.IsInf(v, 1) {
		t.Error(v)
	}
}

// What is taken without a logarithm is taken with it too, and for large shapes the rule goes on as it was.
func TestGammaLimit(t *testing.T) {
	for _, d := range []float64{2.0 / 3, 0.7, 1, 2, 10, 100, 1e4, 1e6} {
		for x := -6.0; x <= 6; x += 0.01 {
			v := math.Pow(1+x/(3*math.Sqrt(d)), 3)
			if p := surely(x * x); v > 0 && p > 0 && math.Log(p) > limit(d, x*x, v)+1e-9 {
				t.Fatalf("%v %v: %v is taken, but %v should be", d, x, p, math.Exp(limit(d, x*x, v)))
			}
		}
	}
	d := 1e6
	for x := -6.0; x <= 6; x += 0.1 {
		v := math.Pow(1+x/(3*math.Sqrt(d)), 3)
		if a, b := limit(d, x*x, v), limit(math.Nextafter(d, 2*d), x*x, v); math.Abs(a-b) > 1e-7 {
			t.Errorf("%v: %v and %v", x, a, b)
		}
	}
	if d *= 1.1; math.Abs(limit(d, 25, math.Pow(1+5/(3*math.Sqrt(d)), 3))+625/(108*d)) > 1e-12 {
		t.Error(limit(d, 25, 1))
	}
}

// A share is of a beta distribution, and shares that are added are of the sum of their parameters. Of two with parameters
// so small that the numbers would underflow, one is all, as often as its parameter says.
func TestDirichlet(t *testing.T) {
	alpha := []float64{0.2, 3, 0.2, 1.5}
	dst := make([]float64, 4)
	beta := func(a, b float64) func(x float64) float64 {
		return func(t float64) float64 { // of the logit
			return math.Exp(a*t - (a+b)*math.Log1p(math.Exp(t)))
		}
	}
	logit := func(p float64) float64 { return math.Log(p) - math.Log1p(-p) }
	for i, a := range alpha {
		f := cut(fmt.Sprint("share ", i), func(s *Source) float64 {
			s.Dirichlet(dst, alpha)
			return logit(dst[i])
		}, beta(a, 4.9-a), -20/a, 20/(4.9-a))
		f.check(t, draws()/4)
	}
	f := cut("shares", func(s *Source) float64 {
		s.Dirichlet(dst, alpha)
		return math.Log(dst[0]+dst[2]) - math.Log(dst[1]+dst[3])
	}, beta(0.4, 4.5), -50, 5)
	f.check(t, draws()/4)

	for _, a := range []float64{1e-3, 1e-9, 1e-300} {
		s, first, n := New(1, 1), 0.0, 30000
		for range n {
			s.Dirichlet(dst[:2], []float64{a, 3 * a})
			if sum := dst[0] + dst[1]; math.Abs(sum-1) > 1e-15 {
				t.Fatalf("%v: shares %v", a, dst[:2])
			}
			first += dst[0]
		}
		if z := (first/float64(n) - 0.25) / math.Sqrt(0.25*0.75/float64(n)); math.Abs(z) > 4.5 {
			t.Errorf("%v: mean share %v", a, first/float64(n))
		}
	}
	New(1, 1).Dirichlet(nil, nil)
	panics(t, func() { New(1, 1).Dirichlet(dst, alpha[:3]) })
	panics(t, func() { New(1, 1).Dirichlet(dst[:2], []float64{1, 0}) })
}

func TestTruncatedNormal(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ mean, sd, low, high float64 }{
		{0, 1, -9, 9}, {0, 1, -1, 1}, {0, 1, -1.2, 1.3}, {0, 1, -1.3, 1.3}, {0, 1, 0, 0.1}, {0, 1, 0, 3}, // the mean is inside
		{0, 1, 0.01, 20}, {0, 1, 0.5, 1}, {0, 1, 0.5, 4}, {0, 1, 2, 2.01}, {0, 1, 2, 3}, {0, 1, 5, 5.3}, {0, 1, 5, 5.4},
		{0, 1, 8, 9},
		{0, 1, 38, 40}, {0, 1, 1e4, 2e4}, {0, 1, 1e4, 1e4 + 1e-5}, {-1e9, 1, 0, 1e9}, // far off
		{0, 1, -3, -2}, {0, 1, -40, -38}, {0, 1, -2e4, -1e4}, {0, 1, -0.1, 0}, // on the other side
		{0.1, 0.02, 0, 0.2}, {-0.3, 0.05, 0, 0.2}, {0.93, 0.01, 0.4, 0.6}, {0.5, 100, 0.4, 0.6}, // as bins have them
		{0, 1, -inf, inf}, {0, 1, 1, inf}, {0, 1, -inf, 2}, {0, 1, -inf, -7}, {0, 1, 3e200, inf}, {-1e300, 1e-300, 1, 2},
	} {
		name := fmt.Sprintf("normal(%v,%v) in [%v,%v]", c.mean, c.sd, c.low, c.high)
		var f fit
		// Where it is at all, in deviations from the near end or the mean.
		switch {
		case c.low > c.mean || c.high < c.mean:
			sign, a := 1.0, (c.low-c.mean)/c.sd
			end := c.low
			if c.high < c.mean {
				sign, a, end = -1, (c.mean-c.high)/c.sd, c.high
			}
			if a > 1e100 { // no number is between
				s := New(1, 1)
				for range 1000 {
					if v := s.TruncatedNormal(c.mean, c.sd, c.low, c.high); v != end {
						t.Fatalf("%s: %v", name, v)
					}
				}
				continue
			}
			width := math.Min((c.high-c.low)/c.sd, math.Min(9, 30/a))
			f = cut(name, func(s *Source) float64 {
				v := s.TruncatedNormal(c.mean, c.sd, c.low, c.high)
				if v < c.low || v > c.high {
					t.Fatalf("%s: %v", name, v)
				}
				return sign * (v - end) / c.sd
			}, func(d float64) float64 { return math.Exp(-d * (a + d/2)) }, 0, width)
			f.cuts[0] = -1e-300 // the end itself is inside
		default:
			a, b := math.Max(-9, (c.low-c.mean)/c.sd), math.Min(9, (c.high-c.mean)/c.sd)
			f = cut(name, func(s *Source) float64 {
				v := s.TruncatedNormal(c.mean, c.sd, c.low, c.high)
				if v < c.low || v > c.high {
					t.Fatalf("%s: %v", name, v)
				}
				return (v - c.mean) / c.sd
			}, func(z float64) float64 { return math.Exp(-z * z / 2) }, a, b)
			f.cuts[0] = a - 1e-9
		}
		f.check(t, draws()/4)
	}
	for _, bad := range [][4]float64{{0, 0, 0, 1}, {0, 1, 1, 1}, {0, 1, 2, 1}, {math.NaN(), 1, 0, 1}, {0, math.NaN(), 0, 1},
		{0, 1, math.NaN(), 1}, {inf, 1, 0, 1}} {
		panics(t, func() { New(1, 1).TruncatedNormal(bad[0], bad[1], bad[2], bad[3]) })
	}
}

// exactBinomial returns a fit by the probabilities themselves, as ratios from the mode on.
func exactBinomial(n int64, p float64) fit {
	f := fit{name: fmt.Sprintf("binomial %v %v", n, p), draw: func(s *Source) float64 { return float64(s.Binomial(n, p)) }}
	mode := int64(float64(n+1) * p)
	reach := int64(15*math.Sqrt(float64(n)*p*(1-p))) + 40
	lo, hi := max(0, mode-reach), min(n, mode+reach)
	at := make([]float64, hi-lo+1)
	at[mode-lo] = 1
	sum := 1.0
	for k := mode; k < hi; k++ {
		at[k+1-lo] = at[k-lo] * float64(n-k) / float64(k+1) * p / (1 - p)
		sum += at[k+1-lo]
	}
	for k := mode; k > lo; k-- {
		at[k-1-lo] = at[k-lo] * float64(k) / float64(n-k+1) * (1 - p) / p
		sum += at[k-1-lo]
	}
	f.share = []float64{0}
	f.cuts = []float64{float64(lo) - 0.5}
	// Cells of a two-hundredth of all, or of a single number.
	for i, q := range at {
		f.share[len(f.share)-1] += q / sum
		if (f.share[len(f.share)-1] > 0.005 || i == 0) && i < len(at)-1 {
			f.share, f.cuts = append(f.share, 0), append(f.cuts, float64(lo)+float64(i)+0.5)
		}
	}
	f.share = append([]float64{0}, f.share...)
	return f
}

func TestBinomial(t *testing.T) {
	for _, np := range []float64{0.1, 1, 4, 9.9, 10.1, 12, 30, 100, 1e4, 1e6} {
		for _, p := range []float64{0.5, 0.3, 0.03, 1e-4, 1e-9} {
			n := int64(math.Round(np / p))
			if n < 2 || np < 1 && p > 0.05 {
				continue
			}
			f := exactBinomial(n, p)
			f.check(t, draws()/4)
			if p == 0.3 { // turned, above a half
				f := exactBinomial(n, 0.7)
				f.check(t, draws()/4)
			}
		}
	}
	few := exactBinomial(20, 0.5)
	few.check(t, draws())
	// With as many trials as there can be the law is normal.
	n, p := int64(1)<<53, 0.25
	sd := math.Sqrt(float64(n) * p * (1 - p))
	f := cut("binomial 2^53", func(s *Source) float64 { return (float64(s.Binomial(n, p)) - float64(n)*p) / sd },
		func(x float64) float64 { return math.Exp(-x * x / 2) }, -7, 7)
	f.check(t, draws())

	s := New(1, 1)
	for _, c := range []struct {
		n    int64
		p    float64
		want int64
	}{{0, 0.5, 0}, {-3, 0.5, 0}, {9, 0, 0}, {9, -1, 0}, {9, 1, 9}, {9, 2, 9}, {1 << 40, 5e-324, 0}} {
		if got := s.Binomial(c.n, c.p); got != c.want {
			t.Errorf("binomial %v %v: %v", c.n, c.p, got)
		}
	}
	panics(t, func() { s.Binomial(9, math.NaN()) })
}

// The ratios of probabilities are those of the factors.
func TestOverMode(t *testing.T) {
	for _, c := range []struct {
		n int64
		p float64
	}{{20, 0.5}, {40, 0.3}, {1000, 0.011}, {1e6, 0.4}, {1e12, 1e-10}, {1e15, 1e-9}} {
		odds, n := c.p/(1-c.p), float64(c.n)
		mode := math.Floor((n + 1) * c.p)
		for _, step := range []float64{1, -1} {
			want := 0.0
			for k := mode; k >= 0 && k <= n && math.Abs(k-mode) < 1000; k += step {
				if got := overMode(k, mode, n, odds); math.Abs(got-want) > 1e-9*math.Max(1, -want) {
					t.Fatalf("%v of %v at %v: %v, want %v", k, n, c.p, got, want)
				}
				if step > 0 {
					want += math.Log((n - k) / (k + 1) * odds)
				} else {
					want -= math.Log((n - k + 1) / k * odds)
				}
			}
		}
	}
}

func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if _, ok := recover().(string); !ok {
			t.Error("no panic with a text")
		}
	}()
	f()
}
