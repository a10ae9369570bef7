package conformal_test

import (
	"fmt"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
)

// BenchmarkFit and BenchmarkSets report the rows of a second, on one thread.
func BenchmarkFit(b *testing.B) {
	for _, k := range []int{10, 1000} {
		p := generic(2_000_000/k/10, k, 1)
		for _, method := range []string{"lac", "aps"} {
			m := metrics.Must(conformal.Parse(method))
			b.Run(fmt.Sprintf("%s-%d", method, k), func(b *testing.B) {
				for b.Loop() {
					if _, _, err := conformal.Fit(metrics.InMemory(p), m, 0.9, &metrics.Options{Threads: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(p.Rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func BenchmarkSets(b *testing.B) {
	for _, k := range []int{10, 1000} {
		p := generic(2_000_000/k/10, k, 1)
		for _, method := range []string{"lac", "aps"} {
			f, _, err := conformal.Fit(metrics.InMemory(p), metrics.Must(conformal.Parse(method)), 0.9, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s-%d", method, k), func(b *testing.B) {
				fill := f.Sets()
				var sets []bool
				for b.Loop() {
					w := metrics.NewWalker(nil, metrics.NeedRows, func(o *metrics.Block) {
						if len(sets) < o.Rows*k {
							sets = make([]bool, o.Rows*k)
						}
						fill(sets[:o.Rows*k], o)
					})
					w.Add(&metrics.Chunk{Predictions: *p})
				}
				b.ReportMetric(float64(p.Rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
