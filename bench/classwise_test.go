package bench

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// softmaxRows returns probabilities of logits with a standard deviation of 3.
func softmaxRows(rows, k int) []float32 {
	x := check.Logits32(check.Rand(5), rows*k, 3)
	kernel.SoftmaxF32(x, k, x, rows, k, k)
	return x
}

// BenchmarkClassSums: class-wise sums of the lowest of 15 bins, and the gathering of what is in another. A matrix of up to
// 1,000 classes stays in the second cache.
func BenchmarkClassSums(b *testing.B) {
	low := kernel.NewLowest(kernel.Edges(15)[1], kernel.LeftClosed, -1)
	for _, k := range []int{2, 10, 100, 1000, 1001, 32000, 262144} {
		rows := max(8, 1<<18/k)
		x := softmaxRows(rows, k)
		wide := make([]float64, len(x))
		for i, v := range x {
			wide[i] = float64(v)
		}
		sums := kernel.ClassSums{N: make([]int64, k), P: make([]int64, k), PP: make([]int64, k)}
		list := make([]uint32, max(16384, k)+kernel.ListSlack)
		p, class := make([]float64, len(list)), make([]int32, len(list))
		run := func(name string, size int, f func(from int) (n, done int)) {
			b.Run(fmt.Sprintf("dtype=%s/k=%d", name, k), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					b.SetBytes(int64(size * len(x)))
					listed := 0
					for b.Loop() {
						for i := 0; i < rows; {
							n, done := f(i)
							listed += n
							i += done
						}
					}
					b.ReportMetric(float64(listed)/float64(b.N*rows), "listed/row")
				})
			})
		}
		run("f32", 4, func(i int) (n, done int) {
			n, done = kernel.ClassSumsF32(&sums, list, x[i*k:], rows-i, k, k, &low, 0)
			kernel.ClassEntriesF32(p, class, list[:n], x[i*k:], k, -1)
			return n, done
		})
		run("f64", 8, func(i int) (n, done int) {
			n, done = kernel.ClassSumsF64(&sums, list, wide[i*k:], rows-i, k, k, &low, 0)
			kernel.ClassEntriesF64(p, class, list[:n], wide[i*k:], k, -1)
			return n, done
		})
	}
}
