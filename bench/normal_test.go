package bench

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
)

// BenchmarkNormal: the columns of normal forecasts.
func BenchmarkNormal(b *testing.B) {
	x, c := normalRows(wideRows)
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	runSome(b, "dtype=f32/", wideRows, 12+40, func() { kernel.NormalF32(c, x, wideRows, 3, 3) })
	runSome(b, "dtype=f64/", wideRows, 24+40, func() { kernel.NormalF64(c, wide, wideRows, 3, 3) })
}

func normalRows(n int) ([]float32, *kernel.NormalColumns) {
	r := check.Rand(11)
	x := make([]float32, 3*n)
	for i := range n {
		sd := math.Exp(r.NormFloat64() / 4)
		mean := r.NormFloat64()
		x[3*i], x[3*i+1], x[3*i+2] = float32(mean), float32(sd), float32(mean+sd*r.NormFloat64())
	}
	f := func() []float64 { return make([]float64, n) }
	return x, &kernel.NormalColumns{Error: f(), SD: f(), Z: f(), NLL: f(), CRPS: f(), Flags: make([]uint8, n)}
}

// BenchmarkUnitMoments: exact sums of values and squares in any unit, of float32 numbers and of others.
func BenchmarkUnitMoments(b *testing.B) {
	x, c := normalRows(columnRows)
	kernel.NormalF32(c, x, columnRows, 3, 3)
	other := make([]float64, columnRows)
	for i, v := range c.NLL {
		other[i] = v * 1.1
	}
	runColumns(b, "of=float32/", 8, func() { kernel.UnitMoments(c.NLL) })
	runColumns(b, "of=float64/", 8, func() { kernel.UnitMoments(other) })
}

// BenchmarkCountUpTo: how many z-scores are up to each of 21 levels, of float32 numbers and of others.
func BenchmarkCountUpTo(b *testing.B) {
	x, c := normalRows(columnRows)
	kernel.NormalF32(c, x, columnRows, 3, 3)
	other, edges, counts := make([]float64, columnRows), make([]float64, 21), make([]int64, 21)
	for i, v := range c.Z {
		other[i] = v * 1.1
	}
	for j := range edges {
		edges[j] = kernel.NormQuantile64(float64(j) / 20)
	}
	runColumns(b, "of=float32/", 8, func() { kernel.CountUpTo(counts, c.Z, edges) })
	runColumns(b, "of=float64/", 8, func() { kernel.CountUpTo(counts, other, edges) })
}
