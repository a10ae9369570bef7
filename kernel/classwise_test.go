package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestLowest holds the range of the lowest bin to the rules of BinEqual and BinEdges, next to its ends too.
func TestLowest(t *testing.T) {
	r := check.Rand(59)
	around := func(e float64) (v []float64) {
		f := float32(e)
		return append(v, e, math.Nextafter(e, -1), math.Nextafter(e, 2), float64(f), float64(math.Nextafter32(f, -1)), float64(math.Nextafter32(f, 2)))
	}
	hold := func(edges []float64, equal bool, side Side, threshold float64) {
		t.Helper()
		first := math.Inf(1)
		if len(edges) > 2 {
			first = edges[1]
		}
		low := NewLowest(first, side, threshold)
		values := append(classAwkward(check.Specials64()), around(threshold)...)
		for _, e := range edges {
			values = append(values, around(e)...)
		}
		for range 20 {
			values = append(values, r.Float64())
		}
		short := make([]float64, len(values))
		for i, v := range values {
			short[i] = float64(float32(v))
		}
		// lowest tells which values are in the lowest bin. -0, which is in it too, may be listed.
		lowest := func(values []float64) []bool {
			bin, in := make([]int32, len(values)), make([]bool, len(values))
			if equal {
				BinEqual(bin, values, edges, side)
			} else {
				BinEdges(bin, values, edges, side)
			}
			for i, v := range values {
				in[i] = v >= 0 && v <= 1 && bin[i] == 0
			}
			return in
		}
		in, inShort := lowest(values), lowest(short)
		for i, v := range values {
			b, f := math.Float64bits(v), float32(v)
			if got := b >= low.f64.least && b < low.f64.beyond; b != 1<<63 && got != (in[i] && v > threshold) {
				t.Fatalf("%v, side %d, above %v: %v in the lowest bin: %v", edges, side, threshold, v, got)
			}
			c := math.Float32bits(f)
			if got := uint64(c) >= low.f32.least && uint64(c) < low.f32.beyond; c != 1<<31 && got != (inShort[i] && float64(f) > threshold) {
				t.Fatalf("%v, side %d, above %v: float32 %v in the lowest bin: %v", edges, side, threshold, f, got)
			}
			if c != 1<<31 && uint64(c) < low.f32.least && float64(f) > threshold || b != 1<<63 && b < low.f64.least && v > threshold {
				t.Fatalf("%v, side %d, above %v: %v is left out", edges, side, threshold, v)
			}
		}
	}
	for _, side := range []Side{LeftClosed, RightClosed} {
		for _, threshold := range []float64{-1, 0, 0x1p-1074, 0x1p-149, 0.01, 0.1, 0.25, 0.5, 0.999, 1, 2} {
			for _, n := range []int{1, 2, 3, 10, 15, 30, 1000} {
				hold(Edges(n), true, side, threshold)
			}
			for _, e := range [][]float64{{0, 1}, {0, 0, 1}, {-1, -0.5, 1}, {0, 1, 2}, {0, 0x1p-149, 1}, {0, 0x1p-1074, 1}, {0.2, 0.3, 0.4}, {0, 5, 6}, {0, math.Copysign(0, -1), 1}} {
				hold(e, false, side, threshold)
			}
		}
	}
}

