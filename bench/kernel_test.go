package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// inputBytes is the size of a matrix that a benchmark goes through, far above any L2, so that the kernels read memory.
const inputBytes = 64 << 20

// callBytes is what one call is given: the most that the kernels' contract allows, or one row.
const callBytes = 1 << 20

var classes = []int{2, 10, 100, 1000, 32000, 128256}

// A matrix is the scores of one type with its labels and room for a call's columns.
type matrix[T any] struct {
	x       []T
	y       []int32
	k, rows int
	block   int // rows a call
	cols    kernel.Stats
}

func newMatrix[T any](k, size int, at func(j int) T) *matrix[T] {
	m := &matrix[T]{k: k, rows: max(1, inputBytes/size/k), block: max(1, callBytes/size/k)}
	m.x, m.y = make([]T, m.rows*k), make([]int32, m.rows)
	for j := range m.x {
		m.x[j] = at(j)
	}
	for i := range m.y {
		m.y[i] = int32(i * 7919 % k)
	}
	f := func() []float64 { return make([]float64, m.block) }
	m.cols = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(),
		ArgMax: make([]int32, m.block), Flags: make([]uint8, m.block)}
	return m
}

// all calls f with each block of rows.
func (m *matrix[T]) all(f func(x []T, rows int, y []int32)) {
	for i := 0; i < m.rows; i += m.block {
		n := min(m.block, m.rows-i)
		f(m.x[i*m.k:(i+n)*m.k], n, m.y[i:i+n])
	}
}

// pool are the numbers that every matrix repeats, at a length that no row divides: random numbers for 64 MiB of them would
// take longer than the benchmarks.
var pool = check.Logits32(check.Rand(1), 1<<16+1, 3)

func logit(j int) float32 { return pool[j%len(pool)] }

// prob returns the probability of element j of a softmax-like row of k.
func prob(k int) func(j int) float32 {
	e := make([]float32, len(pool))
	for i, v := range pool {
		e[i] = float32(math.Exp(float64(v)) / 90 / float64(k)) // the mean of e**v is e**4.5
	}
	return func(j int) float32 { return min(e[j%len(e)], 1) }
}

func half(at func(int) float32) func(int) uint16 {
	return func(j int) uint16 { // truncated: for speed any bits do that are numbers of the right size
		u := math.Float32bits(at(j))
		if u<<1 < 113<<24 {
			return 0
		}
		return uint16(u>>16&0x8000) | uint16(u>>23&0xff-112)<<10 | uint16(u>>13&0x3ff)
	}
}

func bf16(at func(int) float32) func(int) uint16 {
	return func(j int) uint16 { return uint16(math.Float32bits(at(j)) >> 16) }
}

func f64(at func(int) float32) func(int) float64 {
	return func(j int) float64 { return float64(at(j)) }
}

func run[T any](b *testing.B, dtype string, k, size int, at func(int) T, f func(*kernel.Stats, []T, int, int, int, []int32) uint8) {
	b.Run(fmt.Sprintf("dtype=%s/k=%d", dtype, k), func(b *testing.B) {
		m := newMatrix(k, size, at)
		isatest.EachB(b, func(b *testing.B) {
			b.SetBytes(int64(len(m.x) * size))
			for b.Loop() {
				m.all(func(x []T, rows int, y []int32) { f(&m.cols, x, rows, k, k, y) })
			}
		})
	})
}

// BenchmarkRowStats: the columns of logits.
func BenchmarkRowStats(b *testing.B) {
	for _, k := range classes {
		run(b, "f32", k, 4, logit, kernel.LogitStatsF32)
		run(b, "f64", k, 8, f64(logit), kernel.LogitStatsF64)
		run(b, "bf16", k, 2, bf16(logit), kernel.LogitStatsBF16)
		run(b, "f16", k, 2, half(logit), kernel.LogitStatsF16)
	}
}

// BenchmarkProbStats: the columns of probabilities.
func BenchmarkProbStats(b *testing.B) {
	for _, k := range classes {
		p := prob(k)
		run(b, "f32", k, 4, p, kernel.ProbStatsF32)
		run(b, "f64", k, 8, f64(p), kernel.ProbStatsF64)
		run(b, "bf16", k, 2, bf16(p), kernel.ProbStatsBF16)
		run(b, "f16", k, 2, half(p), kernel.ProbStatsF16)
	}
}

