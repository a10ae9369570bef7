package regress

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
)

// Skill is how good a forecast is among others. Below 1 is better than these.
type Skill struct {
	Rows     int     // with a loss of this forecast
	Relative float64 // geometric mean of the ratios to all forecasts, its own, which is 1, among them
	Scaled   float64 // Relative by that of the baseline; NaN without one
	Ratio    float64 // to the baseline alone; NaN without one
}

// RelativeSkill compares forecasts by their losses, losses[f][i] of forecast f in row i, NaN where it has none. The ratio of two forecasts
// is that of their mean losses over the rows that both have:
//
//	r_ab       = sum_i losses[a][i] / sum_i losses[b][i]
//	Relative_a = (prod_b r_ab)^(1/M)
//	Scaled_a   = Relative_a / Relative_baseline
//
// over the M forecasts b for which r_ab is defined: there are common rows, and not both sums are 0. baseline is a number of a forecast, or
// below 0. Sums are exact, so the order of rows makes no difference. Losses are at least 0; forecasts have as many rows, or it panics.
//
// Cramer et al. 2022, https://doi.org/10.1073/pnas.2113561119; scoringutils::get_pairwise_comparisons.
func RelativeSkill(losses [][]float64, baseline int) []Skill {
	all := make([]Skill, len(losses))
	ratios := make([][]float64, len(losses))
	for a := range losses {
		if len(losses[a]) != len(losses[0]) {
			panic(errLosses)
		}
		ratios[a] = make([]float64, len(losses))
		ratios[a][a] = 1
		for _, v := range losses[a] {
			if v == v {
				all[a].Rows++
			}
		}
		for b := range a {
			ratios[a][b], ratios[b][a] = ratioOf(losses[a], losses[b])
		}
	}
	for a, of := range ratios {
		sum, n := 0.0, 0
		for _, r := range of {
			if r == r {
				sum += kernel.Log64(r)
				n++
			}
		}
		all[a].Relative = kernel.Exp64(sum / float64(n))
	}
	for a := range all {
		all[a].Scaled, all[a].Ratio = math.NaN(), math.NaN()
		if baseline >= 0 {
			all[a].Scaled, all[a].Ratio = all[a].Relative/all[baseline].Relative, ratios[a][baseline]
		}
	}
	return all
}

const errLosses = "regress: forecasts have other numbers of losses"

// ratioOf returns the ratio of the sums of two forecasts' losses over the rows that both have, and its inverse.
func ratioOf(a, b []float64) (ratio, inverse float64) {
	var x, y exact.Sum
	n, endless := 0, [2]bool{}
	for i, v := range a {
		w := b[i]
		if v != v || w != w {
			continue
		}
		n++
		if v > math.MaxFloat64 || w > math.MaxFloat64 {
			endless[0], endless[1] = endless[0] || v > math.MaxFloat64, endless[1] || w > math.MaxFloat64
			continue
		}
		x.AddExact(v)
		y.AddExact(w)
	}
	switch {
	case n == 0 || endless[0] && endless[1]:
		return math.NaN(), math.NaN()
	case endless[0]:
		return math.Inf(1), 0
	case endless[1]:
		return 0, math.Inf(1)
	}
	return exact.Ratio(&x, &y), exact.Ratio(&y, &x)
}
