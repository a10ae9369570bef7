package cells_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// logitRows returns rows of a binary task whose logits differ but whose probabilities do not: near 0, near 1 and near 1/2.
func logitRows(r *rand.Rand, n int, narrow, weighted bool) *metrics.Predictions {
	p := &metrics.Predictions{Labels: make([]int32, n)}
	p.Rows, p.Classes, p.Kind = n, 1, metrics.Logits
	for i := range n {
		z := r.NormFloat64()
		switch r.IntN(4) {
		case 0:
			z *= 100
		case 1:
			z *= 1e-20
		case 2:
			z = float64(r.IntN(9)-4) * 20 // many equal ones, including 0
		}
		if i == 0 {
			z = math.Inf(-1)
		}
		if narrow {
			p.F32 = append(p.F32, float32(z))
		} else {
			p.F64 = append(p.F64, z)
		}
		p.Labels[i] = int32(r.IntN(2))
		if weighted {
			p.Weights = append(p.Weights, float64(1+r.IntN(3)))
		}
	}
	return p
}

func logitOf(p *metrics.Predictions, i int) float64 {
	if p.F32 != nil {
		return float64(p.F32[i])
	}
	return p.F64[i]
}

// rowsOf returns rows [from, to).
func rowsOf(p *metrics.Predictions, from, to int) *metrics.Predictions {
	q := *p
	q.Rows, q.Labels = to-from, p.Labels[from:to]
	if p.F32 != nil {
		q.F32 = p.F32[from:to]
	}
	if p.F64 != nil {
		q.F64 = p.F64[from:to]
	}
	if p.Weights != nil {
		q.Weights = p.Weights[from:to]
	}
	return &q
}

// again returns the cells after writing and reading their state.
func again(t *testing.T, c *cells.Cells) *cells.Cells {
	t.Helper()
	var d cells.Cells
	if err := d.UnmarshalBinary(state(t, c)); err != nil {
		t.Fatal(err)
	}
	return &d
}

// scaled returns the same rows with all logits multiplied by 2^by.
func scaled(p *metrics.Predictions, by int) *metrics.Predictions {
	q := *p
	q.F32, q.F64 = slices.Clone(p.F32), slices.Clone(p.F64)
	for i := range q.F32 {
		q.F32[i] = float32(math.Ldexp(float64(q.F32[i]), by))
	}
	for i := range q.F64 {
		q.F64[i] = math.Ldexp(q.F64[i], by)
	}
	return &q
}

