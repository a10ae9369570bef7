package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

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
					pass := metrics.NewPass(&metrics.Options{Threads: threads}, score.NewLoss(nil), calib.NewBins(nil))
					if err := pass.Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
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
