package compared

import (
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// BenchmarkCompareBinary is what two binary models cost beside one.
func BenchmarkCompareBinary(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 2_000_000
	mk := func() *metrics.Predictions {
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.F32, p.Rows, p.Classes = make([]float32, n), n, 1
		return p
	}
	x, y := mk(), mk()
	for i := range n {
		p := r.Float32()
		x.F32[i] = p
		y.F32[i] = min(1, max(0, p+0.1*(r.Float32()-0.5)))
		if r.Float32() < p {
			x.Labels[i], y.Labels[i] = 1, 1
		}
	}
	m, _ := eval.ParseMetrics("default", eval.Shape{Classes: 1})
	s := eval.Spec{Classes: 1, Metrics: m}
	o := &metrics.Options{Threads: 1}
	b.Run("eval", func(b *testing.B) {
		for range b.N {
			e, _ := eval.New(s)
			e.AddSource(metrics.InMemory(x), o)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
	})
	b.Run("compare", func(b *testing.B) {
		for range b.N {
			c, _ := New(s, []string{"a", "b"}, "")
			c.AddSources([]metrics.Source{metrics.InMemory(x), metrics.InMemory(y)}, o)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
	})
}
