package tails

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// Straight returns Hall's transformation of Student's t of an estimate with this skewness, which takes the skewness of t away:
// ((1 + skew t/3)^3 - 1)/skew + skew/6. It rises with t.
//
// Source: Hall 1992, On the removal of skewness by transformation.
func Straight(t, skew float64) float64 {
	u := float64(skew*t) / 3
	return float64(t*(1+u+float64(u*u)/3)) + skew/6
}

// SkewEnds returns by how many standard errors an interval ends below and above an estimate with this skewness: each the larger one of q, a quantile
// of Student's t, and of what Straight takes to it.
func SkewEnds(q, skew float64) (below, above float64) {
	if skew == 0 {
		return q, q
	}
	return math.Max(q, bent(q, skew)), math.Max(q, -bent(-q, skew))
}

// bent is the inverse of Straight.
func bent(x, skew float64) float64 {
	y := 1 + float64(skew*(x-skew/6))
	if y == 0 {
		return -3 / skew
	}
	root := math.Copysign(kernel.Exp64(kernel.Log64(math.Abs(y))/3), y)
	return float64(3 / skew * (root - 1))
}