// TestLogitRanks checks that two rows of a binary task tie in ranks only if their logits are equal, whatever the scale of the
// logits, and that answers about scores combine equal scores.
func TestLogitRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 3))
	for _, narrow := range []bool{false, true} {
		for _, weighted := range []bool{false, true} {
			p := logitRows(r, 700, narrow, weighted)
			for _, event := range []metrics.Event{metrics.Positive, metrics.TopLabel} {
				var want cells.Pairs
				distinct := map[float64]bool{}
				rank := func(i int) (z float64, hit bool) {
					z = logitOf(p, i)
					if hit = p.Labels[i] == 1; event == metrics.TopLabel {
						return math.Abs(z), hit == (z > 0)
					}
					return z, hit
				}
				for i := range p.Rows {
					zi, hi := rank(i)
					distinct[zi] = true
					w := func(i int) float64 {
						if weighted {
							return p.Weights[i]
						}
						return 1
					}
					if !hi {
						want.Rest += w(i)
						continue
					}
					want.Events += w(i)
					for j := range p.Rows {
						if zj, hj := rank(j); !hj && zj < zi {
							want.Above += w(i) * w(j)
						} else if !hj && zj == zi {
							want.Tied += w(i) * w(j)
						}
					}
				}
				o := &cells.Options{Event: event}
				for _, by := range []int{0, 3, -3, 40, -40} {
					c := of(t, scaled(p, by), o)
					if got := c.Pairs(); got != want {
						t.Errorf("narrow %v, weighted %v, event %v, times 2^%d: pairs are %v, want %v", narrow, weighted, event, by, got, want)
					}
					ranked := cells.Ranked(c)
					n, rows := 0, int64(0)
					ranked.Each(func(x *cells.Cell) { n, rows = n+1, rows+x.N })
					if n != len(distinct) || n != ranked.Count() || rows != int64(p.Rows) || ranked.Pairs() != want {
						t.Errorf("%d cells of %d rows, count %d, want %d", n, rows, ranked.Count(), len(distinct))
					}
					last, scores := -1.0, 0
					c.Each(func(x *cells.Cell) {
						if scores++; x.P < last || x.P == last && x.P < 0.5 {
							t.Errorf("%v after %v", x.P, last)
						}
						last = x.P
					})
					if scores != c.Count() || scores > n {
						t.Errorf("%d scores, count %d, of %d logits", scores, c.Count(), n)
					}
				}
				// In parts, through states, and as top label.
				whole := of(t, p, o)
				parts := of(t, rowsOf(p, 0, 300), o)
				if err := parts.Merge(again(t, of(t, rowsOf(p, 300, p.Rows), o))); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(state(t, whole), state(t, parts)) {
					t.Error("parts make another state")
				}
				if event == metrics.Positive && !weighted {
					if !bytes.Equal(state(t, whole.TopLabel()), state(t, of(t, p, &cells.Options{Event: metrics.TopLabel}))) {
						t.Error("the top label's state made of the positive class's is another")
					}
				}
				if event == metrics.Positive && weighted {
					top := whole.TopLabel().Pairs()
					if direct := of(t, p, &cells.Options{Event: metrics.TopLabel}).Pairs(); top != direct {
						t.Errorf("turned %v, direct %v", top, direct)
					}
				}
				if !weighted {
					s, err := cells.Sort(p, &cells.SortOptions{Event: event})
					if err != nil {
						t.Fatal(err)
					}
					if got := s.Pairs(); got != want || cells.Ranked(s).Pairs() != want || cells.Ranked(s).Count() != len(distinct) || s.Count() != whole.Count() {
						t.Errorf("sorted: pairs are %v, want %v", got, want)
					}
					var a, b []cells.Cell
					cells.Ranked(s).Each(func(x *cells.Cell) { a = append(a, *x) })
					cells.Ranked(whole).Each(func(x *cells.Cell) { b = append(b, *x) })
					if !slices.Equal(a, b) {
						t.Error("sorted rows have other cells")
					}
				}
			}
		}
	}
}

// TestLogProbRanks checks that log-probabilities of one event tie only if they are equal.
func TestLogProbRanks(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 1, 0}}
	p.Rows, p.Classes, p.Kind, p.F64 = 4, 1, metrics.LogProbs, []float64{-2e-20, -1e-20, -800, -900}
	if got, want := of(t, p, &cells.Options{Event: metrics.Positive}).Pairs(), (cells.Pairs{Above: 3, Events: 2, Rest: 2}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	c := of(t, p, &cells.Options{Event: metrics.Positive})
	if c.Count() != 2 {
		t.Errorf("%d scores, want 2", c.Count())
	}
	if !bytes.Equal(state(t, c.TopLabel()), state(t, of(t, p, &cells.Options{Event: metrics.TopLabel}))) {
		t.Error("the top label's state made of the positive class's is another")
	}
}

// TestLogitGrid checks that beyond the limit the grid is that of the scores, for logits added one by one and for logits from
// exact cells.
func TestLogitGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 4))
	p := logitRows(r, cells.MaxExact*5/4+9000, false, false)
	for i := range p.F64 {
		p.F64[i] += 1e-9 * float64(i)
	}
	o := &cells.Options{Event: metrics.Positive}
	whole := of(t, p, o)
	if whole.Exact() {
		t.Fatal("cells are exact")
	}
	parts := of(t, rowsOf(p, 0, 200000), o)
	parts.Count() // settles
	if err := parts.Merge(of(t, rowsOf(p, 200000, p.Rows), o)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(state(t, whole), state(t, parts)) {
		t.Error("parts make another state")
	}
	if cells.Ranked(whole) != cells.Ordered(whole) {
		t.Error("a grid has no other ranks")
	}
}
