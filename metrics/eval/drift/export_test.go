package drift

import "slices"

var SameGap, Restricted = sameGap, restricted

// Adjusted returns adjusted p-values.
func Adjusted(p []float64, how Adjust) []float64 {
	p = slices.Clone(p)
	l := make([]*float64, len(p))
	for i := range p {
		l[i] = &p[i]
	}
	adjust(l, how)
	return p
}
