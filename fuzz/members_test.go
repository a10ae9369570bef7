package fuzz

import (
	"math"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// FuzzLevelsMembers: the members are the rows of a matrix, and pairs are made of it and of itself from another element on.
func FuzzLevelsMembers(f *testing.F) {
	addScores(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat uint8, k16 uint16, pad, off uint8) {
		f32 := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		f64 := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		levelsOfMembers(t, "MeanF32", f32, kernel.MeanF32, k16, pad, class32)
		levelsOfMembers(t, "MeanScaledF32", f32, func(dst, x []float32, members, n, stride int) {
			kernel.MeanScaledF32(dst, x, x[:members], members, 1, n, stride)
		}, k16, pad, class32)
		levelsOfMembers(t, "MeanF64", f64, kernel.MeanF64, k16, pad, class64)
		levelsOfMembers(t, "LogMeanExpF64", f64, kernel.LogMeanExpF64, k16, pad, class64)
		levelsOfPairs(t, "F32", f32, kernel.PairKLF32, kernel.PairSumsF32, k16, pad)
		levelsOfPairs(t, "F64", f64, kernel.PairKLF64, kernel.PairSumsF64, k16, pad)
	})
}

func levelsOfMembers[T float32 | float64](t *testing.T, name string, x []T, run func(dst, x []T, members, n, stride int), k16 uint16,
	pad uint8, bits func(T) uint64) {
	members, n, stride := shape(len(x), k16, pad)
	if members == 0 {
		return
	}
	sameBits(t, name, func() []uint64 {
		d := sevens[T](n)
		run(d[beside:beside+n], x, members, n, stride)
		return appendBits(nil, bits, d...)
	})
}

func levelsOfPairs[T float32 | float64](t *testing.T, name string, x []T, kl func(kl []float64, p, lp, lq []T, rows, k, stride int),
	sums func(dot, abs, squares []float64, p, q []T, rows, k, stride int), k16 uint16, pad uint8) {
	const shift = 3
	if len(x) < 2*shift {
		return
	}
	n := len(x) - 2*shift
	rows, k, stride := shape(n, k16, pad)
	a, b, c := x[:n], x[shift:shift+n], x[2*shift:]
	columns := func(run func(c [][]float64)) func() []uint64 {
		return func() (out []uint64) {
			var c, all [][]float64
			for range 3 {
				d := sevens[float64](rows)
				all, c = append(all, d), append(c, d[beside:beside+rows])
			}
			run(c)
			for _, d := range all {
				out = appendBits(out, math.Float64bits, d...)
			}
			return out
		}
	}
	sameBits(t, "PairKL"+name, columns(func(to [][]float64) { kl(to[0], a, b, c, rows, k, stride) }))
	sameBits(t, "PairSums"+name, columns(func(to [][]float64) { sums(to[0], to[1], to[2], a, b, rows, k, stride) }))
}
