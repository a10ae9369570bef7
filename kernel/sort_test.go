package kernel

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// size returns the bits of a key.
func size[K Key]() int {
	if narrow[K]() {
		return 32
	}
	return 64
}

// ordered returns n keys in an order of check.Orders.
func ordered[K Key](r *rand.Rand, o check.Order, n int) []K {
	wide, x := make([]uint64, n), make([]K, n)
	o.Fill(r, wide)
	for i, v := range wide {
		x[i] = K(v)
	}
	return x
}

// A tally is the same for the same keys in any order, and for hardly any others.
type tally struct{ n, sum, mixed uint64 }

func tallyOf[K Key](x []K) (t tally) {
	t.n = uint64(len(x))
	for _, k := range x {
		v := uint64(k)
		t.sum += v
		v = (v ^ v>>30 ^ 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9
		v = (v ^ v>>27) * 0x94D049BB133111EB
		t.mixed += v ^ v>>31
	}
	return t
}

// orderSizes are lengths at which the code takes another way: of leaves, of samples, of chunks, of what is spread.
func orderSizes(most int) (n []int) {
	for _, v := range []int{16, 64, 128, 256, 1024, 4096, 1 << 16, spread, spread + 1<<13, spread + 1<<16, 600_000} {
		for d := -1; d <= 1; d++ {
			if v+d <= most {
				n = append(n, v+d)
			}
		}
	}
	return n
}

// longest is the most keys of the tests that go through orders.
func longest() int {
	return sized(10_000, 600_001, 600_001)
}

// takesLong reports whether the order numbered i is tried with the length numbered j, which is a long one: a few are.
func takesLong(i, j int) bool { return (i+j)%sized(5, 17, 5) == 0 }

func TestSort(t *testing.T) {
	t.Run("u32", testSort[uint32])
	t.Run("u64", testSort[uint64])
}

func testSort[K Key](t *testing.T) {
	r := check.Rand(34)
	sizes := orderSizes(longest())
	x, scratch := make([]K, longest()), make([]K, SortScratch(longest()))
	for i, o := range check.Orders(size[K]()) {
		for j, n := range sizes {
			if n > 5000 && !takesLong(i, j) {
				continue
			}
			keys := ordered[K](r, o, n)
			all := tallyOf(keys)
			var want []K
			if n < 5000 {
				want = slices.Sorted(slices.Values(keys))
			}
			eachLevel(func(level isa.Level) {
				x := x[:copy(x, keys)]
				Sort(x, scratch[:SortScratch(n)])
				if !slices.IsSorted(x) || tallyOf(x) != all {
					t.Errorf("%d keys, %s, isa=%v: wrong", n, o.Name, level)
				}
				if n < 5000 && !slices.Equal(x, want) {
					t.Errorf("%d keys, %s, isa=%v: not what slices.Sort gives", n, o.Name, level)
				}
			})
		}
	}
}

// SortFrom gives what Sort does of the keys that are made, of what lies in its own memory too; all are made, none after the first
// one is done, and each is done once, when it is in its place.
func TestSortFrom(t *testing.T) {
	t.Run("u32", testSortFrom[uint32])
	t.Run("u64", testSortFrom[uint64])
}

func testSortFrom[K Key](t *testing.T) {
	r := check.Rand(49)
	x, scratch := make([]K, longest()), make([]K, SortScratch(longest()))
	for i, o := range check.Orders(size[K]()) {
		for j, n := range append([]int{0, 1, 2, 100}, orderSizes(longest())...) {
			if n > 5000 && (!takesLong(i, j) || j%2 > 0 && !check.Full()) {
				continue
			}
			want := ordered[K](r, o, n)
			in, made, done := slices.Clone(want), make([]bool, n), make([]bool, n)
			of := tallyOf(in)
			x := x[:n]
			read := func(dst []K, first int) {
				for i := range dst {
					dst[i], made[first+i] = ^in[first+i], true
				}
			}
			if i%2 == 1 { // the keys are made of what is there
				read = func(dst []K, first int) {
					for i := range dst {
						dst[i], made[first+i] = ^x[first+i], true
					}
				}
			}
			for i, k := range want {
				want[i] = ^k
			}
			Sort(want, scratch)
			eachLevel(func(level isa.Level) {
				clear(made)
				clear(done)
				if clear(x); i%2 == 1 {
					copy(x, in)
				}
				all := false
				SortFrom(x, scratch[:SortScratch(n)], read, func(first, end int) {
					all = all || !slices.Contains(made, false)
					if first >= end || !all || !slices.Equal(x[first:end], want[first:end]) {
						t.Fatalf("%d keys, %s, isa=%v: those from %d to %d are not done", n, o.Name, level, first, end)
					}
					for i := first; i < end; i++ {
						if done[i] {
							t.Fatalf("%d keys, %s, isa=%v: number %d is done twice", n, o.Name, level, i)
						}
						done[i] = true
					}
				})
				if !slices.Equal(x, want) || slices.Contains(done, false) {
					t.Errorf("%d keys, %s, isa=%v: not sorted, or not all done", n, o.Name, level)
				}
				copy(x, in)
				SortFrom(x, scratch[:SortScratch(n)], func(dst []K, first int) { copy(dst, x[first:]) }, nil)
				if !slices.IsSorted(x) || tallyOf(x) != of {
					t.Errorf("%d keys, %s, isa=%v: wrong without done", n, o.Name, level)
				}
			})
		}
	}
}

// So many keys fill all parts that there are, and the table of their ends all of the scratch.
func TestSortManyParts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts many millions of keys")
	}
	const n = mostParts*partKeys + 1
	in := many(check.Rand(48), n, (*rand.Rand).Uint64)
	x, scratch := make([]uint64, n), make([]uint64, SortScratch(n))
	isatest.Each(t, func(t *testing.T) {
		copy(x, in)
		Sort(x, scratch)
		if !slices.IsSorted(x) || tallyOf(x) != tallyOf(in) {
			t.Error("wrong")
		}
	})
}

