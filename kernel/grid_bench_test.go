package kernel

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkGridSums(b *testing.B) {
	for _, law := range []string{"uniform", "confident", "logspaced"} {
		b.Run(law, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			const n = 1 << 16
			p, tail, y := make([]float64, n), make([]float64, n), make([]uint8, n)
			for i := range p {
				u := r.Float64()
				switch law {
				case "confident":
					u = 1 - u*u*u*u/2
				case "logspaced":
					u = Exp64(-u * 40)
				}
				p[i], tail[i] = u, 1-u
				y[i] = uint8(r.Uint32() & 1)
			}
			cells := make([]GridCell, GridSize())
			b.Logf("%d places", len(cells)/4)
			for b.Loop() {
				for i := 0; i < n; i += 4096 {
					GridSums(cells, p[i:i+4096], tail[i:i+4096], y[i:i+4096])
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
