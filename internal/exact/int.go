package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// quantum is the exponent of an Int's last bit.
const quantum = -88

// Int is a multiple of 2^-88 in 192 bits, two's complement: -2^103 <= x <= 2^103 - 2^-88.
//
// 2^63 rows with scores below 2^11 reach 2^74, so no evaluation reaches the ends of the range; they are checked
// nevertheless. Every method that could exceed them returns a bool: false means that the result would not fit and that x is
// unchanged. No method allocates, except BigInt.
type Int struct{ lo, mi, hi uint64 }

// shifted returns v·2^shift in 192 bits, for shift <= 127.
func shifted(v int64, shift uint) (a, b, c uint64) {
	s := shift & 63
	// A shift by 64 - 0 fills with the sign, which is the content of the next word.
	a, b, c = uint64(v)<<s, uint64(v>>(64-s)), uint64(v>>63)
	if shift >= 64 {
		return 0, a, b
	}
	return a, b, c
}

// AddShifted adds v·2^shift quanta, which is v·2^(shift-88): x.AddShifted(1, 88) adds one. It returns false, with x
// unchanged, if the sum leaves the range. It panics for a shift over 127; no shorter shift loses a bit.
func (x *Int) AddShifted(v int64, shift uint) bool {
	if shift > 127 {
		panic("exact: shift over 127")
	}
	return x.add(shifted(v, shift))
}

// add adds the words of a number, lowest first, unless the sum leaves the range.
func (x *Int) add(a, b, c uint64) bool {
	lo, k := bits.Add64(x.lo, a, 0)
	mi, k := bits.Add64(x.mi, b, k)
	hi, _ := bits.Add64(x.hi, c, k)
	if int64((x.hi^hi)&(c^hi)) < 0 {
		return false
	}
	x.lo, x.mi, x.hi = lo, mi, hi
	return true
}

// exactField is the smallest exponent field of a v whose last bit is a quantum or more: |v| >= 2^-36.
const exactField = 1075 + quantum

// quanta returns v rounded to the nearest multiple of 2^-88, ties to even, as m·2^shift quanta, for a v whose exponent field
// e is at most 1085.
func quanta(v float64, e int) (m int64, shift uint) {
	if e < exactField {
		return roundQuanta(v, uint(exactField-e)), 0
	}
	return significand(v), uint(e - exactField)
}

// significand returns the 53 bits of a normal v as an integer, with its sign.
func significand(v float64) int64 {
	b := math.Float64bits(v)
	sign := int64(b) >> 63
	return (int64(b&(1<<52-1)|1<<52) ^ sign) - sign
}

// roundQuanta returns the significand of v divided by 2^r, rounded to nearest, ties to even, with the sign of v.
func roundQuanta(v float64, r uint) int64 {
	if r > 53 {
		// Below half a quantum, including zero and the subnormals, which have no leading bit.
		return 0
	}
	b := math.Float64bits(v)
	m := int64(b&(1<<52-1) | 1<<52)
	rest, half := m&(1<<r-1), int64(1)<<(r-1)
	m >>= r
	if rest > half || rest == half && m&1 == 1 {
		m++
	}
	if int64(b) < 0 {
		m = -m
	}
	return m
}

// exponent returns the exponent field of v.
func exponent(v float64) int { return int(math.Float64bits(v) >> 52 & 0x7ff) }

// AddFloat adds v rounded to the nearest multiple of 2^-88, ties to even; so any v that is 0 or at least 2^-36 in size is
// added exactly. It returns false, with x unchanged, if |v| >= 2^63, v is NaN, or the sum leaves the range.
func (x *Int) AddFloat(v float64) bool {
	e := exponent(v)
	if e >= 1023+63 {
		return false
	}
	if e < exactField {
		return x.AddShifted(roundQuanta(v, uint(exactField-e)), 0)
	}
	m, s := significand(v), uint(e-exactField)
	if s >= 64 {
		return x.add(shifted(m, s))
	}
	// What shifted returns, by shifts of which Go need not check that they are less than 64. A number below 2^91 cannot take x out of the range
	// unless x is near an end.
	lo, k := bits.Add64(x.lo, uint64(m)<<(s&63), 0)
	mi, k := bits.Add64(x.mi, uint64(m>>1>>(63-s&63)), k)
	hi, _ := bits.Add64(x.hi, uint64(m>>63), k)
	if int64((x.hi^hi)&(uint64(m>>63)^hi)) < 0 {
		return false
	}
	x.lo, x.mi, x.hi = lo, mi, hi
	return true
}

