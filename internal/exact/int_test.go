package exact

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

var (
	intMax = Int{math.MaxUint64, math.MaxUint64, math.MaxInt64}
	intMin = Int{0, 0, 1 << 63}
)

func checkInt(t interface {
	Helper()
	Fatalf(string, ...any)
}, x *Int, want *big.Int) {
	t.Helper()
	if got := x.BigInt(); got.Cmp(want) != 0 {
		t.Fatalf("value %x, want %x quanta", got, want)
	}
	if got, want := x.Float64(), nearest(want, 88); !sameBits(got, want) {
		t.Fatalf("Float64 %x, want %x", got, want)
	}
	if x.Sign() != want.Sign() || x.IsZero() != (want.Sign() == 0) {
		t.Fatalf("Sign %d, IsZero %v for %x", x.Sign(), x.IsZero(), want)
	}
}

// checkOp holds an operation against what it should have given: done in the range, refused and unchanged out of it.
func checkOp(t *rapid.T, name string, before, after *Int, ok bool, want *big.Int) {
	t.Helper()
	if ok != inInt(want) {
		t.Fatalf("%s: done %v for %x", name, ok, want)
	}
	if ok {
		checkInt(t, after, want)
	} else if *after != *before {
		t.Fatalf("%s: refused, and changed the value", name)
	}
}

func TestIntAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyInt().Draw(t, "a"), anyInt().Draw(t, "b")
		x, y := intOf(a), intOf(b)
		checkInt(t, &x, a)
		if x.Cmp(&y) != a.Cmp(b) {
			t.Fatalf("Cmp %d, want %d", x.Cmp(&y), a.Cmp(b))
		}
		r := x
		checkOp(t, "Add", &x, &r, r.Add(&y), new(big.Int).Add(a, b))
		r = x
		checkOp(t, "Sub", &x, &r, r.Sub(&y), new(big.Int).Sub(a, b))
		r = x
		checkOp(t, "Neg", &x, &r, r.Neg(), new(big.Int).Neg(a))
		r = x
		checkOp(t, "Abs", &x, &r, r.Abs(), new(big.Int).Abs(a))
		r = x
		checkOp(t, "Add to itself", &x, &r, r.Add(&r), new(big.Int).Lsh(a, 1))
		r = x
		checkOp(t, "Sub from itself", &x, &r, r.Sub(&r), new(big.Int))
		v := rapid.Int64().Draw(t, "v")
		s := rapid.UintRange(0, 127).Draw(t, "shift")
		r = x
		checkOp(t, "AddShifted", &x, &r, r.AddShifted(v, s), new(big.Int).Add(a, new(big.Int).Lsh(big.NewInt(v), s)))
		f := anyFloat().Draw(t, "f")
		r = x
		if ok := r.AddFloat(f); math.Abs(f) >= 0x1p63 {
			if ok || r != x {
				t.Fatalf("AddFloat(%x): done %v", f, ok)
			}
		} else {
			checkOp(t, "AddFloat", &x, &r, ok, new(big.Int).Add(a, oracleQuanta(f)))
		}
	})
}

func TestIntAddShiftedAtEveryShift(t *testing.T) {
	for s := range uint(128) {
		for _, v := range []int64{0, 1, -1, 2, -2, math.MaxInt64, math.MinInt64, 0x123456789abcdef, -0x123456789abcdef} {
			var x Int
			if !x.AddShifted(v, s) {
				t.Fatalf("%d << %d refused", v, s)
			}
			checkInt(t, &x, new(big.Int).Lsh(big.NewInt(v), s))
		}
	}
	var x Int
	mustPanic(t, "exact: shift over 127", func() { x.AddShifted(1, 128) })
}

func TestIntHardFloats(t *testing.T) {
	for _, v := range hardFloats {
		var x Int
		if ok := x.AddFloat(v); ok != (math.Abs(v) < 0x1p63) {
			t.Fatalf("AddFloat(%x) %v", v, ok)
		} else if ok {
			checkInt(t, &x, oracleQuanta(v))
		} else if !x.IsZero() {
			t.Fatalf("AddFloat(%x) refused, and changed the value", v)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var x Int
		if x.AddFloat(v) || !x.IsZero() {
			t.Errorf("AddFloat(%v) was done", v)
		}
	}
}

func TestIntTiesAtTheQuantum(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want int64
	}{
		{0x1p-89, 0}, {0x3p-89, 2}, {0x5p-89, 2}, {0x7p-89, 4}, {0x1.0000000000001p-89, 1}, {0x1.fffffffffffffp-90, 0},
		{0x1p-88, 1}, {0x2.8p-88, 2}, {0x3.8p-88, 4}, {0x2.8000000000002p-88, 3}, {0x2.7fffffffffffep-88, 2},
		{0x1p-90, 0}, {0x3p-90, 1}, {0x1p-1074, 0}, {0x1p-142, 0}, {0, 0},
	} {
		for _, sign := range []float64{1, -1} {
			var x Int
			x.AddFloat(sign * c.v)
			if got := x.BigInt().Int64(); got != int64(sign)*c.want {
				t.Errorf("%x: %d quanta, want %d", sign*c.v, got, int64(sign)*c.want)
			}
		}
	}
}

