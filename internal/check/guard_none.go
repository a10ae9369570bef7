//go:build !(darwin || linux)

package check

import (
	"testing"
	"unsafe"
)

// guardPages reports whether a Guarded slice borders memory that faults.
const guardPages = false

func region(t testing.TB, size int, tail bool) unsafe.Pointer {
	t.Helper()
	return heapRegion(t, size, tail)
}
