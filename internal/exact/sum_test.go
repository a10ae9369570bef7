package exact

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// term is one addition to a Sum.
type term struct {
	Kind  int // 0 AddFloat, 1 AddExact, 2 AddShifted
	F     float64
	V     int64
	Shift uint
}

func (a term) add(s *Sum) {
	switch a.Kind {
	case 0:
		s.AddFloat(a.F)
	case 1:
		s.AddExact(a.F)
	case 2:
		s.AddShifted(a.V, a.Shift)
	}
}

// quanta returns what the term adds, in quanta of 2^-1074.
func (a term) quanta() *big.Int {
	switch {
	case a.Kind == 2:
		return toTiny(new(big.Int).Lsh(big.NewInt(a.V), a.Shift))
	case a.Kind == 0 && math.Abs(a.F) < 0x1p62:
		return toTiny(oracleQuanta(a.F))
	}
	return oracle(a.F)
}

func anyTerm() *rapid.Generator[term] {
	return rapid.Custom(func(t *rapid.T) term {
		a := term{Kind: rapid.IntRange(0, 2).Draw(t, "kind")}
		if a.Kind == 2 {
			a.V, a.Shift = rapid.Int64().Draw(t, "v"), rapid.UintRange(0, 127).Draw(t, "shift")
		} else {
			a.F = anyFloat().Draw(t, "f")
		}
		return a
	})
}

func checkSum(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Sum, want *big.Int) {
	t.Helper()
	exact := new(big.Rat).SetFrac(want, tinyUnit)
	if got := Rat(s); got.Cmp(exact) != 0 {
		t.Fatalf("value %v, want %v", got, exact)
	}
	if got, want := s.Float64(), nearest(want, 1074); !sameBits(got, want) {
		t.Fatalf("Float64 %x, want %x", got, want)
	}
	if s.Sign() != want.Sign() || s.IsZero() != (want.Sign() == 0) {
		t.Fatalf("Sign %d, IsZero %v for %x", s.Sign(), s.IsZero(), want)
	}
	b := s.AppendBinary([]byte("head"))[4:]
	d, rest, err := DecodeSum(append(b, "tail"...))
	if err != nil || string(rest) != "tail" {
		t.Fatalf("read back: rest %q, error %v", rest, err)
	}
	if !d.Equal(s) || !s.Equal(&d) || !bytes.Equal(d.AppendBinary(nil), b) {
		t.Fatalf("read back as something else")
	}
	// One value, one form: an Int alone exactly where that holds it.
	unit := new(big.Int).Lsh(one, 1074-88)
	q, r := new(big.Int).DivMod(want, unit, new(big.Int))
	if narrow := r.Sign() == 0 && inInt(q); narrow != (len(b) == narrowLen) || narrow != (b[0] == flagNarrow) {
		t.Fatalf("%d bytes with flag %d; an Int holds it: %v", len(b), b[0], narrow)
	}
	for n := range len(b) {
		if _, rest, err := DecodeSum(b[:n]); !errors.Is(err, ErrShort) || len(rest) != n {
			t.Fatalf("%d of %d bytes: rest %d, error %v", n, len(b), len(rest), err)
		}
	}
}

func TestSumAgainstBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sum
		want := new(big.Int)
		for _, a := range rapid.SliceOfN(anyTerm(), 0, 30).Draw(t, "terms") {
			a.add(&s)
			want.Add(want, a.quanta())
		}
		checkSum(t, &s, want)
	})
}

