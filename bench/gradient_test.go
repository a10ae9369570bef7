package bench

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// gradientRows is the number of rows of a tile.
const gradientRows = 256

// BenchmarkGradient: the gradient of matrix scaling over a tile of rows, do=matrix, that of vector scaling, do=vector, and their
// parts. A GFMA is a billion multiply-adds.
func BenchmarkGradient(b *testing.B) {
	const rows = gradientRows
	for _, k := range []int{3, 10, 100, 1000} {
		r := check.Rand(5)
		z, u, nll := make([]float64, rows*k), make([]float64, rows*k), make([]float64, rows)
		w, bias, scale, y := make([]float64, k*k), make([]float64, k), make([]float64, k), make([]int32, rows)
		gw, gb, ga := make([]float64, k*k), make([]float64, k), make([]float64, k)
		for i := range z {
			z[i] = 3 * r.NormFloat64()
		}
		for i := range k {
			w[i*k+i], scale[i] = 1, 1
		}
		for i := range y {
			y[i] = int32(r.IntN(k))
		}
		affine := func() { kernel.AffineF64(u, z, w, bias, rows, k, k) }
		shift := func() { kernel.ScaleShiftF64(u, z, scale, bias, rows, k) }
		residuals := func() { kernel.SoftmaxResidualsF64(nll, u, rows, k, y, nil) }
		outer := func() { kernel.AddOuterF64(gw, u, z, rows, k, k); kernel.AddRowsF64(gb, u, rows, k) }
		products := func() { kernel.AddProductsF64(ga, gb, u, z, rows, k) }
		for _, do := range []struct {
			name     string
			products float64 // multiply-adds for each logit
			f        func()
		}{
			{"affine", float64(k), affine},
			{"residuals", 0, func() { shift(); residuals() }},
			{"outer", float64(k), outer},
			{"matrix", float64(2 * k), func() { affine(); residuals(); outer() }},
			{"vector", 2, func() { shift(); residuals(); products() }},
		} {
			b.Run(fmt.Sprintf("do=%s/k=%d", do.name, k), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					for b.Loop() {
						do.f()
					}
					ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / rows
					b.ReportMetric(ns, "ns/row")
					if do.products > 0 {
						b.ReportMetric(do.products*float64(k)/ns, "GFMA/s")
					}
				})
			})
		}
	}
}