func TestIntFloat64Ties(t *testing.T) {
	for _, c := range []struct {
		q    *big.Int
		want float64
	}{
		{pow2(1, 53, 1), 0x1p53},            // a tie, down to even
		{pow2(1, 53, 3), 0x1p53 + 4},        // a tie, up to even
		{pow2(1, 54, 2), 0x1p54},            // a tie, one bit further
		{pow2(1, 54, 3), 0x1p54 + 4},        // over a tie
		{pow2(1, 54, -1), 0x1p54},           // all ones, carried into the exponent
		{pow2(1, 191, -1), 0x1p191},         // the end of the range
		{pow2(-1, 191, 0), -0x1p191},        // the other end
		{pow2(1, 190, 1), 0x1p190},          // far below a tie
		{pow2(-1, 128, 0), -0x1p128},        // word boundaries
		{pow2(1, 128, -1), 0x1p128},         //
		{pow2(1, 64, 0x400), 0x1p64},        //
		{pow2(1, 64, 0x800), 0x1p64},        // a tie over a word boundary, down
		{pow2(1, 64, 0x801), 0x1p64 + 4096}, // and just over it
		{pow2(1, 64, 0x1800), 0x1p64 + 8192},
		{big.NewInt(0), 0},
	} {
		x := intOf(c.q)
		if got, want := x.Float64(), math.Ldexp(c.want, -88); !sameBits(got, want) {
			t.Errorf("%x quanta: %x, want %x", c.q, got, want)
		}
		checkInt(t, &x, c.q)
	}
}

func TestIntEndsOfTheRange(t *testing.T) {
	up, down := Int{1, 0, 0}, intMin
	for _, c := range []struct {
		name string
		x    Int
		f    func(*Int) bool
		want Int
		ok   bool
	}{
		{"max + 1", intMax, func(x *Int) bool { return x.AddShifted(1, 0) }, intMax, false},
		{"max + 0", intMax, func(x *Int) bool { return x.AddShifted(0, 0) }, intMax, true},
		{"max - 1", intMax, func(x *Int) bool { return x.AddShifted(-1, 0) }, Int{math.MaxUint64 - 1, math.MaxUint64, math.MaxInt64}, true},
		{"min - 1", intMin, func(x *Int) bool { return x.AddShifted(-1, 0) }, intMin, false},
		{"min + 1", intMin, func(x *Int) bool { return x.AddShifted(1, 0) }, Int{1, 0, 1 << 63}, true},
		{"max + max", intMax, func(x *Int) bool { return x.Add(&intMax) }, intMax, false},
		{"max + min", intMax, func(x *Int) bool { return x.Add(&intMin) }, Int{math.MaxUint64, math.MaxUint64, math.MaxUint64}, true},
		{"min + min", intMin, func(x *Int) bool { return x.Add(&down) }, intMin, false},
		{"min - min", intMin, func(x *Int) bool { return x.Sub(&down) }, Int{}, true},
		{"0 - min", Int{}, func(x *Int) bool { return x.Sub(&down) }, Int{}, false},
		{"-1 - min", Int{math.MaxUint64, math.MaxUint64, math.MaxUint64}, func(x *Int) bool { return x.Sub(&down) }, intMax, true},
		{"min - 1 by Sub", intMin, func(x *Int) bool { return x.Sub(&up) }, intMin, false},
		{"-min", intMin, (*Int).Neg, intMin, false},
		{"|min|", intMin, (*Int).Abs, intMin, false},
		{"-max", intMax, (*Int).Neg, Int{1, 0, 1 << 63}, true},
		{"max + 2^62", intMax, func(x *Int) bool { return x.AddFloat(0x1p62) }, intMax, false},
		{"max + 2^-90, which rounds to 0", intMax, func(x *Int) bool { return x.AddFloat(0x1p-90) }, intMax, true},
	} {
		x := c.x
		if ok := c.f(&x); ok != c.ok || x != c.want {
			t.Errorf("%s: %v %+v, want %v %+v", c.name, ok, x, c.ok, c.want)
		}
	}
	// Large terms until it refuses, from 4·2^62 below the end.
	x := intMax
	x.Sub(&Int{0, 0, 4 << 22})
	n := 0
	for n < 100 && x.AddFloat(0x1p62) {
		n++
	}
	if n != 4 || x != intMax {
		t.Errorf("%d additions of 2^62 before the end, want 4", n)
	}
}
