//go:build unix

package bench

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// BenchmarkRatio: what a comparison of two models and what many groups cost beside the evaluation of one model without groups, all of the
// default metrics. All take turns on one thread, and of each the least processor time of the rounds counts: so others on the machine hardly
// change what it says. The goals are 2.2 for compare, and 3 for 100,000 groups of ten million rows.
func BenchmarkRatio(b *testing.B) {
	rounds, sizes := 9, []int{1_000_000, 10_000_000}
	if testing.Short() {
		rounds, sizes = 1, []int{10_000} // it runs
	}
	one := &metrics.Options{Threads: 1}
	for _, k := range []int{1, 10} {
		for _, rows := range sizes {
			spec := eval.Spec{Classes: k, Kind: metrics.Logits}
			var err error
			if spec.Metrics, err = eval.ParseMetrics("default", spec.Shape()); err != nil {
				b.Fatal(err)
			}
			sets := [2]*metrics.Predictions{comparedSet(rows, k, 0), comparedSet(rows, k, 0.5)}
			r, of := check.Rand(31), make([]int32, rows)
			evaluate := func() error {
				e, err := eval.New(spec)
				if err != nil {
					return err
				}
				return e.AddSource(&inGroups{p: sets[0]}, one)
			}
			compare := func() error {
				c, err := compared.New(spec, []string{"a", "b"}, "")
				if err != nil {
					return err
				}
				return c.AddSources([]metrics.Source{&inGroups{p: sets[0]}, &inGroups{p: sets[1]}}, one)
			}
			group := func() error {
				g, err := grouped.New(spec, []string{"g"})
				if err != nil {
					return err
				}
				return g.AddSource(&inGroups{p: sets[0], of: of}, func(i int32) []string { return []string{strconv.Itoa(int(i))} }, one)
			}
			run := func(name string, do func() error) {
				b.Run(fmt.Sprintf("k=%d/rows=%.0e/of=%s", k, float64(rows), name), func(b *testing.B) {
					least := [2]float64{math.Inf(1), math.Inf(1)}
					for b.Loop() {
						for range rounds {
							for i, f := range []func() error{evaluate, do} {
								start := processorTime()
								if err := f(); err != nil {
									b.Fatal(err)
								}
								least[i] = min(least[i], processorTime()-start)
							}
						}
					}
					b.ReportMetric(0, "ns/op") // of all together
					b.ReportMetric(least[0]/float64(rows), "eval-ns/row")
					b.ReportMetric(least[1]/float64(rows), name+"-ns/row")
					b.ReportMetric(least[1]/least[0], name+"/eval")
				})
			}
			run("compare", compare)
			for i := range of {
				of[i] = r.Int32N(grouped.Most)
			}
			run("groups", group)
		}
	}
}

// inGroups is a source of rows in memory, by about a million logits, with groups if there are any.
type inGroups struct {
	p  *metrics.Predictions
	of []int32
	at int
}

func (s *inGroups) Next() (*metrics.Chunk, error) {
	if s.at == s.p.Rows {
		return nil, io.EOF
	}
	n := min(s.p.Rows-s.at, (1<<20)/s.p.Classes)
	c := &metrics.Chunk{Predictions: *s.p, First: int64(s.at)}
	c.Rows, c.F32, c.Labels = n, s.p.F32[s.at*s.p.Classes:(s.at+n)*s.p.Classes], s.p.Labels[s.at:s.at+n]
	if s.of != nil {
		c.Groups = s.of[s.at : s.at+n]
	}
	s.at += n
	return c, nil
}
