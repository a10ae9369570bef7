//go:build darwin || linux

package check

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// guardPages reports whether a Guarded slice borders memory that faults.
const guardPages = true

// region returns the address of size zero bytes that end (tail) or start (!tail) at an inaccessible page.
func region(t testing.TB, size int, tail bool) unsafe.Pointer {
	t.Helper()
	page := os.Getpagesize()
	data := max(1, (size+page-1)/page) * page
	mem, err := syscall.Mmap(-1, 0, page+data+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("check.Guarded: mmap of %d bytes: %v", page+data+page, err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Errorf("check.Guarded: munmap: %v", err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[page+data:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatalf("check.Guarded: mprotect: %v", err)
		}
	}
	start, rest, side := page, mem[page+size:page+data], "behind"
	if tail {
		start = page + data - size
		rest, side = mem[page:start], "in front of"
	}
	ones(rest)
	t.Cleanup(func() { intact(t, side, rest) }) // runs before the memory is unmapped
	return unsafe.Pointer(&mem[start])
}
