package fuzz

import (
	"math"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// betaOf makes a positive finite number of any bits, near 1 or not.
func betaOf(u uint64) float64 {
	if b := math.Abs(math.Float64frombits(u)); u%2 == 0 && b > 1e-300 && b < 1e300 {
		return b
	}
	return math.Ldexp(1+float64(u>>40&0xff)/256, int(u>>48%40)-20)
}

// FuzzLevelsTempered: the sums of a temperature fit, softmax of scaled logits and logarithms, of any bits.
func FuzzLevelsTempered(f *testing.F) {
	addRows(f)
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat uint8, k16 uint16, pad, off uint8, more int32) {
		seed := uint64(more)*0x9e3779b97f4a7c15 + uint64(how)
		switch form % 4 {
		case 0:
			temperedLevels(t, elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) }), k16, pad, more, seed,
				kernel.TemperedF32, kernel.ScaledSoftmaxF32, kernel.ArgMaxF32, kernel.ArgMaxF32, kernel.WidenLogF32, class32)
		case 1:
			temperedLevels(t, elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v }), k16, pad, more, seed,
				kernel.TemperedF64, kernel.ScaledSoftmaxF64, kernel.ArgMaxF64, kernel.ArgMaxF64, kernel.LogSliceF64, class64)
		case 2:
			temperedLevels(t, elements(data, how, repeat, off, 2, half, toHalf), k16, pad, more, seed,
				kernel.TemperedF16, kernel.ScaledSoftmaxF16, kernel.ArgMaxF16, kernel.ArgMaxF32, kernel.WidenLogF16, class32)
		default:
			temperedLevels(t, elements(data, how, repeat, off, 2, half, toBrain), k16, pad, more, seed,
				kernel.TemperedBF16, kernel.ScaledSoftmaxBF16, kernel.ArgMaxBF16, kernel.ArgMaxF32, kernel.WidenLogBF16, class32)
		}
	})
}

func temperedLevels[T any, D float32 | float64](t *testing.T, x []T, k16 uint16, pad uint8, label int32, seed uint64,
	sums func(*kernel.Tempered, []T, int, int, int, []int32, float64), soft func([]D, int, []T, int, int, int, float64),
	argMaxOf func([]int32, []T, int, int, int), argMax func([]int32, []D, int, int, int), logs func([]float64, []T), bits func(D) uint64) {
	rows, k, stride := shape(len(x), k16, pad)
	y, beta := someLabels(rows, k, label), betaOf(seed)
	sameBits(t, "Tempered", func() (b []uint64) {
		var c [4][]float64
		for i := range c {
			c[i] = sevens[float64](rows)
		}
		in := func(i int) []float64 { return c[i][beside : beside+rows] }
		sums(&kernel.Tempered{NLL: in(0), Slope: in(1), Curvature: in(2), Label: in(3)}, x, rows, k, stride, y, beta)
		for i, v := range in(0) {
			if bad := v != v; bad != (in(1)[i] != in(1)[i]) || bad != (in(2)[i] != in(2)[i]) || bad != (in(3)[i] != in(3)[i]) || in(2)[i] < 0 {
				t.Fatalf("beta=%g row %d: %v %v %v %v", beta, i, v, in(1)[i], in(2)[i], in(3)[i])
			}
		}
		for i := range c {
			b = appendBits(b, math.Float64bits, c[i]...)
		}
		return b
	})
	want := make([]int32, rows)
	argMaxOf(want, x, rows, k, stride)
	sameBits(t, "ScaledSoftmax", func() []uint64 {
		d := sevens[D](max(0, (rows-1)*stride+k))
		to := d[beside : len(d)-beside]
		soft(to, stride, x, rows, k, stride, beta)
		got := make([]int32, rows)
		argMax(got, to, rows, k, stride)
		for i := range got {
			if got[i] != want[i] && got[i] >= 0 {
				t.Fatalf("beta=%g row %d: arg max %d, want %d", beta, i, got[i], want[i])
			}
		}
		return appendBits(nil, bits, d...)
	})
	sameBits(t, "Logs", func() []uint64 {
		d := sevens[float64](len(x))
		logs(d[beside:beside+len(x)], x)
		return appendBits(nil, class64, d...)
	})
}
