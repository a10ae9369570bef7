package regress_test

import (
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// BenchmarkNormal is of the accumulators alone: the columns of a block are made before. A byte stands for a row.
func BenchmarkNormal(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 2048
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = make([]float64, 2*n), n, 2
	for i := range n {
		p.F64[2*i+1] = 0.5 + r.ExpFloat64()
		p.F64[2*i] = p.F64[2*i+1] * r.NormFloat64()
	}
	for _, c := range []struct {
		name string
		acc  metrics.Accumulator
	}{
		{"nll", regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.NLL}})},
		{"crps", regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.CRPS}})},
		{"sharpness", regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.Sharpness}})},
		{"all", regress.NewNormal(nil)},
		{"errors", regress.NewErrors(nil)},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := metrics.NewWalker(nil, 0, func(k *metrics.Block) {
				b.SetBytes(int64(k.Rows))
				for b.Loop() {
					c.acc.AddBlock(k)
				}
			})
			one := *p
			w.Add(&metrics.Chunk{Predictions: one})
		})
	}
}
