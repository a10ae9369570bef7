package predictions

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
	"unsafe"
)

// decimalPad is how many bytes decimal and skipCell may look at behind the line end that they stop at.
const decimalPad = 16

// tens are the powers of ten that float64 has exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

// eightDigits tells whether the bytes of v, the first the lowest, are all digits.
func eightDigits(v uint64) bool {
	// A digit's upper half is 3, and stays 3 if 6 is added.
	return v&0xF0F0F0F0F0F0F0F0|(v+0x0606060606060606)&0xF0F0F0F0F0F0F0F0>>4 == 0x3333333333333333
}

// eightDecimal returns the number that eight digits write: pairs of them, then fours, then all.
func eightDecimal(v uint64) uint64 {
	v -= 0x3030303030303030
	v = v*10 + v>>8
	const low = 0x000000FF000000FF
	return (v&low*(100+1000000<<32) + v>>16&low*(1+10000<<32)) >> 32 & math.MaxUint32
}

// digitsAt adds the digits at t[p:] to a number and returns it, modulo 2^64, with the place behind them.
func digitsAt(t []byte, p int, m uint64) (uint64, int) {
	for {
		v := binary.LittleEndian.Uint64(t[p:])
		if !eightDigits(v) {
			break
		}
		m, p = m*100000000+eightDecimal(v), p+8
	}
	for c := t[p] - '0'; c <= 9; c = t[p] - '0' {
		m, p = m*10+uint64(c), p+1
	}
	return m, p
}

// decimal reads the number that begins at t[p] and returns it, as strconv.ParseFloat rounds it, and the place behind it. It is
// not ok if there is no plain decimal number, or one beyond float64. Behind the number, or what is none, decimalPad bytes can be
// looked at, and one of the first of them is no digit.
func decimal(t []byte, p int) (v float64, end int, ok bool) {
	start := p
	negative := t[p] == '-'
	if negative || t[p] == '+' {
		p++
	}
	first := p
	m, p := digitsAt(t, p, 0)
	count, exponent := p-first, 0
	if t[p] == '.' {
		point := p + 1
		m, p = digitsAt(t, point, m)
		exponent = point - p
		count -= exponent
	}
	if count == 0 {
		return 0, start, false
	}
	behind := p // the digits
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
		// Zeros in front are no digits of m, which may still hold all the others.
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
		case m>>53 == 0 && -22 <= exponent && exponent <= 22:
			// Both are exact, so that one operation rounds correctly.
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

// mostTen is the largest exponent, and minus the smallest, of the powers that eiselLemire knows: ordinary data have no others.
const mostTen = 64

// powers are 10^e from e = -mostTen on, as the upper and lower halves of 128 bits of which the highest is set; what is beyond
// them is cut off.
var powers = sync.OnceValue(func() *[2*mostTen + 1][2]uint64 {
	t := new([2*mostTen + 1][2]uint64)
	for i := range t {
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
		t[i] = [2]uint64{new(big.Int).Rsh(v, 64).Uint64(), v.Uint64()}
	}
	return t
})

// eiselLemire returns m * 10^exponent, m not 0, correctly rounded, or not ok where the first 128 bits of the product do not tell
// which way: D. Lemire, Number Parsing at a Gigabyte per Second, Software: Practice and Experience 51 (2021).
func eiselLemire(m uint64, exponent int) (float64, bool) {
	if exponent < -mostTen || exponent > mostTen {
		return 0, false
	}
	power := &powers()[exponent+mostTen]
	shift := bits.LeadingZeros64(m)
	m <<= shift
	const beyond = 1<<9 - 1 // bits of the upper half that are below a float64's, one less where the highest bit is 0
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
	f := hi >> (top + 9) // 54 bits, the last one to round by
	if lo == 0 && hi&beyond == 0 && f&3 == 1 {
		return 0, false // maybe half way
	}
	f = (f + f&1) >> 1
	// floor(exponent * log2(10)), in the range of the table.
	e := exponent*217706>>16 + 63 - shift + top
	if f>>53 != 0 {
		f, e = f>>1, e+1
	}
	// Powers of up to 64 are far from the ends of float64's range.
	return math.Float64frombits(uint64(e+1023)<<52 | f&(1<<52-1)), true
}