// TestClassSumsAreBinSums: with the entries that are listed, and the labels', the sums of each class and bin are those that
// BinSums makes of the class's column.
func TestClassSumsAreBinSums(t *testing.T) {
	r := check.Rand(61)
	isatest.Each(t, func(t *testing.T) {
		for i, k := range []int{1, 2, 3, 10, 17, 100, 300, 1001} {
			thresholds := []float64{-1, 0, 0.01}
			for d := range deal(i, sized(2, all, all), len(thresholds), 2) {
				threshold, side := thresholds[d[0]], []Side{LeftClosed, RightClosed}[d[1]]
				rows, stride, edges := 1+r.IntN(150), k+r.IntN(2), Edges(1+r.IntN(20))
				x, y := make([]float32, rows*stride), make([]int32, rows)
				for i := range rows {
					copy(x[i*stride:], check.SimplexRow(r, k))
					x[i*stride+r.IntN(k)] = []float32{0, 1, -0.5, 2, float32(math.NaN()), float32(math.Copysign(0, -1)), 0.5, 0.5}[r.IntN(8)]
					y[i] = int32(r.IntN(k))
				}
				holdClassSums(t, x, y, rows, k, stride, edges, side, threshold, ClassSumsF32, ClassEntriesF32)
				holdClassSums(t, widen64(x), y, rows, k, stride, edges, side, threshold, ClassSumsF64, ClassEntriesF64)
			}
		}
	})
}

func holdClassSums[T float32 | float64](t *testing.T, x []T, y []int32, rows, k, stride int, edges []float64, side Side, threshold float64,
	run func(*ClassSums, []uint32, []T, int, int, int, *Lowest, int) (int, int),
	entries func([]float64, []int32, []uint32, []T, int, float64) (int, int)) {
	t.Helper()
	n := len(edges) - 1
	got, want := make([]BinSum, k*n), make([]BinSum, k*n)
	first := math.Inf(1)
	if n > 1 {
		first = edges[1]
	}
	low := NewLowest(first, side, threshold)
	s := ClassSums{make([]int64, k), make([]int64, k), make([]int64, k)}
	list := make([]uint32, 1+k*(1+rows/3)+ListSlack) // several calls
	p, class, bin := make([]float64, len(list)), make([]int32, len(list)), make([]int32, len(list))
	out := 0
	for i, done := 0, 0; i < rows; i += done {
		var listed int
		listed, done = run(&s, list, x[i*stride:], rows-i, k, stride, &low, 0)
		if want := min(rows-i, (len(list)-ListSlack)/k); done != want {
			t.Fatalf("%d rows done, want %d", done, want)
		}
		in, o := entries(p, class, list[:listed], x[i*stride:], stride, threshold)
		out += o
		BinEqual(bin[:in], p[:in], edges, side)
		for j := range in {
			c := &got[int(class[j])*n+int(bin[j])]
			c.N++
			c.P += fixed51(p[j])
			c.PP += fixed51(p[j] * p[j])
		}
	}
	for j := range k {
		c := &got[j*n]
		c.N += s.N[j]
		c.P += s.P[j]
		c.PP += s.PP[j]
	}
	wantOut := 0
	for j := range k {
		p, hit, bin := make([]float64, rows), make([]uint8, rows), make([]int32, rows)
		for i := range rows {
			if p[i] = float64(x[i*stride+j]); int(y[i]) == j {
				hit[i] = 1
			}
		}
		BinEqual(bin, p, edges, side)
		for i, v := range p {
			if !(v >= 0 && v <= 1) {
				wantOut++
			}
			if !(v > threshold) {
				bin[i] = -1
			}
		}
		BinSums(want[j*n:(j+1)*n], bin, p, hit)
	}
	for i := range want {
		want[i].Y, want[i].PY = 0, 0 // a row's own entry is the caller's
	}
	if !slices.Equal(got, want) || out != wantOut {
		t.Fatalf("k=%d stride=%d %d bins, side %d, above %v: %d outside, want %d; sums %v, want %v", k, stride, n, side, threshold, out, wantOut, got[:min(8, len(got))], want[:min(8, len(want))])
	}
}

// TestLogitSoftmax holds it to the two functions that it is, at every level.
func TestLogitSoftmax(t *testing.T) {
	holdLogitSoftmax(t, "f32", func(v float32) float32 { return v }, LogitStatsF32, SoftmaxF32, LogitSoftmaxF32)
	holdLogitSoftmax(t, "f64", func(v float32) float64 { return float64(v) }, LogitStatsF64, SoftmaxF64, LogitSoftmaxF64)
	holdLogitSoftmax(t, "f16", f16Bits, LogitStatsF16, SoftmaxF16, LogitSoftmaxF16)
	holdLogitSoftmax(t, "bf16", func(v float32) uint16 { return uint16(math.Float32bits(v) >> 16) }, LogitStatsBF16, SoftmaxBF16, LogitSoftmaxBF16)
}

