package predictions

import (
	"cmp"
	"slices"
	"strings"
)

// NaturalSort sorts paths in place and compares runs of digits as numbers: part2.npy comes before part10.npy.
//
// Everything else is compared byte by byte. Paths that differ only in leading zeros are compared as strings, so the order is total.
func NaturalSort(paths []string) {
	slices.SortFunc(paths, natural)
}

func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			// Numbers have any length. Without leading zeros, the longer is larger, and equal lengths compare as text.
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		if c := cmp.Compare(x[0], y[0]); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits returns the length of the run of digits at the start of s.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}