// SortScratch holds n keys, and no more while they are few.
func TestSortScratch(t *testing.T) {
	for _, n := range []int{0, 1, 1000, spread} {
		if got := SortScratch(n); got != n {
			t.Errorf("%d keys: %d", n, got)
		}
	}
	for _, n := range []int{spread + 1, 1e6, 1e7, 1e8} {
		if got := SortScratch(n); got < n+spread || got > n+spread+n/60+mostParts+1 {
			t.Errorf("%d keys: %d", n, got)
		}
	}
}

func TestSortFloats(t *testing.T) {
	r := check.Rand(35)
	for _, n := range append(upTo(0, 140), orderSizes(min(longest(), 70_000))...) {
		inX, inY := many(r, n, score32), many(r, n, score64)
		wantX, wantY := slices.Clone(inX), slices.Clone(inY)
		slices.SortFunc(wantX, compare32)
		slices.SortFunc(wantY, compare64)
		for i := range n {
			if wantX[i] == 0 { // of either sign
				wantX[i] = 0
			}
			if wantY[i] == 0 {
				wantY[i] = 0
			}
		}
		eachLevel(func(level isa.Level) {
			x, y := slices.Clone(inX), slices.Clone(inY)
			SortF32(x, make([]uint32, SortScratch(n)))
			SortF64(y, make([]uint64, SortScratch(n)))
			for i := range n {
				if math.Float32bits(x[i]) != math.Float32bits(wantX[i]) {
					t.Fatalf("n=%d, isa=%v: number %d is %v (%#x), want %v", n, level, i, x[i], math.Float32bits(x[i]), wantX[i])
				}
				if math.Float64bits(y[i]) != math.Float64bits(wantY[i]) {
					t.Fatalf("n=%d, isa=%v: number %d is %v (%#x), want %v", n, level, i, y[i], math.Float64bits(y[i]), wantY[i])
				}
			}
		})
	}
}

// By the 0-1 principle a fixed sequence of comparisons that sorts all zeros and ones sorts everything. Of 16 keys all such
// inputs are tried; of more, those in which one lane has any pattern, and for every number of ones some at random.
func TestSortLeafNetworks(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		t.Run("u32", testNetworks[uint32])
		t.Run("u64", testNetworks[uint64])
	})
}

