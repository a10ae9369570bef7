package tally

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// rounded returns v to the nearest multiple of 2^-q, ties to even.
func rounded(v float64, q int) *big.Rat {
	s := math.Ldexp(v, q)
	if math.Abs(s) >= 1<<52 {
		return new(big.Rat).SetFloat64(v) // a multiple already
	}
	return new(big.Rat).SetFloat64(math.Ldexp(math.RoundToEven(s), -q))
}

// quantum returns the number of bits after the point that a window keeps.
func quantum(w *kernel.Window) int {
	m := w.Magic
	if w.Fine != 0 {
		m = w.Fine
	}
	return 88 - int(Shift(m))
}

// want returns the sums that a Mean should have: each value and square rounded once, or not at all outside the windows.
func want(v []float64, first, second *kernel.Window) (s1, s2 *big.Rat, over int64) {
	s1, s2 = new(big.Rat), new(big.Rat)
	for _, x := range v {
		for _, t := range []struct {
			s *big.Rat
			x float64
			w *kernel.Window
		}{{s1, x, first}, {s2, x * x, second}} {
			switch {
			case math.IsInf(t.x, 0):
				if t.w == second {
					over++
				}
			case math.Abs(t.x) > t.w.Max:
				t.s.Add(t.s, new(big.Rat).SetFloat64(t.x))
			default:
				t.s.Add(t.s, rounded(t.x, quantum(t.w)))
			}
		}
	}
	return s1, s2, over
}

func TestMeanWindows(t *testing.T) {
	nll := []*kernel.Window{&kernel.WindowNLL, &kernel.WindowNLL2}
	brier := []*kernel.Window{&kernel.WindowBrier, &kernel.WindowBrier2}
	entropy := []*kernel.Window{&kernel.WindowEntropy, &kernel.WindowEntropy2}
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		w    []*kernel.Window
		one  []float64
	}{
		{"nll at the end", nll, []float64{2047}},
		{"nll under the end", nll, []float64{math.Nextafter(2047, 0)}},
		{"nll over the end", nll, []float64{math.Nextafter(2047, 3000)}},
		{"nll between the ends", nll, []float64{2047.5, 2047.99, 2048, 0x1p11 + 1}},
		{"nll small", nll, []float64{1e-12, 1e-25, 0x1p-89, 5e-324, 0}},
		{"nll large", nll, []float64{1e38, 1, 1e300, 1e-12, math.MaxFloat64}},
		{"nll infinite", nll, []float64{math.Inf(1), 1, 2047}},
		{"brier 2", brier, []float64{2}},
		{"brier over", brier, []float64{math.Nextafter(2, 3), 1e60, 4, 0}},
		{"brier below", brier, []float64{-2, -1e60}},
		{"entropy of 262,144 even classes", entropy, []float64{math.Log(262144)}},
		{"entropy 32", entropy, []float64{32}},
		{"entropy over", entropy, []float64{math.Nextafter(32, 33), -33, 1e30}},
		{"random nll", nll, []float64{r.ExpFloat64(), 1e-7 * r.ExpFloat64(), 2000 * r.Float64(), 2100 * r.Float64()}},
		{"random brier", brier, []float64{r.Float64(), 2 * r.Float64(), 1e-9 * r.Float64(), 1e-17}},
	} {
		for _, n := range []int{1, 3, kernel.MaxSum - 1, kernel.MaxSum, kernel.MaxSum + 1, 5 * kernel.MaxSum} {
			v := make([]float64, n)
			for i := range v {
				v[i] = c.one[i%len(c.one)]
			}
			var m Mean
			m.Add(v, c.w[0], c.w[1], nil)
			s1, s2, over := new(big.Rat), new(big.Rat), int64(0)
			for i, x := range c.one { // each as often as it is in v
				a, b, o := want([]float64{x}, c.w[0], c.w[1])
				times := int64((n - i + len(c.one) - 1) / len(c.one))
				s1.Add(s1, a.Mul(a, big.NewRat(times, 1)))
				s2.Add(s2, b.Mul(b, big.NewRat(times, 1)))
				over += o * times
			}
			if exact.Rat(&m.S1).Cmp(s1) != 0 {
				t.Errorf("%s x %d: sum is %v, want %v", c.name, n, exact.Rat(&m.S1), s1)
			}
			if exact.Rat(&m.S2).Cmp(s2) != 0 {
				t.Errorf("%s x %d: sum of squares is %v, want %v", c.name, n, exact.Rat(&m.S2), s2)
			}
			if m.Over != over {
				t.Errorf("%s x %d: %d squares are over, want %d", c.name, n, m.Over, over)
			}
		}
	}
}

