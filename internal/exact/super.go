package exact

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

const (
	superWords = 35
	superBytes = 8 * superWords
	// tiny is the exponent of a Super's last bit, which is that of the smallest subnormal.
	tiny = -1074
	// intBit is the index in a Super of the last bit of an Int.
	intBit  = quantum - tiny
	intWord = intBit / 64
	intSkew = intBit % 64
)

// Super is the exact sum of any finite float64s: a multiple of 2^-1074 in 2,240 bits, two's complement.
//
// 2^64 additions of the largest float64 reach 2^1088. Sums up to ±2^1164 can be merged and have a binary form. The words end
// at ±2^1165, 2^140 additions further, so Add and AddInt cannot fail; AddSuper, the only method that can double a value,
// reports it. No method allocates, except AppendBinary and BigInt.
//
// An addition touches two words and the run of its carry, which is long only if the sum changes its sign.
type Super struct{ w [superWords]uint64 }

// Add adds v exactly. It panics if v is an infinity or NaN; the caller must count these separately.
func (x *Super) Add(v float64) {
	b := math.Float64bits(v)
	e := uint(b >> 52 & 0x7ff)
	m := b & (1<<52 - 1)
	switch e {
	case 0x7ff:
		panic("exact: infinity or NaN in a sum")
	case 0:
		e = 1 // subnormals have the exponent of field 1 and no leading bit
	default:
		m |= 1 << 52
	}
	p := e - 1
	k, s := p>>6&31, p&63
	lo, hi := m<<s, m>>(64-s)
	if int64(b) >= 0 {
		var c uint64
		x.w[k], c = bits.Add64(x.w[k], lo, 0)
		x.w[k+1], c = bits.Add64(x.w[k+1], hi, c)
		if c != 0 {
			x.inc(k + 2)
		}
		return
	}
	var c uint64
	x.w[k], c = bits.Sub64(x.w[k], lo, 0)
	x.w[k+1], c = bits.Sub64(x.w[k+1], hi, c)
	if c != 0 {
		x.dec(k + 2)
	}
}

// inc adds one to word k, and dec subtracts one.
func (x *Super) inc(k uint) {
	for i := k; i < superWords; i++ {
		x.w[i]++
		if x.w[i] != 0 {
			return
		}
	}
}

func (x *Super) dec(k uint) {
	for i := k; i < superWords; i++ {
		x.w[i]--
		if x.w[i] != math.MaxUint64 {
			return
		}
	}
}

// fits reports whether -2^1164 <= x < 2^1164, which is if the two highest bits are equal.
func (x *Super) fits() bool {
	h := int64(x.w[superWords-1])
	return h>>63 == h>>62
}

// AddSuper adds y, which may be x. It returns false, with x unchanged, unless -2^1164 <= sum < 2^1164.
func (x *Super) AddSuper(y *Super) bool {
	var r Super
	var c uint64
	for i := range r.w {
		r.w[i], c = bits.Add64(x.w[i], y.w[i], c)
	}
	if !r.fits() {
		return false
	}
	*x = r
	return true
}

// AddInt adds y exactly.
func (x *Super) AddInt(y *Int) {
	const s = intSkew
	sign := uint64(int64(y.hi) >> 63)
	var c uint64
	x.w[intWord], c = bits.Add64(x.w[intWord], y.lo<<s, 0)
	x.w[intWord+1], c = bits.Add64(x.w[intWord+1], y.mi<<s|y.lo>>(64-s), c)
	x.w[intWord+2], c = bits.Add64(x.w[intWord+2], y.hi<<s|y.mi>>(64-s), c)
	x.w[intWord+3], c = bits.Add64(x.w[intWord+3], sign<<s|y.hi>>(64-s), c)
	// Further words of y are 0 or all ones. Ones plus a carry leave a word as it is, and pass on the carry.
	switch {
	case sign == 0 && c == 1:
		x.inc(intWord + 4)
	case sign != 0 && c == 0:
		x.dec(intWord + 4)
	}
}

// Neg negates x.
func (x *Super) Neg() { negate(x.w[:]) }

// IsZero reports whether x is 0.
func (x *Super) IsZero() bool { return x.w == [superWords]uint64{} }

// window returns the bits of x in the range of an Int as an Int; x minus it has zeros there.
func (x *Super) window() Int {
	const s = intSkew
	return Int{
		x.w[intWord]>>s | x.w[intWord+1]<<(64-s),
		x.w[intWord+1]>>s | x.w[intWord+2]<<(64-s),
		x.w[intWord+2]>>s | x.w[intWord+3]<<(64-s),
	}
}

