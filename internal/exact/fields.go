package exact

import "fmt"

// Format is a kind of state. Name is that of its type, which begins every error; Magic and Version begin its bytes.
type Format struct {
	Name, Magic string
	Version     uint16
}

// Append appends a state to dst, sealed. The function lists its fields, in their order; Read calls the same one. An error of the
// list, by [Fields.Fail], leaves dst as it was.
func (f Format) Append(dst []byte, list func(*Fields)) ([]byte, error) {
	from := len(dst)
	l := Fields{enc: Enc{B: BeginSeal(dst, f.Magic, f.Version)}}
	list(&l)
	if l.err != nil {
		return dst, fmt.Errorf("%s: %w", f.Name, l.err)
	}
	return EndSeal(l.enc.B, from), nil
}

// Read reads the fields of the one state in data, which has to be of this magic and version and to be all of data. What the list
// has set is to be used only where the error is nil.
func (f Format) Read(data []byte, list func(*Fields)) error {
	d, err := OpenFields(f.Magic, f.Version, data)
	if err == nil {
		l := Fields{dec: d}
		list(&l)
		err = d.Done()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// Replace sets *v to the state that is all of data, whose fields the method lists. An error leaves *v as it was.
func Replace[T any](f Format, data []byte, v *T, list func(*T, *Fields)) error {
	var n T
	if err := f.Read(data, func(l *Fields) { list(&n, l) }); err != nil {
		return err
	}
	*v = n
	return nil
}

// OpenFields returns a reader of the fields of the one state in b, which has to be of this magic and version and to be
// all of b.
func OpenFields(magic string, version uint16, b []byte) (*Dec, error) {
	v, payload, rest, err := Open(magic, b)
	switch {
	case err != nil:
		return nil, err
	case v != version:
		return nil, fmt.Errorf("version %d, and this program reads version %d", v, version)
	case len(rest) != 0:
		return nil, fmt.Errorf("%w: %d bytes follow the state", ErrDamaged, len(rest))
	}
	return NewDec(payload), nil
}

// Fields writes the fields of a state, or reads them: one list of calls serves both ways, so that they cannot differ. Each method
// writes what its pointer points to, or sets it.
//
// While reading, the first error sticks: fields after it are set to zero values. A list that makes room by what it has read asks
// OK first.
type Fields struct {
	enc Enc
	dec *Dec  // nil while writing
	err error // of writing
}

// Reading tells whether fields are read.
func (f *Fields) Reading() bool { return f.dec != nil }

// OK tells whether there has been no error.
func (f *Fields) OK() bool { return f.err == nil && (f.dec == nil || f.dec.err == nil) }

// Fail ends the writing or reading with an error, unless there is one already.
func (f *Fields) Fail(err error) {
	switch {
	case !f.OK():
	case f.dec != nil:
		f.dec.err = err
	default:
		f.err = err
	}
}

// Must refuses what is read as damaged unless it can be so. It does nothing while writing.
func (f *Fields) Must(can bool, what string) {
	if !can && f.Reading() {
		f.Fail(fmt.Errorf("%w: %s", ErrDamaged, what))
	}
}

// OutOfRange is what Must says of most fields.
const OutOfRange = "a field is out of range"

// Byte is one byte.
func Byte[T ~uint8](f *Fields, v *T) {
	if f.Reading() {
		*v = T(f.dec.U8())
	} else {
		f.enc.U8(uint8(*v))
	}
}

// Flags is one byte, whose lowest bits are the flags, the first one lowest.
func (f *Fields) Flags(flags ...*bool) {
	b := uint8(0)
	for i, v := range flags {
		if *v {
			b |= 1 << i
		}
	}
	Byte(f, &b)
	if !f.Reading() {
		return
	}
	for i, v := range flags {
		*v = b>>i&1 != 0
	}
	f.Must(b>>len(flags) == 0, OutOfRange)
}

// U16 is two bytes.
func (f *Fields) U16(v *uint16) {
	if f.Reading() {
		*v = f.dec.U16()
	} else {
		f.enc.U16(*v)
	}
}

// Int is four bytes: a number of 0 to 2^31-1.
func (f *Fields) Int(v *int) {
	if !f.Reading() {
		f.enc.U32(uint32(*v))
		return
	}
	n := f.dec.U32()
	f.Must(n < 1<<31, OutOfRange)
	*v = int(n & (1<<31 - 1))
}

// U64 is eight bytes.
func (f *Fields) U64(v *uint64) {
	if f.Reading() {
		*v = f.dec.U64()
	} else {
		f.enc.U64(*v)
	}
}

// Uvarint is as few bytes as the number takes, 7 bits each.
func (f *Fields) Uvarint(v *uint64) {
	if f.Reading() {
		*v = f.dec.Uvarint()
	} else {
		f.enc.Uvarint(*v)
	}
}

// I64 is eight bytes, two's complement.
func (f *Fields) I64(v *int64) {
	if f.Reading() {
		*v = f.dec.I64()
	} else {
		f.enc.I64(*v)
	}
}

// N is eight bytes: a number of rows, which is not below 0.
func (f *Fields) N(v *int64) {
	f.I64(v)
	f.Must(*v >= 0, "a count is below 0")
}

// F64 is the eight bytes of a float64.
func (f *Fields) F64(v *float64) {
	if f.Reading() {
		*v = f.dec.F64()
	} else {
		f.enc.F64(*v)
	}
}

// Str is a string with its length before it, a uint64.
func (f *Fields) Str(v *string) {
	if f.Reading() {
		*v = f.dec.Str()
	} else {
		f.enc.Str(*v)
	}
}

// Bytes is bytes with their length before them, a uint64. Those read are a part of what is read, not a copy.
func (f *Fields) Bytes(v *[]byte) {
	if f.Reading() {
		*v = f.dec.Bytes()
	} else {
		f.enc.Bytes(*v)
	}
}

// Sum is a sum.
func (f *Fields) Sum(v *Sum) {
	if f.Reading() {
		*v = f.dec.Sum()
	} else {
		f.enc.Sum(v)
	}
}

// Count is a uint64 that says how many items follow, each of at least size bytes (size >= 1). Those that cannot follow are an error
// and 0: what a list makes by it is bounded by the bytes that are there.
func (f *Fields) Count(n *int, size int) {
	if f.Reading() {
		*n = f.dec.Count(size)
	} else {
		f.enc.U64(uint64(*n))
	}
}

// Slice is the number of items, a uint64, and each item, which takes at least size bytes. While reading it makes the slice, and
// ends at the first error.
func Slice[T any](f *Fields, v *[]T, size int, item func(*T)) {
	n := len(*v)
	f.Count(&n, size)
	if f.Reading() {
		*v = make([]T, n)
	}
	for i := range *v {
		if !f.OK() {
			return
		}
		item(&(*v)[i])
	}
}