func TestMeanWeighted(t *testing.T) {
	v := []float64{1, 1e-12, 2047.5, 1e300, math.MaxFloat64, math.Inf(1), 0.25}
	for _, w := range []float64{0x1p-32, 0.3, 1, 0x1p32} {
		var m Mean
		var n Weight
		weights := make([]float64, len(v))
		sum := new(big.Rat)
		for i, x := range v {
			weights[i] = w
			if math.IsInf(x, 0) {
				continue
			}
			p := new(big.Rat).SetFloat64(w * x)
			if p == nil { // beyond float64, where the product is rounded at 2^-32 of its size
				p = new(big.Rat).SetFloat64(w * 0x1p-32 * x)
				p.Mul(p, new(big.Rat).SetFloat64(0x1p32))
			} else if w*x < 1 {
				p = rounded(w*x, 88)
			}
			sum.Add(sum, p)
		}
		m.Add(v, &kernel.WindowNLL, &kernel.WindowNLL2, weights)
		n.Add(len(v), weights)
		if exact.Rat(&m.S1).Cmp(sum) != 0 {
			t.Errorf("weight %v: %v, want %v", w, exact.Rat(&m.S1), sum)
		}
		if m.Over != 3 {
			t.Errorf("weight %v: %d over", w, m.Over)
		}
		if v := m.Value(&n, true); math.IsInf(v, 0) || v != v {
			t.Errorf("weight %v: mean %v", w, v)
		}
	}
}

func TestCell(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	unit := 51
	for name, p := range map[string]func() float64{
		"ones":      func() float64 { return 1 },
		"zeros":     func() float64 { return 0 },
		"random":    r.Float64,
		"tiny":      func() float64 { return 1e-17 * r.Float64() },
		"unchecked": func() float64 { return []float64{1e30, -1e30, 0.5, 1, math.Nextafter(1, 2), -1e-9}[r.IntN(6)] },
	} {
		const n = 3*kernel.MaxSum + 17
		v, y := make([]float64, n), make([]uint8, n)
		sums := [4]*big.Rat{new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)}
		for i := range v {
			v[i], y[i] = p(), uint8(r.IntN(2))
			a, b := rounded(v[i], unit), rounded(v[i]*v[i], unit)
			if !(v[i] >= 0 && v[i] <= 1) {
				a, b = new(big.Rat).SetFloat64(v[i]), new(big.Rat).SetFloat64(v[i]*v[i])
			}
			sums[0].Add(sums[0], a)
			sums[1].Add(sums[1], b)
			if y[i] == 1 {
				sums[2].Add(sums[2], a)
				sums[3].Add(sums[3], big.NewRat(1, 1))
			}
		}
		var c Cell
		c.AddAll(v, y, nil)
		for i, s := range []*exact.Sum{&c.P, &c.PP, &c.PY, &c.Y} {
			if exact.Rat(s).Cmp(sums[i]) != 0 {
				t.Errorf("%s: sum %d is %v, want %v", name, i, exact.Rat(s), sums[i])
			}
		}
		if c.N != n {
			t.Errorf("%s: %d rows", name, c.N)
		}
		gap := new(big.Rat).Sub(sums[0], sums[3])
		if g := c.Gap(); exact.Rat(&g).Cmp(gap) != 0 {
			t.Errorf("%s: gap", name)
		}
		sq := new(big.Rat).Sub(sums[1], new(big.Rat).Mul(big.NewRat(2, 1), sums[2]))
		sq.Add(sq, sums[3])
		if s := c.Squares(); exact.Rat(&s).Cmp(sq) != 0 {
			t.Errorf("%s: squares", name)
		}
		if s := c.Spread(); exact.Rat(&s).Cmp(new(big.Rat).Sub(sums[0], sums[1])) != 0 {
			t.Errorf("%s: spread", name)
		}
	}
}

// TestDoubling merges states with themselves up to 2^62 rows.
func TestDoubling(t *testing.T) {
	var c Cell
	c.AddAll([]float64{1, 0.75}, []uint8{1, 0}, nil)
	m := Mean{}
	m.Add([]float64{2047, 1e300}, &kernel.WindowNLL, &kernel.WindowNLL2, nil)
	s1 := exact.Rat(&m.S1)
	for range 61 {
		c.Merge(&c)
		m.Merge(&m)
	}
	if c.N != 1<<62 {
		t.Fatal(c.N)
	}
	if f, p := c.Frequency(false), c.Score(false); f != 0.5 || p != 0.875 {
		t.Error(f, p)
	}
	mean, se := c.MeanGap(false)
	if want := 0.375 * 0x1p-31; mean != 0.375 || math.Abs(se-want) > 1e-12*want {
		t.Error(mean, se)
	}
	if exact.Rat(&m.S1).Cmp(new(big.Rat).Mul(s1, new(big.Rat).SetFloat64(0x1p61))) != 0 {
		t.Error("the mean's sum")
	}
	if v := m.Value(&c.Weight, false); v != 5e299 {
		t.Error(v)
	}
	b := bytesOf(&c, &m)
	var c2 Cell
	var m2 Mean
	if err := testFormat.Read(b, listOf(0, &c2, &m2)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, bytesOf(&c2, &m2)) {
		t.Error("another state after decoding")
	}
}
