package exact

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func checkSuper(t interface {
	Helper()
	Fatalf(string, ...any)
}, x *Super, want *big.Int) {
	t.Helper()
	if got := x.BigInt(); got.Cmp(want) != 0 {
		t.Fatalf("value %x, want %x quanta", got, want)
	}
	if got, want := x.Float64(), nearest(want, 1074); !sameBits(got, want) {
		t.Fatalf("Float64 %x, want %x", got, want)
	}
	if x.IsZero() != (want.Sign() == 0) {
		t.Fatalf("IsZero %v", x.IsZero())
	}
	b := x.AppendBinary([]byte("head"))
	y, rest, err := DecodeSuper(append(b[4:], "tail"...))
	if err != nil || y != *x || string(rest) != "tail" {
		t.Fatalf("read back %v, rest %q, error %v", y == *x, rest, err)
	}
}

func TestSuperAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Super
		want := new(big.Int)
		for _, v := range rapid.SliceOfN(anyFloat(), 0, 40).Draw(t, "v") {
			x.Add(v)
			want.Add(want, oracle(v))
		}
		checkSuper(t, &x, want)
		y := x
		y.Neg()
		checkSuper(t, &y, new(big.Int).Neg(want))
		q := anyInt().Draw(t, "int")
		i := intOf(q)
		y = x
		y.AddInt(&i)
		checkSuper(t, &y, new(big.Int).Add(want, toTiny(q)))
		if !y.AddSuper(&x) {
			t.Fatalf("AddSuper refused")
		}
		checkSuper(t, &y, new(big.Int).Add(new(big.Int).Lsh(want, 1), toTiny(q)))
		if !y.AddSuper(&y) {
			t.Fatalf("AddSuper of itself refused")
		}
		checkSuper(t, &y, new(big.Int).Add(new(big.Int).Lsh(want, 2), toTiny(new(big.Int).Lsh(q, 1))))

		n, r := x.split()
		if r.window() != (Int{}) {
			t.Fatalf("the rest of a split has bits in the window")
		}
		if r.AddInt(&n); r != x {
			t.Fatalf("a split does not add up")
		}
	})
}

func TestSuperHardFloats(t *testing.T) {
	for n, v := range hardFloats {
		var x Super
		x.Add(v)
		checkSuper(t, &x, oracle(v))
		if got := x.Float64(); got != v {
			t.Fatalf("%x came back as %x", v, got)
		}
		for i, u := range hardFloats {
			if testing.Short() && i%5 != n%5 {
				continue
			}
			y := x
			y.Add(u)
			checkSuper(t, &y, new(big.Int).Add(oracle(v), oracle(u)))
			if got := y.Float64(); got != v+u {
				t.Fatalf("%x + %x = %x, the CPU says %x", v, u, got, v+u)
			}
			y.Add(-v)
			y.Add(-u)
			if y != (Super{}) {
				t.Fatalf("%x + %x did not cancel", v, u)
			}
		}
	}
}

func TestSuperNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var x Super
		mustPanic(t, "exact: infinity or NaN in a sum", func() { x.Add(v) })
		if x != (Super{}) {
			t.Errorf("Add(%v) changed the value", v)
		}
	}
}

func TestSuperRounding(t *testing.T) {
	for _, c := range []struct {
		name  string
		terms []float64
		want  float64
	}{
		{"tie down to even", []float64{1, 0x1p-53}, 1},
		{"tie up to even", []float64{1 + 0x1p-52, 0x1p-53}, 1 + 0x1p-51},
		{"tie broken by the smallest number", []float64{1, 0x1p-53, 0x1p-1074}, 1 + 0x1p-52},
		{"tie broken from below", []float64{1 + 0x1p-52, 0x1p-53, -0x1p-1074}, 1 + 0x1p-52},
		{"the same below 0", []float64{-1, -0x1p-53, -0x1p-1074}, -1 - 0x1p-52},
		{"carry into the exponent", []float64{2 - 0x1p-52, 0x1p-53}, 2},
		{"subnormal", []float64{0x1p-1074, 0x1p-1074, 0x1p-1074}, 0x3p-1074},
		{"subnormals that sum to a normal number", []float64{0x1p-1023, 0x1p-1023}, 0x1p-1022},
		{"the largest subnormal plus one", []float64{0x1p-1022 - 0x1p-1074, 0x1p-1074}, 0x1p-1022},
		{"the largest number", []float64{math.MaxFloat64}, math.MaxFloat64},
		{"just below the tie to infinity", []float64{math.MaxFloat64, 0x1p970, -0x1p-1074}, math.MaxFloat64},
		{"the tie to infinity", []float64{math.MaxFloat64, 0x1p970}, math.Inf(1)},
		{"the tie to -infinity", []float64{-math.MaxFloat64, -0x1p970}, math.Inf(-1)},
		{"far over", []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, math.Inf(1)},
		{"over and back", []float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, 1, -math.MaxFloat64}, 1},
		{"cancellation over the whole range", []float64{math.MaxFloat64, 0x1p-1074, -math.MaxFloat64}, 0x1p-1074},
		{"zeros of both signs", []float64{0, math.Copysign(0, -1)}, 0},
		{"-0 alone", []float64{math.Copysign(0, -1)}, 0},
		{"1e100 + 1 - 1e100", []float64{1e100, 1, -1e100}, 1},
	} {
		var x Super
		for _, v := range c.terms {
			x.Add(v)
		}
		if got := x.Float64(); !sameBits(got, c.want) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
}

