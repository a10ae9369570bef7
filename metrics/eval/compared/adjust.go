package compared

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/paired"
)

// Adjust is how the pairs of a metric are adjusted for their number. Metrics are not adjusted for each other.
type Adjust uint8

const (
	// Holm adjusts p-values, and leaves intervals as they are (Holm 1979). It assumes nothing about how differences are correlated.
	Holm Adjust = iota
	// MaxT adjusts p-values and intervals by the distribution of the largest |t|: all intervals of a metric hold together at the level, and
	// one leaves out 0 where its adjusted p-value is below 1 - level. See paired.Family. With a baseline, or where a pair has no
	// error, the correlations are not known, and it is Sidak's inequality, which holds for all of them.
	MaxT
	// BH adjusts p-values so that the mean share of false findings among all is at most 1 - level, of tests that are not negatively dependent
	// (Benjamini and Hochberg 1995), and leaves intervals as they are.
	BH
)

var adjusts = []string{"holm", "max-t", "bh"}

// String returns "holm", "max-t" or "bh".
func (a Adjust) String() string { return adjusts[a] }

// ParseAdjust returns the Adjust of that name.
func ParseAdjust(s string) (Adjust, error) {
	if i := slices.Index(adjusts, s); i >= 0 {
		return Adjust(i), nil
	}
	return 0, fmt.Errorf("there is no adjustment %q; it is one of %s", s, strings.Join(adjusts, ", "))
}

// together adjusts the p-values and intervals of the pairs of a metric by the distribution of the largest |t|.
func together(l []Difference, level float64) {
	var tests []*Difference
	models := 0
	for i := range l {
		d := &l[i]
		if d.Adjusted, d.Together = math.NaN(), ""; !math.IsNaN(d.P) {
			tests = append(tests, d)
		}
		models = max(models, d.A+1, d.B+1)
	}
	if len(tests) < 2 {
		for _, d := range tests {
			d.Adjusted = d.P
		}
		return
	}
	p, one, by := familyOf(tests, models, level)
	for _, d := range tests {
		d.Adjusted, d.Interval = p(d.P), d.at(one)
		d.Together = fmt.Sprintf("simultaneous over %d pairs, by %s", len(tests), by)
	}
}

// familyOf returns, for differences of models below a number, the function that adjusts their p-values, the level of each interval at
// which all hold together, and the method.
func familyOf(tests []*Difference, models int, level float64) (p func(float64) float64, one float64, by string) {
	place := make([]int, models) // of each model that has a test, from 1
	n := 0
	df := 0.0
	for _, d := range tests {
		for _, m := range []int{d.A, d.B} {
			if place[m] == 0 {
				n++
				place[m] = n
			}
		}
		df = math.Max(df, d.Error.DF)
	}
	if len(tests) == n*(n-1)/2 && n <= MostPairs && df > 0 { // each with each
		variance := make([][]float64, n)
		for i := range variance {
			variance[i] = make([]float64, n)
		}
		var pairs [][2]int
		for _, d := range tests {
			a, b := place[d.A]-1, place[d.B]-1
			variance[a][b] = float64(d.Error.SE * d.Error.SE)
			variance[b][a] = variance[a][b]
			pairs = append(pairs, [2]int{a, b})
		}
		f := paired.NewFamily(variance, pairs, df)
		return f.P, f.Level(level), "the largest |t|"
	}
	// Pairs of equal models cannot be found to differ.
	k := 0
	for _, d := range tests {
		if d.Error.SE > 0 {
			k++
		}
	}
	k = max(k, 1)
	return func(p float64) float64 { return paired.Sidak(p, k) }, paired.SidakLevel(level, k), "Sidak's inequality"
}