// tree adds the terms in the given order, divided into parts at random, and merges the parts in a random tree.
func tree(terms []term, r *rand.Rand) Sum {
	var parts []Sum
	for len(terms) > 0 {
		n := 1 + r.IntN(len(terms))
		var s Sum
		for _, a := range terms[:n] {
			a.add(&s)
		}
		terms = terms[n:]
		switch r.IntN(4) {
		case 0: // a shard that travelled
			d, _, err := DecodeSum(s.AppendBinary(nil))
			if err != nil {
				panic(err)
			}
			s = d
		case 1: // an empty shard
			parts = append(parts, Sum{})
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return Sum{}
	}
	for len(parts) > 1 {
		i, j := r.IntN(len(parts)), r.IntN(len(parts)-1)
		if j >= i {
			j++
		}
		before := parts[j].Clone()
		if !parts[i].Merge(&parts[j]) {
			panic("merge refused")
		}
		if !before.Equal(&parts[j]) {
			panic("merge changed its argument")
		}
		parts[j] = parts[len(parts)-1]
		parts = parts[:len(parts)-1]
	}
	return parts[0]
}

func TestSumMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(anyTerm(), 0, 40).Draw(t, "terms")
		var s Sum
		for _, a := range terms {
			a.add(&s)
		}
		want := s.AppendBinary(nil)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 5 {
			r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
			m := tree(terms, r)
			if d := cmp.Diff(want, m.AppendBinary(nil)); d != "" {
				t.Fatalf("the bytes depend on order or tree:\n%s", d)
			}
			if !m.Equal(&s) || !sameBits(m.Float64(), s.Float64()) {
				t.Fatalf("the value depends on order or tree")
			}
		}
	})
}

func TestSumCommutesAndAssociates(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) Sum {
		var s Sum
		for _, a := range rapid.SliceOfN(anyTerm(), 0, 8).Draw(t, "terms") {
			a.add(&s)
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
		ab, ba := a.Clone(), b.Clone()
		ab.Merge(&b)
		ba.Merge(&a)
		if !bytes.Equal(ab.AppendBinary(nil), ba.AppendBinary(nil)) {
			t.Fatalf("a+b != b+a")
		}
		bc := b.Clone()
		bc.Merge(&c)
		left, right := ab.Clone(), a.Clone()
		left.Merge(&c)
		right.Merge(&bc)
		if !bytes.Equal(left.AppendBinary(nil), right.AppendBinary(nil)) {
			t.Fatalf("(a+b)+c != a+(b+c)")
		}
		if !ab.Sub(&b) || !ab.Equal(&a) {
			t.Fatalf("a+b-b != a")
		}
		if !ab.Sub(&ab) || !ab.IsZero() || len(ab.AppendBinary(nil)) != narrowLen {
			t.Fatalf("a-a != 0")
		}
		twice, again := a.Clone(), a.Clone()
		twice.Merge(&twice)
		again.Merge(&a)
		if !twice.Equal(&again) {
			t.Fatalf("merging with itself is not doubling")
		}
	})
}

