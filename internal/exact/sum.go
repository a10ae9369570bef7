package exact

import (
	"encoding/binary"
	"fmt"
)

// Sum is the exact sum in an accumulator: an [Int], plus a [Super] from the first term on that the Int cannot take. Which
// terms these are depends only on the terms, so a Sum is the same for any order, any split and any tree of merges. Methods
// depend only on its exact value: so do Equal, IsZero and the binary form.
//
// Only AddFloat rounds terms, on entry, to 2^-88. What would exceed the range of the Int (±2^103) moves into the Super, so
// no addition can fail.
//
// A Sum takes 32 bytes, and 280 more once it has a Super; only then is anything allocated, and only once. A copy made by
// assignment shares the Super: use Clone.
type Sum struct {
	i Int
	x *Super
}

// wide returns the Super of s, which it makes if needed.
func (s *Sum) wide() *Super {
	if s.x == nil {
		s.x = new(Super)
	}
	return s.x
}

// carry adds to the Super what the Int lost when it wrapped n times. So the Int is the sum of its terms modulo 2^192 quanta,
// and the Super the rest, whatever the order of the wraps.
func (s *Sum) carry(n int) {
	switch n {
	case 1:
		s.wide().Add(0x1p104)
	case -1:
		s.wide().Add(-0x1p104)
	}
}

// AddShifted adds v·2^(shift-88): s.AddShifted(1, 88) adds one. It panics for a shift over 127.
func (s *Sum) AddShifted(v int64, shift uint) {
	if !s.i.AddShifted(v, shift) {
		s.addShiftedWide(v, shift)
	}
}

func (s *Sum) addShiftedWide(v int64, shift uint) {
	a, b, c := shifted(v, shift)
	s.carry(s.i.wrapAdd(&Int{a, b, c}))
}

// AddFloat adds v, rounded to the nearest multiple of 2^-88, ties to even, if |v| < 2^62, and exactly beyond. It panics if v
// is an infinity or NaN.
func (s *Sum) AddFloat(v float64) {
	if e := exponent(v); e >= 1023+62 || !s.i.AddFloat(v) {
		s.addFloatWide(v, e)
	}
}

func (s *Sum) addFloatWide(v float64, e int) {
	if e >= 1023+62 {
		s.AddExact(v)
		return
	}
	s.addShiftedWide(quanta(v, e))
}

// AddExact adds v exactly, whatever its size. It panics if v is an infinity or NaN. The first call allocates the Super; a
// call costs about as much as AddFloat, and more if the sum changes its sign.
func (s *Sum) AddExact(v float64) {
	if v-v != 0 {
		// Checked before a Super is made, so that a rejected term does not change the Sum.
		panic("exact: infinity or NaN in a sum")
	}
	s.wide().Add(v)
}

// Merge adds o, which may be s and is not changed. It returns false, with s unchanged, if the sum is beyond ±2^1164; that
// takes more than 2^140 terms, or a state that no evaluation wrote.
func (s *Sum) Merge(o *Sum) bool {
	if o.x != nil && !o.x.IsZero() && !s.wide().AddSuper(o.x) {
		return false
	}
	s.carry(s.i.wrapAdd(&o.i))
	return true
}

// Sub subtracts o, which may be s and is not changed: after s.Merge(o) it restores s. It returns false, with s unchanged, if
// the difference is beyond ±2^1164.
func (s *Sum) Sub(o *Sum) bool {
	if o.x != nil && !o.x.IsZero() {
		n := *o.x
		n.Neg()
		if !s.wide().AddSuper(&n) {
			return false
		}
	}
	s.carry(s.i.wrapSub(&o.i))
	return true
}

// Clone returns a Sum of the same value that shares no memory with s.
func (s *Sum) Clone() Sum {
	c := Sum{i: s.i}
	if s.x != nil {
		x := *s.x
		c.x = &x
	}
	return c
}

// total returns the value of s as one Super.
func (s *Sum) total() Super {
	var t Super
	if s.x != nil {
		t = *s.x
	}
	t.AddInt(&s.i)
	return t
}

