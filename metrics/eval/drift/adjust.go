package drift

import (
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/internal/adjusted"
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
	if how == Holm {
		adjusted.Holm(p)
	} else {
		adjusted.BenjaminiHochberg(p)
	}
}