func TestSumWindow(t *testing.T) {
	for _, c := range []struct {
		v    float64
		wide bool
	}{
		{0, false}, {0x1p-1074, false}, {1, false}, {math.Nextafter(0x1p62, 0), false}, {-math.Nextafter(0x1p62, 0), false},
		{0x1p62, true}, {-0x1p62, true}, {0x1p63, true}, {math.MaxFloat64, true},
	} {
		var s Sum
		s.AddFloat(c.v)
		if (s.x != nil) != c.wide {
			t.Errorf("%x went to the wide part: %v, want %v", c.v, s.x != nil, c.wide)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var s Sum
		mustPanic(t, "exact: infinity or NaN in a sum", func() { s.AddFloat(v) })
		mustPanic(t, "exact: infinity or NaN in a sum", func() { s.AddExact(v) })
		if s != (Sum{}) {
			t.Errorf("%v changed the sum", v)
		}
	}
	var s Sum
	mustPanic(t, "exact: shift over 127", func() { s.AddShifted(1, 128) })
}

func TestSumRoundsOnceOverBothParts(t *testing.T) {
	for _, c := range []struct {
		name        string
		narrow      int64
		shift       uint
		wide        float64
		want        float64
		sumIsNarrow bool
	}{
		// 1 + 2^-53 is a tie; the wide part breaks it, though it is far below half a unit of the narrow part alone.
		{"tie broken from above", 1<<53 + 1, 35, 0x1p-1074, 1 + 0x1p-52, false},
		{"tie broken from below", 1<<53 + 1, 35, -0x1p-1074, 1, false},
		{"tie", 1<<53 + 1, 35, 0, 1, true},
		{"parts that cancel", 1, 88, -1, 0, true},
		{"parts that cancel but for one quantum", 1, 88, -1 + 0x1p-53, 0x1p-53, true},
		{"parts that cancel to a subnormal", 1, 0, -0x1p-88 + 0x1p-140, 0x1p-140, false},
		{"a wide part beyond the narrow one's range", 1, 88, 0x1p200, 0x1p200, false},
	} {
		var s Sum
		s.AddShifted(c.narrow, c.shift)
		s.AddExact(c.wide)
		if c.name == "parts that cancel to a subnormal" {
			s.AddExact(0x1p-88)
			s.AddExact(-0x1p-88)
		}
		if got := s.Float64(); !sameBits(got, c.want) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
		if got := len(s.AppendBinary(nil)) == narrowLen; got != c.sumIsNarrow {
			t.Errorf("%s: narrow form %v, want %v", c.name, got, c.sumIsNarrow)
		}
	}
}

func TestSumSameValueSameBytes(t *testing.T) {
	var a, b, c, d Sum
	a.AddFloat(0.75)
	b.AddExact(0.75)
	c.AddShifted(3, 86)
	d.AddExact(0x1p1000)
	d.AddFloat(0.75)
	d.AddExact(-0x1p1000)
	for i, s := range []*Sum{&b, &c, &d} {
		if !a.Equal(s) || !s.Equal(&a) || !bytes.Equal(a.AppendBinary(nil), s.AppendBinary(nil)) {
			t.Errorf("way %d differs", i)
		}
	}
	d.AddExact(0x1p-1074)
	if a.Equal(&d) || d.Equal(&a) {
		t.Error("2^-1074 makes no difference")
	}
	if x := d.Clone(); !x.Equal(&d) || x.x == d.x {
		t.Error("a clone differs or shares")
	}
}

// TestSumBeyondTheInt drives the Int around its range many times, up to the end of the wide part.
func TestSumBeyondTheInt(t *testing.T) {
	for _, sign := range []int64{1, -1} {
		var s Sum
		s.AddFloat(float64(sign) * math.Nextafter(0x1p62, 0))
		s.AddShifted(sign, 0)
		want := new(big.Int).Add(oracleQuanta(math.Nextafter(0x1p62, 0)), one)
		want.Mul(want, big.NewInt(sign))
		n := 0
		for {
			before := s.Clone()
			if !s.Merge(&s) {
				if !s.Equal(&before) {
					t.Fatal("refused, and changed the value")
				}
				break
			}
			want.Lsh(want, 1)
			checkSum(t, &s, toTiny(want))
			if n++; n > 2000 {
				t.Fatal("never refused")
			}
		}
		if n < 64 {
			t.Errorf("refused after %d doublings", n)
		}
	}
	// All three ways over the end, and back.
	end := Sum{i: intMax}
	for i, f := range []func(*Sum, float64){
		func(s *Sum, d float64) { s.AddShifted(int64(d), 0) },
		func(s *Sum, d float64) { s.AddFloat(d * 0x1p-88) },
		func(s *Sum, d float64) {
			o := Sum{i: Int{1, 0, 0}}
			if d > 0 {
				s.Merge(&o)
			} else {
				s.Sub(&o)
			}
		},
	} {
		s := end.Clone()
		f(&s, 1)
		checkSum(t, &s, toTiny(pow2(1, 191, 0)))
		f(&s, -1)
		if !s.Equal(&end) {
			t.Errorf("way %d: does not come back", i)
		}
	}
}

func TestSumEndsOfTheWidePart(t *testing.T) {
	for _, q := range []*big.Int{
		pow2(1, 1164+1074, -1), pow2(-1, 1164+1074, 0), pow2(-1, 1164+1074, 1),
		new(big.Int).Sub(pow2(1, 1164+1074, 0), toTiny(one)), // the narrow part is -1, the wide one 2^1164
	} {
		x := superOf(q)
		s := Sum{x: &x}
		checkSum(t, &s, q)
		if o := s.Clone(); s.Merge(&o) || !s.Equal(&o) {
			t.Error("a sum beyond the range was accepted, or changed")
		}
		if o := s.Clone(); !s.Sub(&o) || !s.IsZero() {
			t.Error("s - s != 0")
		}
	}
	o := Sum{x: new(Super)}
	*o.x = superOf(pow2(-1, 1164+1074, 0))
	var s Sum
	if s.Sub(&o) || !s.IsZero() {
		t.Error("0 + 2^1164 was accepted, or left something")
	}
}

func TestDecodeSumRefuses(t *testing.T) {
	narrow := make([]byte, narrowLen)
	wide := func(tail ...byte) []byte {
		b := append([]byte(nil), narrow...)
		b[0] = flagWide
		return append(b, tail...)
	}
	flag := append([]byte(nil), narrow...)
	flag[0] = 2
	// A narrow part of +1 quantum on top of the highest wide part that the words hold.
	over := superOf(pow2(1, 1164+1074, 0))
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, ErrShort},
		{"24 bytes", narrow[:24], ErrShort},
		{"an unknown flag", flag, ErrDamaged},
		{"a wide part announced", wide(), ErrShort},
		{"a wide part of 0", wide(0, 0, 0, 0), ErrDamaged},
		{"a wide part in the narrow one's bits", wide(124, 0, 1, 0, 1), ErrDamaged},
		{"a wide part not in its shortest form", wide(0, 0, 2, 0, 1, 0), ErrDamaged},
		{"a sum beyond 2^1164", wide(over.AppendBinary(nil)...), ErrDamaged},
		{"a length beyond the words", wide(0, 0, 0xff, 0xff), ErrDamaged},
	} {
		s, rest, err := DecodeSum(c.b)
		if !errors.Is(err, c.want) || !bytes.Equal(rest, c.b) || s != (Sum{}) {
			t.Errorf("%s: rest % x, error %v, want %v", c.name, rest, err, c.want)
		}
	}
	if _, _, err := DecodeSum(wide(0, 0, 1, 0, 1)); err != nil {
		t.Errorf("2^-1074: %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	var i, j Int
	var x, y Super
	var s, o Sum
	s.AddExact(1)
	o.AddExact(2)
	v := 0.1
	for name, f := range map[string]func(){
		"Int.AddShifted":       func() { i.AddShifted(3, 40) },
		"Int.AddFloat":         func() { i.AddFloat(v) },
		"Int.Add":              func() { i.Add(&j) },
		"Int.Sub":              func() { i.Sub(&j) },
		"Int.Neg":              func() { i.Neg() },
		"Int.Float64":          func() { i.Float64() },
		"Super.Add":            func() { x.Add(v) },
		"Super.Add, sign":      func() { v = -v; x.Add(v * 0x1p900) },
		"Super.AddSuper":       func() { x.AddSuper(&y) },
		"Super.AddInt":         func() { x.AddInt(&i) },
		"Super.Float64":        func() { x.Float64() },
		"Sum.AddShifted":       func() { s.AddShifted(3, 40) },
		"Sum.AddShifted, over": func() { s.AddShifted(math.MaxInt64, 127) },
		"Sum.AddFloat":         func() { s.AddFloat(v) },
		"Sum.AddFloat, wide":   func() { s.AddFloat(0x1p100) },
		"Sum.AddExact":         func() { s.AddExact(v) },
		"Sum.Merge":            func() { s.Merge(&o) },
		"Sum.Sub":              func() { s.Sub(&o) },
		"Sum.Float64":          func() { s.Float64() },
		"Sum.Equal":            func() { s.Equal(&o) },
		"Sum.IsZero":           func() { s.IsZero() },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	var fresh Sum
	if n := testing.AllocsPerRun(100, func() { fresh.AddFloat(0.3); fresh.AddShifted(1, 88) }); n != 0 || fresh.x != nil {
		t.Errorf("a sum within the window: %v allocations", n)
	}
	buf := make([]byte, 0, 400)
	if n := testing.AllocsPerRun(100, func() { s.AppendBinary(buf) }); n != 0 {
		t.Errorf("Sum.AppendBinary: %v allocations", n)
	}
}

func FuzzDecodeSum(f *testing.F) {
	for _, v := range hardFloats {
		var s Sum
		s.AddExact(v)
		f.Add(s.AppendBinary(nil))
		s.AddFloat(0.1)
		f.Add(append(s.AppendBinary(nil), 1, 2, 3))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, rest, err := DecodeSum(b)
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("an error of no kind: %v", err)
			}
			if s != (Sum{}) || len(rest) != len(b) {
				t.Fatal("an error, and a value")
			}
			return
		}
		used := b[:len(b)-len(rest)]
		if got := s.AppendBinary(nil); !bytes.Equal(got, used) {
			t.Fatalf("% x was accepted and is % x", used, got)
		}
		exact := Rat(&s)
		if want, _ := exact.Float64(); s.Float64() != want || s.Sign() != exact.Sign() {
			t.Fatalf("Float64 %x, Sign %d, want %x, %d", s.Float64(), s.Sign(), want, exact.Sign())
		}
		c := s.Clone()
		if s.Merge(&c) {
			if !s.Sub(&c) || !s.Equal(&c) {
				t.Fatal("s + s - s != s")
			}
		}
	})
}

