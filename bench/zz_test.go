package bench

import (
	"fmt"
	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"testing"
)

type none struct{ *calib.ClassBins }

func (n none) AddBlock(b *metrics.Block)       {}
func (n none) Empty() metrics.Accumulator      { return n }
func (n none) Merge(metrics.Accumulator) error { return nil }
func BenchmarkZZ(b *testing.B) {
	const k, rows = 1000, 100000
	x := make([]float32, k*rows)
	one := softmaxRows(2000, k)
	lg := make([]float32, k*rows)
	ones := check.Logits32(check.Rand(5), 2000*k, 3)
	for i := 0; i < rows; i += 2000 {
		copy(x[i*k:], one)
		copy(lg[i*k:], ones)
	}
	y := make([]int32, rows)
	for i := range y {
		y[i] = int32(i * 7 % k)
	}
	for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits} {
		p := &metrics.Predictions{Labels: y, Kind: kind}
		p.F32, p.Rows, p.Classes = x, rows, k
		if kind == metrics.Logits {
			p.F32 = lg
		}
		for name, f := range map[string]func() metrics.Accumulator{"class": func() metrics.Accumulator { return calib.NewClassBins(nil) }, "none": func() metrics.Accumulator { return none{calib.NewClassBins(nil)} }, "bins": func() metrics.Accumulator { return calib.NewBins(nil) }} {
			b.Run(fmt.Sprint(kind, name), func(b *testing.B) {
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					if err := metrics.NewPass(&metrics.Options{Threads: 1}, f()).Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			})
		}
	}
	st := kernel.Stats{}
	n := 64
	f := func() []float64 { return make([]float64, n) }
	st = kernel.Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(), ArgMax: make([]int32, n), Flags: make([]uint8, n)}
	dst := make([]float32, n*k)
	for name, f := range map[string]func(){"probstats": func() { kernel.ProbStatsF32(&st, x, n, k, k, y[:n]) }, "logitstats": func() { kernel.LogitStatsF32(&st, lg, n, k, k, y[:n]) }, "softmax": func() { kernel.SoftmaxF32(dst, k, lg, n, k, k) }} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * n * k))
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
