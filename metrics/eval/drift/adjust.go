package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Adjust is how p-values are adjusted for the number of tests in their family.
type Adjust uint8

const (
	// Holm bounds the probability of any false finding in a family (Holm 1979). It assumes nothing about the tests.
	Holm Adjust = iota
	// BenjaminiHochberg bounds the share of false findings among all findings of a family, of tests that are not negatively dependent
	// (Benjamini and Hochberg 1995).
	BenjaminiHochberg
)

var adjusts = []string{"holm", "bh"}

// String returns "holm" or "bh".
func (a Adjust) String() string { return adjusts[a] }

// ParseAdjust returns the Adjust of that name.
func ParseAdjust(s string) (Adjust, error) {
	if i := slices.Index(adjusts, s); i >= 0 {
		return Adjust(i), nil
	}
	return 0, fmt.Errorf("there is no adjustment %q; it is one of %s", s, strings.Join(adjusts, ", "))
}

// adjust adjusts p-values in place. Those that are NaN are no tests.
func adjust(p []*float64, how Adjust) {
	p = slices.DeleteFunc(slices.Clone(p), func(v *float64) bool { return *v != *v })
	slices.SortStableFunc(p, func(a, b *float64) int { return cmp.Compare(*a, *b) })
	n := len(p)
	if how == Holm {
		least := 0.0
		for k, v := range p {
			least = math.Max(least, math.Min(1, *v*float64(n-k)))
			*v = least
		}
		return
	}
	most := 1.0
	for k := n - 1; k >= 0; k-- {
		most = math.Min(most, *p[k]*float64(n)/float64(k+1))
		*p[k] = most
	}
}
