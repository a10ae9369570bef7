package grouped_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// BenchmarkGroups: all rows alone, and in up to 100,000 groups whose rows are in random order.
func BenchmarkGroups(b *testing.B) {
	for _, classes := range []int{1, 10} {
		const rows = 1 << 20
		p := testrows.Random(1, rows, classes, false)
		spec := eval.Spec{Classes: classes}
		spec.Metrics, _ = eval.ParseMetrics("default", spec.Shape())
		r := rand.New(rand.NewPCG(1, 2))
		of := make([]int32, rows)
		one := &metrics.Options{Threads: 1}
		for _, groups := range []int{0, 100, 10_000, 100_000} {
			for i := range of {
				of[i] = r.Int32N(int32(max(1, groups)))
			}
			b.Run(fmt.Sprintf("classes=%d/groups=%d", classes, groups), func(b *testing.B) {
				for b.Loop() {
					e, err := eval.New(spec)
					if err != nil {
						b.Fatal(err)
					}
					if groups == 0 {
						for range 10 {
							if err := e.AddSource(&source{p: p, size: 1 << 19, group: func(i int) int32 { return of[i] }}, one); err != nil {
								b.Fatal(err)
							}
						}
						continue
					}
					g, err := grouped.New(spec, []string{"g"})
					if err != nil {
						b.Fatal(err)
					}
					if err := g.AddSource(&repeated{source{p: p, size: 1 << 19, group: func(i int) int32 { return of[i] }}, 9},
						func(g int32) []string { return []string{strconv.Itoa(int(g))} }, one); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(10*rows), "ns/row")
			})
		}
	}
}

// repeated yields its rows several times.
type repeated struct {
	source
	more int
}

func (r *repeated) Next() (*metrics.Chunk, error) {
	if r.at >= r.p.Rows && r.more > 0 {
		r.at = 0
		r.more--
	}
	return r.source.Next()
}