func testNetworks[K Key](t *testing.T) {
	r := check.Rand(36)
	x, before := make([]K, leaf[K]()), make([]K, leaf[K]())
	try := func(x []K) {
		t.Helper()
		ones := 0
		for _, v := range x {
			ones += int(v & 1)
		}
		in := before[:copy(before, x)]
		sortLeaf(x, x, new(leafRoom))
		for i, v := range x {
			if v != K(min(1, (i+ones)/len(x))) {
				t.Fatalf("%d keys: %v became %v", len(x), in, x)
			}
		}
	}
	step := sized(61, 1, 1)
	for _, n := range []int{1, 2, 5, 6, 7, 8, 13, 15, 16} {
		for set := 0; set < 1<<n; set += step {
			for i := range n {
				x[i] = K(set >> i & 1)
			}
			try(x[:n])
		}
	}
	// Registers of each possible number of lanes; key r*lanes+l is in lane l.
	for _, lanes := range []int{2, 4, 8, 16} {
		for _, registers := range []int{2, 4, 8, 12, 16} {
			n := lanes * registers
			if n > len(x) {
				continue
			}
			for set := 0; set < 1<<registers; set += max(1, (1<<registers)>>12) * step {
				lane := r.IntN(lanes)
				for i := range n {
					if x[i] = K(r.IntN(2)); i%lanes == lane {
						x[i] = K(set >> (i / lanes) & 1)
					}
				}
				try(x[:n])
			}
		}
	}
	for _, n := range append(thin(upTo(1, len(x)), 7, 1), len(x)) {
		for ones := range n + 1 {
			for range 3 {
				clear(x)
				for i := range ones {
					x[i] = 1
				}
				r.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
				try(x[:n])
			}
		}
	}
}

// Leaves of any length have the keys they had.
func TestSortLeaf(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		t.Run("u32", testLeaf[uint32])
		t.Run("u64", testLeaf[uint64])
	})
}

func testLeaf[K Key](t *testing.T) {
	r := check.Rand(37)
	for n := range leaf[K]() + 1 {
		for round := range 8 {
			want := make([]K, n)
			for i := range want {
				switch round % 4 {
				case 0: // a permutation
					want[i] = K(i)
				case 1:
					want[i] = K(r.Uint64())
				case 2: // ones, which also fill up registers
					want[i] = ^K(r.IntN(2))
				case 3: // 64 bits are compared as signed numbers
					want[i] = K(r.Uint64()) >> (size[K]() - 1) * ^K(0) >> r.IntN(3)
				}
			}
			r.Shuffle(n, func(i, j int) { want[i], want[j] = want[j], want[i] })
			x := slices.Clone(want)
			sortLeaf(x, x, new(leafRoom))
			if slices.Sort(want); !slices.Equal(x, want) {
				t.Fatalf("%d keys: %x, want %x", n, x, want)
			}
		}
	}
}

// lastsOf returns rising keys to split at: from the keys themselves, beside them, the smallest and the largest there are,
// some of them more than once.
func lastsOf[K Key](r *rand.Rand, x []K, n int) []K {
	lasts := make([]K, n)
	for i := range lasts {
		lasts[i] = [...]K{0, ^K(0), K(r.Uint64()), 1}[r.IntN(4)]
		if len(x) > 0 && r.IntN(4) > 0 {
			lasts[i] = x[r.IntN(len(x))] + K(r.IntN(3)) - 1
		}
		if i > 0 && r.IntN(5) == 0 {
			lasts[i] = lasts[i-1]
		}
	}
	slices.Sort(lasts)
	return lasts
}

// plainSplit is what Split says.
func plainSplit[K Key](x, lasts []K) (parts []K, ends []int) {
	of := make([][]K, len(lasts)+1)
	for _, v := range x {
		i, _ := slices.BinarySearch(lasts, v) // the first that is not below v
		of[i] = append(of[i], v)
	}
	for _, part := range of {
		parts = append(parts, part...)
		ends = append(ends, len(parts))
	}
	return parts, ends[:len(lasts)]
}

func TestSplit(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		t.Run("u32", testSplit[uint32])
		t.Run("u64", testSplit[uint64])
	})
}

