package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// columnRows is how many rows a call sums. They stay in the first cache; of those with five columns of float64 fewer do.
const columnRows, wideRows = kernel.MaxSum, 512

// columns are what row statistics leave of as many rows, and what is made of them.
type columns struct {
	stats kernel.Stats
	p     []float64
	hit   []uint8
	top   []int32
	bin   []int32
	dst   []float64
}

func newColumns(bins int) *columns {
	r := check.Rand(7)
	f := func() []float64 {
		x := make([]float64, columnRows)
		for i := range x {
			x[i] = r.Float64()
		}
		return x
	}
	c := &columns{stats: kernel.Stats{Top: f(), Tail: f(), Label: f(), Rest: f()}, p: f(), dst: f(),
		hit: make([]uint8, columnRows), top: make([]int32, columnRows), bin: make([]int32, columnRows)}
	for i := range c.hit {
		c.hit[i], c.top[i], c.bin[i] = uint8(r.IntN(2)), int32(r.IntN(5)), int32(r.IntN(bins))
	}
	return c
}

// runColumns benchmarks f at each level; bytes are what it reads and writes of a row.
func runColumns(b *testing.B, name string, bytes int, f func()) {
	runSome(b, name, columnRows, bytes, f)
}

func runSome(b *testing.B, name string, rows, bytes int, f func()) {
	b.Run(fmt.Sprintf("%sn=%d", name, rows), func(b *testing.B) {
		isatest.EachB(b, func(b *testing.B) {
			b.SetBytes(int64(bytes * rows))
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	})
}

// BenchmarkMoments: sums of a score and of its square.
func BenchmarkMoments(b *testing.B) {
	c := newColumns(1)
	runColumns(b, "window=nll/", 8, func() { kernel.Moments(c.p, &kernel.WindowNLL, &kernel.WindowNLL2) })
	runColumns(b, "window=brier/", 8, func() { kernel.Moments(c.p, &kernel.WindowBrier, &kernel.WindowBrier2) })
}

// BenchmarkCellSum: scores and outcomes.
func BenchmarkCellSum(b *testing.B) {
	c := newColumns(1)
	runColumns(b, "", 9, func() { kernel.CellSum(c.p, c.hit) })
}

// BenchmarkHits: whether arg maxes are the labels.
func BenchmarkHits(b *testing.B) {
	c := newColumns(5)
	runColumns(b, "", 9, func() { kernel.Hits(c.hit, c.top, c.bin) })
}

// BenchmarkCounts: rows by rank.
func BenchmarkCounts(b *testing.B) {
	c := newColumns(1)
	for _, k := range []int{2, 5} {
		counts := make([]int64, k)
		runColumns(b, fmt.Sprintf("counts=%d/", k), 4, func() { kernel.Counts(counts, c.top) })
	}
}

// BenchmarkSquaredErrors: Brier scores of rows of several classes and of an event.
func BenchmarkSquaredErrors(b *testing.B) {
	c := newColumns(1)
	dst, hit := c.dst[:wideRows], c.hit[:wideRows]
	runSome(b, "k=10/", wideRows, 41, func() { kernel.SquaredErrors(dst, &c.stats, hit, 10) })
	runSome(b, "k=1/", wideRows, 25, func() { kernel.SquaredErrors(dst, &c.stats, hit, 1) })
}

// BenchmarkBinEdges: the bins of scores between any edges.
func BenchmarkBinEdges(b *testing.B) {
	c := newColumns(1)
	for _, bins := range []int{10, 15, 100} {
		edges := kernel.Edges(bins)
		runColumns(b, fmt.Sprintf("bins=%d/", bins), 12, func() { kernel.BinEdges(c.bin, c.p, edges, kernel.RightClosed) })
	}
}

// BenchmarkBinSumsOf: numbers of bins, where rows have any of them, and where all have the last.
func BenchmarkBinSumsOf(b *testing.B) {
	for _, bins := range []int{10, 15, 32, 100} {
		c, sums := newColumns(bins), make([]kernel.BinSum, bins)
		sum := func() { kernel.BinSums(sums, c.bin, c.p, c.hit) }
		runColumns(b, fmt.Sprintf("bins=%d/rows=any/", bins), 13, sum)
		for i := range c.bin {
			c.bin[i] = int32(bins - 1)
		}
		runColumns(b, fmt.Sprintf("bins=%d/rows=last/", bins), 13, sum)
	}
}

// BenchmarkGridSums: scores of even density, crowded at 1, as dense in each power of 2, and of two digits, which are looked up.
func BenchmarkGridSums(b *testing.B) {
	c, cells := newColumns(1), make([]kernel.GridCell, kernel.GridSize())
	r := check.Rand(11)
	tail := c.stats.Tail
	for _, of := range []struct {
		name  string
		score func(u float64) float64
	}{
		{"uniform", func(u float64) float64 { return u }},
		{"confident", func(u float64) float64 { return 1 - u*u*u*u/2 }},
		{"logspaced", func(u float64) float64 { return kernel.Exp64(-40 * u) }},
		{"digits", func(u float64) float64 { return math.Floor(100*u) / 100 }},
	} {
		for i := range c.p {
			c.p[i] = of.score(r.Float64())
			tail[i] = 1 - c.p[i]
		}
		runColumns(b, "scores="+of.name+"/", 17, func() { kernel.GridSums(cells, c.p, tail, c.hit) })
	}
}

// BenchmarkRecords: what is added to records of random ones of 1,024 groups, which stay in the second-level cache.
func BenchmarkRecords(b *testing.B) {
	const groups, bins, size = 1024, 15, 38
	r := check.Rand(37)
	words, keys, p, nll := make([]int64, groups*size), make([]uint32, columnRows), make([]float64, columnRows), make([]float64, columnRows)
	for i := range keys {
		p[i], nll[i] = r.Float64(), r.ExpFloat64()
		keys[i] = uint32(r.IntN(groups)*size)<<8 | uint32(p[i]*bins)<<1 | uint32(r.IntN(2))
	}
	runColumns(b, "of=scores/", 12, func() { kernel.RecordScores(words, keys, p, bins) })
	runColumns(b, "of=moments/", 12, func() { kernel.RecordMoments(words, keys, 2*bins+2, nll, &kernel.WindowNLL, &kernel.WindowNLL2) })
	runColumns(b, "of=unit_moments/", 12, func() { kernel.RecordMoments(words, keys, 2*bins+6, p, &kernel.WindowUnit, &kernel.WindowUnit) })
}
