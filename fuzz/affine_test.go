package fuzz

import (
	"math"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// FuzzLevelsGradient: the numbers are logits, maps and gradients at once, each from another element on.
func FuzzLevelsGradient(f *testing.F) {
	addScores(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, k16 uint16, more, off uint8) {
		x := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		// Of n numbers in may come in and out come out, and there are as many rows as the rest has.
		in, out := 1+int(more)%40, 1+int(k16)%70
		n := len(x) - in*out - 2*out
		if n < max(in, out) {
			return
		}
		rows := min(n/max(in, out), 300)
		z, d, w, b, a := x[:rows*in], x[len(x)-rows*out:], x[n:], x[n+in*out:], x[n+in*out+out:]
		fresh := func(n int) (all, s []float64) {
			all = sevens[float64](n)
			s = all[beside : beside+n]
			copy(s, x)
			return all, s
		}
		bits := func(all ...[]float64) (b []uint64) {
			for _, s := range all {
				b = appendBits(b, class64, s...)
			}
			return b
		}
		sameBits(t, "AffineF64", func() []uint64 {
			all, dst := fresh(rows * out)
			kernel.AffineF64(dst, z, w, b, rows, in, out)
			return bits(all)
		})
		sameBits(t, "AddOuterF64", func() []uint64 {
			all, g := fresh(out * in)
			kernel.AddOuterF64(g, d, z, rows, out, in)
			return bits(all)
		})
		sameBits(t, "ScaleShiftF64", func() []uint64 {
			all, dst := fresh(rows * out)
			kernel.ScaleShiftF64(dst, d, a, b, rows, out)
			return bits(all)
		})
		sameBits(t, "AddProductsF64, AddRowsF64", func() []uint64 {
			all, ga := fresh(out)
			more, gb := fresh(out)
			kernel.AddProductsF64(ga, gb, d, x, rows, out)
			kernel.AddRowsF64(ga, d, rows, out)
			return bits(all, more)
		})
		for _, weights := range [][]float64{nil, x} {
			sameBits(t, "SoftmaxResidualsF64", func() []uint64 {
				all, u := fresh(rows * out)
				nll := sevens[float64](rows)
				kernel.SoftmaxResidualsF64(nll[beside:beside+rows], u, rows, out, someLabels(rows, out, int32(more)-3), weights)
				return appendBits(bits(all), math.Float64bits, nll...)
			})
		}
	})
}
