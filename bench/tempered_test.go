package bench

import (
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// runTempered runs a kernel of a temperature fit.
func runTempered[T any](b *testing.B, dtype string, k, size int, at func(int) T,
	f func(*kernel.Tempered, []T, int, int, int, []int32, float64)) {
	run(b, dtype, k, size, at, func(c *kernel.Stats, x []T, rows, k, stride int, y []int32) uint8 {
		f(&kernel.Tempered{NLL: c.NLL, Slope: c.Top, Curvature: c.Tail, Label: c.Label}, x, rows, k, stride, y, 0.7)
		return 0
	})
}

// BenchmarkTempered: NLL of a temperature and its derivatives.
func BenchmarkTempered(b *testing.B) {
	for _, k := range classes {
		runTempered(b, "f32", k, 4, logit, kernel.TemperedF32)
		runTempered(b, "f64", k, 8, f64(logit), kernel.TemperedF64)
		runTempered(b, "bf16", k, 2, bf16(logit), kernel.TemperedBF16)
		runTempered(b, "f16", k, 2, half(logit), kernel.TemperedF16)
	}
}

// at07 is a kernel at one temperature.
func at07[D, T any](f func(dst []D, dstStride int, x []T, rows, k, stride int, beta float64)) rowFunc[D, T] {
	return func(dst []D, dstStride int, x []T, rows, k, stride int) { f(dst, dstStride, x, rows, k, stride, 0.7) }
}

func BenchmarkScaledSoftmax(b *testing.B) {
	for _, k := range classes {
		runRows(b, "f32", k, 4, logit, at07(kernel.ScaledSoftmaxF32))
		runRows(b, "f64", k, 8, f64(logit), at07(kernel.ScaledSoftmaxF64))
		runRows(b, "bf16", k, 2, bf16(logit), at07(kernel.ScaledSoftmaxBF16))
		runRows(b, "f16", k, 2, half(logit), at07(kernel.ScaledSoftmaxF16))
	}
}

// BenchmarkLogs: logarithms of probabilities as float64.
func BenchmarkLogs(b *testing.B) {
	p := prob(1000)
	b.Run("dtype=f32", func(b *testing.B) { runLogs(b, p, 4, kernel.WidenLogF32) })
	b.Run("dtype=f64", func(b *testing.B) { runLogs(b, f64(p), 8, kernel.LogSliceF64) })
	b.Run("dtype=bf16", func(b *testing.B) { runLogs(b, bf16(p), 2, kernel.WidenLogBF16) })
	b.Run("dtype=f16", func(b *testing.B) { runLogs(b, half(p), 2, kernel.WidenLogF16) })
}

func runLogs[T any](b *testing.B, at func(int) T, size int, f func(dst []float64, x []T)) {
	m := newMatrix(1, size, at)
	dst := make([]float64, m.block)
	isatest.EachB(b, func(b *testing.B) {
		b.SetBytes(int64(len(m.x) * size))
		for b.Loop() {
			m.all(func(x []T, rows int, _ []int32) { f(dst[:rows], x) })
		}
	})
}
