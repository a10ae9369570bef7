package compact_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
)

func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec)*1e9 + float64(u.Utime.Usec)*1e3
}

func BenchmarkAdd(b *testing.B) {
	const rows = 1 << 20
	p := testrows.Random(1, rows, 1, false)
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("default", spec.Shape())
	for _, groups := range []int32{0, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			of := make([]int32, rows)
			for i := range of {
				of[i] = r.Int32N(max(1, groups))
			}
			t := compact.For(&spec).New()
			t.Grow(int(max(1, groups)))
			w := metrics.NewWalker(nil, metrics.NeedSpread, func(k *metrics.Block) {
				if groups > 0 {
					t.Add(k, k.Groups, nil)
				}
			})
			c := metrics.Chunk{Predictions: *p, Groups: of}
			add := func() {
				if !t.Waits(&c) {
					w.Add(&c)
					return
				}
				for from := 0; from < rows; from += compact.WaitRows {
					part := c.Slice(from, from+compact.WaitRows)
					t.Wait(&part, w.Add)
				}
			}
			add()
			was := cpu()
			for b.Loop() {
				add()
			}
			b.ReportMetric((cpu()-was)/float64(b.N)/rows, "cpu-ns/row")
		})
	}
}
