package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A keyElement is a Key that tests cut slices of.
type keyElement interface {
	Key
	check.Element
}

// levelKeys draws keys of any bits and such that many are equal; all ones also are what fills up registers.
func levelKeys[K Key](r *rand.Rand, x []K) {
	kind := r.IntN(4)
	for i := range x {
		switch kind {
		case 0:
			x[i] = K(r.Uint64())
		case 1:
			x[i] = K(r.IntN(5)) - 2
		case 2:
			x[i] = K(r.Uint64()) << (size[K]() - 4)
		case 3:
			x[i] = [...]K{^K(0), 0, ^K(0) >> 1, ^K(0)>>1 + 1, K(r.Uint64())}[r.IntN(5)]
		}
	}
}

// keyRoom is memory for keys, the scratch among it, which has the length that is asked for and no more.
type keyRoom[K keyElement] struct {
	r                      *rand.Rand
	x, dst, scratch, lasts *levelRoom[K]
	ends                   *levelRoom[int64]
}

func newKeyRoom[K keyElement](t testing.TB, n int) *keyRoom[K] {
	return &keyRoom[K]{check.Rand(44), newRoom[K](t, n), newRoom[K](t, n), newRoom[K](t, SortScratch(n)), newRoom[K](t, mostParts), newRoom[int64](t, mostParts)}
}

// orderLengths are all the short ones.
func orderLengths() []int { return append(upTo(0, 67), thin(upTo(68, 1100), 37, 7)...) }

// orderPlaces are where the slices of case i lie: of long ones, where nothing else is asked for, in one place.
func orderPlaces(i, n int) []place {
	p := places(i, 16)
	if n > 20_000 && !full() {
		at := dealt(i, len(p), 0)
		return p[at : at+1]
	}
	return p
}

func TestLevelsSort(t *testing.T) {
	logCompared(t)
	most := sized(1100, spread+20_000, spread+20_000)
	t.Run("u32", func(t *testing.T) { newKeyRoom[uint32](t, most).sort(t, most) })
	t.Run("u64", func(t *testing.T) { newKeyRoom[uint64](t, most).sort(t, most) })
}

func (m *keyRoom[K]) sort(t *testing.T, most int) {
	for i, n := range append(orderLengths(), orderSizes(most)...) {
		for _, p := range orderPlaces(i, n) {
			in := make([]K, n)
			levelKeys(m.r, in)
			x, scratch := m.x.lay("x", p, n, false).column(n), m.scratch.lay("scratch", p, SortScratch(n), false).column(SortScratch(n))
			x.src = in
			if err := sameAtLevels(func() uint64 {
				Sort(x.s, scratch.s)
				clear(scratch.s) // it may hold anything
				if !slices.IsSorted(x.s) {
					panic("not sorted")
				}
				return tallyOf(x.s).mixed
			}, x, scratch); err != nil {
				t.Fatalf("n=%d at %v: %v; keys %x", n, p, err, in[:min(n, 67)])
			}
			if want := tallyOf(in); tallyOf(x.s) != want {
				t.Fatalf("n=%d at %v: other keys than %x", n, p, in[:min(n, 67)])
			}
		}
	}
}

func TestLevelsSelect(t *testing.T) {
	logCompared(t)
	t.Run("u32", func(t *testing.T) { newKeyRoom[uint32](t, 5000).choose(t) })
	t.Run("u64", func(t *testing.T) { newKeyRoom[uint64](t, 5000).choose(t) })
}

func (m *keyRoom[K]) choose(t *testing.T) {
	for i, n := range append(orderLengths()[1:], orderSizes(sized(1100, 5000, 5000))...) {
		for _, p := range places(i, 16) {
			in := make([]K, n)
			levelKeys(m.r, in)
			sorted := slices.Sorted(slices.Values(in))
			ranks := many(m.r, 1+m.r.IntN(20), func(r *rand.Rand) int { return r.IntN(n) })
			slices.Sort(ranks)
			x, scratch := m.x.lay("x", p, n, false).column(n), m.scratch.lay("scratch", p, n, false).column(n)
			x.src = in
			if err := sameAtLevels(func() uint64 {
				Select(x.s, ranks, scratch.s)
				if err := selected(x.s, sorted, ranks); err != nil {
					panic(err)
				}
				slices.Sort(x.s) // between the ranks they may stand in any order
				clear(scratch.s)
				return 0
			}, x, scratch); err != nil {
				t.Fatalf("n=%d ranks %v at %v: %v; keys %x", n, ranks, p, err, in[:min(n, 67)])
			}
		}
	}
}

func TestLevelsSplit(t *testing.T) {
	logCompared(t)
	t.Run("u32", func(t *testing.T) { newKeyRoom[uint32](t, 8193).split(t) })
	t.Run("u64", func(t *testing.T) { newKeyRoom[uint64](t, 8193).split(t) })
}

