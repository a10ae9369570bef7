package check

import (
	"math"
	"math/big"
)

// Same32 reports whether a and b have the same bits, or are both NaN.
func Same32(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// Same64 reports whether a and b have the same bits, or are both NaN.
func Same64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// ULP32 returns the number of float32 steps between a and b: 0 for equal values (-0 equals +0, NaN equals NaN), 1 for
// neighbours. An infinity or a NaN is math.MaxUint64 away from everything else: a result that overflowed is wrong, however
// near the limit.
func ULP32(a, b float32) uint64 {
	if a == b || a != a && b != b {
		return 0
	}
	if d := a - a + (b - b); d != 0 || d != d { // not both finite
		return math.MaxUint64
	}
	const sign = 1 << 31
	x, y := math.Float32bits(a), math.Float32bits(b)
	if (x^y)&sign != 0 {
		return uint64(x&^sign) + uint64(y&^sign)
	}
	return uint64(max(x, y) - min(x, y))
}

// ULP64 returns the number of float64 steps between a and b: 0 for equal values (-0 equals +0, NaN equals NaN), 1 for
// neighbours. An infinity or a NaN is math.MaxUint64 away from everything else: a result that overflowed is wrong, however
// near the limit.
func ULP64(a, b float64) uint64 {
	if a == b || a != a && b != b {
		return 0
	}
	if d := a - a + (b - b); d != 0 || d != d { // not both finite
		return math.MaxUint64
	}
	const sign = 1 << 63
	x, y := math.Float64bits(a), math.Float64bits(b)
	if (x^y)&sign != 0 {
		return x&^sign + y&^sign
	}
	return max(x, y) - min(x, y)
}

// ULPBig returns the error of got in units of the last place of a float64 at want, which is taken as a real number: at most
// 0.5 for a correctly rounded result. The unit is that of want's binade, at least 2^-1074 and at most 2^971. got may be an
// infinity that want rounds to or is; otherwise an infinite got or want, or a NaN, is an error of +Inf.
func ULPBig(got float64, want *big.Float) float64 {
	rounded, _ := want.Float64()
	return ulpBig(got, rounded, want, 53, -1074, 971)
}

// ULPBig32 is ULPBig in units of float32: at least 2^-149 and at most 2^104.
func ULPBig32(got float32, want *big.Float) float64 {
	rounded, _ := want.Float32()
	return ulpBig(float64(got), float64(rounded), want, 24, -149, 104)
}

// ulpBig returns |got - want| in units of 2^e, where want has prec bits from 2^e up, and e is in [low, high].
func ulpBig(got, rounded float64, want *big.Float, prec, low, high int) float64 {
	switch {
	case math.IsNaN(got):
		return math.Inf(1)
	case math.IsInf(got, 0):
		if got == rounded {
			return 0
		}
		return math.Inf(1)
	case want.IsInf():
		return math.Inf(1)
	}
	unit := low
	if want.Sign() != 0 {
		// want = m * 2^exp with m in [1/2, 1), so its leading bit is worth 2^(exp-1).
		unit = min(max(want.MantExp(nil)-prec, low), high)
	}
	// Sub rounds only once, after any cancellation, so 64 bits suffice.
	diff := new(big.Float).SetPrec(64).Sub(big.NewFloat(got), want)
	diff.SetMantExp(diff, -unit)
	err, _ := diff.Abs(diff).Float64()
	return err
}
