package predictions

import "encoding/binary"

// wholeCell returns the bits of a whole number of 1, 2, 4 or 8 bytes, 0 for cells of other sizes.
func wholeCell(cell []byte) uint64 {
	switch len(cell) {
	case 1:
		return uint64(cell[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(cell))
	case 4:
		return uint64(binary.NativeEndian.Uint32(cell))
	case 8:
		return binary.NativeEndian.Uint64(cell)
	}
	return 0
}

// codeTable finds the codes of whole numbers, which a map of their text would take ten times as long for. It is a hash table whose length is
// a power of two, at most half full.
type codeTable struct {
	of    dtype
	slots []codeSlot
	n     int
	shift uint
}

type codeSlot struct {
	bits uint64
	code int32 // plus 1; 0 for an empty slot
}

func (t *codeTable) place(bits uint64) uint64 { return bits * 0x9e3779b97f4a7c15 >> t.shift }

// find writes the codes of cells of the same size, -1 for those that are not in the table.
func (t *codeTable) find(codes []int32, cells []byte, size int) {
	if len(t.slots) == 0 {
		for i := range codes {
			codes[i] = -1
		}
		return
	}
	mask := uint64(len(t.slots) - 1)
	for i := range codes {
		var bits uint64
		switch size {
		case 4:
			bits = uint64(binary.NativeEndian.Uint32(cells[4*i:]))
		case 8:
			bits = binary.NativeEndian.Uint64(cells[8*i:])
		default:
			bits = wholeCell(cells[size*i:][:size])
		}
		at := t.place(bits)
		s := &t.slots[at&mask]
		for s.code != 0 && s.bits != bits {
			at++
			s = &t.slots[at&mask]
		}
		codes[i] = s.code - 1
	}
}

// add adds a number, unless it is in the table.
func (t *codeTable) add(bits uint64, code int32) {
	if 2*t.n >= len(t.slots) {
		was := t.slots
		size := max(256, 2*len(was))
		t.slots, t.n, t.shift = make([]codeSlot, size), 0, 64
		for s := size; s > 1; s /= 2 {
			t.shift--
		}
		for _, s := range was {
			if s.code != 0 {
				t.add(s.bits, s.code-1)
			}
		}
	}
	mask := uint64(len(t.slots) - 1)
	at := t.place(bits)
	for ; t.slots[at&mask].code != 0; at++ {
		if t.slots[at&mask].bits == bits {
			return
		}
	}
	t.slots[at&mask] = codeSlot{bits, code + 1}
	t.n++
}