func holdLogitSoftmax[T, D check.Element](t *testing.T, name string, from func(float32) T,
	stats func(*Stats, []T, int, int, int, []int32) uint8, soft func([]D, int, []T, int, int, int),
	both func(*Stats, []D, int, []T, int, int, int, []int32) uint8) {
	specials := check.Specials32()
	r := check.Rand(67)
	for i, k := range []int{1, 2, 3, 10, 31, 32, 33, 64, 100, 1000, 1024, 1025, 2500} {
		heights := []int{0, 1, 3, 4, 7, 64, 65, 130}
		for d := range deal(i, sized(4, all, all), len(heights)) {
			rows := heights[d[0]]
			if rows*k > sized(14_000, 70_000, 70_000) {
				continue
			}
			stride, dstStride := k+r.IntN(2), k+r.IntN(3)
			x, y := make([]T, rows*stride), make([]int32, rows)
			for i, v := range check.Logits32(r, len(x), 3) {
				if r.IntN(200) == 0 {
					v = specials[r.IntN(len(specials))]
				}
				x[i] = from(v)
			}
			for i := range y {
				if y[i] = int32(r.IntN(k)); r.IntN(20) == 0 {
					y[i] = int32(k)
				}
			}
			eachLevel(func(level isa.Level) {
				name := fmt.Sprintf("%s, isa=%v", name, level)
				a, b := newStats(rows), newStats(rows)
				want, got := make([]D, rows*dstStride), make([]D, rows*dstStride)
				flags := stats(a, x, rows, k, stride, y)
				soft(want, dstStride, x, rows, k, stride)
				if f := both(b, got, dstStride, x, rows, k, stride, y); f != flags {
					t.Fatalf("%s, rows=%d k=%d: flags %d, want %d", name, rows, k, f, flags)
				}
				for i := range rows {
					sameRow(t, name, b, i, a, i)
				}
				for i, v := range got {
					if v != want[i] && (v == v || want[i] == want[i]) {
						t.Fatalf("%s, rows=%d k=%d: probability %d is %v, want %v", name, rows, k, i, v, want[i])
					}
				}
			})
		}
	}
}

// TestProbStatsNorms: without Rest and Entropy the other columns are the same.
func TestProbStatsNorms(t *testing.T) {
	specials := check.Specials32()
	r := check.Rand(71)
	for _, f := range forms {
		for _, k := range []int{1, 2, 10, 32, 33, 50, 64, 100, 1000, 1024, 1025, 2048, 2500} {
			rows, stride := 1+r.IntN(70), k+r.IntN(2)
			if k >= 1000 {
				rows = min(rows, sized(9, 70, 70))
			}
			x, y := make([]float32, rows*stride), make([]int32, rows)
			for i := range rows {
				copy(x[i*stride:], check.SimplexRow(r, k))
				if r.IntN(3) == 0 {
					x[i*stride+r.IntN(k)] = specials[r.IntN(len(specials))]
				}
				if y[i] = int32(r.IntN(k)); r.IntN(20) == 0 {
					y[i] = -1
				}
			}
			f.roundInput(x)
			eachLevel(func(level isa.Level) {
				a, b := newStats(rows), newStats(rows)
				b.Rest, b.Entropy = nil, nil
				if p, q := f.probs(a, x, rows, k, stride, y), f.probs(b, x, rows, k, stride, y); p != q {
					t.Fatalf("%s, k=%d, isa=%v: flags %d, want %d", f.name, k, level, q, p)
				}
				b.Rest, b.Entropy = a.Rest, a.Entropy
				for i := range rows {
					sameRow(t, fmt.Sprintf("%s, isa=%v", f.name, level), b, i, a, i)
				}
			})
		}
	}
}