// split returns an Int and a rest with sum x that depend only on x. The Int is all of x if x is a multiple of 2^-88 within
// the range of an Int.
func (x *Super) split() (Int, Super) {
	i, r := x.window(), *x
	r.AddInt(&Int{^i.lo, ^i.mi, ^i.hi}) // -i - 1 quantum, which always exists
	r.AddInt(&Int{1, 0, 0})
	return i, r
}

// mag returns |x| as words, lowest first, and whether x is negative.
func (x *Super) mag() ([superWords]uint64, bool) {
	m := x.w
	neg := int64(m[superWords-1]) < 0
	if neg {
		negate(m[:])
	}
	return m, neg
}

// Float64 returns the float64 nearest to x, ties to even: +0 for 0, exact for subnormals, and ±Inf from 2^1024-2^970 on, as
// IEEE 754 rounds.
func (x *Super) Float64() float64 {
	m, neg := x.mag()
	return round(m[:], tiny, neg)
}

// BigInt returns the number of quanta: x·2^1074.
func (x *Super) BigInt() *big.Int {
	m, neg := x.mag()
	return bigInt(m[:], neg)
}

// AppendBinary appends the binary form of x to b: the same bytes for the same value, however it was reached. They are the
// number of zero bytes below, the number of bytes kept (uint16 each, little-endian), and the bytes of the two's complement,
// lowest first, without zeros below and without copies of the sign above. For 0 both numbers are 0.
func (x *Super) AppendBinary(b []byte) []byte {
	var raw [superBytes]byte
	for i, w := range x.w {
		binary.LittleEndian.PutUint64(raw[8*i:], w)
	}
	lo, hi := 0, superBytes
	for lo < hi && raw[lo] == 0 {
		lo++
	}
	if lo == hi {
		lo, hi = 0, 0
	}
	for hi-lo > 1 && isSignCopy(raw[hi-1], raw[hi-2]) {
		hi--
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(lo))
	b = binary.LittleEndian.AppendUint16(b, uint16(hi-lo))
	return append(b, raw[lo:hi]...)
}

// isSignCopy reports whether the byte hi only repeats the sign of the byte below it.
func isSignCopy(hi, below byte) bool { return hi == byte(int8(below)>>7) }

// DecodeSuper reads what [Super.AppendBinary] wrote at the beginning of b and returns the bytes after it. Input that is
// short, beyond ±2^1164, or not the canonical form of its value is an error.
func DecodeSuper(b []byte) (x Super, rest []byte, err error) {
	x, rest, err = decodeSuper(b)
	if err == nil && !x.fits() {
		return Super{}, b, fmt.Errorf("exact: wide sum: %w: beyond 2^1164", ErrDamaged)
	}
	return x, rest, err
}

// decodeSuper is DecodeSuper for the whole range of the words. The wide part of a Sum needs it: that is 2^1164 if the value
// is slightly below and the narrow part negative.
func decodeSuper(b []byte) (x Super, rest []byte, err error) {
	if len(b) < 4 {
		return Super{}, b, fmt.Errorf("exact: wide sum: %w: 4 bytes expected, %d left", ErrShort, len(b))
	}
	lo, n := int(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
	if lo+n > superBytes {
		return Super{}, b, fmt.Errorf("exact: wide sum: %w: bytes %d to %d of %d", ErrDamaged, lo, lo+n, superBytes)
	}
	if n > len(b)-4 {
		return Super{}, b, fmt.Errorf("exact: wide sum: %w: %d bytes expected, %d left", ErrShort, n, len(b)-4)
	}
	kept, rest := b[4:4+n], b[4+n:]
	switch {
	case n == 0 && lo == 0:
		return Super{}, rest, nil
	case n == 0 || kept[0] == 0 || n > 1 && isSignCopy(kept[n-1], kept[n-2]):
		return Super{}, b, fmt.Errorf("exact: wide sum: %w: not in its shortest form", ErrDamaged)
	}
	var raw [superBytes]byte
	copy(raw[lo:], kept)
	for i := lo + n; i < superBytes; i++ {
		raw[i] = byte(int8(kept[n-1]) >> 7)
	}
	for i := range x.w {
		x.w[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return x, rest, nil
}
