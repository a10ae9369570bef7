package binfree_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// indices returns the mean and the quantiles at 0, 50, 90 and 100%.
func indices(t *testing.T, p *metrics.Predictions, o *binfree.ICIOptions) (v [5]float64, bound float64) {
	t.Helper()
	c := binfree.ICIOf(seen(t, p), o)
	v[0], bound = c.Mean()
	for i, percent := range []int{0, 50, 90, 100} {
		v[i+1], _ = c.Quantile(percent)
	}
	return v, bound
}

// TestICI computes the index of the increasing fit row by row, with numpy's quantiles. An integer weight counts as that many
// rows.
func TestICI(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 90))
	for _, n := range []int{1, 2, 3, 10, 101, 400} {
		for _, distinct := range []int{1, 4, 1 << 20} {
			p, y := make([]float64, n), make([]int32, n)
			for i := range p {
				p[i] = (float64(r.IntN(distinct)) + 0.25) / float64(distinct)
				if r.Float64() < p[i]*p[i] {
					y[i] = 1
				}
			}
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, p[a]-p[b])) })
			var fit cells.Pool
			for at := 0; at < n; {
				b := cells.Block{Low: p[order[at]], High: p[order[at]]}
				for ; at < n && p[order[at]] == b.Low; at++ {
					b.N++
					b.Y += float64(y[order[at]])
				}
				fit.Add(b)
			}
			var off []float64
			mean := 0.0
			for _, v := range p {
				for _, b := range fit.Blocks() {
					if b.Low <= v && v <= b.High {
						off = append(off, math.Abs(v-b.Y/b.N))
						mean += off[len(off)-1] / float64(n)
					}
				}
			}
			slices.Sort(off)
			want := [5]float64{mean}
			for i, q := range []float64{0, 0.5, 0.9, 1} {
				h := q * float64(n-1)
				low := int(h)
				want[i+1] = off[low] + (h-float64(low))*(off[min(low+1, n-1)]-off[low])
			}
			got, bound := indices(t, testrows.Binary(p, y), nil)
			for i := range want {
				if !(math.Abs(got[i]-want[i]) < 1e-12) || bound != 0 {
					t.Errorf("%d rows of %d scores: %v +- %v, want %v", n, distinct, got, bound, want)
				}
			}
			// Equal weights have no effect.
			weighted := testrows.Binary(p, y)
			weighted.Weights = slices.Repeat([]float64{0.3}, n)
			same, _ := indices(t, weighted, nil)
			for i := range want {
				if !(math.Abs(same[i]-got[i]) < 1e-12) {
					t.Errorf("%d rows of %d scores: %v with weights of 0.3, %v without", n, distinct, same, got)
				}
			}
		}
	}
}

// TestICIOfWeights checks that a weight of 3 counts as three rows in the mean and in the fit, and that ranks are cumulative
// weights in units of the mean weight.
func TestICIOfWeights(t *testing.T) {
	p := testrows.Binary([]float64{0.1, 0.3, 0.6, 0.9}, []int32{0, 1, 1, 1})
	p.Weights = []float64{1, 3, 1, 1}
	// The fit is 0, 1, 1, 1, and the distances are 0.1, 0.7, 0.4 and 0.1.
	got, _ := indices(t, p, nil)
	// In order of distance the cumulative weights are 1, 2, 3, 6. Rank r is where they pass 1.5 r: 0.1, 0.1, 0.7 and 0.7 for 0
	// to 3.
	want := [5]float64{(0.1 + 3*0.7 + 0.4 + 0.1) / 6, 0.1, 0.4, 0.7, 0.7}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-15) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestLoess checks that straight lines are reproduced, that a single score has its frequency, and that the order of rows with
// the same score has no effect.
func TestLoess(t *testing.T) {
	o := &binfree.ICIOptions{Curve: binfree.LoessCurve, Delta: -1}
	if got, _ := indices(t, testrows.Binary([]float64{0.25, 0.25, 0.25, 0.25}, []int32{0, 1, 1, 1}), o); got[0] != 0.5 || got[4] != 0.5 {
		t.Errorf("one score: %v", got)
	}
	// A line joins two rows, whatever the span.
	if got, _ := indices(t, testrows.Binary([]float64{0.25, 0.75}, []int32{1, 0}), o); got[0] != 0.75 {
		t.Errorf("two rows: %v", got)
	}
	// Frequencies of 1/10, 2/10, ... are on a line.
	var p []float64
	var y []int32
	for i := range 11 {
		for k := range 10 {
			p = append(p, float64(i)/10)
			y = append(y, map[bool]int32{true: 1}[k < i])
		}
	}
	if got, _ := indices(t, testrows.Binary(p, y), o); !(got[4] < 1e-12) {
		t.Errorf("a line: %v", got)
	}
	before, _ := indices(t, testrows.Binary(p, y), &binfree.ICIOptions{Curve: binfree.LoessCurve, Span: 0.1})
	slices.Reverse(p)
	slices.Reverse(y)
	if after, _ := indices(t, testrows.Binary(p, y), &binfree.ICIOptions{Curve: binfree.LoessCurve, Span: 0.1}); after != before {
		t.Errorf("in another order: %v, %v", after, before)
	}
}

// TestICIReasons checks the reasons for which there is no index.
func TestICIReasons(t *testing.T) {
	many := func(n int) *metrics.Predictions {
		return testrows.Binary(slices.Repeat([]float64{0.5}, n), slices.Repeat([]int32{1}, n))
	}
	weighted := many(3)
	weighted.Weights = []float64{1, 1, 2}
	loess := &binfree.ICIOptions{Curve: binfree.LoessCurve}
	for _, c := range []struct {
		name   string
		p      *metrics.Predictions
		o      *binfree.ICIOptions
		reason string
	}{
		{"nothing", many(0), nil, "no rows"},
		{"10,000 rows", many(10_000), loess, ""},
		{"10,001 rows", many(10_001), loess, "a loess is for up to 10,000 rows here, and there are 10001"},
		{"10,001 rows of a rising fit", many(10_001), nil, ""},
		{"weights", weighted, loess, "loess takes no weights"},
		{"weights of a rising fit", weighted, nil, ""},
	} {
		i := binfree.ICIOf(seen(t, c.p), c.o)
		mean, _ := i.Mean()
		e90, _ := i.Quantile(90)
		if !strings.HasPrefix(i.Reason(), c.reason) || (c.reason == "") != (i.Reason() == "") || (mean != mean) != (c.reason != "") || (e90 != e90) != (c.reason != "") {
			t.Errorf("%s: %v, %v, %q", c.name, mean, e90, i.Reason())
		}
		if c.reason == "" && mean != 0.5 {
			t.Errorf("%s: %v", c.name, mean)
		}
	}
}
