package bench

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// ensembleMembers is the number of members of the benchmarks' ensembles, ensembleBytes the size of a member's probabilities, which
// stay in the second cache with those of the others.
const (
	ensembleMembers = 5
	ensembleBytes   = 128 << 10
)

// BenchmarkMembers: what is made of the probabilities of several members in the second cache. A row is one of all members, or for
// do=Pair* of one pair.
func BenchmarkMembers(b *testing.B) {
	for _, k := range []int{10, 1000} {
		rows := ensembleBytes / 4 / k
		n := rows * k
		x := check.Logits32(check.Rand(3), ensembleMembers*n, 3)
		kernel.SoftmaxF32(x, k, x, ensembleMembers*rows, k, k)
		lx := make([]float32, len(x))
		kernel.LogSliceF32(lx, x)
		dst := make([]float32, n)
		f := func() []float64 { return make([]float64, rows) }
		dot, abs, squares, kl := f(), f(), f(), f()
		column := make([]float64, ensembleMembers*rows)
		for i := range column {
			column[i] = float64(lx[i*k%len(lx)])
		}
		for _, do := range []struct {
			name string
			f    func()
		}{
			{"Mean", func() { kernel.MeanF32(dst, x, ensembleMembers, n, n) }},
			{"LogMeanExpF64", func() { kernel.LogMeanExpF64(kl, column, ensembleMembers, rows, rows) }},
			{"PairKL", func() { kernel.PairKLF32(kl, x, lx, lx[n:], rows, k, k) }},
			{"PairSums", func() { kernel.PairSumsF32(dot, abs, squares, x, x[n:], rows, k, k) }},
		} {
			b.Run(fmt.Sprintf("do=%s/k=%d", do.name, k), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					for b.Loop() {
						do.f()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
				})
			})
		}
	}
}