func runBinary[T any](b *testing.B, name string, size int, at func(int) T, f func(*kernel.Stats, []T, []int32) uint8) {
	b.Run(name, func(b *testing.B) {
		m := newMatrix(1, size, at)
		for i := range m.y {
			m.y[i] = int32(i & 1)
		}
		isatest.EachB(b, func(b *testing.B) {
			b.SetBytes(int64(len(m.x) * size))
			for b.Loop() {
				m.all(func(x []T, rows int, y []int32) { f(&m.cols, x, y) })
			}
		})
	})
}

// BenchmarkBinaryStats: the columns of one score a row.
func BenchmarkBinaryStats(b *testing.B) {
	p := prob(1)
	runBinary(b, "kind=logits/dtype=f32", 4, logit, kernel.BinaryLogitStatsF32)
	runBinary(b, "kind=logits/dtype=f64", 8, f64(logit), kernel.BinaryLogitStatsF64)
	runBinary(b, "kind=logits/dtype=bf16", 2, bf16(logit), kernel.BinaryLogitStatsBF16)
	runBinary(b, "kind=logits/dtype=f16", 2, half(logit), kernel.BinaryLogitStatsF16)
	runBinary(b, "kind=probs/dtype=f32", 4, p, kernel.BinaryProbStatsF32)
	runBinary(b, "kind=probs/dtype=f64", 8, f64(p), kernel.BinaryProbStatsF64)
	runBinary(b, "kind=probs/dtype=bf16", 2, bf16(p), kernel.BinaryProbStatsBF16)
	runBinary(b, "kind=probs/dtype=f16", 2, half(p), kernel.BinaryProbStatsF16)
}

// rowFunc is a kernel that makes rows of what it is given.
type rowFunc[D, T any] func(dst []D, dstStride int, x []T, rows, k, stride int)

// runRows runs a kernel that writes as many elements as it reads, size bytes each.
func runRows[D, T any](b *testing.B, dtype string, k, size int, at func(int) T, f rowFunc[D, T]) {
	dst := make([]D, max(k, callBytes/size))
	run(b, dtype, k, size, at, func(_ *kernel.Stats, x []T, rows, k, stride int, _ []int32) uint8 {
		f(dst, k, x, rows, k, stride)
		return 0
	})
}

// runColumn runs a kernel that writes an element a row.
func runColumn[D, T any](b *testing.B, dtype string, k, size int, at func(int) T, f func(dst []D, x []T, rows, k, stride int)) {
	dst := make([]D, max(1, callBytes/size/k))
	run(b, dtype, k, size, at, func(_ *kernel.Stats, x []T, rows, k, stride int, _ []int32) uint8 {
		f(dst, x, rows, k, stride)
		return 0
	})
}

func BenchmarkSoftmax(b *testing.B) {
	for _, k := range classes {
		runRows(b, "f32", k, 4, logit, kernel.SoftmaxF32)
		runRows(b, "f64", k, 8, f64(logit), kernel.SoftmaxF64)
		runRows(b, "bf16", k, 2, bf16(logit), kernel.SoftmaxBF16)
		runRows(b, "f16", k, 2, half(logit), kernel.SoftmaxF16)
	}
}

func BenchmarkLogSoftmax(b *testing.B) {
	for _, k := range classes {
		runRows(b, "f32", k, 4, logit, kernel.LogSoftmaxF32)
		runRows(b, "f64", k, 8, f64(logit), kernel.LogSoftmaxF64)
		runRows(b, "bf16", k, 2, bf16(logit), kernel.LogSoftmaxBF16)
		runRows(b, "f16", k, 2, half(logit), kernel.LogSoftmaxF16)
	}
}

func BenchmarkLogSumExp(b *testing.B) {
	for _, k := range classes {
		runColumn(b, "f32", k, 4, logit, kernel.LogSumExpF32)
		runColumn(b, "f64", k, 8, f64(logit), kernel.LogSumExpF64)
		runColumn(b, "bf16", k, 2, bf16(logit), kernel.LogSumExpBF16)
		runColumn(b, "f16", k, 2, half(logit), kernel.LogSumExpF16)
	}
}

func BenchmarkArgMax(b *testing.B) {
	for _, k := range classes {
		runColumn(b, "f32", k, 4, logit, kernel.ArgMaxF32)
		runColumn(b, "f64", k, 8, f64(logit), kernel.ArgMaxF64)
		runColumn(b, "bf16", k, 2, bf16(logit), kernel.ArgMaxBF16)
		runColumn(b, "f16", k, 2, half(logit), kernel.ArgMaxF16)
	}
}

