package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// Reseal sets the checksums of a state, from the inside out, to what its bytes need, and the length of the outermost one.
func Reseal(b []byte) []byte {
	const head, tail = 14, 8
	c := slices.Clone(b)
	upper := func(v byte) bool { return 'A' <= v && v <= 'Z' }
	// A part begins behind the start of the part that holds it, so the last one is sealed first.
	for at := len(c) - head - tail; at >= 0; at-- {
		if c[at] != 'c' && c[at] != 'r' && c[at] != 's' || !upper(c[at+1]) || !upper(c[at+2]) || !upper(c[at+3]) && c[at+3] != 'q' {
			continue // no name of a part
		}
		n := binary.LittleEndian.Uint64(c[at+6:])
		if at == 0 {
			n = uint64(len(c) - head - tail)
			binary.LittleEndian.PutUint64(c[6:], n)
		}
		if n <= uint64(len(c)-at-head-tail) {
			end := at + head + int(n)
			sum := sha256.Sum256(c[at:end])
			copy(c[end:], sum[:tail])
		}
	}
	return c
}

// ResealedCells changes bits of a state whose cells are of a binary task, and sets its checksums: open must refuse what it is given or answer
// from it, and never panic. Cells of another number of classes must be refused. At least a few of the states must be read, or the test
// sees no answers.
func ResealedCells(t *testing.T, state []byte, open func(b []byte) error) {
	t.Helper()
	try := func(at int, b []byte) (err error) {
		defer func() {
			if r := recover(); r != nil {
				t.Errorf("byte %d: %v", at, r)
			}
		}()
		return open(Reseal(b))
	}
	if err := open(Reseal(state)); err != nil {
		t.Fatal(err)
	}
	read := 0
	for i := 14; i < len(state)-8 && !t.Failed(); i += 1 + len(state)/400 {
		b := bytes.Clone(state)
		b[i] ^= 1 << (i % 8)
		if try(i, b) == nil { // another number is one
			read++
		}
	}
	cells := strings.LastIndex(string(state), "cCEL") // the first may be those without rows
	for _, classes := range []byte{0, 2, 5} {
		b := bytes.Clone(state)
		b[cells+14+2] = classes
		if try(cells, b) == nil {
			t.Errorf("cells of %d classes in a binary task were read", classes)
		}
	}
	if read < 4 {
		t.Errorf("%d of the states could be read: the test does not see their answers", read)
	}
}
