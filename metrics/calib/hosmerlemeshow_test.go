package calib_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// positiveCells returns the cells of class 1 of binary predictions.
func positiveCells(t *testing.T, p *metrics.Predictions) *cells.Cells {
	t.Helper()
	c := metrics.Must(cells.New(&cells.Options{Event: calib.Positive}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDeciles checks that groups are those between numpy's linear quantiles, with scores equal to an edge below it, whatever
// the order of rows.
func TestDeciles(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 3))
	for _, n := range []int{1, 2, 9, 10, 11, 57, 300} {
		for _, distinct := range []int{1, 3, 20, 1000} {
			p, y := make([]float64, n), make([]int32, n)
			for i := range p {
				p[i] = float64(1+r.IntN(distinct)) / float64(distinct+2)
				y[i] = int32(r.IntN(2))
			}
			c := positiveCells(t, testrows.Binary(p, y))
			sorted := slices.Clone(p)
			slices.Sort(sorted)
			for _, g := range []int{1, 2, 3, 10, 50} {
				// A score is in the group of the first edge at or above it.
				edges := make([]float64, g-1)
				for j := range edges {
					at := float64(n-1) * float64(j+1) / float64(g)
					i := int(at)
					edges[j] = sorted[i]
					if f := at - float64(i); f > 0 {
						edges[j] += f * (sorted[i+1] - sorted[i])
					}
				}
				var count, events, sum [50]float64
				for i, v := range p {
					j, _ := slices.BinarySearch(edges, v-1e-12)
					count[j]++
					events[j] += float64(y[i])
					sum[j] += v
				}
				want, groups := 0.0, 0
				for j := range g {
					if count[j] > 0 {
						m := sum[j] / count[j]
						d := events[j] - sum[j]
						want += d * d / (count[j] * m * (1 - m))
						groups++
					}
				}
				h := calib.HosmerLemeshowOf(c, &calib.HosmerLemeshowOptions{Groups: g})
				if h.Groups != groups || !(math.Abs(h.Statistic-want) <= 1e-10*(1+want)) || h.Degrees != groups {
					t.Errorf("%d rows of %d scores in %d groups: %+v, want %v of %d", n, distinct, g, h, want, groups)
				}
			}
		}
	}
}

func TestHosmerLemeshowEnds(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	weighted := testrows.Binary([]float64{0.2, 0.7}, []int32{0, 1})
	weighted.Weights = []float64{1, 1}
	for _, c := range []struct {
		name    string
		p       *metrics.Predictions
		o       calib.HosmerLemeshowOptions
		h, tail float64
		groups  int
		reason  string
	}{
		{"nothing", testrows.Binary(nil, nil), calib.HosmerLemeshowOptions{}, nan, nan, 0, "no rows"},
		{"weights", weighted, calib.HosmerLemeshowOptions{}, nan, nan, 0, "with weights"},
		{"sure and right", testrows.Binary([]float64{0, 0, 1, 1}, []int32{0, 0, 1, 1}), calib.HosmerLemeshowOptions{}, 0, nan, 0, ""},
		{"sure and wrong", testrows.Binary([]float64{0, 0, 1, 1}, []int32{0, 1, 1, 1}), calib.HosmerLemeshowOptions{Groups: 2}, inf, 0, 1, ""},
		{"one row", testrows.Binary([]float64{0.5}, []int32{1}), calib.HosmerLemeshowOptions{}, 1, 0.31731050786291415, 1, ""},
		{"one row fitted", testrows.Binary([]float64{0.5}, []int32{1}), calib.HosmerLemeshowOptions{Fitted: true}, 1, nan, 1, ""},
		{"a sure group does not count", testrows.Binary([]float64{0, 0.5, 0.5, 0.5, 0.5}, []int32{0, 1, 1, 1, 0}), calib.HosmerLemeshowOptions{Groups: 2, Even: true}, 1, 0.31731050786291415, 1, ""},
		{"near 0", testrows.Binary([]float64{1e-300, 1e-300}, []int32{0, 0}), calib.HosmerLemeshowOptions{}, 0, nan, 0, ""},
		{"near 1", testrows.Binary([]float64{1 - 0x1p-53, 1 - 0x1p-53}, []int32{1, 1}), calib.HosmerLemeshowOptions{}, 0, nan, 0, ""},
	} {
		h := calib.HosmerLemeshowOf(positiveCells(t, c.p), &c.o)
		same := func(a, b, tolerance float64) bool { return a == b || a != a && b != b || math.Abs(a-b) <= tolerance }
		if !same(h.Statistic, c.h, 1e-14) || !same(h.P, c.tail, 1e-9) || h.Groups != c.groups || !strings.HasPrefix(h.Reason, c.reason) || (c.reason == "") != (h.Reason == "") {
			t.Errorf("%s: %+v, want %v, %v of %d groups", c.name, h, c.h, c.tail, c.groups)
		}
	}
}

// TestHosmerLemeshowKeepsItsLevel checks that 5% of calibrated sets are rejected with the degrees of freedom for held-out rows.
// With two fewer, far more are rejected, so this is not the default.
func TestHosmerLemeshowKeepsItsLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const sets, n = 600, 500
	out, fitted := 0, 0
	for range sets {
		p, y := make([]float64, n), make([]int32, n)
		for i := range p {
			p[i] = 0.1 + 0.8*r.Float64()
			if r.Float64() < p[i] {
				y[i] = 1
			}
		}
		c := positiveCells(t, testrows.Binary(p, y))
		if calib.HosmerLemeshowOf(c, nil).P < 0.05 {
			out++
		}
		if calib.HosmerLemeshowOf(c, &calib.HosmerLemeshowOptions{Fitted: true}).P < 0.05 {
			fitted++
		}
	}
	if low, high := sets*0.025, sets*0.08; float64(out) < low || float64(out) > high || fitted < out+sets/40 {
		t.Errorf("of %d calibrated sets %d are rejected, %d with two degrees less", sets, out, fitted)
	}
}
