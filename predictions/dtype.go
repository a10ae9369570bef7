package predictions

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"
)

// hostBig reports whether this machine is big-endian.
var hostBig = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// dtype is a NumPy element type. kind is NumPy's letter (b i u f c O S U V M m), '[' for structured types, 0 for unknown ones.
type dtype struct {
	kind byte
	size int // bytes per value; 0 if unknown
	big  bool
}

// parseDType reads a descr such as "<f4" or "|b1". A descr that NumPy would not write has kind 0.
func parseDType(descr string) dtype {
	s := descr
	d := dtype{big: hostBig}
	if s != "" {
		switch s[0] {
		case '<', '|':
			d.big = false
			s = s[1:]
		case '>':
			d.big = true
			s = s[1:]
		case '=':
			s = s[1:]
		}
	}
	if s == "" {
		return dtype{}
	}
	kind, n, rest := s[0], digits(s[1:]), ""
	if n > 9 {
		return dtype{}
	}
	size := 0
	if n > 0 {
		size, _ = strconv.Atoi(s[1 : 1+n])
	}
	rest = s[1+n:]
	switch kind {
	case 'b':
		if size != 1 {
			return dtype{}
		}
	case 'i', 'u':
		if size != 1 && size != 2 && size != 4 && size != 8 {
			return dtype{}
		}
	case 'f':
		if size != 2 && size != 4 && size != 8 && size != 12 && size != 16 {
			return dtype{}
		}
	case 'c':
		if size != 8 && size != 16 && size != 24 && size != 32 {
			return dtype{}
		}
	case 'O':
		size = 0 // the file holds a pickle, whatever the size of the pointers was
	case 'S', 'V':
	case 'U':
		size *= 4
	case 'M', 'm':
		if size != 8 || rest != "" && (rest[0] != '[' || !strings.HasSuffix(rest, "]")) {
			return dtype{}
		}
		rest = ""
	default:
		return dtype{}
	}
	if rest != "" {
		return dtype{}
	}
	if size <= 1 {
		d.big = false
	}
	d.kind, d.size = kind, size
	return d
}

// String returns NumPy's name of the type.
func (d dtype) String() string {
	bits := strconv.Itoa(8 * d.size)
	switch d.kind {
	case 'b':
		return "bool"
	case 'i':
		return "int" + bits
	case 'u':
		return "uint" + bits
	case 'f':
		return "float" + bits
	case 'c':
		return "complex" + bits
	case 'O':
		return "object"
	case 'S':
		return "bytes" + bits
	case 'U':
		return "str" + bits
	case 'V':
		return "void" + bits
	case 'M':
		return "datetime64"
	case 'm':
		return "timedelta64"
	case '[':
		return "structured"
	}
	return "unknown"
}

// integer reports whether values of the type are integers or booleans.
func (d dtype) integer() bool { return d.kind == 'i' || d.kind == 'u' || d.kind == 'b' }

// swapped reports whether values have the other byte order than this machine. In text, each character has a byte order.
func (d dtype) swapped() bool { return d.size > 1 && d.kind != 'U' && d.big != hostBig }

// swapBytes reverses the bytes of each value of size 2, 4 or 8, in place. The words hold whole values, including padding.
func swapBytes(words []uint64, size int) {
	switch size {
	case 2:
		const low = 0x00FF00FF00FF00FF
		for i, w := range words {
			words[i] = w>>8&low | w&low<<8
		}
	case 4:
		for i, w := range words {
			words[i] = bits.RotateLeft64(bits.ReverseBytes64(w), 32)
		}
	case 8:
		for i, w := range words {
			words[i] = bits.ReverseBytes64(w)
		}
	}
}

// fixed lists the types that words can be viewed as.
type fixed interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// view returns the first n values of type T in words. It panics if words is too short.
func view[T fixed](words []uint64, n int) []T {
	var v T
	if n == 0 {
		return []T{}
	}
	if (n*int(unsafe.Sizeof(v))+7)/8 > len(words) {
		panic("predictions: view beyond its buffer")
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// raw returns the bytes of a slice.
func raw[T fixed](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}
