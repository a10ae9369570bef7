package tally

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
)

// Passes reports whether sum > total*r/n, exactly; mean is total/n, rounded.
func Passes(sum, total *exact.Sum, r, n int, mean float64) bool {
	s, t := sum.Float64(), float64(mean*float64(r))
	if math.Abs(s-t) > 1e-9*t {
		return s > t
	}
	a, b := Count(int64(n)), Count(int64(r))
	left, right := exact.Rat(sum), exact.Rat(total)
	return left.Mul(left, exact.Rat(&a)).Cmp(right.Mul(right, exact.Rat(&b))) > 0
}