func (m *keyRoom[K]) split(t *testing.T) {
	for i, n := range append(orderLengths(), 8191, 8192, 8193) {
		for j, p := range places(i, 16) {
			count := m.r.IntN(mostParts)
			in := make([]K, n)
			levelKeys(m.r, in)
			dst, lasts := m.dst.lay("dst", p, n, false).column(n), m.lasts.lay("lasts", p, count, true)
			scratch, out := m.scratch.lay("scratch", p, n, false).column(n), m.ends.lay("ends", p, count, false).column(count)
			copy(lasts.s, lastsOf(m.r, in, count))
			all := []laid{dst, scratch, lasts, out}
			var from []K
			if inPlace := (n+j)%2 == 0; inPlace {
				dst.src, from = in, dst.s
			} else {
				x := m.x.lay("x", place{p.side, (p.off + 3) % 16}, n, true)
				copy(x.s, in)
				all, from = append(all, x), x.s
			}
			ends := make([]int, count)
			if err := sameAtLevels(func() uint64 {
				Split(dst.s, from, lasts.s, ends, scratch.s)
				clear(scratch.s)
				for i, e := range ends {
					out.s[i] = int64(e)
				}
				return 0
			}, all...); err != nil {
				t.Fatalf("n=%d split at %x, at %v: %v; keys %x", n, lasts.s, p, err, in[:min(n, 67)])
			}
		}
	}
}

// sift writes no more keys than it is given to dst and high, and of these what it moved is looked at.
func TestLevelsSift(t *testing.T) {
	logCompared(t)
	most := mostSifted + 2000
	t.Run("u32", func(t *testing.T) { newKeyRoom[uint32](t, most).sift(t) })
	t.Run("u64", func(t *testing.T) { newKeyRoom[uint64](t, most).sift(t) })
}

func (m *keyRoom[K]) sift(t *testing.T) {
	try := func(n int, at, to place, inPlace bool) {
		in := make([]K, n)
		levelKeys(m.r, in)
		last := lastsOf(m.r, in, 1)[0]
		dst, high := m.dst.lay("dst", to, n, false).column(n), m.scratch.lay("high", to, n, false).column(n)
		all, from := []laid{dst, high}, dst.s
		if inPlace {
			dst.src = in
		} else {
			x := m.x.lay("x", at, n, true)
			copy(x.s, in)
			all, from = append(all, x), x.s
		}
		if err := sameAtLevels(func() uint64 {
			lows := sift(dst.s, from, last, high.s)
			clear(dst.s[lows:])
			clear(high.s[n-lows:])
			return uint64(lows)
		}, all...); err != nil {
			t.Fatalf("n=%d last %#x from %v to %v in place=%v: %v; keys %x", n, last, at, to, inPlace, err, in[:min(n, 67)])
		}
	}
	anywhere := func() place { return place{off: m.r.IntN(16)} }
	short := append(upTo(0, 67), thin(upTo(68, 200), 5, 2)...)
	for i, n := range append(short, thin(upTo(mostSifted-1, mostSifted+leastSifted+1), 8, 4)...) {
		for j, p := range places(i, 16) {
			for range sized(1, 1, 4) {
				for d := range deal(3*i+j, sized(1, 2, all), 2) {
					try(n, p, p, d[0] == 0)
				}
			}
		}
		if n <= 200 {
			for d := range deal(i, sized(1, 3, all), 16) {
				try(n, place{off: d[0]}, anywhere(), false)
				try(n, anywhere(), place{off: d[0]}, false)
				try(n, place{}, place{off: d[0]}, true)
			}
		}
	}
}

func TestLevelsSortLeaf(t *testing.T) {
	logCompared(t)
	t.Run("u32", func(t *testing.T) { newKeyRoom[uint32](t, 256).leaf(t) })
	t.Run("u64", func(t *testing.T) { newKeyRoom[uint64](t, 256).leaf(t) })
}

func (m *keyRoom[K]) leaf(t *testing.T) {
	for i, n := range append(upTo(0, 67), thin(upTo(68, 256), 4, 1)...) {
		for _, p := range slices.Repeat(places(i, 16), sized(1, 1, 2)) {
			in := make([]K, n)
			levelKeys(m.r, in)
			x := m.x.lay("x", p, n, false).column(n)
			x.src = in
			if err := sameAtLevels(func() uint64 {
				if n <= leaf[K]() {
					sortLeaf(x.s, x.s, new(leafRoom))
				} else { // too many at this level
					slices.Sort(x.s)
				}
				return 0
			}, x); err != nil {
				t.Fatalf("n=%d at %v: %v; keys %x", n, p, err, in)
			}
		}
	}
}

