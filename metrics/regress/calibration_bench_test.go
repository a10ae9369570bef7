package regress_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// BenchmarkCalibration measures the time per row of a pass, next to that of a pass without accumulators.
func BenchmarkCalibration(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 9))
	const n = 20000
	run := func(name string, p *metrics.Predictions, o *regress.CalibrationOptions) {
		for _, counts := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/counts=%v", name, counts), func(b *testing.B) {
				for b.Loop() {
					pass := metrics.NewPass(&metrics.Options{Threads: 1})
					if counts {
						pass = metrics.NewPass(&metrics.Options{Threads: 1}, metrics.Must(regress.NewCalibration(o)))
					}
					if err := pass.Add(p); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
			})
		}
	}
	for _, bins := range []int{20, 100, 10000} {
		run(fmt.Sprintf("normals/bins=%d", bins), calibrationNormals(r, n, 0, 1), &regress.CalibrationOptions{Bins: bins})
	}
	for _, q := range []int{23, 200} {
		p := calibrationNumbers(r, metrics.Quantiles, n, q, 0)
		run(fmt.Sprintf("quantiles/q=%d", q), p, &regress.CalibrationOptions{Levels: regress.Levels(q + 1)[1 : q+1]})
	}
	run("samples/m=100", calibrationNumbers(r, metrics.Samples, n, 100, 0), nil)
}
