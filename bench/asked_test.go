package bench

import (
	"testing"

	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
)

// BenchmarkAsked: the cost follows the question, of accumulators in a Pass and of evaluations by metrics. 4 million binary float32.
func BenchmarkAsked(b *testing.B) {
	const rows = 1 << 22
	p := evalInput(rows, 1)
	bins := func() metrics.Accumulator { return metrics.Must(calib.NewBins(nil)) }
	loss := func(parts score.Parts) metrics.Accumulator {
		return metrics.Must(score.NewLoss(&score.Options{TopK: 1, Parts: parts}))
	}
	pass := func(accs func() []metrics.Accumulator) func() error {
		return func() error { return metrics.NewPass(&metrics.Options{Threads: 1}, accs()...).Add(p) }
	}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"of=ece", pass(func() []metrics.Accumulator { return []metrics.Accumulator{bins()} })},
		{"of=accuracy+brier+ece", pass(func() []metrics.Accumulator { return []metrics.Accumulator{loss(score.OfTop | score.OfBrier), bins()} })},
		{"of=accuracy+nll+brier+entropy+ece", pass(func() []metrics.Accumulator { return []metrics.Accumulator{loss(0), bins()} })},
		{"metrics=default", func() error {
			m, err := eval.ParseMetrics("default", eval.Shape{Classes: 1})
			if err != nil {
				return err
			}
			e, err := eval.New(eval.Spec{Classes: 1, Metrics: m})
			if err != nil {
				return err
			}
			return e.AddSource(&once{p: p}, &metrics.Options{Threads: 1})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			isatest.EachB(b, func(b *testing.B) {
				for b.Loop() {
					if err := c.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
			})
		})
	}
}