func testSplit[K Key](t *testing.T) {
	r := check.Rand(38)
	orders := check.Orders(size[K]())
	sizes := append(thin(upTo(0, 300), 7, 3), 1000, 4096, 8192)
	calls := []int{1 << 16, 1<<16 + 15, 1<<16 + 16, 1<<17 + 3} // of the assembly
	sizes = append(sizes, sized(nil, calls, calls)...)
	for i, n := range sizes {
		for j, count := range []int{0, 1, 2, 3, 1 + r.IntN(63), 63} {
			if n > 10_000 && (i+j)%3 != 0 && !check.Full() {
				continue
			}
			o := orders[(i+count)%len(orders)]
			x := ordered[K](r, o, n)
			lasts := lastsOf(r, x, count)
			want, wantEnds := plainSplit(x, lasts)
			dst, scratch, ends := make([]K, n), make([]K, n), make([]int, count)
			in := slices.Clone(x)
			for _, to := range [][]K{dst, x} {
				Split(to, x, lasts, ends, scratch)
				if !slices.Equal(to, want) || !slices.Equal(ends, wantEnds) {
					t.Fatalf("%d keys, %s, split at %v: ends %v, want %v; keys %x", n, o.Name, lasts, ends, wantEnds, to[:min(n, 40)])
				}
				if len(x) > 0 && &to[0] != &x[0] && !slices.Equal(x, in) {
					t.Fatalf("%d keys, split at %v: they were changed", n, lasts)
				}
			}
		}
	}
}

func TestSelect(t *testing.T) {
	t.Run("u32", testSelect[uint32])
	t.Run("u64", testSelect[uint64])
}

// selected tells what is wrong with x, which had the keys of sorted and in which ranks were selected.
func selected[K Key](x, sorted []K, ranks []int) error {
	start, most := 0, K(0)
	for i := range len(ranks) + 1 {
		end := len(x)
		if i < len(ranks) {
			end = ranks[i]
			if x[end] != sorted[end] {
				return fmt.Errorf("rank %d has %#x, want %#x", end, x[end], sorted[end])
			}
		}
		next := most
		for _, v := range x[start:max(start, end)] {
			if v < most {
				return fmt.Errorf("%#x stands between ranks %d and %d, behind %#x", v, start-1, end, most)
			}
			next = max(next, v)
		}
		if end < len(x) {
			if next > x[end] {
				return fmt.Errorf("%#x stands before rank %d, which has %#x", next, end, x[end])
			}
			next, start = x[end], end+1
		}
		most = next
	}
	if tallyOf(x) != tallyOf(sorted) {
		return fmt.Errorf("the keys are not those that were there")
	}
	return nil
}

func testSelect[K Key](t *testing.T) {
	r := check.Rand(39)
	orders := check.Orders(size[K]())
	for i, n := range append(append(thin(upTo(1, 300), 7, 4), orderSizes(min(longest(), 70_000))...), longest()/2) {
		for j, count := range []int{0, 1, 2, 14, 99, n} {
			if n > 5000 && count == n {
				count = 1000
			}
			o := orders[(i+7*j)%len(orders)]
			x := ordered[K](r, o, n)
			sorted := slices.Clone(x)
			slices.Sort(sorted)
			ranks := make([]int, count)
			for q := range ranks {
				if ranks[q] = r.IntN(n); i%2 == 0 { // with those at the ends
					ranks[q] = min(n-1, q*n/max(1, count-1))
				}
			}
			slices.Sort(ranks)
			eachLevel(func(level isa.Level) {
				x := slices.Clone(x)
				Select(x, ranks, make([]K, n))
				if err := selected(x, sorted, ranks); err != nil {
					t.Fatalf("%d keys, %s, %d ranks, isa=%v: %v", n, o.Name, count, level, err)
				}
			})
		}
	}
}

// What looks at the answers of Select finds wrong ones.
func TestSelected(t *testing.T) {
	sorted := []uint32{1, 2, 3, 3, 4, 5, 6, 7}
	ranks := []int{0, 2, 2, 5}
	for _, c := range []struct {
		x  []uint32
		ok bool
	}{
		{[]uint32{1, 2, 3, 3, 4, 5, 7, 6}, true},
		{[]uint32{1, 2, 3, 4, 3, 5, 6, 7}, true},
		{[]uint32{1, 3, 2, 3, 4, 5, 6, 7}, false}, // rank 2
		{[]uint32{2, 1, 3, 3, 4, 5, 6, 7}, false},
		{[]uint32{1, 3, 3, 2, 4, 5, 6, 7}, false}, // below it behind
		{[]uint32{1, 2, 3, 6, 4, 5, 3, 7}, false}, // above it before
		{[]uint32{1, 2, 3, 3, 4, 5, 6, 6}, false}, // another key
		{[]uint32{1, 2, 3, 4, 4, 5, 6, 7}, false},
	} {
		if err := selected(c.x, sorted, ranks); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.x, err)
		}
	}
}

