package regress_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func BenchmarkSpread(b *testing.B) {
	for _, distinct := range []int{100, 100_000, 1_000_000, 8_000_000} {
		r := rand.New(rand.NewPCG(1, 2))
		const rows = 8192
		blocks := make([]metrics.Block, 1000)
		for i := range blocks {
			c := kernel.NormalColumns{Error: make([]float64, rows), SD: make([]float64, rows)}
			for j := range rows {
				c.SD[j] = 0.1 + float64(r.IntN(distinct))*1.2345678e-7*(8e6/float64(distinct))
				c.Error[j] = c.SD[j] * r.NormFloat64()
			}
			blocks[i] = metrics.Block{Kind: metrics.Normals, Rows: rows, Classes: 2, Normal: &c}
		}
		b.Run(fmt.Sprint(distinct), func(b *testing.B) {
			for range b.N {
				s := regress.NewSpread()
				for i := range blocks {
					s.AddBlock(&blocks[i])
				}
				s.Exact()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(blocks)*rows), "ns/row")
		})
	}
}
