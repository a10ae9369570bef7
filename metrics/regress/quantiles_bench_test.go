package regress_test

import (
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// BenchmarkQuantiles adds blocks of 4,096 rows of 23 quantiles, of normal forecasts, and of 51 samples.
func BenchmarkQuantiles(b *testing.B) {
	const n = 4096
	for _, kind := range quantileKinds {
		levels := quantileHub
		if kind == metrics.Samples {
			levels = make([]float64, 51)
		}
		p := quantileRows(rand.New(rand.NewPCG(12, 1)), kind, n, levels)
		block := &metrics.Block{Rows: n, Classes: p.Classes, Kind: kind, Observed: p.Observed,
			Probs: metrics.Tile{F64: p.F64, Width: p.Classes, Stride: p.Classes}}
		if kind == metrics.Normals {
			f := func() []float64 { return make([]float64, n) }
			block.Normal = &kernel.NormalColumns{Error: f(), SD: f(), Z: f(), NLL: f(), CRPS: f(), Flags: make([]uint8, n)}
			kernel.NormalF64(block.Normal, p.F64, n, 3, 3)
		}
		for name, a := range map[string]metrics.Accumulator{
			"scores":    metrics.Must(regress.NewQuantiles(nil)),
			"by level":  metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{ByLevel: true})),
			"intervals": metrics.Must(regress.NewIntervals(&regress.IntervalOptions{Quantiles: quantileHub})),
		} {
			b.Run(kind.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					a.AddBlock(block)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
}
