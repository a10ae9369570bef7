// Package check holds what tests of numeric code need: slices that stand against unreadable memory, slices at every
// alignment, values on which such code breaks, distances in units of the last place, and random inputs that are the
// same everywhere. Only tests import it.
package check

import (
	"testing"
	"unsafe"
)

// Element is a type that kernels read or write.
type Element interface {
	float32 | float64 | uint8 | uint16 | uint32 | uint64 | int32 | int64
}

// Guarded returns a slice of n zeros that ends at an inaccessible page (tail), or starts right after one (!tail). An access
// one element too far faults immediately. The bytes between the other end of the slice and the next such page are all ones,
// which is NaN in every floating-point format, so reading them shows in a result; if they were written, the test fails when
// it ends. The memory lasts until the test ends.
//
// Every suffix of a tail slice, and every prefix of the other kind, is equally well guarded. Take one slice of the greatest
// length and reslice it, since a slice costs three system calls and the system limits the number of mappings.
//
// On systems other than Linux and macOS there are no such pages: there the slice lies between 4 KiB of ones on both sides,
// which are checked when the test ends.
func Guarded[T Element](t testing.TB, n int, tail bool) []T {
	t.Helper()
	if n < 0 {
		t.Fatalf("check.Guarded: length %d", n)
	}
	var zero T
	p := region(t, n*int(unsafe.Sizeof(zero)), tail)
	return unsafe.Slice((*T)(p), n)
}

// Offset returns a slice of n zeros that starts off elements after an address divisible by 64. The elements around it have
// all bits set, which is NaN in every floating-point format.
//
//go:noinline
func Offset[T Element](n, off int) []T {
	const line = 64
	var zero T
	size := int(unsafe.Sizeof(zero))
	// One cache line to align in, and one behind the slice. Since this function is not inlined the memory escapes to the
	// heap, so it never moves.
	buf := make([]T, line/size+off+n+line/size)
	first := 0
	if over := int(uintptr(unsafe.Pointer(&buf[0])) % line); over != 0 {
		first = (line - over) / size
	}
	s := buf[first+off : first+off+n : first+off+n]
	ones(bytesOf(buf))
	clear(s)
	return s
}

// canary fills the bytes around a slice. As floating-point numbers of any width they are NaN.
const canary = 0xFF

func ones(b []byte) {
	for i := range b {
		b[i] = canary
	}
}

// intact fails the test if a byte of b, on the named side of a guarded slice, was written.
func intact(t testing.TB, side string, b []byte) {
	t.Helper()
	for i, v := range b {
		if v != canary {
			t.Errorf("check.Guarded: byte %d of the %d %s the slice was overwritten with %#02x", i, len(b), side, v)
			return
		}
	}
}

func bytesOf[T Element](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// heapRegion returns the address of size zero bytes between canaries, for systems without guard pages.
func heapRegion(t testing.TB, size int, tail bool) unsafe.Pointer {
	t.Helper()
	const line, pad = 64, 4096
	buf := make([]byte, line+pad+size+pad)
	base := uintptr(unsafe.Pointer(&buf[0]))
	start := pad
	if tail { // end divisible by 64, as at the start of a page
		start += int(-(base + pad + uintptr(size)) % line)
	} else {
		start += int(-(base + pad) % line)
	}
	front, back := buf[start-pad:start], buf[start+size:]
	ones(front)
	ones(back)
	t.Cleanup(func() {
		intact(t, "in front of", front)
		intact(t, "behind", back)
	})
	return unsafe.Pointer(&buf[start])
}
