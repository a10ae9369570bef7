package tally

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
)

// anySize returns numbers whose exponents spread over this many powers of two around a middle; some are 0.
func anySize(r *rand.Rand, n, middle, spread int) []float64 {
	v := make([]float64, n)
	for i := range v {
		if r.IntN(20) > 0 {
			v[i] = math.Ldexp(2*r.Float64()-1, middle+r.IntN(2*spread+1)-spread)
		}
	}
	return v
}

var testFormat = exact.Format{Name: "a test", Magic: "cTST", Version: 1}

// listOf is the list of the fields of some of package tally's types, of at most n numbers each.
func listOf(n int64, states ...any) func(*exact.Fields) {
	return func(f *exact.Fields) {
		for _, s := range states {
			switch s := s.(type) {
			case interface{ Fields(*exact.Fields) }:
				s.Fields(f)
			case interface{ Fields(*exact.Fields, int64) }:
				s.Fields(f, n)
			}
		}
	}
}

// bytesOf is a state with these.
func bytesOf(states ...any) []byte {
	b, err := testFormat.Append(nil, listOf(math.MaxInt64, states...))
	if err != nil {
		panic(err)
	}
	return b
}

// TestAnySize holds that what is kept depends on the numbers alone, not on how they come, and that it is their sum, of squares and of
// products' squares to the rounding of each, at any size.
func TestAnySize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ n, middle, spread int }{
		{2100, 0, 3}, {2100, 0, 10}, {4200, 0, 40}, {2100, 0, 230}, {2100, 239, 2}, {2100, -239, 2}, {2100, 720, 3}, {300, -1000, 74},
		{2000, 900, 100}, {2000, 0, 1000}, {63, 0, 20}, {64, 0, 20}, {1, 500, 3},
	} {
		v, y := anySize(r, c.n, c.middle, c.spread), anySize(r, c.n, c.middle, c.spread)
		for _, weights := range [][]float64{nil, anySize(r, c.n, 0, 30)} {
			for i, w := range weights {
				weights[i] = math.Abs(w) + 0x1p-32
			}
			var mean UnitMean
			var square MeanSquare
			var product Squares
			var plain exact.Sum
			mean.Add(v, weights)
			square.Add(v, weights)
			product.AddProducts(v, y, weights)
			AddUnits(&plain, v, weights)

			// In another order, by parts of every length, merged.
			order := r.Perm(c.n)
			var mean2 UnitMean
			var square2 MeanSquare
			var product2 Squares
			var plain2 exact.Sum
			for at := 0; at < c.n; {
				n := min(1+r.IntN(1+r.IntN(700)), c.n-at)
				var pv, py, pw []float64
				for _, i := range order[at : at+n] {
					pv, py = append(pv, v[i]), append(py, y[i])
					if weights != nil {
						pw = append(pw, weights[i])
					}
				}
				at += n
				var m UnitMean
				var s MeanSquare
				var p Squares
				m.Add(pv, pw)
				s.Add(pv, pw)
				p.AddProducts(py, pv, pw)
				mean2.Merge(&m)
				square2.Merge(&s)
				product2.Merge(&p)
				AddUnits(&plain2, pv, pw)
			}
			if !bytes.Equal(bytesOf(&mean), bytesOf(&mean2)) || !bytes.Equal(bytesOf(&square), bytesOf(&square2)) {
				t.Errorf("%v: another order makes another state", c)
			}
			if !bytes.Equal(bytesOf(&product), bytesOf(&product2)) || !plain.Equal(&plain2) || !plain.Equal(&mean.Sum) {
				t.Errorf("%v: another order makes other products or sums", c)
			}
			if !bytes.Equal(bytesOf(&mean.Squares), bytesOf(&square.Squares)) {
				t.Errorf("%v: squares differ", c)
			}

			number := func(v float64) *big.Float { return new(big.Float).SetPrec(9000).SetFloat64(v) } // no sum is rounded
			sum, size, second, fourth, cross := number(0), number(0), number(0), number(0), number(0)
			for i, x := range v {
				w := number(1)
				if weights != nil {
					w = number(weights[i])
				}
				a, b := number(x), number(y[i])
				wa, q := number(0).Mul(w, a), number(0).Mul(a, a)
				sum.Add(sum, wa)
				size.Add(size, wa.Abs(wa))
				second.Add(second, number(0).Mul(w, q))
				fourth.Add(fourth, number(0).Mul(w, number(0).Mul(q, q)))
				b.Mul(b, a)
				cross.Add(cross, w.Mul(w, b.Mul(b, b)))
			}
			close := func(name string, got *big.Rat, want, scale *big.Float, off float64) {
				t.Helper()
				d := number(0).SetRat(got)
				d.Sub(d, want)
				if scale.Sign() != 0 {
					d.Quo(d.Abs(d), scale)
				}
				if f, _ := d.Float64(); !(f <= off) {
					t.Errorf("%v, weights %v: %s is off by %v of it", c, weights != nil, name, f)
				}
			}
			off := 0.0
			if weights != nil && c.middle > -900 { // beneath, products with weights may be subnormal
				off = 0x1p-53
			} else if weights != nil {
				off = 1e-3
			}
			close("the sum", exact.Rat(&mean.Sum), sum, size, off)
			close("squares", mean.Squares.Rat(), second, second, 0x1p-52)
			close("fourth powers", square.Fourth.Rat(), fourth, fourth, 0x1p-50)
			close("products", product.Rat(), cross, cross, 0x1p-50)
		}
	}
}

