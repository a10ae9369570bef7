package fuzz

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
)

func FuzzLevelsClassSums(f *testing.F) {
	for form := range uint8(2) {
		for _, how := range []uint8{8<<2 | 1, 9<<2 | 3, 4<<2 | 1} {
			f.Add([]byte("bytes as probabilities \x00\x01\xff"), form, how, uint8(100), uint16(9+6*how), uint8(how%3), uint8(how), 0.0625, -1.0)
			f.Add([]byte("\x00\x00\x00\x80\x01\x02"), form, how, uint8(200), uint16(99), uint8(0), uint8(3), 0.1, 0.0)
		}
		f.Add(append(bytes32(0, 1, 2, -1, 0.5, 1e-3), bytes64(0, 1, 2, -1, 0.5)...), form, uint8(0), uint8(10), uint16(16), uint8(1), uint8(5), 0.5, 0.01)
	}
	f.Fuzz(func(t *testing.T, data []byte, form, how, repeat uint8, k16 uint16, pad, off uint8, edge, threshold float64) {
		low := kernel.NewLowest(edge, kernel.Side(off>>7), threshold)
		if form%2 == 0 {
			x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
			fuzzClassSums(t, x, k16, pad, threshold, &low, kernel.ClassSumsF32, kernel.ClassEntriesF32)
		} else {
			x := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
			fuzzClassSums(t, x, k16, pad, threshold, &low, kernel.ClassSumsF64, kernel.ClassEntriesF64)
		}
	})
}

func fuzzClassSums[T float32 | float64](t *testing.T, x []T, k16 uint16, pad uint8, threshold float64, low *kernel.Lowest,
	sums func(*kernel.ClassSums, []uint32, []T, int, int, int, *kernel.Lowest, int) (int, int),
	entries func([]float64, []int32, []uint32, []T, int, float64) (int, int)) {
	rows, k, stride := shape(len(x), k16, pad%4)
	sameBits(t, "ClassSums", func() []uint64 {
		var all [3][]int64
		for i := range all {
			all[i] = sevens[int64](k)
		}
		of := func(i int) []int64 { return all[i][beside : beside+k] }
		list := make([]uint32, rows*k+kernel.ListSlack)
		listed, done := sums(&kernel.ClassSums{N: of(0), P: of(1), PP: of(2)}, list, x, rows, k, stride, low, 64)
		slices.Sort(list[:listed])
		p, class := make([]float64, listed), make([]int32, listed)
		in, out := entries(p, class, list[:listed], x, stride, threshold)
		bits := []uint64{uint64(listed), uint64(done), uint64(in), uint64(out)}
		for _, at := range list[:listed] {
			bits = append(bits, uint64(at))
		}
		for _, s := range all {
			bits = appendBits(bits, func(v int64) uint64 { return uint64(v) }, s...)
		}
		bits = appendBits(bits, class64, p[:in]...)
		return appendBits(bits, index, class[:in]...)
	})
}
