package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/score"
)

// ensembleInput returns the logits of five members.
func ensembleInput(rows, k int) *metrics.Members {
	r := rand.New(rand.NewPCG(3, uint64(k)))
	e := &metrics.Members{Kind: metrics.Logits, Labels: make([]int32, rows), Each: make([]metrics.Scores, 5)}
	for m := range e.Each {
		s := &e.Each[m]
		s.Rows, s.Classes, s.F32 = rows, k, make([]float32, rows*k)
		for i := range s.F32 {
			s.F32[i] = float32(r.NormFloat64() * 3)
		}
	}
	for i := range e.Labels {
		e.Labels[i] = int32(r.IntN(k))
	}
	return e
}

// BenchmarkMutualInformation reads the logits of five members for all that Uncertainty has.
func BenchmarkMutualInformation(b *testing.B) {
	for _, k := range []int{2, 10, 100, 1000} {
		rows := (128 << 20) / (5 * 4 * k)
		e := ensembleInput(rows, k)
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("dtype=f32/m=5/k=%d/threads=%d", k, threads), func(b *testing.B) {
				b.SetBytes(int64(5 * 4 * rows * k))
				for b.Loop() {
					o := &ensemble.Options{Options: metrics.Options{Threads: threads}}
					if _, err := ensemble.UncertaintyOf(ensemble.InMemory(e), o); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

// BenchmarkEnsemble evaluates an ensemble and each of its members in one read.
func BenchmarkEnsemble(b *testing.B) {
	for _, k := range []int{10, 1000} {
		rows := (64 << 20) / (5 * 4 * k)
		e := ensembleInput(rows, k)
		b.Run(fmt.Sprintf("dtype=f32/m=5/k=%d", k), func(b *testing.B) {
			b.SetBytes(int64(5 * 4 * rows * k))
			for b.Loop() {
				accs := func() []metrics.Accumulator {
					return []metrics.Accumulator{metrics.Must(score.NewLoss(&score.Options{TopK: 1})), metrics.Must(calib.NewBins(nil))}
				}
				o := &ensemble.Options{Options: metrics.Options{Threads: 1}, Member: func(int) []metrics.Accumulator { return accs() }}
				mean := ensemble.Fold(ensemble.InMemory(e), o, ensemble.NewUncertainty())
				if err := metrics.NewPass(&metrics.Options{Threads: 1}, accs()...).AddSource(mean); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDiversity is what the pairs of members cost.
func BenchmarkDiversity(b *testing.B) {
	const k = 1000
	rows := (16 << 20) / (5 * 4 * k)
	e := ensembleInput(rows, k)
	for _, m := range []ensemble.Measure{ensemble.Disagreement, ensemble.AverageKL, ensemble.CosineSimilarity, ensemble.LpDistance,
		ensemble.LogitKL, ensemble.BregmanKLVariance, ensemble.VarianceBound} {
		b.Run(fmt.Sprintf("measure=%v/dtype=f32/m=5/k=%d", m, k), func(b *testing.B) {
			b.SetBytes(int64(5 * 4 * rows * k))
			for b.Loop() {
				o := &ensemble.Options{Options: metrics.Options{Threads: 1}}
				if _, err := ensemble.DiversityOf(ensemble.InMemory(e), o, &ensemble.DiversityOptions{Measures: m}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