func TestAnySizeInfinite(t *testing.T) {
	inf := math.Inf(1)
	v, weights := []float64{1, inf, 2, -inf, 3}, []float64{1, 2, 3, 4, 5}
	var m, m2 UnitMean
	var s, s2 MeanSquare
	m.Add(v, weights)
	s.Add(v, weights)
	m2.Add([]float64{1, 2, 3}, []float64{1, 3, 5})
	s2.Add([]float64{1, 2, 3}, []float64{1, 3, 5})
	if m.Infinite != 2 || s.Infinite != 2 || !m.Sum.Equal(&m2.Sum) || !bytes.Equal(bytesOf(&s.Squares), bytesOf(&s2.Squares)) {
		t.Error(m, s)
	}
	var w Weight
	w.Add(5, weights)
	if v := m.Value(&w, true); v == v || s.Mean(&w, true) != nil || s.Variance(&w, true) != nil || m.StdErr(&w, true) == m.StdErr(&w, true) {
		t.Error("there is a mean of what is infinite")
	}
	f, fw, out := Finite(v, weights)
	if out != 2 || len(f) != 3 || f[2] != 3 || fw[2] != 5 {
		t.Error(f, fw, out)
	}
	if f, fw, out := Finite(v[:1], nil); out != 0 || &f[0] != &v[0] || fw != nil {
		t.Error(f, fw, out)
	}
}

// TestMeanVariance compares with what exact.Sums of numbers of common size answer.
func TestMeanVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	v := anySize(r, 500, 0, 4)
	for _, weights := range [][]float64{nil, anySize(r, 500, 0, 3)} {
		for i, w := range weights {
			weights[i] = math.Abs(w) + 0.5
		}
		var w Weight
		var m Mean
		var u UnitMean
		w.Add(len(v), weights)
		m.AddUnits(v, weights)
		u.Add(v, weights)
		weighted := weights != nil
		if got, want := u.Value(&w, weighted), m.Value(&w, weighted); got != want {
			t.Error(got, want)
		}
		if got, want := u.StdErr(&w, weighted), m.StdErr(&w, weighted); math.Abs(got-want) > 1e-14*want {
			t.Error(got, want)
		}
		one := Weight{}
		one.Add(1, weights[:min(1, len(weights))])
		if e := u.StdErr(&one, weighted); e == e {
			t.Error("a row has a standard error", e)
		}
	}
	var none Weight
	var u UnitMean
	if v := u.Value(&none, false); v == v || none.Mean(new(big.Rat), false) != nil {
		t.Error("there is a mean of nothing")
	}
	w := Weight{N: 3}
	if v := w.MeanVariance(big.NewRat(3, 1), big.NewRat(2, 1), false); v.Sign() != 0 {
		t.Error("a variance below 0:", v)
	}
}

func TestRoots(t *testing.T) {
	for _, x := range []float64{0, 5e-324, 1e-300, 0x1p-537, 0.1, 1, 2, 3, 1e300, math.MaxFloat64} {
		r := new(big.Rat).SetFloat64(x)
		if v := Root(r.Mul(r, r)); v != x {
			t.Errorf("the root of the square of %v is %v", x, v)
		}
	}
	if v := Root(big.NewRat(2, 1)); v != math.Sqrt2 {
		t.Error(v)
	}
	if v := Root(big.NewRat(-2, 1)); v != 0 {
		t.Error(v)
	}
	if v := Root(nil); v == v || Float(nil) == Float(nil) {
		t.Error(v)
	}
	for _, e := range []int{-1000, -300, 0, 300, 1000} {
		m, s := scale(big.NewRat(4, 1), 2*e), scale(big.NewRat(9, 16), 4*e)
		if l, h := RootEnds(m, s, 2); l != math.Ldexp(math.Sqrt(2.5), e) || h != math.Ldexp(math.Sqrt(5.5), e) {
			t.Error(e, l, h)
		}
		if l, h := RootEnds(m, s, 200); l != 0 || math.Abs(math.Ldexp(h, -e)-math.Sqrt(154)) > 1e-14 {
			t.Error(e, l, h)
		}
	}
	if l, h := RootEnds(new(big.Rat), new(big.Rat), 2); l != 0 || h != 0 {
		t.Error(l, h)
	}
	if l, h := RootEnds(big.NewRat(1, 1), nil, 2); l == l || h == h {
		t.Error(l, h)
	}
}

func TestSquaresState(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var m UnitMean
	var s MeanSquare
	m.Add(append(anySize(r, 300, 0, 1000), math.Inf(1)), nil)
	s.Add(append(anySize(r, 300, 0, 1000), math.Inf(1)), nil)
	b := bytesOf(&m, &s)
	var m2 UnitMean
	var s2 MeanSquare
	if err := testFormat.Read(b, listOf(1, &m2, &s2)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytesOf(&m), bytesOf(&m2)) || !bytes.Equal(bytesOf(&s), bytesOf(&s2)) {
		t.Error("read otherwise than written")
	}
	// More that is infinite than there are numbers, a class beyond the last, a class without a sum, and a sum below 0.
	if err := testFormat.Read(b, listOf(0, &m2, &s2)); !errors.Is(err, exact.ErrDamaged) {
		t.Error("read more infinite numbers than there are numbers:", err)
	}
	damaged := func(what string, list func(*exact.Fields)) {
		t.Helper()
		b, err := testFormat.Append(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		if err := testFormat.Read(b, new(Squares).Fields); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("read %s: %v", what, err)
		}
	}
	for _, sum := range []float64{0, -1} {
		class, x := uint16(1<<squareMid), exact.Sum{}
		x.AddFloat(sum)
		damaged("a sum of squares that is not above 0", func(f *exact.Fields) { f.U16(&class); f.Sum(&x) })
	}
	class := uint16(1 << 9)
	damaged("a class beyond the last", func(f *exact.Fields) { f.U16(&class) })
}
