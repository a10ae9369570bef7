package parquet

import (
	"encoding/binary"
	"math"

	"github.com/candor-go/candor/predictions/internal/columns"
)

var errDelta = columns.Wrong("", "a page of the encoding DELTA_BINARY_PACKED is damaged")

// deltas decodes a DELTA_BINARY_PACKED sequence at the start of data into room for it, which make returns, and returns how many bytes it
// took. At most most values are expected.
func deltas(data []byte, most int, room func(n int) ([]int64, error)) (values []int64, used int, err error) {
	t := &thrift{b: data}
	if len(data) == 0 {
		return nil, 0, nil // a page without values may have nothing at all
	}
	var head [3]uint64 // block size, miniblocks of a block, values
	for i := range head {
		if head[i], err = t.uvarint(); err != nil {
			return nil, 0, errDelta
		}
	}
	first, err := t.int()
	if err == nil && head[2] == 0 {
		return nil, t.pos, nil
	}
	if err != nil || head[0] == 0 || head[0] > math.MaxInt32 || head[1] == 0 || head[0]%head[1] != 0 || head[2] > uint64(most) {
		return nil, 0, errDelta
	}
	minis, per, n := int(head[1]), int(head[0]/head[1]), int(head[2])
	if per%8 != 0 {
		return nil, 0, errDelta
	}
	if values, err = room(n); err != nil {
		return nil, 0, err
	}
	values[0] = first
	last, at := first, 1
	for at < n {
		least, err := t.int()
		if err != nil || minis > len(data)-t.pos {
			return nil, 0, errDelta
		}
		widths := data[t.pos : t.pos+minis]
		t.pos += minis
		for _, w := range widths {
			if at == n {
				break // the widths of miniblocks without values have no meaning
			}
			width, k := int(w), min(per, n-at)
			if width > 64 || (k*width+7)/8 > len(data)-t.pos {
				return nil, 0, errDelta
			}
			packed := data[t.pos:]
			bit := 0
			for i := at; i < at+k; i++ {
				last += least + int64(wide(packed, bit, width))
				values[i] = last
				bit += width
			}
			at += k
			t.pos += min(per*width/8, len(data)-t.pos)
		}
	}
	return values, t.pos, nil
}

// wide returns the packed number of up to 64 bits at a bit.
func wide(data []byte, bit, width int) uint64 {
	if width == 0 {
		return 0
	}
	var b [16]byte
	copy(b[:], data[bit>>3:])
	shift := bit & 7
	v := binary.LittleEndian.Uint64(b[:]) >> shift
	if shift > 0 {
		v |= binary.LittleEndian.Uint64(b[8:]) << (64 - shift)
	}
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