func TestSplitters(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		t.Run("u32", testSplitters[uint32])
		t.Run("u64", testSplitters[uint64])
	})
}

func testSplitters[K Key](t *testing.T) {
	r := check.Rand(40)
	var room [mostParts - 1]K
	for _, o := range check.Orders(size[K]()) {
		for _, n := range []int{0, 1, 2, 3, 20, 1000, sized(5000, 20_000, 50_000)} {
			for _, count := range []int{0, 1, 2, 4, 31, 63} {
				x := ordered[K](r, o, n)
				in := slices.Clone(x)
				lasts := Splitters(room[:count], x)
				if !slices.Equal(x, in) {
					t.Fatalf("%d keys, %s: they were changed", n, o.Name)
				}
				if len(lasts) > count || len(lasts) > 0 && &lasts[0] != &room[0] {
					t.Fatalf("%d keys, %s: %d keys to split at, not in the room for %d", n, o.Name, len(lasts), count)
				}
				ends := make([]int, len(lasts)+1)
				Split(x, x, lasts, ends[:len(lasts)], make([]K, n))
				ends[len(lasts)] = n
				start, largest := 0, 0
				for i, end := range ends {
					if n > 0 && end == start {
						t.Errorf("%d keys, %s: part %d of %d is empty", n, o.Name, i, len(ends))
					}
					largest = max(largest, end-start)
					start = end
				}
				// Sixteen of the sample are in each part; a part twice as large as it should be is 8 deviations off.
				if (o.Name == "random" || o.Name == "sorted") && n > 2000 && (len(lasts) != count || largest > 3*n/(count+1)) {
					t.Errorf("%d keys, %s: %d parts of %d at the most", n, o.Name, len(ends), largest)
				}
			}
		}
	}
}

func TestOrder(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(41)
		sizes := append(append(upTo(0, 40), 127, 300, 1000, 1100), orderSizes(min(longest(), 20_000))...)
		for _, n := range append(sizes, min(longest(), spread+1000)) {
			for name, draw := range map[string]func(r *rand.Rand) float64{
				"any":        score64,
				"ordinary":   func(r *rand.Rand) float64 { return r.Float64() },
				"ties":       func(r *rand.Rand) float64 { return float64(r.IntN(7)) / 7 },
				"one":        func(r *rand.Rand) float64 { return 0.1 },
				"zeros":      func(r *rand.Rand) float64 { return math.Copysign(0, float64(r.IntN(2))-0.5) },
				"high bits":  func(r *rand.Rand) float64 { return math.Float64frombits(0x3FE5555500000000 | uint64(r.Uint32())) },
				"few highs":  func(r *rand.Rand) float64 { return math.Float64frombits(0x3FE5555500000000 + r.Uint64N(3<<32)) },
				"last bit":   func(r *rand.Rand) float64 { return math.Float64frombits(0x3FE5555500000000 | r.Uint64N(2)) },
				"both signs": func(r *rand.Rand) float64 { return math.Float64frombits(r.Uint64()&(1<<63|3) | 1<<40) },
			} {
				if n > 20_001 && name != "any" && name != "few highs" {
					continue
				}
				x := many(r, n, draw)
				y := make([]float32, n)
				for i, v := range x {
					if y[i] = float32(v); name == "any" {
						y[i] = score32(r)
					}
				}
				got := make([]int32, n)
				scratch := make([]uint64, OrderScratch(n))
				// There is one order in which each number is there once, and equal values in the order of theirs.
				hold := func(what string, compare func(i, j int32) int) {
					t.Helper()
					seen := make([]bool, n)
					for i, at := range got {
						if at < 0 || int(at) >= n || seen[at] || i > 0 && cmp.Or(compare(got[i-1], at), int(got[i-1]-at)) >= 0 {
							t.Fatalf("%d %s, %s: number %d of %v", n, what, name, i, got[:min(n, 40)])
						}
						seen[at] = true
					}
				}
				OrderF64(got, x, scratch)
				hold("float64", func(i, j int32) int { return compare64(x[i], x[j]) })
				OrderF32(got, y, scratch)
				hold("float32", func(i, j int32) int { return compare32(y[i], y[j]) })
			}
		}
	})
}

