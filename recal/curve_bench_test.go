package recal_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// curveMany returns n float32 probabilities whose events come true p^2 of the time.
func curveMany(n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(1, 1))
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.F32 = n, 1, make([]float32, n)
	for i := range n {
		v := r.Float64()
		if p.F32[i] = float32(v); r.Float64() < v*v {
			p.Labels[i] = 1
		}
	}
	return p
}

// A fit to ten million rows by one thread, and how many times it takes as long as to sort as many keys in memory that is new as well.
func BenchmarkIsotonicFit(b *testing.B) {
	const n = 10_000_000
	p := curveMany(n)
	hit := make([]uint8, n)
	for i, y := range p.Labels {
		hit[i] = uint8(y)
	}
	var sorting, fitting time.Duration
	for b.Loop() {
		start := time.Now()
		keys, scratch := make([]uint32, n), make([]uint32, kernel.SortScratch(n))
		kernel.SortFrom(keys, scratch, func(dst []uint32, first int) {
			kernel.HitKeysF32(dst, p.F32[first:first+len(dst)], hit[first:first+len(dst)])
		}, nil)
		sorting += time.Since(start)
		start = time.Now()
		if _, err := (recal.Isotonic{}).Fit(recal.InMemory(p), &recal.Options{Threads: 1}); err != nil {
			b.Fatal(err)
		}
		fitting += time.Since(start)
	}
	b.ReportMetric(float64(fitting.Nanoseconds())/float64(b.N)/n, "ns/row")
	b.ReportMetric(float64(fitting)/float64(sorting), "sorts")
}

// Binary rows, and those of ten classes.
func BenchmarkCurveApply(b *testing.B) {
	const n = 1_000_000
	one := curveMany(n)
	many := curveRows(1, n/10, 10, metrics.Probs, true, false)
	for _, m := range []recal.Method{recal.Histogram{}, recal.Isotonic{}, recal.Isotonic{Interpolate: true}} {
		for _, p := range []*metrics.Predictions{one, many} {
			f, err := m.Fit(recal.InMemory(p), nil)
			if err != nil {
				b.Fatal(err)
			}
			dst := p.Scores
			dst.F32 = make([]float32, n)
			b.Run(m.String()+map[int]string{1: "/binary", 10: "/classes=10"}[p.Classes], func(b *testing.B) {
				for b.Loop() {
					f.Apply(&dst, &p.Scores, p.Kind)
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
			})
		}
	}
}
