package bench

import (
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// BenchmarkEvents: sums of binary scores and labels without columns, on 2,048 rows in cache.
func BenchmarkEvents(b *testing.B) {
	p := evalInput(kernel.MaxSum, 1)
	edges, sums := kernel.Edges(15), make([]kernel.BinSum, 15)
	for _, f := range []struct {
		name string
		run  func() bool
	}{
		{"bins", func() bool { clear(sums); return kernel.EventBinsF32(sums, p.F32, p.Labels, edges) }},
		{"sums", func() bool { return kernel.EventSumsF32(p.F32, p.Labels).Top.N == kernel.MaxSum }},
	} {
		b.Run("of="+f.name, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				for b.Loop() {
					if !f.run() {
						b.Fatal("a row has a fault")
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/kernel.MaxSum/float64(b.N), "ns/row")
			})
		})
	}
}
