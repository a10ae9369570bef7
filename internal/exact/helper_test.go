package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The oracle counts quanta of 2^-1074 in a big.Int and rounds by big.Rat, which share no code with the package.

var (
	one      = big.NewInt(1)
	tinyUnit = new(big.Int).Lsh(one, 1074)
)

// oracle returns v·2^1074.
func oracle(v float64) *big.Int {
	r := new(big.Rat).SetFloat64(v)
	r.Mul(r, new(big.Rat).SetInt(tinyUnit))
	if !r.IsInt() {
		panic("a float64 is a multiple of 2^-1074")
	}
	return new(big.Int).Set(r.Num())
}

// oracleQuanta returns v·2^88 rounded to an integer, ties to even.
func oracleQuanta(v float64) *big.Int {
	unit := new(big.Int).Lsh(one, 1074-88)
	q, r := new(big.Int).DivMod(oracle(v), unit, new(big.Int)) // floor, 0 <= r < unit
	switch r.Lsh(r, 1).Cmp(unit) {
	case 1:
		q.Add(q, one)
	case 0:
		q.Add(q, new(big.Int).And(q, one))
	}
	return q
}

// toTiny returns q·2^-88 in quanta of 2^-1074.
func toTiny(q *big.Int) *big.Int { return new(big.Int).Lsh(q, 1074-88) }

// nearest returns n·2^-exp rounded to float64.
func nearest(n *big.Int, exp uint) float64 {
	f, _ := new(big.Rat).SetFrac(n, new(big.Int).Lsh(one, exp)).Float64()
	return f
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// intOf returns the Int of q quanta, for -2^191 <= q < 2^191.
func intOf(q *big.Int) Int {
	m := new(big.Int).Mod(q, new(big.Int).Lsh(one, 192))
	word := func(i uint) uint64 {
		return new(big.Int).And(new(big.Int).Rsh(m, 64*i), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	}
	return Int{word(0), word(1), word(2)}
}

// superOf returns the Super of q quanta, for -2^2239 <= q < 2^2239.
func superOf(q *big.Int) Super {
	m := new(big.Int).Mod(q, new(big.Int).Lsh(one, 64*superWords))
	var x Super
	for i := range x.w {
		x.w[i] = new(big.Int).And(new(big.Int).Rsh(m, uint(64*i)), new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	}
	return x
}

// inInt reports whether an Int can hold q quanta.
func inInt(q *big.Int) bool { return inRange(q, 191) }

// inRange reports whether -2^bits <= q < 2^bits.
func inRange(q *big.Int, bits uint) bool {
	end := new(big.Int).Lsh(one, bits)
	return q.Cmp(end) < 0 && q.Cmp(new(big.Int).Neg(end)) >= 0
}

// pow2 returns ±2^k + d.
func pow2(sign int64, k uint, d int64) *big.Int {
	p := new(big.Int).Lsh(one, k)
	p.Mul(p, big.NewInt(sign))
	return p.Add(p, big.NewInt(d))
}

// hardFloats are the ends of everything.
var hardFloats = func() []float64 {
	v := []float64{
		0, math.Copysign(0, -1), 1, 0.1, 1.0 / 3, math.Pi,
		math.SmallestNonzeroFloat64, 3 * math.SmallestNonzeroFloat64, 0x1p-1022, math.Nextafter(0x1p-1022, 0), math.Nextafter(0x1p-1022, 1),
		math.MaxFloat64, math.MaxFloat64 / 2, 0x1p1023, 0x1p1000, 0x1p104, 0x1p103, 0x1p970,
		// Ties at the quantum, to an even and to an odd neighbour, and their neighbours.
		0x1p-89, 0x3p-89, 0x5p-89, 0x7p-89, 0x1p-90, 0x3p-90, 0x1p-88, 0x1p-140, 0x1p-141, 0x1p-142, 0x1.fffffffffffffp-90,
		0x1p-36 + 0x1p-88, 0x1p-37 + 0x1p-89, 0x1p-37 + 0x3p-89, 0x1p-38 + 0x1p-89, 0x1p-38 + 0x3p-89, 0x1p-38 + 0x1p-90, 0x1.fffffffffffffp-37,
	}
	for _, e := range []int{-1022, -142, -141, -140, -90, -89, -88, -37, -36, -35, 0, 10, 11, 40, 61, 62, 63, 64, 102, 103, 104, 1023} {
		p := math.Ldexp(1, e)
		v = append(v, p, math.Nextafter(p, 0), math.Nextafter(p, math.Inf(1)))
	}
	out := make([]float64, 0, 2*len(v))
	for _, x := range v {
		if !math.IsInf(x, 0) {
			out = append(out, x, -x)
		}
	}
	return out
}()

// anyFloat draws a finite float64: an end, any bits, a probability, or a size around the windows.
func anyFloat() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.SampledFrom(hardFloats),
		rapid.Map(rapid.Uint64(), func(b uint64) float64 {
			v := math.Float64frombits(b)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				v = math.Float64frombits(b &^ (1 << 62))
			}
			return v
		}),
		rapid.Float64Range(0, 1),
		rapid.Custom(func(t *rapid.T) float64 {
			m := rapid.Int64Range(-1<<53, 1<<53).Draw(t, "mantissa")
			return math.Ldexp(float64(m), rapid.IntRange(-200, 60).Draw(t, "exponent"))
		}),
	)
}

// anyInt draws a number of quanta in the range of an Int, often near a power of two.
func anyInt() *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		q := pow2(rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign"), rapid.UintRange(0, 191).Draw(t, "power"), 0)
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			q.Add(q, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "near")))
		case 1:
			q.Add(q, new(big.Int).Lsh(big.NewInt(rapid.Int64().Draw(t, "off")), rapid.UintRange(0, 127).Draw(t, "shift")))
		}
		if !inInt(q) {
			q = pow2(int64(q.Sign()), 191, 0)
			if q.Sign() > 0 {
				q.Sub(q, one)
			}
		}
		return q
	})
}

// random returns n floats of mixed kinds from a fixed seed.
func random(n int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 2))
	v := make([]float64, n)
	for i := range v {
		switch r.IntN(5) {
		case 0:
			v[i] = r.Float64()
		case 1:
			v[i] = math.Ldexp(r.Float64()-0.5, r.IntN(200)-100)
		case 2:
			v[i] = hardFloats[r.IntN(len(hardFloats))]
		case 3:
			v[i] = math.Ldexp(r.Float64()-0.5, r.IntN(2000)-1000)
		case 4:
			v[i] = -v[r.IntN(i+1)]
		}
	}
	return v
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r != text {
			t.Errorf("panic %v, want %q", r, text)
		}
	}()
	f()
}