// TestSample: the samples that pivots are taken from are sorted, whatever a leaf holds at the level.
func TestSample(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		testSample[uint32](t)
		testSample[uint64](t)
	})
}

func testSample[K Key](t *testing.T) {
	r := check.Rand(47)
	x := make([]K, 10_000)
	for i := range x {
		x[i] = K(r.Uint64())
	}
	for _, n := range []int{100, 4095, 4096, len(x)} {
		all := slices.Sorted(slices.Values(x[:n]))
		for _, part := range []int{0, 1, 2, 3, 4} {
			at, _ := slices.BinarySearch(all, pivot(x[:n], part, 4))
			if off := at - part*n/4; max(off, -off) > n/3 { // five deviations of a sample of 16 are more
				t.Errorf("%T, %d of 4 parts of %d keys: the pivot has rank %d", x[0], part, n, at)
			}
		}
		sample := make([]K, min(64, smallLeaf[K]()))
		if takeSample(sample, x[:n]); !slices.IsSorted(sample) {
			t.Errorf("%T: a sample of %d keys is not sorted", x[0], len(sample))
		}
	}
}

// killers are keys of which each sample has the smallest alone, wherever the splits before have put them. What a split in the
// middle of the range finds differs.
var killers = []struct {
	name        string
	middle, low bool
}{{"killer", true, false}, {"low killer", true, true}, {"killer without middle", false, false}}

func killer[K Key](n int, middles, low bool) []K {
	x := make([]K, n)
	left := leftOf(n)
	lo, hi := K(0), ^K(0)
	for bad := 0; left.n > 1000 && lo < hi; bad++ {
		if middles && bad > 0 && bad%2 == 0 {
			if middle := lo + (hi-lo)/2; low {
				hi = middle
			} else {
				lo = middle + 1
			}
			continue
		}
		counts := []int{16}
		if left.n >= 4096 {
			counts[0] = 64
		}
		if bad == 0 && left.n > spread {
			counts = append(counts, 16*min(mostParts, (left.n+partKeys-1)/partKeys))
		}
		var sampled []int
		for _, c := range counts {
			step := uint64(left.n) << 16 / uint64(c)
			for i := range c {
				sampled = append(sampled, left.at(int((step/2+uint64(i)*step)>>16)))
			}
		}
		slices.Sort(sampled)
		for _, p := range slices.Compact(sampled) {
			x[p] = lo
			left.take(p)
		}
		lo++
	}
	for i := range left.n {
		x[left.at(i)] = lo
	}
	return x
}

// leftPlaces are those of the keys that are left, in their order: a binary indexed tree.
type leftPlaces struct {
	n    int
	tree []int // of 1 to a power of two
}

func leftOf(n int) *leftPlaces {
	p := &leftPlaces{n, make([]int, 1<<bits.Len(uint(n))+1)}
	for i := 1; i <= n; i++ {
		p.add(i, 1)
	}
	return p
}

func (p *leftPlaces) add(i, d int) {
	for ; i < len(p.tree); i += i & -i {
		p.tree[i] += d
	}
}

func (p *leftPlaces) take(i int) {
	p.n--
	p.add(i+1, -1)
}

// at returns the place of the i-th key that is left.
func (p *leftPlaces) at(i int) (at int) {
	for step := (len(p.tree) - 1) / 2; step > 0; step /= 2 {
		if p.tree[at+step] <= i {
			at += step
			i -= p.tree[at]
		}
	}
	return at
}

// Bad splits end: whatever the pivots are and whichever side the keys are on, the keys can only be the same after twice as
// many splits as they have bits.
func TestBadSplits(t *testing.T) {
	t.Run("u32", testBadSplits[uint32])
	t.Run("u64", testBadSplits[uint64])
}

func testBadSplits[K Key](t *testing.T) {
	r := check.Rand(42)
	for kind := range 500 {
		lo, hi, bad, n := K(0), ^K(0), 0, 1_000_000
		splits := 0
		for ; lo < hi; splits++ {
			pivot := [...]K{lo, hi, lo + 1, hi - 1, lo + K(r.Uint64())%(hi-lo)}[(kind+r.IntN(1+kind%3))%5]
			last := splitAfter(pivot, lo, hi, bad)
			if last < lo || last >= hi {
				t.Fatalf("a split after %#x of keys from %#x to %#x", last, lo, hi)
			}
			together := n - r.IntN(n/16)
			if n = together; r.IntN(2) == kind%2 || kind < 50 && kind%2 == 0 {
				lo = last + 1
			} else {
				hi = last
			}
			if before := bad; badSplits(before, together, together+n/20) != before+1 || badSplits(before, 15, 16) != 0 {
				t.Fatal("splits are not counted")
			}
			bad++
		}
		if splits > 2*size[K]()+2 {
			t.Errorf("kind %d: %d splits", kind, splits)
		}
	}
}

