package paired_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// TestGaps compares with sums over rows, and the intervals with what they are to hold.
func TestGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	const rows, bins = 600, 5
	held, all := 0, 0
	for run := range check.Size(60, 300, 1000) {
		a, b := &metrics.Predictions{Labels: make([]int32, rows)}, &metrics.Predictions{}
		for _, p := range []*metrics.Predictions{a, b} {
			p.F64, p.Rows, p.Classes = make([]float64, rows), rows, 1
		}
		b.Labels = a.Labels
		for i := range rows {
			p := r.Float64()
			if r.Float64() < p {
				a.Labels[i] = 1
			}
			// Both are off by as much in each bin, so that the true difference is 0.
			a.F64[i] = math.Min(0.999, p+0.05*r.Float64())
			b.F64[i] = math.Min(0.999, p+0.05*r.Float64())
		}
		m, err := eval.ParseMetrics("auroc,ece(bins=5)", eval.Shape{Classes: 1})
		if err != nil {
			t.Fatal(err)
		}
		spec := eval.Spec{Classes: 1, Metrics: m}
		spec.Base.Bins = bins
		c := metrics.Must(compared.New(spec, []string{"a", "b"}, ""))
		if err := c.AddSources([]metrics.Source{metrics.InMemory(a), metrics.InMemory(b)}, nil); err != nil {
			t.Fatal(err)
		}
		l := c.Gaps(0)
		if len(l) != bins {
			t.Fatal(len(l), "bins")
		}
		for k, g := range l {
			var sum, n [2]float64
			for i := range rows {
				for m, p := range []float64{a.F64[i], b.F64[i]} {
					if int(p*bins) == k {
						sum[m] += float64(a.Labels[i]) - p
						n[m]++
					}
				}
			}
			if run == 0 && (math.Abs(g.A-sum[0]/n[0]) > 1e-12 || math.Abs(g.B-sum[1]/n[1]) > 1e-12 || g.RowsA != n[0] || g.RowsB != n[1] || g.Lower != float64(k)/bins) {
				t.Errorf("bin %d: %+v, want %v %v", k, g, sum[0]/n[0], sum[1]/n[1])
			}
			if i := g.Error.Interval(g.B-g.A, 0, 0.95); i.Low == i.Low {
				all++
				if i.Low <= 0 && 0 <= i.High {
					held++
				}
			}
		}
	}
	if share := float64(held) / float64(all); share < 0.9 || share > 0.985 {
		t.Errorf("%v of %d intervals hold the difference", share, all)
	}
}
