package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// UnitMoment is the result of UnitMoments: integers and their units.
type UnitMoment struct {
	Hi, Lo       int64 // the sum of v is Hi*Unit + Lo*Fine
	Hi2, Lo2     int64 // the sum of v*v is Hi2*Unit2 + Lo2*Fine2
	Unit, Fine   float64
	Unit2, Fine2 float64
}

// unitBits is the number of bits of a value that one window takes. The remainder, at most half a unit, has its first bit at
// the end of the next window.
const unitBits = 51

// UnitMoments returns the sums of values without a known window and of their squares, which are products rounded to float64,
// without further rounding. The units depend on the largest value; each sum is divided into one of 51 bits and one of the 51
// bits below. It returns false, and no sums, if a value or a square has bits below these, if one is not finite, or if the
// largest value is not from 2^-400 to 2^400. There are no such bits if all nonzero values are within a factor of 2^24 of
// each other. At most MaxSum values are allowed.
func UnitMoments(v []float64) (m UnitMoment, ok bool) {
	if len(v) > MaxSum {
		panic(errCount)
	}
	n := 0
	if simd() {
		n = len(v) &^ (columnStep - 1)
	}
	top := 0.0
	if n > 0 {
		asm.Largest(&top, &v[0], n)
	}
	top = largest(top, v[n:])
	if top == 0 {
		return UnitMoment{}, true
	}
	e := int(math.Float64bits(top)>>52&0x7ff) - 1023
	if e < -400 || e > 400 { // or NaN
		return UnitMoment{}, false
	}
	at := func(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }
	m.Unit, m.Unit2 = at(e+1-unitBits), at(2*e+2-unitBits)
	m.Fine, m.Fine2 = at(e+1-2*unitBits), at(2*e+2-2*unitBits)
	first := Window{Magic: 0x1.8p52 * m.Unit, Fine: 0x1.8p52 * m.Fine}
	second := Window{Magic: 0x1.8p52 * m.Unit2, Fine: 0x1.8p52 * m.Fine2}
	// float32 numbers need no second window, unless they are far below the largest.
	if short(v[0]) && short(v[len(v)/2]) && short(v[len(v)-1]) && m.add(v, n, &first, &second, false) {
		return m, true
	}
	if m.add(v, n, &first, &second, true) {
		return m, true
	}
	return UnitMoment{}, false
}

func short(x float64) bool { return float64(float32(x)) == x }

// largest returns the largest magnitude, at least top, or NaN if a number is not finite.
func largest(top float64, v []float64) float64 {
	probe := 0.0
	for _, x := range v {
		probe += x - x
		if a := math.Abs(x); a > top {
			top = a
		}
	}
	return top + probe
}

// add sets the sums, computed by assembly for n values, and reports whether nothing remains of any.
func (m *UnitMoment) add(v []float64, n int, first, second *Window, fine bool) bool {
	var s [5]uint64
	switch {
	case n == 0:
	case fine:
		asm.UnitMomentsFine(&s[0], &v[0], n, &first.Magic, &second.Magic)
	default:
		asm.UnitMoments(&s[0], &v[0], n, &first.Magic, &second.Magic)
	}
	for _, x := range v[n:] {
		t := x + first.Magic
		s[1] += math.Float64bits(t)
		r, d := x, t-first.Magic
		if fine {
			r -= d
			t = r + first.Fine
			s[2] += math.Float64bits(t)
			d = t - first.Fine
		}
		s[0] |= math.Float64bits(r) ^ math.Float64bits(d)
		q := float64(x * x)
		t = q + second.Magic
		s[3] += math.Float64bits(t)
		r = q - (t - second.Magic)
		t = r + second.Fine
		s[4] += math.Float64bits(t)
		s[0] |= math.Float64bits(r) ^ math.Float64bits(t-second.Fine)
	}
	if s[0]<<1 != 0 { // 0 may have either sign
		return false
	}
	all := uint64(len(v))
	m.Hi, m.Lo = int64(s[1]-all*math.Float64bits(first.Magic)), 0
	if fine {
		m.Lo = int64(s[2] - all*math.Float64bits(first.Fine))
	}
	m.Hi2 = int64(s[3] - all*math.Float64bits(second.Magic))
	m.Lo2 = int64(s[4] - all*math.Float64bits(second.Fine))
	return true
}
