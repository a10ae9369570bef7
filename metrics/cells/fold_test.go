package cells_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// TestFold checks that scores of .3 and .7 say the same about their classes in float64 too, for cells of class 1 and of the top
// label. Scores near 0 and scores that differ are not tied.
func TestFold(t *testing.T) {
	for _, c := range []struct {
		p     []float64
		count int
	}{
		{[]float64{0.3, 0.7}, 1}, {[]float64{0.1, 0.9}, 1}, {[]float64{0.35, 0.65, 0.2, 0.8, 0.05, 0.95}, 3},
		{[]float64{1e-20, 1e-19, 1, 1 - 0x1p-53}, 4}, {[]float64{0.3, 0.3 + 0x1p-52}, 2}, {[]float64{math.Nextafter(0.5, 0), 0.5}, 1},
	} {
		for _, weighted := range []bool{false, true} {
			for _, narrow := range []bool{false, true} {
				p := &metrics.Predictions{Labels: make([]int32, len(c.p))}
				p.Rows, p.Classes = len(c.p), 1
				if p.F64 = c.p; narrow {
					if c.count > 3 || c.p[0] == c.p[1]-0x1p-52 || c.p[1] == 0.5 {
						continue // a case for float64 only
					}
					p.F64, p.F32 = nil, make([]float32, len(c.p))
					for i, v := range c.p {
						p.F32[i] = float32(v)
					}
				}
				if weighted {
					for range c.p {
						p.Weights = append(p.Weights, 2)
					}
				}
				positive, top := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive})), metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
				if err := metrics.NewPass(nil, positive, top).Add(p); err != nil {
					t.Fatal(err)
				}
				if n := top.Count(); n != c.count {
					t.Errorf("%v, weighted %v, float32 %v: %d different confidences, want %d", c.p, weighted, narrow, n, c.count)
				}
				if n := positive.TopLabel().Count(); n != c.count {
					t.Errorf("%v, weighted %v, float32 %v: %d different confidences of those of class 1, want %d", c.p, weighted, narrow, n, c.count)
				}
			}
		}
	}
}
