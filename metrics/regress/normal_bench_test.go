package regress_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
)

// BenchmarkNormal measures the accumulators alone: the columns of a block are computed before. One byte stands for one row.
func BenchmarkNormal(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 2048
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = make([]float64, 2*n), n, 2
	for i := range n {
		p.F64[2*i+1] = 0.5 + r.ExpFloat64()
		p.F64[2*i] = p.F64[2*i+1] * r.NormFloat64()
	}
	for _, c := range []struct {
		name string
		acc  metrics.Accumulator
	}{
		{"nll", metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.NLL}}))},
		{"crps", metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.CRPS}}))},
		{"sharpness", metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{regress.Sharpness}}))},
		{"all", metrics.Must(regress.NewNormal(nil))},
		{"errors", metrics.Must(regress.NewErrors(nil))},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := metrics.NewWalker(nil, 0, func(k *metrics.Block) {
				b.SetBytes(int64(k.Rows))
				for b.Loop() {
					c.acc.AddBlock(k)
				}
			})
			one := *p
			w.Add(&metrics.Chunk{Predictions: one})
		})
	}
}

// BenchmarkErrorsSamples measures samples, next to their CRPS. One byte stands for one row.
func BenchmarkErrorsSamples(b *testing.B) {
	for _, m := range []int{11, 51} {
		p := errorsForecasts(rand.New(rand.NewPCG(1, 1)), metrics.Samples, 4000, m, 0)
		narrow := *p
		narrow.F64 = nil
		for _, v := range p.F64 {
			narrow.F32 = append(narrow.F32, float32(v))
		}
		for name, p := range map[string]*metrics.Predictions{"f64": p, "f32": &narrow} {
			for _, a := range []metrics.Accumulator{metrics.Must(regress.NewErrors(nil)), metrics.Must(score.NewSampleCRPS(nil))} {
				b.Run(fmt.Sprintf("%d/%s/%T", m, name, a), func(b *testing.B) {
					b.SetBytes(int64(p.Rows))
					for b.Loop() {
						if err := metrics.NewPass(&metrics.Options{Threads: 1}, a.Empty()).Add(p); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
