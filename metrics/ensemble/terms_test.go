package ensemble_test

import (
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/score"
)

// TestTerms checks that measures that need only the members' mean use their terms, with the same bits as if each member's
// probabilities were read.
func TestTerms(t *testing.T) {
	rows, classes := check.Size(40, 70, 150), []int{32, 33, 100, 1000, 1025}
	if testing.Short() {
		classes = []int{33, 1000}
	}
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(5)
		for _, k := range classes {
			for i, low := range []int{0, 1, 40} { // one row in so many has a class with a very low score; 0: none
				for j, s := range []settings{{}, {weighted: true}, {bad: true}, {interleaved: true}} {
					if !check.Full() && (k+i+j)%2 != 0 {
						continue // alternate
					}
					const members = 3
					e := &metrics.Members{Kind: metrics.Logits, Labels: make([]int32, rows)}
					for range members {
						e.Each = append(e.Each, metrics.Scores{Rows: rows, Classes: k, F32: check.Logits32(r, rows*k, 3)})
					}
					if s.interleaved { // one member's rows are not contiguous
						p := &e.Each[1]
						p.F32, p.Stride = check.Logits32(r, rows*(k+3), 3), k+3
					}
					for i := range rows {
						e.Labels[i] = int32(r.IntN(k))
						if s.weighted {
							e.Weights = append(e.Weights, []float64{0, 0.5, 3}[r.IntN(3)])
						}
						x := e.Each[r.IntN(members)].F32[i*k:][:k]
						switch {
						case s.bad && r.IntN(12) == 0:
							x[r.IntN(k)] = float32(math.NaN())
						case s.bad && r.IntN(12) == 0:
							e.Labels[i] = -1
						case r.IntN(7) == 0:
							x[r.IntN(k)], x[r.IntN(k)] = 15, 15
						case low > 0 && r.IntN(low) == 0:
							x[r.IntN(k)] = []float32{float32(math.Inf(-1)), -100, -80}[r.IntN(3)]
						}
					}
					get := func(each func(int) []metrics.Accumulator, beside ...ensemble.Accumulator) (states []byte, means [][]float32) {
						u, one := ensemble.NewUncertainty(), make([]float64, rows)
						o := threads(1+r.IntN(2), s.bad)
						o.Member = each
						f := ensemble.Fold(ensemble.InMemory(e), o, append(beside, u, ensemble.NewRows(one, ensemble.MutualInformation, nil))...)
						for {
							c, err := f.Next()
							if err == io.EOF {
								break
							} else if err != nil {
								t.Fatal(err)
							}
							means = append(means, c.F32)
						}
						return fmt.Appendf(state(t, u), "%x", one), means
					}
					want, means := get(nil, metrics.Must(ensemble.NewDiversity(nil)))
					for _, each := range []func(int) []metrics.Accumulator{nil,
						func(int) []metrics.Accumulator { return []metrics.Accumulator{score.NewBalanced()} }} {
						got, m := get(each)
						what := fmt.Sprintf("k = %d, low %d, %+v", k, low, s)
						sameState(t, what, got, want)
						if !slices.EqualFunc(means, m, sameBits) {
							t.Errorf("%s: the means differ", what)
						}
					}
				}
			}
		}
	})
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}
