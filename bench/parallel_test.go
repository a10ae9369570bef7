package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

// hitKeys returns the keys of n scores with outcomes, in an order.
func hitKeys(n int, score func(i int, u float32) float32) []uint32 {
	r := check.Rand(3)
	x, hit, keys := make([]float32, n), make([]uint8, n), make([]uint32, n)
	for i := range x {
		x[i], hit[i] = score(i, r.Float32()), uint8(r.IntN(2))
	}
	kernel.HitKeysF32(keys, x, hit)
	return keys
}

// massOrders are what a method by samples or splits may be slow on; n is manyScores.
const manyScores = 10_000_000

var massOrders = []struct {
	name  string
	score func(i int, u float32) float32
}{
	{"any", func(_ int, u float32) float32 { return u }},
	{"rising", func(i int, _ float32) float32 { return float32(i) / manyScores }},
	{"falling", func(i int, _ float32) float32 { return 1 - float32(i)/manyScores }},
	{"organ_pipe", func(i int, _ float32) float32 { return float32(min(i, manyScores-i)) / manyScores }},
	{"all_equal", func(int, float32) float32 { return 0.5 }},
	{"two_values", func(_ int, u float32) float32 { return float32(int(2*u)) / 2 }},
	{"99%_rising", func(i int, u float32) float32 {
		if i%100 == 0 {
			return u
		}
		return float32(i) / manyScores
	}},
	{"10_bits", func(_ int, u float32) float32 { return float32(int(1024*u)) / 1024 }},
	{"percents", func(_ int, u float32) float32 { return float32(int(100*u)) / 100 }},
}

// BenchmarkEqualMass: bins of equal mass of ten million scores in any order, and of fewer.
func BenchmarkEqualMass(b *testing.B) {
	run := func(name string, keys []uint32, bins, threads int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			eachCopy(b, keys, func(work []uint32) { parallel.EqualMass(work, bins, 0, threads) })
		})
	}
	for _, o := range massOrders {
		run("bins=15/threads=1/order="+o.name, hitKeys(manyScores, o.score), 15, 1)
	}
	keys := hitKeys(manyScores, massOrders[0].score)
	for _, bins := range []int{5, 30, 100, 1000} {
		run(fmt.Sprintf("bins=%d/threads=1/order=any", bins), keys, bins, 1)
	}
	run("bins=15/threads=2/order=any", keys, 15, 2)
	for _, n := range []int{10_000, 50_000, 300_000, 1_000_000} {
		run(fmt.Sprintf("bins=15/threads=1/n=%d", n), keys[:n], 15, 1)
	}
}

// BenchmarkSortParallel: ten million keys, and the scores that they stand for by slices.Sort.
func BenchmarkSortParallel(b *testing.B) {
	keys := hitKeys(manyScores, massOrders[0].score)
	scratch := make([]uint32, kernel.SortScratch(len(keys)))
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.ReportAllocs()
			eachCopy(b, keys, func(work []uint32) { parallel.Sort(work, scratch, threads) })
		})
	}
	scores := make([]float32, len(keys))
	for i, k := range keys {
		p, _ := kernel.HitScore(k)
		scores[i] = float32(p)
	}
	b.Run("slices.Sort", func(b *testing.B) { eachCopy(b, scores, slices.Sort[[]float32]) })
}

// eachCopy times f on fresh copies of x.
func eachCopy[T any](b *testing.B, x []T, f func(work []T)) {
	work := slices.Clone(x)
	for b.Loop() {
		b.StopTimer()
		copy(work, x)
		b.StartTimer()
		f(work)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/key")
}

// BenchmarkACE: the bins of equal mass of each class, as the adaptive calibration error has them.
func BenchmarkACE(b *testing.B) {
	const rows, classes = 50_000, 1000
	r := check.Rand(4)
	x, labels := make([]float32, rows*classes), make([]int32, rows)
	for i := range labels {
		row := x[i*classes : (i+1)*classes]
		for j := range row {
			row[j] = float32(3 * r.NormFloat64())
		}
		labels[i] = int32(r.IntN(classes))
	}
	kernel.SoftmaxF32(x, classes, x, rows, classes, classes)
	dst := make([]parallel.Bins, classes)
	for _, bins := range []int{15, 30} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("bins=%d/threads=%d", bins, threads), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					parallel.ClassEqualMassF32(dst, x, rows, classes, classes, labels, bins, 0, threads)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/classes, "ns/score")
			})
		}
	}
}
