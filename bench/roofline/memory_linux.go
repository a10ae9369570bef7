package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"
)

// pageChoice tells whether allocate heeds the kind of pages.
const pageChoice = true

const hugePage = 2 << 20

// allocate returns zeroed memory on pages of one kind, a multiple of 64 bytes that starts at a huge page's start, and the
// function that gives it back. The Go heap cannot: it moves between kinds of pages as it sees fit.
func allocate(n int, p pages) (mem []byte, free func(), err error) {
	n = (n + 63) &^ 63
	all, err := syscall.Mmap(-1, 0, (n+hugePage-1)&^(hugePage-1)+hugePage, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("no memory for %d MiB of scores: %w", n>>20, err)
	}
	advice := syscall.MADV_HUGEPAGE
	if p == smallPages {
		advice = syscall.MADV_NOHUGEPAGE
	}
	// A kernel without huge pages refuses, and then hugeShare tells.
	_ = syscall.Madvise(all, advice)
	start := int(-uintptr(unsafe.Pointer(&all[0])) & (hugePage - 1))
	return all[start : start+n : start+n], func() { _ = syscall.Munmap(all) }, nil
}

// hugeShare returns how much of so many bytes stands on huge pages, from 0 to 1; the rest of the program has next to none.
func hugeShare(total int) float64 {
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kb int
		if rest, ok := strings.CutPrefix(s.Text(), "AnonHugePages:"); ok {
			if _, err := fmt.Sscanf(rest, "%d kB", &kb); err == nil && total > 0 {
				return min(1, float64(kb)*1024/float64(total))
			}
		}
	}
	return 0
}
