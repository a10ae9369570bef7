package bench

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// BenchmarkCRPS reads samples in memory by a Pass. In the kernel's rows it is what is left if nothing but the sums of each row is
// made.
func BenchmarkCRPS(b *testing.B) {
	for _, m := range []int{10, 100, 1000} {
		p := &metrics.Predictions{Kind: metrics.Samples}
		p.Rows, p.Classes = inputBytes/4/m, m
		p.F32, p.Observed = make([]float32, p.Rows*m), make([]float64, p.Rows)
		for i := range p.F32 {
			p.F32[i] = logit(i)
		}
		name := fmt.Sprintf("dtype=f32/m=%d", m)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", name, threads), func(b *testing.B) {
				b.SetBytes(int64(4 * len(p.F32)))
				for b.Loop() {
					s := metrics.Must(score.NewSampleCRPS(nil))
					if err := metrics.NewPass(&metrics.Options{Threads: threads}, s).Add(p); err != nil {
						b.Fatal(err)
					}
				}
				samples(b, len(p.F32))
			})
		}
		b.Run(name+"/kernel", func(b *testing.B) {
			b.SetBytes(int64(4 * len(p.F32)))
			abs, pairs, scratch := make([]float64, p.Rows), make([]float64, p.Rows), make([]float32, kernel.SampleSpreadScratch(m))
			for b.Loop() {
				kernel.SampleSpreadF32(abs, pairs, p.F32, p.Rows, m, m, p.Observed, scratch)
			}
			samples(b, len(p.F32))
		})
	}
}
