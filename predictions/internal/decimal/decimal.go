// Package decimal reads numbers from text, fast and correctly rounded.
package decimal

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
	"unsafe"
)

// Pad is how many bytes the functions may read past a number.
const Pad = 16

// tens holds the powers of ten that float64 represents exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

// digitBytes turns eight bytes into the values of digits. The lowest bit of other is the highest one of the first byte that is not a digit;
// other is 0 if all are digits.
func digitBytes(t []byte, p int) (v, other uint64) {
	v = binary.LittleEndian.Uint64(t[p:]) ^ 0x3030303030303030
	return v, (v + 0x7676767676767676 | v) & 0x8080808080808080
}

// Digits appends the digits at t[p:] to a number. It returns the number modulo 2^64 and the position after the digits.
func Digits(t []byte, p int, m uint64) (uint64, int) {
	v, other := digitBytes(t, p)
	for other == 0 {
		m, p = m*100000000+eightDecimal(v), p+8
		v, other = digitBytes(t, p)
	}
	m, n := lastDigits(m, v, other)
	return m, p + n
}

// lastDigits appends the digits in front of the first other byte to a number.
func lastDigits(m, v, other uint64) (uint64, int) {
	n := uint(bits.TrailingZeros64(other)) / 8 & 7
	return m*whole[n] + eightDecimal(v<<(64-8*n)), int(n)
}

// whole holds powers of ten.
var whole = [8]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// eightDecimal returns the number of eight digits from 0 to 9, the first in the lowest byte. It combines pairs, then fours, then all.
func eightDecimal(v uint64) uint64 {
	v = v*10 + v>>8
	const low = 0x000000FF000000FF
	return (v&low*(100+1000000<<32) + v>>16&low*(1+10000<<32)) >> 32 & math.MaxUint32
}

// Parse reads the number at t[p]. It returns the value as strconv.ParseFloat rounds it, and the position after it. ok is false if
// there is no plain decimal number, or one beyond float64. At least Pad bytes must follow the number, or the text that is no
// number, and one of the first of them must not be a digit.
func Parse(t []byte, p int) (v float64, end int, ok bool) {
	start := p
	negative := t[p] == '-'
	if negative || t[p] == '+' {
		p++
	}
	first := p
	m := uint64(t[p] - '0')
	if m <= 9 && t[p+1] == '.' {
		p++
	} else {
		m, p = Digits(t, p, 0)
	}
	count, exponent := p-first, 0
	if t[p] == '.' {
		point := p + 1
		m, p = Digits(t, point, m)
		exponent = point - p
		count -= exponent
	}
	if count == 0 {
		return 0, start, false
	}
	behind := p // position after the digits
	if t[p]|0x20 == 'e' {
		p++
		down := t[p] == '-'
		if down || t[p] == '+' {
			p++
		}
		x, from := 0, p
		for c := t[p] - '0'; c <= 9; c = t[p] - '0' {
			x, p = min(x*10+int(c), 1<<20), p+1
		}
		if p == from {
			return 0, start, false
		}
		if down {
			x = -x
		}
		exponent += x
	}
	if count > 19 {
		// Leading zeros use up no digits of m.
		for _, c := range t[first:behind] {
			if c != '0' && c != '.' {
				break
			}
			if c == '0' {
				count--
			}
		}
	}
	if count <= 19 {
		switch {
		case m == 0:
			v, ok = 0, true
		case m>>50 == 0 && -22 <= exponent && exponent <= 22:
			// Both are exact, so one operation rounds correctly. That holds up to 2^53. The lower limit keeps most numbers of 16 and 17 digits
			// on the same branch, which is then predicted.
			if v = float64(m); exponent < 0 {
				v /= tens[-exponent]
			} else {
				v *= tens[exponent]
			}
			ok = true
		default:
			v, ok = eiselLemire(m, exponent)
		}
		if ok {
			if negative {
				v = -v
			}
			return v, p, true
		}
	}
	v, err := strconv.ParseFloat(unsafe.String(&t[start], p-start), 64)
	return v, p, err == nil
}

// Fraction reads the digits at t[p], behind "0.". It returns the value as Parse does, and the position after it; p if Parse has to read the
// number.
func Fraction(t []byte, p int) (float64, int) {
	var m uint64
	n, least := 0, 0
	v, other := digitBytes(t, p)
	if other == 0 {
		m, least = eightDecimal(v), 8
		if v, other = digitBytes(t, p+8); other == 0 {
			m, least = m*100000000+eightDecimal(v), 16
			v, other = digitBytes(t, p+16)
		}
	}
	m, n = lastDigits(m, v, other)
	n += least
	if n == 0 || n > 19 || other == 0 || t[p+n]|0x20 == 'e' {
		return 0, p
	}
	if m>>50 == 0 {
		return float64(m) / tens[n], p + n
	}
	if x, ok := eiselLemire(m, -n); ok {
		return x, p + n
	}
	return 0, p
}

// mostTen bounds the decimal exponents that eiselLemire knows. Ordinary data has no others.
const mostTen = 64

// powers holds 10^e from e = -mostTen on, each as two halves of 128 bits. The highest bit is set; lower bits are truncated.
var powers [2*mostTen + 1][2]uint64

var powersOnce sync.Once

func setPowers() {
	for i := range powers {
		e := i - mostTen
		v := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(e, -e))), nil)
		if e < 0 {
			v.Div(new(big.Int).Lsh(big.NewInt(1), uint(v.BitLen()+130)), v)
		}
		if n := v.BitLen(); n < 128 {
			v.Lsh(v, uint(128-n))
		} else {
			v.Rsh(v, uint(n-128))
		}
		powers[i] = [2]uint64{new(big.Int).Rsh(v, 64).Uint64(), v.Uint64()}
	}
}

// eiselLemire returns m * 10^exponent, correctly rounded, for m > 0. ok is false if the first 128 bits of the product do not decide
// the rounding. See D. Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51 (2021).
func eiselLemire(m uint64, exponent int) (float64, bool) {
	if exponent < -mostTen || exponent > mostTen {
		return 0, false
	}
	powersOnce.Do(setPowers)
	power := &powers[exponent+mostTen]
	shift := bits.LeadingZeros64(m)
	m <<= shift
	const beyond = 1<<9 - 1 // bits of the upper half below those of a float64; one fewer if the highest bit is 0
	hi, lo := bits.Mul64(m, power[0])
	if hi&beyond == beyond && lo+m < lo {
		h, l := bits.Mul64(m, power[1])
		sum, carry := bits.Add64(lo, h, 0)
		hi += carry
		if lo = sum; hi&beyond == beyond && lo == math.MaxUint64 && l+m < l {
			return 0, false
		}
	}
	top := int(hi >> 63)
	f := hi >> (top + 9) // 54 bits; the last one decides the rounding
	if lo == 0 && hi&beyond == 0 && f&3 == 1 {
		return 0, false // perhaps a tie
	}
	f = (f + f&1) >> 1
	// floor(exponent * log2(10)) over the range of the table.
	e := exponent*217706>>16 + 63 - shift + top
	if f>>53 != 0 {
		f, e = f>>1, e+1
	}
	// Exponents of up to mostTen stay far from the limits of float64.
	return math.Float64frombits(uint64(e+1023)<<52 | f&(1<<52-1)), true
}