// BenchmarkRank: what the column of ranks adds is the difference to BenchmarkRowStats.
func BenchmarkRank(b *testing.B) {
	for _, k := range classes {
		rank := make([]int32, max(1, callBytes/2/k))
		run(b, "f32", k, 4, logit, ranked(rank, kernel.LogitStatsF32))
		run(b, "f64", k, 8, f64(logit), ranked(rank, kernel.LogitStatsF64))
		run(b, "bf16", k, 2, bf16(logit), ranked(rank, kernel.LogitStatsBF16))
		run(b, "f16", k, 2, half(logit), ranked(rank, kernel.LogitStatsF16))
	}
}

// A statsFunc fills the columns of rows.
type statsFunc[T any] func(c *kernel.Stats, x []T, rows, k, stride int, labels []int32) uint8

func ranked[T any](rank []int32, f statsFunc[T]) statsFunc[T] {
	return func(c *kernel.Stats, x []T, rows, k, stride int, labels []int32) uint8 {
		c.Rank = rank
		return f(c, x, rows, k, stride, labels)
	}
}

// The rest work on what a block of rows has left in cache: kernel.MaxSum values a call, the bytes are those of the scores.

func BenchmarkBinEqual(b *testing.B) {
	for _, n := range []int{15, 100} {
		b.Run(fmt.Sprintf("bins=%d", n), func(b *testing.B) {
			edges, dst := kernel.Edges(n), make([]int32, kernel.MaxSum)
			p := scores()
			isatest.EachB(b, func(b *testing.B) {
				b.SetBytes(8 * kernel.MaxSum)
				for b.Loop() {
					kernel.BinEqual(dst, p, edges, kernel.LeftClosed)
				}
			})
		})
	}
}

func BenchmarkBinSums(b *testing.B) {
	b.Run("bins=15", func(b *testing.B) {
		bin, y := make([]int32, kernel.MaxSum), make([]uint8, kernel.MaxSum)
		p := scores()
		for i := range y {
			y[i] = uint8(i * 7 / 3 & 1)
		}
		kernel.BinEqual(bin, p, kernel.Edges(15), kernel.LeftClosed)
		var sums [15]kernel.BinSum
		isatest.EachB(b, func(b *testing.B) {
			b.SetBytes(8 * kernel.MaxSum)
			for b.Loop() {
				sums = [15]kernel.BinSum{}
				kernel.BinSums(sums[:], bin, p, y)
			}
		})
	})
}

func BenchmarkFixedSums(b *testing.B) {
	for _, w := range []struct {
		name string
		w    *kernel.Window
	}{{"unit", &kernel.WindowUnit}, {"nll", &kernel.WindowNLL}} {
		b.Run("window="+w.name, func(b *testing.B) {
			p := scores()
			isatest.EachB(b, func(b *testing.B) {
				b.SetBytes(8 * kernel.MaxSum)
				for b.Loop() {
					kernel.FixedSums(p, w.w)
				}
			})
		})
	}
}

func scores() []float64 {
	r := check.Rand(2)
	p := make([]float64, kernel.MaxSum)
	for i := range p {
		p[i] = r.Float64()
	}
	return p
}

// elements runs a kernel on so many elements that they stay in cache, and on few; the bytes are those of the input.
func elements[D, S any](b *testing.B, dtype string, size int, at func(int) S, f func(dst []D, x []S)) {
	for _, n := range []int{4, 4096} {
		b.Run(fmt.Sprintf("dtype=%s/n=%d", dtype, n), func(b *testing.B) {
			x, dst := make([]S, n), make([]D, n)
			for i := range x {
				x[i] = at(i)
			}
			isatest.EachB(b, func(b *testing.B) {
				b.SetBytes(int64(n * size))
				for b.Loop() {
					f(dst, x)
				}
			})
		})
	}
}

func BenchmarkExp(b *testing.B) {
	elements(b, "f32", 4, logit, kernel.ExpSliceF32)
	elements(b, "f64", 8, f64(logit), kernel.ExpSliceF64)
}

func BenchmarkLog(b *testing.B) {
	p := prob(1)
	elements(b, "f32", 4, p, kernel.LogSliceF32)
	elements(b, "f64", 8, f64(p), kernel.LogSliceF64)
}

func BenchmarkWiden(b *testing.B) {
	elements(b, "bf16", 2, bf16(logit), kernel.WidenBF16)
	elements(b, "f16", 2, half(logit), kernel.WidenF16)
}
