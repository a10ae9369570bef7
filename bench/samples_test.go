package bench

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// BenchmarkSampleSpread: rows of samples in the second cache and in memory.
func BenchmarkSampleSpread(b *testing.B) {
	for _, m := range []int{4, 10, 51, 100, 1000, 4000} {
		b.Run(fmt.Sprintf("m=%d", m), func(b *testing.B) {
			benchSpread(b, "f32", 4, m, kernel.SampleSpreadF32)
			benchSpread(b, "f64", 8, m, kernel.SampleSpreadF64)
		})
	}
}

func benchSpread[T float32 | float64](b *testing.B, name string, size, m int,
	spread func(_, _ []float64, _ []T, _, _, _ int, _ []float64, _ []T)) {
	most := inputBytes / size / m
	x, scratch := make([]T, most*m), make([]T, kernel.SampleSpreadScratch(m))
	for j := range x {
		x[j] = T(logit(j))
	}
	y, abs, pairs := make([]float64, most), make([]float64, most), make([]float64, most)
	for _, from := range []struct {
		name string
		size int
	}{{"L2", sortBytes}, {"memory", inputBytes}} {
		b.Run("type="+name+"/from="+from.name, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				rows := from.size / size / m
				for b.Loop() {
					spread(abs, pairs, x, rows, m, m, y, scratch)
				}
				samples(b, rows*m)
			})
		})
	}
}
