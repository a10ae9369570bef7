package binfree_test

import (
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
)

func BenchmarkEProcess(b *testing.B) {
	const n = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F64 = n, 1, make([]float64, n)
	for i := range n {
		if p.F64[i] = r.Float64(); r.Float64() < p.F64[i] {
			p.Labels[i] = 1
		}
	}
	for b.Loop() {
		if err := metrics.NewPass(&metrics.Options{Threads: 1}, binfree.NewEProcess(metrics.Positive)).Add(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