// Float64 returns the float64 nearest to the exact value, ties to even, rounded once over both parts. It is +0 for 0, and
// ±Inf on overflow as in IEEE 754.
func (s *Sum) Float64() float64 {
	if s.x == nil {
		return s.i.Float64()
	}
	t := s.total()
	return t.Float64()
}

// IsZero reports whether the exact value is 0.
func (s *Sum) IsZero() bool {
	if s.x == nil {
		return s.i.IsZero()
	}
	t := s.total()
	return t.IsZero()
}

// Sign returns the sign of the exact value: -1, 0 or 1.
func (s *Sum) Sign() int {
	if s.x == nil {
		return s.i.Sign()
	}
	t := s.total()
	switch {
	case int64(t.w[superWords-1]) < 0:
		return -1
	case t.IsZero():
		return 0
	}
	return 1
}

// Equal reports whether s and o have the same exact value, and thus the same bytes.
func (s *Sum) Equal(o *Sum) bool {
	if s.x == nil && o.x == nil {
		return s.i == o.i
	}
	return s.total() == o.total()
}

const (
	flagNarrow = 0 // an Int follows
	flagWide   = 1 // an Int and the binary form of a Super follow
	narrowLen  = 1 + 24
)

// AppendBinary appends the binary form of s to b: the same bytes for the same exact value, however it was reached. They are
// a flag, the 24 bytes of the Int, lowest first, and, if the flag is 1, the binary form of a nonzero Super.
//
// For this form the value is divided by its bits: those from 2^-88 to 2^103 are the Int, whichever part held them, and the
// Super is what lies below and above. So a sum of exact terms whose bits are within that window takes 25 bytes.
func (s *Sum) AppendBinary(b []byte) []byte {
	if s.x == nil {
		return s.i.append(append(b, flagNarrow))
	}
	t := s.total()
	i, r := t.split()
	if r.IsZero() {
		return i.append(append(b, flagNarrow))
	}
	return r.AppendBinary(i.append(append(b, flagWide)))
}

func (x *Int) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, x.lo)
	b = binary.LittleEndian.AppendUint64(b, x.mi)
	return binary.LittleEndian.AppendUint64(b, x.hi)
}

// DecodeSum reads what [Sum.AppendBinary] wrote at the beginning of b and returns the bytes after it. It accepts exactly the
// bytes that AppendBinary writes. Input that is short, has an unknown flag, or is another form of its value is an error,
// which is [ErrShort] or [ErrDamaged] by errors.Is; rest is then b.
func DecodeSum(b []byte) (s Sum, rest []byte, err error) {
	if len(b) < narrowLen {
		return Sum{}, b, fmt.Errorf("exact: sum: %w: %d bytes expected, %d left", ErrShort, narrowLen, len(b))
	}
	i := Int{binary.LittleEndian.Uint64(b[1:]), binary.LittleEndian.Uint64(b[9:]), binary.LittleEndian.Uint64(b[17:])}
	switch b[0] {
	case flagNarrow:
		return Sum{i: i}, b[narrowLen:], nil
	case flagWide:
	default:
		return Sum{}, b, fmt.Errorf("exact: sum: %w: flag %d", ErrDamaged, b[0])
	}
	x, rest, err := decodeSuper(b[narrowLen:])
	switch {
	case err != nil:
		return Sum{}, b, err
	case x.IsZero():
		return Sum{}, b, fmt.Errorf("exact: sum: %w: a wide part of 0", ErrDamaged)
	case x.window() != Int{}:
		return Sum{}, b, fmt.Errorf("exact: sum: %w: parts overlap", ErrDamaged)
	}
	s = Sum{i: i, x: &x}
	if t := s.total(); !t.fits() {
		return Sum{}, b, fmt.Errorf("exact: sum: %w: beyond 2^1164", ErrDamaged)
	}
	return s, rest, nil
}

// Negate changes the sign of s. A Merge of the result subtracts what s was.
func (s *Sum) Negate() {
	o := *s
	*s = Sum{}
	s.Sub(&o)
}
