package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// UnitMoment is what UnitMoments returns: whole numbers and the units that they count.
type UnitMoment struct {
	Hi, Lo       int64 // the sum of v is Hi*Unit + Lo*Fine
	Hi2, Lo2     int64 // the sum of v*v is Hi2*Unit2 + Lo2*Fine2
	Unit, Fine   float64
	Unit2, Fine2 float64
}

// unitBits is how many bits of a value one window takes: what is left of it, half a unit at the most, has its first bit at the next
// window's end.
const unitBits = 51

// UnitMoments returns the sums of values of which no window is known, and of their squares, products rounded to float64, without a
// further rounding: in units that go by the largest value, each sum in one of 51 bits and one of the 51 below. It returns false, and no
// sums, where a value or a square has bits beyond these, where one is not finite, and where the largest is not from 2^-400 to 2^400:
// where all values are within a factor of 2^24 of each other, or are 0, there are none. At most MaxSum values.
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
	if e < -400 || e > 400 { // NaN too
		return UnitMoment{}, false
	}
	at := func(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }
	m.Unit, m.Unit2 = at(e+1-unitBits), at(2*e+2-unitBits)
	m.Fine, m.Fine2 = at(e+1-2*unitBits), at(2*e+2-2*unitBits)
	first := Window{Magic: 0x1.8p52 * m.Unit, Fine: 0x1.8p52 * m.Fine}
	second := Window{Magic: 0x1.8p52 * m.Unit2, Fine: 0x1.8p52 * m.Fine2}
	// What float32 has needs no second window, unless it is far below the largest.
	if short(v[0]) && short(v[len(v)/2]) && short(v[len(v)-1]) && m.add(v, n, &first, &second, false) {
		return m, true
	}
	if m.add(v, n, &first, &second, true) {
		return m, true
	}
	return UnitMoment{}, false
}

func short(x float64) bool { return float64(float32(x)) == x }

// largest returns the largest magnitude, or top if that is more, and NaN if a number is not finite.
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

// add sets the sums, of n values by assembly, and tells whether nothing is left of any.
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
	if s[0]<<1 != 0 { // 0 may differ in its sign
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
