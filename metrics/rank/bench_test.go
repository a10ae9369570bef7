package rank_test

import (
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// BenchmarkRows measures walks over sorted rows, and accumulators relative to a Pass without any.
func BenchmarkRows(b *testing.B) {
	const n = 1 << 20
	p := drawn(1, n, 0)
	s, err := cells.Sort(p, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := rank.RankingOf(s)
	for name, f := range map[string]func(){
		"AUROC":       func() { rank.RankingOf(s).AUROC() },
		"AP":          func() { r.AUPRC(rank.AveragePrecision) },
		"Davis":       func() { r.AUPRC(rank.DavisGoadrich) },
		"AURC":        func() { r.AURC() },
		"AUGRC":       func() { r.AUGRC() },
		"FPR":         func() { r.FPRAt(0.95) },
		"curve":       func() { r.ROC(200) },
		"oracle":      func() { r.OracleAccuracy(rank.Budget{Fraction: 0.01}) },
		"oracle area": func() { r.OracleAUC(nil) },
		"replicate":   func() { r.Intervals(0.95, &metrics.Resampling{Replicates: 2, Threads: 1}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for range b.N {
				f()
			}
		})
	}
	for name, fresh := range map[string]func() []metrics.Accumulator{
		"nothing": func() []metrics.Accumulator { return nil },
		"retention": func() []metrics.Accumulator {
			return []metrics.Accumulator{metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))}
		},
		"scores": func() []metrics.Accumulator { return []metrics.Accumulator{rank.NewScores(rank.MaxSoftmax)} },
		"cells":  func() []metrics.Accumulator { return []metrics.Accumulator{metrics.Must(cells.New(nil))} },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for range b.N {
				if err := metrics.NewPass(&metrics.Options{Threads: 1}, fresh()...).Add(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