// wrapAdd adds y modulo 2^192 and returns the carry in units of 2^192 quanta, which is 2^104: -1, 0 or 1.
func (x *Int) wrapAdd(y *Int) int {
	lo, k := bits.Add64(x.lo, y.lo, 0)
	mi, k := bits.Add64(x.mi, y.mi, k)
	hi, _ := bits.Add64(x.hi, y.hi, k)
	over := int64((x.hi^hi)&(y.hi^hi)) < 0
	x.lo, x.mi, x.hi = lo, mi, hi
	return lost(over, hi)
}

// wrapSub subtracts y modulo 2^192 and returns the carry, like wrapAdd.
func (x *Int) wrapSub(y *Int) int {
	lo, k := bits.Sub64(x.lo, y.lo, 0)
	mi, k := bits.Sub64(x.mi, y.mi, k)
	hi, _ := bits.Sub64(x.hi, y.hi, k)
	over := int64((x.hi^y.hi)&(x.hi^hi)) < 0
	x.lo, x.mi, x.hi = lo, mi, hi
	return lost(over, hi)
}

// lost returns the sign of the overflow: a result that wrapped to negative overflowed upward.
func lost(over bool, hi uint64) int {
	switch {
	case !over:
		return 0
	case int64(hi) < 0:
		return 1
	}
	return -1
}

// Add adds y, which may be x. It returns false, with x unchanged, if the sum leaves the range.
func (x *Int) Add(y *Int) bool {
	r := *x
	if r.wrapAdd(y) != 0 {
		return false
	}
	*x = r
	return true
}

// Sub subtracts y, which may be x. It returns false, with x unchanged, if the difference leaves the range.
func (x *Int) Sub(y *Int) bool {
	r := *x
	if r.wrapSub(y) != 0 {
		return false
	}
	*x = r
	return true
}

// Neg negates x. It returns false, with x unchanged, only for -2^103, whose negative is outside the range.
func (x *Int) Neg() bool {
	var r Int
	if r.wrapSub(x) != 0 {
		return false
	}
	*x = r
	return true
}

// Abs makes x its absolute value. It returns false, with x unchanged, only for -2^103.
func (x *Int) Abs() bool { return int64(x.hi) >= 0 || x.Neg() }

// Sign returns -1, 0 or 1.
func (x *Int) Sign() int {
	switch {
	case int64(x.hi) < 0:
		return -1
	case x.IsZero():
		return 0
	}
	return 1
}

// IsZero reports whether x is 0.
func (x *Int) IsZero() bool { return x.lo|x.mi|x.hi == 0 }

// Cmp returns -1 if x < y, 0 if x = y, 1 if x > y.
func (x *Int) Cmp(y *Int) int {
	// With the sign bit flipped, the order of the unsigned words is that of the numbers.
	const sign = 1 << 63
	switch {
	case x.hi != y.hi:
		return order(x.hi^sign, y.hi^sign)
	case x.mi != y.mi:
		return order(x.mi, y.mi)
	}
	return order(x.lo, y.lo)
}

func order(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// mag returns |x| as words, lowest first, and whether x is negative.
func (x *Int) mag() ([3]uint64, bool) {
	m := [3]uint64{x.lo, x.mi, x.hi}
	neg := int64(x.hi) < 0
	if neg {
		negate(m[:]) // -2^191 maps to 2^191, which is right for an unsigned number
	}
	return m, neg
}

// Float64 returns the float64 nearest to x, ties to even. It is +0 for 0, and never subnormal or infinite.
func (x *Int) Float64() float64 {
	m, neg := x.mag()
	return round(m[:], quantum, neg)
}

// BigInt returns the number of quanta: x·2^88.
func (x *Int) BigInt() *big.Int {
	m, neg := x.mag()
	return bigInt(m[:], neg)
}
