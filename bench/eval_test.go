package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// BenchmarkEval is the real thing: a Pass with accuracy, NLL, Brier, entropy and 15-bin ECE over predictions in memory.
func BenchmarkEval(b *testing.B) {
	for _, k := range []int{1, 2, 10, 100, 1000} {
		rows := max(1, (32<<20)/(4*k))
		if k == 1 {
			rows = 2 << 20
		}
		p := evalInput(rows, k)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("dtype=f32/k=%d/threads=%d", k, threads), func(b *testing.B) {
				b.SetBytes(int64(4 * rows * k))
				for b.Loop() {
					pass := metrics.NewPass(&metrics.Options{Threads: threads}, metrics.Must(score.NewLoss(&score.Options{TopK: 1})), metrics.Must(calib.NewBins(nil)))
					if err := pass.Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkAddBlock: what each accumulator of an evaluation costs beside the kernel that writes the columns.
func BenchmarkAddBlock(b *testing.B) {
	for _, k := range []int{1, 10} {
		blocks := &keep{}
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, blocks).Add(evalInput(1<<14, k)); err != nil {
			b.Fatal(err)
		}
		for _, a := range []struct {
			name string
			acc  metrics.Accumulator
		}{
			{"loss", metrics.Must(score.NewLoss(nil))},
			{"loss-top1", metrics.Must(score.NewLoss(&score.Options{TopK: 1}))},
			{"bins", metrics.Must(calib.NewBins(nil))},
		} {
			b.Run(fmt.Sprintf("acc=%s/k=%d", a.name, k), func(b *testing.B) {
				isatest.EachB(b, func(b *testing.B) {
					rows := 0
					for i := 0; b.Loop(); i++ {
						block := blocks.list[i%len(blocks.list)]
						a.acc.AddBlock(block)
						rows += block.Rows
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows), "ns/row")
				})
			})
		}
	}
}

// keep is an accumulator that keeps copies of the blocks.
type keep struct {
	metrics.Accumulator
	list []*metrics.Block
}

func (a *keep) Needs() metrics.Need        { return metrics.NeedRank | metrics.NeedSpread }
func (a *keep) Empty() metrics.Accumulator { return &keep{} }
func (a *keep) Merge(o metrics.Accumulator) error {
	a.list = append(a.list, o.(*keep).list...)
	return nil
}

func (a *keep) AddBlock(b *metrics.Block) {
	c, s := *b, *b.Stats
	for _, col := range []*[]float64{&s.Top, &s.Tail, &s.Label, &s.NLL, &s.Rest, &s.Entropy, &s.Norm, &s.Positive} {
		*col = slices.Clone(*col)
	}
	s.ArgMax, s.Rank, s.Flags = slices.Clone(s.ArgMax), slices.Clone(s.Rank), slices.Clone(s.Flags)
	c.Stats, c.Labels, c.Hit = &s, slices.Clone(b.Labels), slices.Clone(b.Hit)
	c.Score, c.Right = s.Top, c.Hit
	a.list = append(a.list, &c)
}

// evalInput returns logits; of one class, probabilities of y = 1.
func evalInput(rows, k int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(1, uint64(k)))
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F32 = rows, k, make([]float32, rows*k)
	for i := range p.F32 {
		p.F32[i] = float32(r.NormFloat64() * 3)
	}
	if k == 1 {
		p.Kind = metrics.Probs
		for i := range p.F32 {
			p.F32[i] = r.Float32()
		}
	}
	for i := range p.Labels {
		p.Labels[i] = int32(r.IntN(max(2, k)))
	}
	return p
}

// BenchmarkCells: what cells cost beside the kernel that writes the columns, exact ones of few and of many distinct scores and
// those of the grid.
func BenchmarkCells(b *testing.B) {
	for _, of := range []struct {
		name   string
		values int // distinct scores; 0 for all
	}{{"1e3", 1e3}, {"1e5", 1e5}, {"grid", 0}} {
		r := rand.New(rand.NewPCG(2, uint64(of.values)))
		p := &metrics.Predictions{Labels: make([]int32, 1<<20)}
		p.Rows, p.Classes, p.F64 = len(p.Labels), 1, make([]float64, len(p.Labels))
		for i := range p.F64 {
			if p.F64[i] = r.Float64(); of.values > 0 {
				p.F64[i] = float64(r.IntN(of.values)) / float64(of.values)
			}
			p.Labels[i] = int32(r.IntN(2))
		}
		blocks := &keep{}
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, blocks).Add(p); err != nil {
			b.Fatal(err)
		}
		b.Run("distinct="+of.name, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				c, rows := metrics.Must(cells.New(nil)), 0
				for i := 0; b.Loop(); i++ {
					block := blocks.list[i%len(blocks.list)]
					c.AddBlock(block)
					rows += block.Rows
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows), "ns/row")
			})
		})
	}
}

// BenchmarkDefaultSet: the whole default set of metrics beside the row kernel alone, in blocks as a Pass has them.
func BenchmarkDefaultSet(b *testing.B) {
	for _, k := range []int{100, 1000} {
		size := 1 << 30
		if testing.Short() {
			size = 1 << 24
		}
		rows := size / (4 * k)
		p := evalInput(rows, k)
		b.Run(fmt.Sprintf("k=%d/kernel", k), func(b *testing.B) {
			block := min(kernel.MaxSum, (1<<20)/(4*k)) &^ 63
			f := func() []float64 { return make([]float64, block) }
			s := kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
				ArgMax: make([]int32, block), Flags: make([]uint8, block)}
			b.SetBytes(int64(4 * rows * k))
			for b.Loop() {
				for i := 0; i < rows; i += block {
					n := min(block, rows-i)
					kernel.LogitStatsF32(&s, p.F32[i*k:(i+n)*k], n, k, k, p.Labels[i:i+n])
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
		})
		b.Run(fmt.Sprintf("k=%d/default", k), func(b *testing.B) {
			list, err := eval.ParseMetrics("default", eval.Shape{Classes: k})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(4 * rows * k))
			for b.Loop() {
				e, err := eval.New(eval.Spec{Classes: k, Metrics: list})
				if err != nil {
					b.Fatal(err)
				}
				if err := e.AddSource(&once{p: p}, &metrics.Options{Threads: 1}); err != nil {
					b.Fatal(err)
				}
				for _, m := range list {
					e.Value(m)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
		})
	}
}

// once is a source of rows in memory, by 32 MiB.
type once struct {
	p  *metrics.Predictions
	at int
}

func (s *once) Next() (*metrics.Chunk, error) {
	if s.at == s.p.Rows {
		return nil, io.EOF
	}
	k := s.p.Classes
	n := min(s.p.Rows-s.at, (32<<20)/(4*k)&^63)
	c := &metrics.Chunk{Predictions: *s.p, First: int64(s.at)}
	c.Rows, c.F32, c.Labels = n, s.p.F32[s.at*k:(s.at+n)*k], s.p.Labels[s.at:s.at+n]
	s.at += n
	return c, nil
}