var (
	benchValues = func() []float64 {
		r := rand.New(rand.NewPCG(5, 6))
		v := make([]float64, 1024)
		for i := range v {
			v[i] = r.ExpFloat64()
		}
		return v
	}()
	benchSink float64
)

func BenchmarkSumAddFloat(b *testing.B) {
	var s Sum
	b.ReportAllocs()
	for i := range b.N {
		s.AddFloat(benchValues[i&1023])
	}
	benchSink = s.Float64()
}

func BenchmarkSumAddExact(b *testing.B) {
	var s Sum
	b.ReportAllocs()
	for i := range b.N {
		s.AddExact(benchValues[i&1023])
	}
	benchSink = s.Float64()
}

func BenchmarkSumMerge(b *testing.B) {
	var s, o Sum
	s.AddExact(1)
	o.AddExact(0.1)
	for b.Loop() {
		s.Merge(&o)
	}
}

func BenchmarkIntAddShifted(b *testing.B) {
	var x Int
	b.ReportAllocs()
	for i := range b.N {
		x.AddShifted(int64(i), 37)
	}
	benchSink = x.Float64()
}

func BenchmarkIntAddFloat(b *testing.B) {
	var x Int
	for i := range b.N {
		x.AddFloat(benchValues[i&1023])
	}
	benchSink = x.Float64()
}

func BenchmarkSuperAdd(b *testing.B) {
	b.Run("positive", func(b *testing.B) {
		var x Super
		b.ReportAllocs()
		for i := range b.N {
			x.Add(benchValues[i&1023])
		}
		benchSink = x.Float64()
	})
	b.Run("alternating", func(b *testing.B) {
		// The sum changes its sign at each term: the longest carries.
		var x Super
		x.Add(1)
		v := 2.0
		for range b.N {
			v = -v
			x.Add(v)
		}
		benchSink = x.Float64()
	})
}

func BenchmarkSuperAddSuper(b *testing.B) {
	var x, y Super
	y.Add(0.1)
	for b.Loop() {
		x.AddSuper(&y)
	}
}

func BenchmarkSuperFloat64(b *testing.B) {
	var x Super
	x.Add(-0.1)
	for b.Loop() {
		benchSink = x.Float64()
	}
}
