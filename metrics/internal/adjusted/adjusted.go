// Package adjusted adjusts the p-values of a family of tests for their number.
package adjusted

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts p-values in place by the method of Holm (1979): the probability of any false finding among those below a is at most a,
// whatever the tests. Those that are NaN are no tests.
func Holm(p []*float64) {
	p = rising(p)
	most := 0.0
	for k, v := range p {
		most = math.Max(most, math.Min(1, float64(*v*float64(len(p)-k))))
		*v = most
	}
}

// BenjaminiHochberg adjusts p-values in place by the method of Benjamini and Hochberg (1995): the mean share of false findings among
// those below a is at most a, of tests that are not negatively dependent. Those that are NaN are no tests.
func BenjaminiHochberg(p []*float64) {
	p = rising(p)
	least := 1.0
	for k := len(p) - 1; k >= 0; k-- {
		least = math.Min(least, float64(*p[k]*float64(len(p)))/float64(k+1))
		*p[k] = least
	}
}

// rising returns the p-values that are numbers in rising order.
func rising(p []*float64) []*float64 {
	p = slices.DeleteFunc(slices.Clone(p), func(v *float64) bool { return *v != *v })
	slices.SortStableFunc(p, func(a, b *float64) int { return cmp.Compare(*a, *b) })
	return p
}
