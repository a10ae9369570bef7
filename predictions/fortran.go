package predictions

import (
	"hash/crc32"
	"math/bits"
)

const (
	tileBytes   = 32 << 20  // maximum memory of a tile
	columnBytes = 256 << 10 // enough for one read: longer ones are no faster
)

// tiles reads a column-major matrix by rows, in bounded memory. It keeps a tile of consecutive rows, which it reads column by column.
type tiles struct {
	src        *source
	rows, cols int64
	skip, all  int64 // rows before them, and in all
	size       int   // bytes per value
	height     int   // rows in a full tile, and the distance of columns in buf
	buf        []uint64
	first      int64 // first row of the tile in buf
	n          int   // rows of the tile in buf
	sums       []uint32
	members    int64 // of an ensemble whose members vary faster than classes from column to column; else 1
}

// tileHeight returns the number of rows in a tile: at most most bytes, at least one row.
func tileHeight(rows, cols int64, size, most int) int {
	h := max(1, min(rows, int64(columnBytes/size), int64(most)/(cols*int64(size))))
	if h >= 64 {
		// An odd number of cache lines between columns keeps the values of a row out of a single cache set.
		h = (h/32 - 1) | 1
		h *= 32
	}
	return int(h)
}

// newTiles prepares to read src in tiles of at most most bytes. It reuses buf if that is large enough.
func newTiles(src *source, most int, buf []uint64) *tiles {
	a := src.a
	t := &tiles{src: src, rows: a.rows(), cols: a.columns(), skip: a.skip, all: a.all(), size: a.dtype.size, members: 1}
	t.height = tileHeight(t.rows, t.cols, t.size, most)
	words := (int64(t.height)*t.cols*int64(t.size) + 7) / 8
	if int64(len(buf)) < words {
		buf = make([]uint64, words)
	}
	t.buf = buf
	if src.sum && a.isWhole() {
		t.sums = make([]uint32, t.cols)
	}
	return t
}

// read fills the words of dst with n rows starting at row first. Rows are read in order, each once.
func (t *tiles) read(dst []uint64, first int64, n int) *Error {
	for done := 0; done < n; {
		at := first + int64(done)
		if at >= t.first+int64(t.n) {
			if e := t.load(at); e != nil {
				return e
			}
		}
		off := int(at - t.first)
		m := min(n-done, t.n-off)
		cols := int(t.cols)
		switch t.size {
		case 1:
			transpose(view[uint8](dst, n*cols)[done*cols:], view[uint8](t.buf, t.height*cols)[off:], m, cols, t.height)
		case 2:
			transpose(view[uint16](dst, n*cols)[done*cols:], view[uint16](t.buf, t.height*cols)[off:], m, cols, t.height)
		case 4:
			transpose(view[uint32](dst, n*cols)[done*cols:], view[uint32](t.buf, t.height*cols)[off:], m, cols, t.height)
		case 8:
			transpose(view[uint64](dst, n*cols)[done*cols:], view[uint64](t.buf, t.height*cols)[off:], m, cols, t.height)
		}
		done += m
	}
	return nil
}

// load reads the tile that starts at row first.
func (t *tiles) load(first int64) *Error {
	t.first, t.n = first, int(min(int64(t.height), t.rows-first))
	mem := raw(t.buf)
	run := t.n * t.size
	classes := t.cols / t.members
	for c := range t.cols {
		to := c%t.members*classes + c/t.members
		p := mem[int(to)*t.height*t.size:][:run]
		if e := t.src.readAt(p, (c*t.all+t.skip+first)*int64(t.size)); e != nil {
			return e
		}
		if t.sums != nil {
			t.sums[c] = crc32.Update(t.sums[c], crc32.IEEETable, p)
		}
	}
	if t.sums != nil && first+int64(t.n) == t.rows {
		return t.src.verify(t.sums, t.rows*int64(t.size))
	}
	return nil
}

// mulCRC multiplies two polynomials modulo the CRC-32 polynomial. Bit 31 is the constant term.
func mulCRC(a, b uint32) uint32 {
	var p uint32
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			p ^= b
		}
		b = b>>1 ^ -(b&1)&crc32.IEEE
	}
	return p
}

// shiftCRC returns x^(8n), the factor by which n more bytes change a CRC-32.
func shiftCRC(n int64) uint32 {
	p, q := uint32(1)<<31, uint32(1)<<23 // x^0, x^8
	for i := range bits.Len64(uint64(n)) {
		if n>>i&1 != 0 {
			p = mulCRC(p, q)
		}
		q = mulCRC(q, q)
	}
	return p
}

// transpose sets dst[r*cols+c] = src[c*stride+r] for each row r. It works in blocks of 16 columns, whose cache lines on both sides
// stay in L1.
func transpose[T uint8 | uint16 | uint32 | uint64](dst, src []T, rows, cols, stride int) {
	const block = 16
	c := 0
	for ; c+block <= cols; c += block {
		var s [block][]T
		for i := range s {
			s[i] = src[(c+i)*stride:][:rows]
		}
		for r := range rows {
			d := (*[block]T)(dst[r*cols+c:])
			d[0], d[1], d[2], d[3] = s[0][r], s[1][r], s[2][r], s[3][r]
			d[4], d[5], d[6], d[7] = s[4][r], s[5][r], s[6][r], s[7][r]
			d[8], d[9], d[10], d[11] = s[8][r], s[9][r], s[10][r], s[11][r]
			d[12], d[13], d[14], d[15] = s[12][r], s[13][r], s[14][r], s[15][r]
		}
	}
	for r0 := 0; r0 < rows; r0 += 256 {
		r1 := min(r0+256, rows)
		for k := c; k < cols; k++ {
			s := src[k*stride:][:r1]
			for r := r0; r < r1; r++ {
				dst[r*cols+k] = s[r]
			}
		}
	}
}