// Floats are sorted, and their numbers ordered, within what is theirs.
func TestLevelsSortFloats(t *testing.T) {
	logCompared(t)
	most := sized(1100, spread+1000, spread+1000)
	t.Run("f32", func(t *testing.T) {
		sortFloatLevels(t, most, score32, SortF32, OrderF32)
	})
	t.Run("f64", func(t *testing.T) {
		sortFloatLevels(t, most, score64, SortF64, OrderF64)
	})
}

func sortFloatLevels[T check.Element, K keyElement](t *testing.T, most int, draw func(r *rand.Rand) T, sort func([]T, []K), order func([]int32, []T, []uint64)) {
	r := check.Rand(45)
	xs, ss, is, os := newRoom[T](t, most), newRoom[K](t, SortScratch(most)), newRoom[int32](t, most), newRoom[uint64](t, OrderScratch(most))
	for i, n := range append(upTo(0, 67), append(thin(upTo(68, 300), 19, 5), most-1001, most)...) {
		for _, p := range orderPlaces(i, n) {
			in := many(r, n, draw)
			x, scratch := xs.lay("x", p, n, false).column(n), ss.lay("scratch", p, SortScratch(n), false).column(SortScratch(n))
			x.src = in
			if err := sameAtLevels(func() uint64 {
				sort(x.s, scratch.s)
				clear(scratch.s)
				return 0
			}, x, scratch); err != nil {
				t.Fatalf("n=%d at %v: %v; values %v", n, p, err, in[:min(n, 67)])
			}
			x, index := xs.lay("x", p, n, true), is.lay("index", p, n, false).column(n)
			copy(x.s, in)
			room := os.lay("scratch", p, OrderScratch(n), false).column(OrderScratch(n))
			if err := sameAtLevels(func() uint64 {
				order(index.s, x.s, room.s)
				clear(room.s)
				return 0
			}, x, index, room); err != nil {
				t.Fatalf("order of n=%d at %v: %v; values %v", n, p, err, in[:min(n, 67)])
			}
		}
	}
}

// Keys are made of values and values of keys.
func TestLevelsKeys(t *testing.T) {
	logCompared(t)
	for _, m := range []mapTest{
		&mapper[float32, uint32]{"KeysF32", KeysF32, false, func(u uint64) float32 { return math.Float32frombits(uint32(u)) }, score32, check.Specials32(), nil},
		&mapper[uint32, float32]{"ValuesF32", ValuesF32, false, func(u uint64) uint32 { return uint32(u) }, (*rand.Rand).Uint32, []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1}, nil},
		&mapper[float64, uint64]{"KeysF64", KeysF64, false, math.Float64frombits, score64, check.Specials64(), nil},
		&mapper[uint64, float64]{"ValuesF64", ValuesF64, false, func(u uint64) uint64 { return u }, (*rand.Rand).Uint64, []uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}, nil},
	} {
		m.test(t)
	}
}

func TestLevelsHits(t *testing.T) {
	logCompared(t)
	t.Run("f32", func(t *testing.T) { hitLevels(t, score32, HitKeysF32) })
	t.Run("f64", func(t *testing.T) { hitLevels(t, score64, HitKeysF64) })
}

func hitLevels[T float32 | float64, K keyElement](t *testing.T, any func(r *rand.Rand) T, keys func([]K, []T, []uint8) int) {
	r := check.Rand(46)
	ps, hs, ks, out := newRoom[T](t, MaxSum), newRoom[uint8](t, MaxSum), newRoom[K](t, MaxSum), newRoom[int64](t, 6)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 16) {
			p, hit, dst := ps.lay("p", at, n, true), hs.lay("hit", at, n, true), ks.lay("dst", at, n, false).column(n)
			scores, hits := hitScores(r, n, any)
			copy(p.s, scores)
			copy(hit.s, hits)
			if (n+j)%3 > 0 { // none outside, which is summed in another way
				for i, v := range p.s {
					if !(v >= 0 && v <= 1) {
						p.s[i] = T(r.IntN(5)) / 4
					}
				}
			}
			if err := sameAtLevels(func() uint64 { return uint64(keys(dst.s, p.s, hit.s)) }, p, hit, dst); err != nil {
				t.Fatalf("keys of n=%d at %v: %v; scores %v", n, at, err, p.s[:min(n, 67)])
			}
			made := slices.Clone(dst.s)
			x, sums := ks.lay("keys", at, n, true), out.lay("sums", place{}, 6, false).column(6)
			copy(x.s, made)
			if err := sameAtLevels(func() uint64 {
				s, outside := HitSum(x.s)
				copy(sums.s, []int64{s.N, s.Y, s.P, s.PP, s.PY, int64(outside)})
				return 0
			}, x, sums); err != nil {
				t.Fatalf("sums of n=%d at %v: %v; keys %x", n, at, err, made[:min(n, 67)])
			}
		}
	}
}
