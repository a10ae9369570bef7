package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
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
					pass := metrics.NewPass(&metrics.Options{Threads: threads}, score.NewLoss(&score.Options{TopK: 1}), calib.NewBins(nil))
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
			{"loss", score.NewLoss(nil)},
			{"loss-top1", score.NewLoss(&score.Options{TopK: 1})},
			{"bins", calib.NewBins(nil)},
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

func (a *keep) Needs() metrics.Need        { return metrics.Rank | metrics.Spread }
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
