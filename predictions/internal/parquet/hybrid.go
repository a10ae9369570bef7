package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// hybrid is a position in numbers of a fixed width that are written in runs: a run repeats one number, or has numbers packed without gaps.
// Levels and numbers of dictionary entries are encoded so. It holds no data, so that a copy of it returns to where it was.
type hybrid struct {
	pos    int // of the next run's header; of a packed run, the numbers end there
	left   int // numbers left of the run
	packed bool
	bit    int // where the next number of a packed run starts
	value  uint32
}

// mostRun is how many numbers a run may have: no page has more.
const mostRun = math.MaxInt32

var errNumbers = columns.Wrong("", "a page has fewer levels or dictionary numbers than it says")

// next starts the next run.
func (h *hybrid) next(data []byte, width int) error {
	head, n := binary.Uvarint(data[h.pos:])
	if n <= 0 {
		return errNumbers
	}
	h.pos += n
	rest := len(data) - h.pos
	if h.packed = head&1 == 1; h.packed {
		groups := head >> 1
		h.bit = h.pos * 8
		if groups > uint64(rest) && width > 0 || groups*uint64(width) > uint64(rest) {
			// The last run may be cut off behind the last number.
			h.left, h.pos = rest*8/width, len(data)
		} else {
			h.left = int(min(groups, mostRun/8)) * 8
			h.pos += h.left / 8 * width
		}
	} else {
		size := (width + 7) / 8
		if size > rest {
			return errNumbers
		}
		h.left, h.value = int(min(head>>1, mostRun)), 0
		for i := range size {
			h.value |= uint32(data[h.pos+i]) << (8 * i)
		}
		h.pos += size
		if width < 32 && h.value>>width != 0 {
			return errNumbers
		}
	}
	return nil
}

// run makes sure that numbers are left of the current run, and returns how many. A run may be empty, and each takes a byte at least.
func (h *hybrid) run(data []byte, width int) (int, error) {
	for h.left == 0 {
		if err := h.next(data, width); err != nil {
			return 0, err
		}
	}
	return h.left, nil
}

// skip passes over n numbers.
func (h *hybrid) skip(data []byte, width, n int) error {
	for n > 0 {
		k, err := h.run(data, width)
		if err != nil {
			return err
		}
		k = min(k, n)
		h.left, h.bit, n = h.left-k, h.bit+k*width, n-k
	}
	return nil
}

// read fills dst.
func read[T uint8 | uint32](h *hybrid, dst []T, data []byte, width int) error {
	for len(dst) > 0 {
		k, err := h.run(data, width)
		if err != nil {
			return err
		}
		k = min(k, len(dst))
		if h.packed {
			unpack(dst[:k], data, h.bit, width)
		} else {
			v := T(h.value)
			for i := range dst[:k] {
				dst[i] = v
			}
		}
		h.left, h.bit, dst = h.left-k, h.bit+k*width, dst[k:]
	}
	return nil
}

// unpack fills dst with packed numbers of up to 32 bits from a bit on. The data has them all.
func unpack[T uint8 | uint32](dst []T, data []byte, bit, width int) {
	mask := uint64(1)<<width - 1
	i := 0
	if levels, ok := any(dst).([]uint8); ok && width == 1 {
		i = unpackBits(levels, data, bit)
		bit += i
	}
	for ; i < len(dst) && bit>>3+8 <= len(data); i++ {
		dst[i] = T(binary.LittleEndian.Uint64(data[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		var last [8]byte
		copy(last[:], data[min(bit>>3, len(data)):])
		dst[i] = T(binary.LittleEndian.Uint64(last[:]) >> (bit & 7) & mask)
		bit += width
	}
}

// unpackBits fills as many of dst as come in eights, from a bit on, and returns how many.
func unpackBits(dst []uint8, data []byte, bit int) int {
	i := 0
	for ; i+8 <= len(dst) && bit>>3+2 <= len(data); i += 8 {
		b := uint64(binary.LittleEndian.Uint16(data[bit>>3:]) >> (bit & 7) & 0xff)
		// Each byte gets a copy of the low seven bits, of which one stands at its lowest place; the eighth has a byte of its own.
		binary.LittleEndian.PutUint64(dst[i:], b&0x7f*0x0002040810204081&0x0101010101010101|b>>7<<56)
		bit += 8
	}
	return i
}

// levels are the repetition or definition levels of a page.
type levels struct {
	data  []byte
	width int
}

// levelWidth returns how many bits levels up to most take.
func levelWidth(most int) int { return bits.Len(uint(most)) }

// fromBitPacked returns levels in the encoding that old writers used, highest bit first and without runs, as one run of today's.
func fromBitPacked(data []byte, n, width int) []byte {
	groups := (n + 7) / 8
	out := binary.AppendUvarint(nil, uint64(groups)<<1|1)
	start := len(out)
	out = append(out, make([]byte, groups*width+8)...)[:start+groups*width]
	for i := range n {
		for b := range width {
			from := i*width + width - 1 - b
			if data[from>>3]>>(7-from&7)&1 == 1 {
				to := i*width + b
				out[start+to>>3] |= 1 << (to & 7)
			}
		}
	}
	return out
}