// Every order of keys is sorted, those that are built against the sampled pivots among them. How long they take beside random
// keys is in the log; that no order makes more bad splits than a key has bits is TestBadSplits' to hold, without a clock.
func TestSortOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it sorts many millions of keys")
	}
	narrow, wide := timed[uint32](spread+20_000), timed[uint64](spread+20_000)
	isatest.Each(t, func(t *testing.T) {
		t.Run("u32", func(t *testing.T) { testSortOrders(t, narrow) })
		t.Run("u64", func(t *testing.T) { testSortOrders(t, wide) })
	})
}

// A timedInput is keys in an order; the first of a list is random.
type timedInput[K Key] struct {
	name string
	keys []K
}

func timed[K Key](n int) (inputs []timedInput[K]) {
	r := check.Rand(43)
	for _, o := range check.Orders(size[K]()) {
		inputs = append(inputs, timedInput[K]{o.Name, ordered[K](r, o, n)})
	}
	for _, k := range killers {
		inputs = append(inputs, timedInput[K]{k.name, killer[K](n, k.middle, k.low)})
	}
	return inputs
}

func testSortOrders[K Key](t *testing.T, inputs []timedInput[K]) {
	n := len(inputs[0].keys)
	x, scratch := make([]K, n), make([]K, SortScratch(n))
	ranks := []int{n / 4, n / 2, 3 * n / 4}
	took := func(in []K, f func()) float64 {
		copy(x, in)
		start := time.Now()
		f()
		return time.Since(start).Seconds()
	}
	var sorting, choosing float64 // of random keys
	for i, in := range inputs {
		c := took(in.keys, func() { Select(x, ranks, scratch[:n]) })
		chosen := [3]K{x[ranks[0]], x[ranks[1]], x[ranks[2]]}
		s := took(in.keys, func() { Sort(x, scratch) })
		if !slices.IsSorted(x) || tallyOf(x) != tallyOf(in.keys) || chosen != [3]K{x[ranks[0]], x[ranks[1]], x[ranks[2]]} {
			t.Errorf("%s: wrong", in.name)
		}
		if i == 0 {
			sorting, choosing = s, c
		}
		t.Logf("%s: %.1f and %.1f times as long as random keys", in.name, s/sorting, c/choosing)
	}
}

