package kernel

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// score32 and score64 draw values of any bits, ordinary ones and those on which code breaks.
func score32(r *rand.Rand) float32 {
	s := check.Specials32()
	return [...]float32{math.Float32frombits(r.Uint32()), r.Float32(), s[r.IntN(len(s))]}[r.IntN(3)]
}

func score64(r *rand.Rand) float64 {
	s := check.Specials64()
	return [...]float64{math.Float64frombits(r.Uint64()), r.Float64(), s[r.IntN(len(s))], float64(r.Float32())}[r.IntN(4)]
}

func many[T any](r *rand.Rand, n int, draw func(r *rand.Rand) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = draw(r)
	}
	return x
}

// orderOf says how values of any bits are ordered: NaN with the sign below -Inf and above +Inf without, among them by payload.
func orderOf(bits uint64, nan, negative bool, v float64) (class int, value float64, payload uint64) {
	switch {
	case nan && negative:
		return -1, 0, ^bits
	case nan:
		return 1, 0, bits
	}
	return 0, v + 0, 0 // -0 + 0 is 0
}

func compare64(a, b float64) int {
	ka, va, pa := orderOf(math.Float64bits(a), a != a, math.Signbit(a), a)
	kb, vb, pb := orderOf(math.Float64bits(b), b != b, math.Signbit(b), b)
	return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(va, vb), cmp.Compare(pa, pb))
}

func compare32(a, b float32) int {
	ka, va, pa := orderOf(uint64(math.Float32bits(a)), a != a, math.Float32bits(a)>>31 == 1, float64(a))
	kb, vb, pb := orderOf(uint64(math.Float32bits(b)), b != b, math.Float32bits(b)>>31 == 1, float64(b))
	return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(va, vb), cmp.Compare(pa, pb))
}

// Keys rise as the values do, are the same for 0 of both signs alone, and give the values back.
func TestKeys(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(31)
		x32, x64 := append(check.Specials32(), many(r, 2000, score32)...), append(check.Specials64(), many(r, 2000, score64)...)
		k32, k64 := make([]uint32, len(x32)), make([]uint64, len(x64))
		back32, back64 := make([]float32, len(x32)), make([]float64, len(x64))
		KeysF32(k32, x32)
		ValuesF32(back32, k32)
		KeysF64(k64, x64)
		ValuesF64(back64, k64)
		for i, v := range x32 {
			testKey(t, x32, k32, i, compare32)
			want := math.Float32bits(v)
			if v == 0 {
				want = 0
			}
			if got := math.Float32bits(back32[i]); got != want {
				t.Errorf("%#x came back as %#x", math.Float32bits(v), got)
			}
		}
		for i, v := range x64 {
			testKey(t, x64, k64, i, compare64)
			want := math.Float64bits(v)
			if v == 0 {
				want = 0
			}
			if got := math.Float64bits(back64[i]); got != want {
				t.Errorf("%#x came back as %#x", math.Float64bits(v), got)
			}
		}
	})
}

// testKey compares a value with the first ones.
func testKey[T any, K Key](t *testing.T, x []T, keys []K, i int, compare func(a, b T) int) {
	for j := range min(i, 100) {
		if got, want := cmp.Compare(keys[i], keys[j]), compare(x[i], x[j]); got != want {
			t.Errorf("keys of %v and %v compare as %d, want %d", x[i], x[j], got, want)
		}
	}
}

// hitScores returns scores, some of them outside [0,1], with outcomes.
func hitScores[T float32 | float64](r *rand.Rand, n int, any func(r *rand.Rand) T) (p []T, hit []uint8) {
	p, hit = make([]T, n), make([]uint8, n)
	for i := range p {
		p[i], hit[i] = [...]T{T(r.Float32()), T(r.Float64()), T(r.IntN(9)) / 8, any(r), T(math.Copysign(0, -1))}[r.IntN(5)], uint8(r.IntN(2))
	}
	return p, hit
}

func TestHitKeys(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(32)
		p32, hit32 := hitScores(r, 3000, score32)
		k32 := make([]uint32, len(p32))
		testHits(t, k32, p32, hit32, HitKeysF32(k32, p32, hit32))
		p64, hit64 := hitScores(r, 3000, score64)
		k64 := make([]uint64, len(p64))
		testHits(t, k64, p64, hit64, HitKeysF64(k64, p64, hit64))
	})
}

func testHits[K Key, T float32 | float64](t *testing.T, keys []K, p []T, hit []uint8, out int) {
	inside := func(v T) bool { return v >= 0 && v <= 1 }
	for i, v := range p {
		score, h := HitScore(keys[i])
		if !inside(v) {
			out--
			if keys[i] != ^K(0) || score == score {
				t.Errorf("%v has the key %#x, which stands for %v", v, keys[i], score)
			}
			continue
		}
		if score != float64(v) || math.Signbit(score) || h != hit[i] || keys[i] == ^K(0) {
			t.Errorf("%v, %d has the key %#x, which stands for %v, %d", v, hit[i], keys[i], score, h)
		}
		for j := range min(i, 200) {
			want := cmp.Or(cmp.Compare(v, p[j]), cmp.Compare(hit[i], hit[j]))
			if !inside(p[j]) {
				want = -1
			}
			if got := cmp.Compare(keys[i], keys[j]); got != want {
				t.Errorf("keys of %v, %d and %v, %d compare as %d, want %d", v, hit[i], p[j], hit[j], got, want)
			}
		}
	}
	if out != 0 {
		t.Errorf("%d too many are outside", out)
	}
}

// Sums of keys, in any order, are those that BinSums has of the scores.
func TestHitSum(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(33)
		for _, n := range []int{0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000, MaxSum - 1, MaxSum} {
			for _, inside := range []bool{false, true} {
				p32, hit32 := hitScores(r, n, score32)
				p64, hit64 := hitScores(r, n, score64)
				for i := range n {
					if inside && !(p32[i] >= 0 && p32[i] <= 1) {
						p32[i] = [...]float32{0, 1, 0x1p-149, 1 - 0x1p-24}[r.IntN(4)]
					}
					if inside && !(p64[i] >= 0 && p64[i] <= 1) {
						p64[i] = [...]float64{0, 1, 5e-324, 1 - 0x1p-53, 0x1p-52}[r.IntN(5)]
					}
				}
				k32, k64 := make([]uint32, n), make([]uint64, n)
				HitKeysF32(k32, p32, hit32)
				testHitSum(t, k32, widen64(p32), hit32)
				HitKeysF64(k64, p64, hit64)
				testHitSum(t, k64, p64, hit64)
			}
		}
	})
}

func testHitSum[K Key](t *testing.T, keys []K, p []float64, hit []uint8) {
	t.Helper()
	var want [1]BinSum
	wantOut := BinSums(want[:], make([]int32, len(p)), p, hit)
	for range 2 {
		if got, out := HitSum(keys); got != want[0] || out != wantOut {
			t.Errorf("%d keys: %+v, %d outside, want %+v, %d", len(keys), got, out, want[0], wantOut)
		}
		slices.Sort(keys)
	}
}
