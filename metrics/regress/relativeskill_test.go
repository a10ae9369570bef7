package regress

import (
	"math"
	"testing"
)

// TestRelativeSkill: figures by hand, from the definition.
func TestRelativeSkill(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	near := func(a, b float64) bool { return a == b || a != a && b != b || math.Abs(a-b) <= 1e-15*math.Abs(b) }
	for name, c := range map[string]struct {
		losses   [][]float64
		baseline int
		want     []Skill
	}{
		"two": {[][]float64{{1, 3}, {2, 14}}, 0, []Skill{{2, 0.5, 1, 1}, {2, 2, 4, 4}}},
		// Ratios of the first: 1/2 over both rows, 1/8 over the second alone; of the others 3/2 of that row.
		"missing": {[][]float64{{1, 1}, {2, 2}, {nan, 8}}, 1, []Skill{{2, math.Cbrt(1. / 2 / 8), math.Cbrt(1./2/8) / math.Cbrt(2./4), 0.5},
			{2, math.Cbrt(2. / 4), 1, 1}, {1, math.Cbrt(8. * 4), 4, 4}}},
		"no baseline": {[][]float64{{1}, {4}}, -1, []Skill{{1, 0.5, nan, nan}, {1, 2, nan, nan}}},
		"apart":       {[][]float64{{1, nan}, {nan, 4}}, 0, []Skill{{1, 1, 1, 1}, {1, 1, 1, nan}}},
		"zero":        {[][]float64{{0}, {0}, {1}}, 0, []Skill{{1, 0, nan, 1}, {1, 0, nan, nan}, {1, inf, inf, inf}}},
		"infinite":    {[][]float64{{1}, {inf}}, 0, []Skill{{1, 0, nan, 1}, {1, inf, inf, inf}}},
		"one":         {[][]float64{{5}}, 0, []Skill{{1, 1, 1, 1}}},
	} {
		got := RelativeSkill(c.losses, c.baseline)
		for i, w := range c.want {
			if g := got[i]; g.Rows != w.Rows || !near(g.Relative, w.Relative) || !near(g.Scaled, w.Scaled) || !near(g.Ratio, w.Ratio) {
				t.Errorf("%s, %d: %v, want %v", name, i, g, w)
			}
		}
	}
	defer func() {
		if recover() != errLosses {
			t.Error("forecasts of other numbers of rows are compared")
		}
	}()
	RelativeSkill([][]float64{{1}, {1, 2}}, 0)
}
