package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// sumOf returns the Sum of the terms, added exactly.
func sumOf(v ...float64) *Sum {
	s := new(Sum)
	for _, f := range v {
		s.AddExact(f)
	}
	return s
}

func ratOf(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }

// same holds two answers to be the same bits, or both NaN.
func same(a, b float64) bool { return sameBits(a, b) || a != a && b != b }

func TestRatioAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(anyFloat(), 0, 5).Draw(t, "num"), rapid.SliceOfN(anyFloat(), 0, 5).Draw(t, "den")
		num, den := sumOf(a...), sumOf(b...)
		rn, rd := new(big.Rat), new(big.Rat)
		for _, v := range a {
			rn.Add(rn, ratOf(v))
		}
		for _, v := range b {
			rd.Add(rd, ratOf(v))
		}
		want := math.NaN()
		switch {
		case rd.Sign() != 0:
			want, _ = new(big.Rat).Quo(rn, rd).Float64()
		case rn.Sign() != 0:
			want = math.Inf(rn.Sign())
		}
		if got := Ratio(num, den); !same(got, want) {
			t.Fatalf("Ratio %x, want %x", got, want)
		}
		if Rat(num).Cmp(rn) != 0 || Rat(den).Cmp(rd) != 0 {
			t.Fatalf("Ratio changed its arguments")
		}
	})
}

func TestRatioCases(t *testing.T) {
	for _, c := range []struct{ num, den, want float64 }{
		{1, 3, 1.0 / 3}, {-1, 3, -1.0 / 3}, {0, 5, 0}, {0, -5, 0}, {0, 0, math.NaN()}, {2, 0, math.Inf(1)}, {-2, 0, math.Inf(-1)},
		{math.MaxFloat64, 0x1p-1074, math.Inf(1)}, {0x1p-1074, math.MaxFloat64, 0}, {0x1p-1074, 2, 0}, {0x3p-1074, 2, 0x2p-1074},
		{0.1, 0.3, 0x1.5555555555556p-2}, // 0.1 and 0.3 are not the decimals
	} {
		if got := Ratio(sumOf(c.num), sumOf(c.den)); !same(got, c.want) {
			t.Errorf("%v / %v = %v, want %v", c.num, c.den, got, c.want)
		}
	}
}

func TestMean(t *testing.T) {
	for _, c := range []struct {
		s    *Sum
		n    int64
		want float64
	}{
		{sumOf(1, 2, 4), 3, 7.0 / 3}, {sumOf(), 4, 0}, {sumOf(1), 0, math.NaN()}, {sumOf(1), -1, math.NaN()},
		{sumOf(math.MaxFloat64, math.MaxFloat64), 2, math.MaxFloat64}, // the sum itself rounds to an infinity
		{sumOf(1e100, 1, -1e100), 1, 1},
	} {
		if got := Mean(c.s, c.n); !same(got, c.want) {
			t.Errorf("mean of %v over %d: %v, want %v", c.s.Float64(), c.n, got, c.want)
		}
	}
}

// squares returns the sums of v and of its squares, both exact: a square is h + l, h = fl(v·v), l by a fused operation.
func squares(v ...float64) (s1, s2 *Sum) {
	s1, s2 = new(Sum), new(Sum)
	for _, f := range v {
		s1.AddExact(f)
		h := f * f
		s2.AddExact(h)
		s2.AddExact(math.FMA(f, f, -h))
	}
	return s1, s2
}

func TestVariance(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{nil, math.NaN()}, {[]float64{3}, math.NaN()}, {[]float64{3, 3}, 0}, {[]float64{1, 2, 3, 4}, 5.0 / 3}, {[]float64{1, -1}, 2},
		{[]float64{1e15 + 1, 1e15 + 2, 1e15 + 3}, 1}, // where float64 sums of squares lose everything
	} {
		s1, s2 := squares(c.v...)
		if got := Variance(int64(len(c.v)), s1, s2); !same(got, c.want) {
			t.Errorf("%v: %v, want %v", c.v, got, c.want)
		}
	}
	if got := Variance(2, sumOf(2), sumOf(2-0x1p-52)); got != 0 || math.Signbit(got) {
		t.Errorf("squares that were rounded down: %v, want 0", got)
	}
}

func TestVarianceAgainstTwoPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 2, 20).Draw(t, "v")
		for i := range v {
			v[i] = math.Round(v[i]*1024) / 1024 // so that no square is subnormal and squares is exact
		}
		n := new(big.Rat).SetInt64(int64(len(v)))
		mean := new(big.Rat)
		for _, f := range v {
			mean.Add(mean, ratOf(f))
		}
		mean.Quo(mean, n)
		ss := new(big.Rat)
		for _, f := range v {
			d := new(big.Rat).Sub(ratOf(f), mean)
			ss.Add(ss, d.Mul(d, d))
		}
		want, _ := ss.Quo(ss, n.Sub(n, ratOf(1))).Float64()
		s1, s2 := squares(v...)
		if got := Variance(int64(len(v)), s1, s2); !same(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestWeightedVarianceAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		w, w2, s1, s2 := new(Sum), new(Sum), new(Sum), new(Sum)
		rw, rw2, r1, r2 := new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)
		for range n {
			// Small integers over 16, whose products are exact in float64.
			c := float64(rapid.IntRange(1, 64).Draw(t, "weight")) / 16
			v := float64(rapid.IntRange(-4096, 4096).Draw(t, "term")) / 16
			w.AddExact(c)
			w2.AddExact(c * c)
			s1.AddExact(c * v)
			s2.AddExact(c * v * v)
			rw.Add(rw, ratOf(c))
			rw2.Add(rw2, ratOf(c*c))
			r1.Add(r1, ratOf(c*v))
			r2.Add(r2, ratOf(c*v*v))
		}
		m := new(big.Rat).Quo(r1, rw)
		v := new(big.Rat).Quo(r2, rw)
		v.Sub(v, new(big.Rat).Mul(m, m))
		eff := new(big.Rat).Mul(rw, rw)
		eff.Quo(eff, rw2)
		wantN, _ := eff.Float64()
		want := math.NaN()
		if less := new(big.Rat).Sub(eff, ratOf(1)); less.Sign() > 0 {
			v.Mul(v, eff)
			want, _ = v.Quo(v, less).Float64()
		}
		got, gotN := WeightedVariance(w, w2, s1, s2)
		if !same(got, want) || !same(gotN, wantN) {
			t.Fatalf("%v, %v; want %v, %v", got, gotN, want, wantN)
		}
	})
}

func TestWeightedVarianceCases(t *testing.T) {
	s1, s2 := squares(1, 2, 3, 4)
	if v, n := WeightedVariance(sumOf(4), sumOf(4), s1, s2); v != Variance(4, s1, s2) || n != 4 {
		t.Errorf("equal weights: %v, %v", v, n)
	}
	for _, c := range []struct{ w, w2 float64 }{{0, 0}, {0, 1}, {1, 0}, {-1, 1}} {
		if v, n := WeightedVariance(sumOf(c.w), sumOf(c.w2), s1, s2); v == v || n == n {
			t.Errorf("w = %v, w2 = %v: %v, %v", c.w, c.w2, v, n)
		}
	}
	if v, n := WeightedVariance(sumOf(3), sumOf(9), sumOf(3), sumOf(3)); v == v || n != 1 {
		t.Errorf("one row: %v, %v", v, n)
	}
	if v, n := WeightedVariance(sumOf(2), sumOf(2), sumOf(2), sumOf(2-0x1p-52)); v != 0 || n != 2 {
		t.Errorf("squares that were rounded down: %v, %v", v, n)
	}
}

// StdErr is the root of the exact radicand, rounded once.
func TestStdErr(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 3000 {
		var s1, s2 Sum
		n := int64(1 + r.IntN(50))
		scale := r.IntN(800) - 400
		for range n {
			v := math.Ldexp(r.Float64()-0.3, scale)
			if trial%7 == 0 {
				v = math.Ldexp(1, scale)
			}
			s1.AddExact(v)
			s2.AddExact(float64(v * v))
		}
		got := StdErr(n, &s1, &s2)
		if n < 2 {
			if got == got {
				t.Fatalf("of one term: %v", got)
			}
			continue
		}
		num := excess(new(big.Rat).SetInt64(n), Rat(&s1), Rat(&s2))
		want := 0.0
		if num.Sign() > 0 {
			num.Quo(num, new(big.Rat).SetInt64(n*n*(n-1)))
			f := new(big.Float).SetPrec(53).SetMode(big.ToNearestEven).SetRat(num)
			k := f.MantExp(nil) &^ 1
			m, _ := f.SetMantExp(f, -k).Float64()
			want = math.Ldexp(math.Sqrt(m), k/2)
		}
		if got != want {
			t.Fatalf("n = %d at 2^%d: %v, not %v", n, scale, got, want)
		}
	}
}
