package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// The benchmarks of order each start from a fresh copy of the same input. What they report is the rate of one call, the
// fastest of all: a copy made in the clock's time would count.

// fastest reports the rate of f, which works on n elements that fresh puts back.
func fastest(b *testing.B, n int, fresh, f func()) {
	best := time.Duration(math.MaxInt64)
	for range b.N {
		fresh()
		start := time.Now()
		f()
		best = min(best, max(1, time.Since(start)))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(n)/best.Seconds()/1e6, "Msamples/s")
}

// sorting runs a sort at every level, and slices.Sort on the same values.
func sorting[T cmp.Ordered, K kernel.Key](b *testing.B, dtype string, input []T, sort func(x []T, scratch []K)) {
	n := len(input)
	x, scratch := make([]T, n), make([]K, kernel.SortScratch(n))
	fresh := func() { copy(x, input) }
	b.Run(fmt.Sprintf("dtype=%s/n=%.0e", dtype, float64(n)), func(b *testing.B) {
		b.Run("by=slices.Sort", func(b *testing.B) { fastest(b, n, fresh, func() { slices.Sort(x) }) })
		isatest.EachB(b, func(b *testing.B) { fastest(b, n, fresh, func() { sort(x, scratch) }) })
	})
}

func randomKeys[K kernel.Key](n int) []K {
	r := check.Rand(4)
	x := make([]K, n)
	for i := range x {
		x[i] = K(r.Uint64())
	}
	return x
}

// uniform are scores in [0,1).
func uniform(n int) ([]float32, []float64) {
	r := check.Rand(5)
	x, y := make([]float32, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = r.Float32(), r.Float64()
	}
	return x, y
}

// BenchmarkSort: random keys and scores, and by=slices.Sort the same by that.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6, 1e7} {
		f32, f64 := uniform(n)
		sorting(b, "u32", randomKeys[uint32](n), kernel.Sort[uint32])
		sorting(b, "u64", randomKeys[uint64](n), kernel.Sort[uint64])
		sorting(b, "f32", f32, kernel.SortF32)
		sorting(b, "f64", f64, kernel.SortF64)
	}
}

// BenchmarkSortAdversarial: orders in which sorts break.
func BenchmarkSortAdversarial(b *testing.B) {
	const n = 1e6
	wide, narrow := make([]uint64, n), make([]uint32, n)
	for _, size := range []int{32, 64} {
		for _, o := range check.Orders(size) {
			o.Fill(check.Rand(6), wide)
			b.Run(fmt.Sprintf("bits=%d/order=%s", size, o.Name), func(b *testing.B) {
				if size == 64 {
					sorting(b, "u64", wide, kernel.Sort[uint64])
					return
				}
				for i, v := range wide {
					narrow[i] = uint32(v)
				}
				sorting(b, "u32", narrow, kernel.Sort[uint32])
			})
		}
	}
}

// BenchmarkSelect: the edges of so many parts of equal mass.
func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{1e5, 1e6, 1e7} {
		input := randomKeys[uint32](n)
		x, scratch := make([]uint32, n), make([]uint32, n)
		fresh := func() { copy(x, input) }
		for _, parts := range []int{2, 15, 100, 1000} {
			var ranks []int
			for i := 1; i < parts; i++ {
				ranks = append(ranks, i*n/parts)
			}
			b.Run(fmt.Sprintf("dtype=u32/n=%.0e/ranks=%d", float64(n), len(ranks)), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) { fastest(b, n, fresh, func() { kernel.Select(x, ranks, scratch) }) })
			})
		}
	}
}

// BenchmarkSplit: chunks of 32 KiB, which are in cache.
func BenchmarkSplit(b *testing.B) {
	const n = 1 << 13
	input := randomKeys[uint32](n)
	x, scratch := make([]uint32, n), make([]uint32, n)
	for _, parts := range []int{2, 16, 64} {
		var lasts []uint32
		for i := 1; i < parts; i++ {
			lasts = append(lasts, uint32(uint64(i)<<32/uint64(parts)))
		}
		ends := make([]int, len(lasts))
		b.Run(fmt.Sprintf("dtype=u32/n=%d/parts=%d", n, parts), func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				fastest(b, n, func() {}, func() { kernel.Split(x, input, lasts, ends, scratch) })
			})
		})
	}
}

// BenchmarkHitBlocks: sorted scores in the second cache, and from memory in calls of 1 MiB.
func BenchmarkHitBlocks(b *testing.B) {
	const call = 1 << 18
	for _, n := range []int{1 << 17, 1e7} {
		keys := hitKeys(n, func(i int, u float32) float32 { return u })
		kernel.Sort(keys, make([]uint32, kernel.SortScratch(n)))
		blocks := make([]kernel.HitBlock, (n+63)/64)
		runSome(b, "", n, 4, func() {
			for i := 0; i < n; i += call {
				end := min(i+call, n)
				kernel.HitBlocksF32(blocks[i/64:(end+63)/64], keys[i:end])
			}
		})
	}
}

// BenchmarkOrder: the stable order of scores, and by=slices.SortStableFunc that of their numbers.
func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{1e4, 1e6} {
		f32, f64 := uniform(n)
		ordering(b, "f32", f32, kernel.OrderF32)
		ordering(b, "f64", f64, kernel.OrderF64)
	}
}

func ordering[T cmp.Ordered](b *testing.B, dtype string, x []T, order func(index []int32, x []T, scratch []uint64)) {
	n := len(x)
	index, scratch := make([]int32, n), make([]uint64, kernel.OrderScratch(n))
	b.Run(fmt.Sprintf("dtype=%s/n=%.0e", dtype, float64(n)), func(b *testing.B) {
		b.Run("by=slices.SortStableFunc", func(b *testing.B) {
			fastest(b, n, func() {
				for i := range index {
					index[i] = int32(i)
				}
			}, func() { slices.SortStableFunc(index, func(i, j int32) int { return cmp.Compare(x[i], x[j]) }) })
		})
		isatest.EachB(b, func(b *testing.B) { fastest(b, n, func() {}, func() { order(index, x, scratch) }) })
	})
}
