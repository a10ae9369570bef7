package order

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pool"
)

func TestSortIsASort(t *testing.T) {
	levels := isa.Levels()
	for i, p := range patterns {
		if testing.Short() && i%6 != 0 {
			continue
		}
		for _, n := range []int{0, 1, 1000, fewKeys - 1, fewKeys + 12345} {
			k32, k64 := p.keys32(uint64(i), n), p.keys64(uint64(i), n)
			w32, w64 := slices.Clone(k32), slices.Clone(k64)
			slices.Sort(w32)
			slices.Sort(w64)
			for l, level := range levels {
				if n > fewKeys && !check.Full() && l != i%len(levels) {
					continue
				}
				defer isa.Set(level)()
				counts := threadCounts
				if !check.Full() { // one of them by turns
					counts = counts[(i+l)%len(counts):][:1]
				}
				for _, threads := range counts {
					g32, g64 := slices.Clone(k32), slices.Clone(k64)
					Sort(g32, make([]uint32, kernel.SortScratch(n)*(threads&1)), threads)
					Sort(g64, nil, threads)
					if !slices.Equal(g32, w32) || !slices.Equal(g64, w64) {
						t.Fatalf("%s, n=%d, %d threads, isa=%v: not sorted", p.name, n, threads, level)
					}
				}
			}
		}
	}
}

// SortFrom gives what Sort does of the keys that are made; each is done once, when it is in its place.
func TestSortFrom(t *testing.T) {
	for i, p := range patterns {
		for _, n := range []int{0, 1, 1000, fewKeys + 12345} {
			if n > fewKeys && testing.Short() && i%4 != 0 {
				continue
			}
			keys := p.keys32(uint64(i), n)
			want := slices.Sorted(slices.Values(keys))
			for j, threads := range threadCounts {
				if !check.Full() && n > fewKeys && j != i%len(threadCounts) {
					continue
				}
				x, done := make([]uint32, n), make([]bool, n) // parts do not overlap: neither do writes
				SortFrom(x, nil, threads, func(dst []uint32, first int) { copy(dst, keys[first:]) }, func(first, end int) {
					if !slices.Equal(x[first:end], want[first:end]) || slices.Contains(done[first:end], true) {
						t.Errorf("%s, n=%d, %d threads: those from %d to %d are not done, or twice", p.name, n, threads, first, end)
					}
					for i := first; i < end; i++ {
						done[i] = true
					}
				})
				if !slices.Equal(x, want) || slices.Contains(done, false) {
					t.Errorf("%s, n=%d, %d threads: not sorted, or not all done", p.name, n, threads)
				}
			}
		}
	}
}

// Values are sorted by their keys: -0 is 0, NaN stands at the ends.
func TestSortValues(t *testing.T) {
	r := check.Rand(1)
	for _, n := range []int{0, 1, 2, 10_000, fewKeys + 99} {
		x32, x64 := make([]float32, n), make([]float64, n)
		s32, s64 := check.Specials32(), check.Specials64()
		for i := range n {
			x32[i], x64[i] = r.Float32()-0.5, r.Float64()-0.5
			if r.IntN(3) == 0 {
				x32[i], x64[i] = s32[r.IntN(len(s32))], s64[r.IntN(len(s64))]
			}
		}
		rises := func(a, b float64) bool {
			switch {
			case a != a:
				return b != b || math.Signbit(a)
			case b != b:
				return !math.Signbit(b)
			}
			return a <= b && !(b == 0 && math.Signbit(b))
		}
		var first []float32
		for _, threads := range threadCounts {
			y32, y64 := slices.Clone(x32), slices.Clone(x64)
			SortF32(y32, nil, threads)
			SortF64(y64, nil, threads)
			for i := 1; i < n; i++ {
				if !rises(float64(y32[i-1]), float64(y32[i])) || !rises(y64[i-1], y64[i]) {
					t.Fatalf("n=%d, %d threads: %v before %v, %v before %v", n, threads, y32[i-1], y32[i], y64[i-1], y64[i])
				}
			}
			if first == nil {
				first = y32
			}
			for i, v := range y32 {
				if math.Float32bits(v) != math.Float32bits(first[i]) {
					t.Fatalf("n=%d: other bits with %d threads", n, threads)
				}
			}
		}
	}
}

// A panic of any goroutine is one of the caller.
func TestPanicsAreCarriedOver(t *testing.T) {
	for _, threads := range []int{1, 3} {
		func() {
			defer func() {
				if r := recover(); r != "seven" {
					t.Errorf("%d threads: %v", threads, r)
				}
			}()
			pool.Share(threads, 100, func(int) func(int) {
				return func(i int) {
					if i == 7 {
						panic("seven")
					}
				}
			})
		}()
	}
}