// TestPanicsOrder: every wrong shape panics with its constant text.
func TestPanicsOrder(t *testing.T) {
	panics := func(name, want string, f func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}()
		f()
	}
	const none = "<nil>"
	x, y, s := []uint32{3, 1, 2}, []uint64{3, 1, 2}, make([]uint64, 6)
	f, g := []float32{3, 1, 2}, []float64{3, 1, 2}
	hit, index := make([]uint8, 3), make([]int32, 3)
	isatest.Each(t, func(t *testing.T) {
		panics("Sort", errScratch, func() { Sort(x, x[:2]) })
		panics("SortFrom", errScratch, func() { SortFrom(x, x[:0], func(dst []uint32, _ int) { clear(dst) }, nil) })
		panics("Sort", errScratch, func() { Sort(make([]uint64, spread+1), make([]uint64, SortScratch(spread+1)-1)) })
		panics("SortF32", errScratch, func() { SortF32(f, x[:2]) })
		panics("SortF64", errScratch, func() { SortF64(g, y[:2]) })
		panics("Select", errScratch, func() { Select(x, nil, x[:2]) })
		for _, ranks := range [][]int{{-1}, {3}, {1, 0}, {0, 1, 3}, {math.MaxInt}, {math.MinInt}} {
			panics(fmt.Sprint("Select ", ranks), errRanks, func() { Select(y, ranks, s) })
		}
		panics("Select of none", errRanks, func() { Select(y[:0], []int{0}, s) })
		panics("Split, dst", errLength, func() { Split(x[:2], x, nil, nil, x) })
		panics("Split, ends", errLength, func() { Split(y, y, []uint64{1}, nil, s) })
		panics("Split", errScratch, func() { Split(y, y, nil, nil, s[:2]) })
		panics("Split", errLasts, func() { Split(y, y, []uint64{1, 2, 1}, make([]int, 3), s) })
		panics("Splitters", errRoom, func() { Splitters(make([]uint64, mostParts), y) })
		panics("OrderF32", errLength, func() { OrderF32(index[:2], f, s) })
		panics("OrderF64", errLength, func() { OrderF64(index[:2], g, s) })
		panics("OrderF32", errScratch, func() { OrderF32(index, f, s[:5]) })
		panics("OrderF64", errScratch, func() { OrderF64(index, g, s[:5]) })
		panics("KeysF32", errLength, func() { KeysF32(x, f[:2]) })
		panics("KeysF64", errLength, func() { KeysF64(y, g[:2]) })
		panics("ValuesF32", errLength, func() { ValuesF32(f, x[:2]) })
		panics("ValuesF64", errLength, func() { ValuesF64(g, y[:2]) })
		panics("HitKeysF32", errLength, func() { HitKeysF32(x, f[:2], hit) })
		panics("HitKeysF32", errLength, func() { HitKeysF32(x, f, hit[:2]) })
		panics("HitKeysF64", errLength, func() { HitKeysF64(y, g[:2], hit) })
		panics("HitKeysF64", errLength, func() { HitKeysF64(y, g, hit[:2]) })
		panics("HitSum", errCount, func() { HitSum(make([]uint32, MaxSum+1)) })
		if !slices.Equal(x, []uint32{3, 1, 2}) || !slices.Equal(y, []uint64{3, 1, 2}) || !slices.Equal(f, []float32{3, 1, 2}) || !slices.Equal(index, make([]int32, 3)) {
			t.Error("something was written")
		}
		panics("none", none, func() {
			Sort[uint32](nil, nil)
			SortFrom[uint32](nil, nil, nil, nil)
			SortF32(nil, nil)
			SortF64(nil, nil)
			Select[uint64](nil, nil, nil)
			Split[uint32](nil, nil, nil, nil, nil)
			Splitters[uint32](nil, nil)
			OrderF32(nil, nil, nil)
			OrderF64(nil, nil, nil)
			HitSum[uint32](nil)
		})
		ends := []int{7, 7}
		Split(nil, nil, []uint32{1, 2}, ends, nil)
		if ends[0] != 0 || ends[1] != 0 {
			t.Errorf("Split of none: ends %v", ends)
		}
	})
}

func TestNoAllocationsOrder(t *testing.T) {
	n := sized(5000, spread+10_000, spread+10_000)
	r := check.Rand(47)
	x, y, scratch, wide := many(r, n, (*rand.Rand).Uint32), many(r, n, (*rand.Rand).Uint64), make([]uint32, SortScratch(n)), make([]uint64, OrderScratch(n))
	f, g, index, hit := many(r, n, score32), many(r, n, score64), make([]int32, n), make([]uint8, n)
	lasts, ends, ranks := []uint32{1 << 30, 1 << 31}, make([]int, 2), []int{n / 3, n / 2}
	blocks := make([]HitBlock, (n+63)/64)
	isatest.Each(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Sort": func() { Sort(x, scratch); Sort(y, wide); r.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] }) },
			"SortFrom": func() {
				read := func(dst []uint32, first int) { copy(dst, x[n-first-len(dst):]) }
				SortFrom(x, scratch, read, func(first, end int) { HitBlocksF32(blocks[:(end-first+63)/64], x[first:end]) })
			},
			"SortFloats": func() { SortF32(f, scratch); SortF64(g, wide) },
			"Select":     func() { Select(x, ranks, scratch) },
			"Split":      func() { Split(x, x, lasts, ends, scratch) },
			"Splitters":  func() { Splitters(scratch[:30], x) },
			"Order":      func() { OrderF32(index, f, wide); OrderF64(index, g, wide) },
			"Hits":       func() { HitKeysF32(x, f, hit); HitKeysF64(y, g, hit); HitSum(x[:min(n, MaxSum)]) },
			"HitBlocks":  func() { HitBlocksF32(blocks, x) },
		} {
			if a := testing.AllocsPerRun(2, f); a != 0 {
				t.Errorf("%s: %v allocations", name, a)
			}
		}
	})
}
