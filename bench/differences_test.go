package bench

import (
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// BenchmarkDifferences: differences of the losses of two models, and the sums of their powers.
func BenchmarkDifferences(b *testing.B) {
	r := check.Rand(17)
	x, y, d := make([]float64, columnRows), make([]float64, columnRows), make([]float64, columnRows)
	for i := range x {
		x[i], y[i] = r.ExpFloat64(), r.ExpFloat64()
	}
	top := 0.0
	runColumns(b, "of=differences/", 24, func() { top = kernel.Differences(d, x, y) })
	runColumns(b, "of=powers/", 8, func() { kernel.PowerSums(d, top) })
}

// BenchmarkCoarsePlaces: the places of scores for the joint table of two models.
func BenchmarkCoarsePlaces(b *testing.B) {
	r := check.Rand(19)
	g := kernel.NewCoarseGrid(512)
	p, tail, y, to := make([]float64, columnRows), make([]float64, columnRows), make([]uint8, columnRows), make([]uint32, columnRows)
	for i := range p {
		p[i] = r.Float64()
		tail[i] = 1 - p[i]
	}
	runColumns(b, "", 21, func() { g.Places(to, p, tail, y) })
}

// BenchmarkCompare: two models in one read, beside the evaluation of one. The goal is 2.2 times its time.
func BenchmarkCompare(b *testing.B) {
	const rows = 1 << 20
	for _, k := range []int{1, 10} {
		sets := [2]*metrics.Predictions{comparedSet(rows, k, 0), comparedSet(rows, k, 0.5)}
		m, err := eval.ParseMetrics("default", eval.Shape{Classes: k, Kind: metrics.Logits})
		if err != nil {
			b.Fatal(err)
		}
		spec, o := eval.Spec{Classes: k, Metrics: m, Kind: metrics.Logits}, &metrics.Options{Threads: 1}
		name := map[int]string{1: "K=1/", 10: "K=10/"}[k]
		run := func(of string, f func() error) {
			b.Run(name+of, func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
		run("of=eval", func() error {
			e, err := eval.New(spec)
			if err != nil {
				return err
			}
			return e.AddSource(metrics.InMemory(sets[0]), o)
		})
		run("of=compare", func() error {
			c, err := compared.New(spec, []string{"a", "b"}, "")
			if err != nil {
				return err
			}
			return c.AddSources([]metrics.Source{metrics.InMemory(sets[0]), metrics.InMemory(sets[1])}, o)
		})
	}
}

// comparedSet returns logits of k classes, with noise of the model's own.
func comparedSet(n, k int, noise float64) *metrics.Predictions {
	r, own := check.Rand(23), check.Rand(29)
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, n)}
	p.F32, p.Rows, p.Classes = make([]float32, n*k), n, k
	for i := range p.F32 {
		p.F32[i] = float32(2*r.NormFloat64() + noise*own.NormFloat64())
	}
	for i := range p.Labels {
		p.Labels[i] = int32(r.IntN(max(2, k)))
	}
	return p
}
