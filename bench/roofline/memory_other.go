//go:build !linux

package main

import "unsafe"

// pageChoice tells whether allocate heeds the kind of pages.
const pageChoice = false

// allocate returns zeroed memory, a multiple of 64 bytes, on whatever pages the system gives.
func allocate(n int, _ pages) (mem []byte, free func(), err error) {
	words := make([]uint64, (n+63)/64*8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)), func() {}, nil
}

// hugeShare is not known here.
func hugeShare(int) float64 { return 0 }
