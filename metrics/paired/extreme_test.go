package paired

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/exact"
)

// TestExtremeLosses: losses near the largest float64 with the largest weights. Products that exceed the range are part of the sums, and the
// error of a mean is that of the same rows in other units.
func TestExtremeLosses(t *testing.T) {
	a, b := []float64{0x1p1000, 0, 3 * 0x1p1000, 0x1p1000, 0, 0}, []float64{0, 0x1p1000, 0x1p1000, 0, 0x1p1001, 0}
	labels, of := []int32{0, 1, 1, 0, 1, 0}, []string{"x", "y", "z", "x", "v", "w"}
	weights := []float64{1 << 32, 1 << 32, 1 << 31, 1 << 32, 1 << 30, 1 << 32}
	answers := func(unit float64, weights []float64) []float64 {
		x, y, d := make([]float64, len(a)), make([]float64, len(a)), make([]float64, len(a))
		for i := range a {
			x[i], y[i] = a[i]*unit, b[i]*unit
			d[i] = y[i] - x[i]
		}
		var c Count
		c.Add(len(a), 2, weights)
		m, k := NewMeans(true), NewClusters(1, 0, true)
		m.Add(x, y, labels, weights)
		at := make([]int32, len(of))
		for i, name := range of {
			at[i] = k.Number(name)
		}
		k.AddRows(at, weights)
		k.Add(0, at, d, weights)
		e, g := m.Error(&c), k.OfMean(0)
		m.flush()
		per := exact.Sum{}
		per.AddExact(1 << 40)
		return []float64{m.Value(&c) / unit, e.SE / unit, g.SE / unit, g.DF, exact.Ratio(&m.byLabel[0], &per) / unit, exact.Ratio(&m.byLabel[1], &per) / unit}
	}
	for _, w := range [][]float64{nil, weights} {
		small, large := answers(0x1p-1000, w), answers(1, w)
		for i, x := range small {
			if !(math.Abs(large[i]-x) <= 1e-14*math.Abs(x)) || x == 0 || x-x != 0 {
				t.Errorf("weights %v: answer %d is %g, and %g in other units", w, i, large[i], x)
			}
		}
	}
}
