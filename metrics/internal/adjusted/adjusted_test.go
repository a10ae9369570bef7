package adjusted

import (
	"math"
	"slices"
	"testing"
)

// TestAdjusted: the p-values of R's p.adjust, by hand.
func TestAdjusted(t *testing.T) {
	for _, c := range []struct {
		how     func([]*float64)
		p, want []float64
	}{
		{Holm, []float64{0.0625, math.NaN(), 0.5, 0.125, 0.03125}, []float64{0.1875, math.NaN(), 0.5, 0.25, 0.125}},
		{Holm, []float64{0.25, 0.25, 0.75}, []float64{0.75, 0.75, 0.75}},
		{Holm, []float64{1, 0.75}, []float64{1, 1}},
		{BenjaminiHochberg, []float64{0.0625, math.NaN(), 0.5, 0.125, 0.03125}, []float64{0.125, math.NaN(), 0.5, 0.5 / 3, 0.125}},
		{BenjaminiHochberg, []float64{0.75, 0.5, 0.75}, []float64{0.75, 0.75, 0.75}},
		{Holm, nil, nil}, {BenjaminiHochberg, nil, nil},
	} {
		got := slices.Clone(c.p)
		var all []*float64
		for i := range got {
			all = append(all, &got[i])
		}
		c.how(all)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%v: %v, not %v", c.p, got, c.want)
		}
	}
}
