package bench

import (
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// BenchmarkAsked: the cost of an evaluation follows the metrics that are asked.
func BenchmarkAsked(b *testing.B) {
	const rows = 1 << 22
	p := evalInput(rows, 1)
	for _, list := range []string{"ece", "accuracy,brier,ece", "accuracy,nll,brier,ece", "default"} {
		m, err := eval.ParseMetrics(list, eval.Shape{Classes: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.Run("metrics="+list, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				for b.Loop() {
					e, err := eval.New(eval.Spec{Classes: 1, Metrics: m})
					if err != nil {
						b.Fatal(err)
					}
					if err := e.AddSource(&once{p: p}, &metrics.Options{Threads: 1}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
			})
		})
	}
	for _, c := range []struct {
		name string
		accs func() []metrics.Accumulator
	}{
		{"loss", func() []metrics.Accumulator { return []metrics.Accumulator{metrics.Must(score.NewLoss(nil))} }},
		{"bins", func() []metrics.Accumulator { return []metrics.Accumulator{metrics.Must(calib.NewBins(nil))} }},
		{"bins+brier", func() []metrics.Accumulator {
			return []metrics.Accumulator{metrics.Must(score.NewLoss(&score.Options{Parts: score.OfBrier})), metrics.Must(calib.NewBins(nil))}
		}},
		{"none", func() []metrics.Accumulator { return nil }},
	} {
		b.Run("pass="+c.name, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				for b.Loop() {
					if err := metrics.NewPass(&metrics.Options{Threads: 1}, c.accs()...).Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
			})
		})
	}
}
