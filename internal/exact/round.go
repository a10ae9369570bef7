package exact

import (
	"math"
	"math/big"
	"math/bits"
)

// round returns the float64 nearest to ±mag·2^exp, ties to even, where mag is a little-endian magnitude: +0 for an empty or
// zero mag, ±Inf from 2^1024-2^970 on. exp is at least -1074, so no bit of mag lies below the last one of a subnormal.
func round(mag []uint64, exp int, neg bool) float64 {
	n := len(mag)
	for n > 0 && mag[n-1] == 0 {
		n--
	}
	if n == 0 {
		return 0
	}
	top := 64*(n-1) + bits.Len64(mag[n-1]) - 1
	var b uint64
	if top+exp > 1023 {
		b = 0x7ff << 52
	} else {
		// last is the index in mag of the result's last bit. It is negative if mag is shorter than 53 bits.
		last := max(top-52, -1074-exp)
		var m uint64
		if last <= 0 {
			m = mag[0] << uint(-last)
		} else {
			k, s := last>>6, uint(last&63)
			m = mag[k] >> s
			if k+1 < n {
				m |= mag[k+1] << (64 - s)
			}
			if bit(mag, last-1) && (m&1 == 1 || anyBelow(mag, last-1)) {
				m++
			}
		}
		// m still has its leading bit, which adds one to the exponent field; a subnormal has none and gets field 0. A carry
		// out of m moves into the exponent, and from the largest exponent to infinity, as required.
		b = uint64(last+exp+1074)<<52 + m
	}
	if neg {
		b |= 1 << 63
	}
	return math.Float64frombits(b)
}

// bit reports whether bit i of mag is set.
func bit(mag []uint64, i int) bool { return mag[i>>6]>>uint(i&63)&1 == 1 }

// anyBelow reports whether any of the bits 0..i-1 of mag is set.
func anyBelow(mag []uint64, i int) bool {
	k := i >> 6
	for _, w := range mag[:k] {
		if w != 0 {
			return true
		}
	}
	return mag[k]&(1<<uint(i&63)-1) != 0
}

// bigInt returns ±mag for a little-endian mag.
func bigInt(mag []uint64, neg bool) *big.Int {
	b := make([]byte, 8*len(mag))
	for i, w := range mag {
		for j := range 8 {
			b[len(b)-1-8*i-j] = byte(w >> (8 * j))
		}
	}
	z := new(big.Int).SetBytes(b)
	if neg {
		z.Neg(z)
	}
	return z
}

// negate replaces the two's complement number w by -w modulo its length.
func negate(w []uint64) {
	c := uint64(1)
	for i := range w {
		w[i], c = bits.Add64(^w[i], 0, c)
	}
}
