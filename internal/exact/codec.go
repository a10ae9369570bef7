package exact

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Enc writes the fields of a payload to B, one after the other, little-endian. The zero value is ready for use; if B is not
// empty, bytes are appended to it. [Dec] reads the same fields in the same order.
type Enc struct{ B []byte }

// U8 writes one byte.
func (e *Enc) U8(v uint8) { e.B = append(e.B, v) }

// U16 writes two bytes.
func (e *Enc) U16(v uint16) { e.B = binary.LittleEndian.AppendUint16(e.B, v) }

// U32 writes four bytes.
func (e *Enc) U32(v uint32) { e.B = binary.LittleEndian.AppendUint32(e.B, v) }

// U64 writes eight bytes.
func (e *Enc) U64(v uint64) { e.B = binary.LittleEndian.AppendUint64(e.B, v) }

// Uvarint writes v in as few bytes as possible, 7 bits each.
func (e *Enc) Uvarint(v uint64) { e.B = binary.AppendUvarint(e.B, v) }

// I64 writes eight bytes, two's complement.
func (e *Enc) I64(v int64) { e.U64(uint64(v)) }

// nanBits is the only NaN in payloads, since CPUs generate different NaNs.
const nanBits = 0x7ff8 << 48

// F64 writes the eight bytes of v. -0 is preserved; every NaN becomes 0x7FF8000000000000.
func (e *Enc) F64(v float64) {
	b := math.Float64bits(v)
	if v != v {
		b = nanBits
	}
	e.U64(b)
}

// Str writes the length of v as a uint64, and its bytes.
func (e *Enc) Str(v string) {
	e.U64(uint64(len(v)))
	e.B = append(e.B, v...)
}

// Bytes writes the length of v as a uint64, and its bytes.
func (e *Enc) Bytes(v []byte) {
	e.U64(uint64(len(v)))
	e.B = append(e.B, v...)
}

// Sum writes the binary form of v.
func (e *Enc) Sum(v *Sum) { e.B = v.AppendBinary(e.B) }

// Dec reads the fields that [Enc] wrote. The first error sticks: every later read returns a zero value, so a caller can read
// all fields and then check once, by Err or Done. A length that exceeds the remaining bytes is an error.
type Dec struct {
	b   []byte
	err error
	at  int // bytes read so far
}

// NewDec returns a Dec of the payload b.
func NewDec(b []byte) *Dec { return &Dec{b: b} }

// Err returns the first error, which is [ErrShort] or [ErrDamaged] by errors.Is.
func (d *Dec) Err() error { return d.err }

// Done returns the first error, or an error if bytes are left.
func (d *Dec) Done() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%w: %d bytes left over after byte %d", ErrDamaged, len(d.b), d.at)
	}
	return d.err
}

// take returns the next n bytes, or nil with the error set.
func (d *Dec) take(n uint64) []byte {
	if d.err != nil {
		return nil
	}
	if n > uint64(len(d.b)) {
		d.err = fmt.Errorf("%w: byte %d: %d bytes expected, %d left", ErrShort, d.at, n, len(d.b))
		return nil
	}
	v := d.b[:n:n]
	d.b, d.at = d.b[n:], d.at+int(n)
	return v
}

// U8 reads one byte.
func (d *Dec) U8() uint8 {
	if v := d.take(1); v != nil {
		return v[0]
	}
	return 0
}

// U16 reads two bytes.
func (d *Dec) U16() uint16 {
	if v := d.take(2); v != nil {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

// U32 reads four bytes.
func (d *Dec) U32() uint32 {
	if v := d.take(4); v != nil {
		return binary.LittleEndian.Uint32(v)
	}
	return 0
}

// U64 reads eight bytes.
func (d *Dec) U64() uint64 {
	if v := d.take(8); v != nil {
		return binary.LittleEndian.Uint64(v)
	}
	return 0
}

// Uvarint reads what [Enc.Uvarint] wrote. An encoding in more bytes than necessary is an error.
func (d *Dec) Uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	switch {
	case n == 0:
		d.err = fmt.Errorf("%w: byte %d: a number has no end", ErrShort, d.at)
		return 0
	case n < 0 || n > 1 && d.b[n-1] == 0:
		d.err = fmt.Errorf("%w: byte %d: a number is not spelled as it is written", ErrDamaged, d.at)
		return 0
	}
	d.b, d.at = d.b[n:], d.at+n
	return v
}

// I64 reads eight bytes, two's complement.
func (d *Dec) I64() int64 { return int64(d.U64()) }

// F64 reads eight bytes. A NaN other than the one that [Enc.F64] writes is an error.
func (d *Dec) F64() float64 {
	b := d.U64()
	v := math.Float64frombits(b)
	if v != v && b != nanBits {
		d.err = fmt.Errorf("%w: byte %d: a NaN of bits %#x", ErrDamaged, d.at-8, b)
		return 0
	}
	return v
}

// Str reads a string.
func (d *Dec) Str() string { return string(d.Bytes()) }

// Bytes reads bytes with their length. The result is part of the payload, not a copy.
func (d *Dec) Bytes() []byte { return d.take(d.U64()) }

// Count reads a uint64 that gives the number of following items, each of at least size bytes (size >= 1). It is an error if
// not that many can follow, so what a caller allocates is bounded by the payload.
func (d *Dec) Count(size int) int {
	at, n := d.at, d.U64()
	if d.err == nil && n > uint64(len(d.b)/size) {
		d.err = fmt.Errorf("%w: byte %d: %d items of %d bytes or more expected, %d bytes left", ErrShort, at, n, size, len(d.b))
		return 0
	}
	return int(n)
}

// Sum reads a sum.
func (d *Dec) Sum() Sum {
	if d.err != nil {
		return Sum{}
	}
	s, rest, err := DecodeSum(d.b)
	if err != nil {
		d.err = fmt.Errorf("byte %d: %w", d.at, err)
		return Sum{}
	}
	d.at += len(d.b) - len(rest)
	d.b = rest
	return s
}