func TestSuperAlternatingHugeCancellation(t *testing.T) {
	var x Super
	want := new(big.Int)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20000 {
		v := math.Ldexp(r.Float64()+0.5, r.IntN(2090)-1073)
		if i&1 == 1 {
			v = -v
		}
		x.Add(v)
		want.Add(want, oracle(v))
		x.Add(-math.MaxFloat64)
		if i%1000 == 0 {
			checkSuper(t, &x, new(big.Int).Sub(want, oracle(math.MaxFloat64)))
		}
		x.Add(math.MaxFloat64)
	}
	checkSuper(t, &x, want)
}

func TestSuperHeadroom(t *testing.T) {
	// Doubling the largest float64 until it is refused: 2^64 of them and many more have to fit.
	for _, sign := range []float64{1, -1} {
		var x Super
		x.Add(sign * math.MaxFloat64)
		n := 0
		for {
			before := x
			if !x.AddSuper(&x) {
				if x != before {
					t.Fatal("refused, and changed the value")
				}
				break
			}
			if n++; n > 1000 {
				t.Fatal("never refused")
			}
		}
		if n != 140 {
			t.Errorf("%d doublings, want 140", n)
		}
		checkSuper(t, &x, new(big.Int).Lsh(oracle(sign*math.MaxFloat64), 140))
		if !math.IsInf(x.Float64(), int(sign)) {
			t.Errorf("Float64 %v", x.Float64())
		}
	}
	// The ends themselves.
	lowest, highest := superOf(pow2(-1, 1164+1074, 0)), superOf(pow2(1, 1164+1074, -1))
	for _, x := range []Super{lowest, highest} {
		checkSuper(t, &x, x.BigInt())
	}
	quantum := superOf(one)
	if x := highest; x.AddSuper(&quantum) {
		t.Error("2^1164 was accepted")
	}
	if x := lowest; !x.AddSuper(&highest) {
		t.Error("-1 quantum was refused")
	}
	quantum.Neg()
	if x := lowest; x.AddSuper(&quantum) {
		t.Error("less than -2^1164 was accepted")
	}
	// Add and AddInt go on beyond, up to the words' end.
	x := highest
	x.Add(math.MaxFloat64)
	x.AddInt(&intMax)
	want := new(big.Int).Add(highest.BigInt(), oracle(math.MaxFloat64))
	want.Add(want, toTiny(intMax.BigInt()))
	if x.BigInt().Cmp(want) != 0 {
		t.Error("additions beyond 2^1164 are not exact")
	}
}

func TestSuperBinary(t *testing.T) {
	for _, c := range []struct {
		v    *big.Int
		want []byte
	}{
		{big.NewInt(0), []byte{0, 0, 0, 0}},
		{big.NewInt(1), []byte{0, 0, 1, 0, 1}},
		{big.NewInt(-1), []byte{0, 0, 1, 0, 0xff}},
		{big.NewInt(127), []byte{0, 0, 1, 0, 127}},
		{big.NewInt(128), []byte{0, 0, 2, 0, 128, 0}},
		{big.NewInt(-128), []byte{0, 0, 1, 0, 128}},
		{big.NewInt(-129), []byte{0, 0, 2, 0, 127, 0xff}},
		{big.NewInt(-256), []byte{1, 0, 1, 0, 0xff}},
		{big.NewInt(0x10000), []byte{2, 0, 1, 0, 1}},
		{big.NewInt(0x8000), []byte{1, 0, 2, 0, 128, 0}},
	} {
		x := superOf(c.v)
		if got := x.AppendBinary(nil); !bytes.Equal(got, c.want) {
			t.Errorf("%d: % x, want % x", c.v, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrShort},
		{"half a head", []byte{0, 0, 1}, ErrShort},
		{"no body", []byte{0, 0, 1, 0}, ErrShort},
		{"half a body", []byte{0, 0, 3, 0, 1, 2}, ErrShort},
		{"a zero with an offset", []byte{1, 0, 0, 0}, ErrDamaged},
		{"a zero with a byte", []byte{0, 0, 1, 0, 0}, ErrDamaged},
		{"a zero below", []byte{0, 0, 2, 0, 0, 1}, ErrDamaged},
		{"a sign too many", []byte{0, 0, 2, 0, 1, 0}, ErrDamaged},
		{"a negative sign too many", []byte{0, 0, 2, 0, 0x80, 0xff}, ErrDamaged},
		{"beyond the words", append([]byte{24, 1, 1, 0}, 1), ErrDamaged},
		{"lengths that overflow", []byte{0xff, 0xff, 0xff, 0xff}, ErrDamaged},
		{"beyond 2^1164", []byte{23, 1, 1, 0, 0x40}, ErrDamaged},
		{"below -2^1164", []byte{23, 1, 1, 0, 0xbf}, ErrDamaged},
	} {
		if _, rest, err := DecodeSuper(c.b); !errors.Is(err, c.want) || !bytes.Equal(rest, c.b) {
			t.Errorf("%s: rest % x, error %v, want %v", c.name, rest, err, c.want)
		}
	}
}

func TestSuperOrder(t *testing.T) {
	v := random(500, 1)
	var want []byte
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var x Super
		for _, f := range v {
			x.Add(f)
		}
		b := x.AppendBinary(nil)
		if want == nil {
			want = b
		}
		if !bytes.Equal(b, want) {
			t.Fatal("the bytes depend on the order")
		}
		r.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
	}
}
