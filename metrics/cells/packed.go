package cells

import (
	"bytes"
	le "encoding/binary"
	"errors"
	"math/bits"
	"unsafe"
)

// Exact cells are packed into bits, in ascending order of keys: neighbours differ by few bits, and most cells have one row. A block of
// cells has its own parameters, since scores near 0 and 1 are denser than others. docs/state.md describes the form. Cells have one
// packed form only: the parameters follow from the cells, and a reader checks that they do.

// packedBlock is the number of cells in a block.
const packedBlock = 128

// leastPacked is the least number of bits of a cell: a step of 1, and the outcome of one row.
const leastPacked = 2

var errPacked = errors.New(badCell)

// bitWriter appends bits to bytes, each byte from its lowest bit on.
type bitWriter struct {
	b    []byte
	bits uint64 // not yet in b
	n    uint   // number of those, below 8 between calls
}

// put appends the n lowest bits of v, lowest first; the others must be 0. n is at most 64.
func (w *bitWriter) put(v uint64, n uint) {
	if n > 56 {
		w.put(v&(1<<32-1), 32)
		v, n = v>>32, n-32
	}
	w.bits |= v << w.n
	w.n += n
	full := w.n / 8
	w.b = le.LittleEndian.AppendUint64(w.b, w.bits)[:len(w.b)+int(full)]
	w.bits >>= 8 * full
	w.n %= 8
}

// golomb appends v below 2^63 in an exponential Golomb code of order k: with x = v + 2^k, as many zeros as x is longer than k+1 bits, a
// one, and the bits of x below its highest.
func (w *bitWriter) golomb(v uint64, k uint) {
	x := v + 1<<k
	more := uint(bits.Len64(x)) - k - 1
	w.put(1<<more, more+1)
	w.put(x&(1<<(k+more)-1), k+more)
}

// end returns the bytes; the last one is filled with zeros.
func (w *bitWriter) end() []byte {
	if w.n > 0 {
		return append(w.b, byte(w.bits))
	}
	return w.b
}

// bitReader reads what bitWriter has written. Behind the end it reads zeros, and short is true.
type bitReader struct {
	b     []byte
	at    int // of the next bit
	short bool
}

// peek returns the next bits, at least 57 of them.
func (r *bitReader) peek() uint64 {
	i := r.at / 8
	if len(r.b)-i >= 8 {
		return le.LittleEndian.Uint64(r.b[i:]) >> (r.at % 8)
	}
	var last [8]byte
	if i < len(r.b) {
		copy(last[:], r.b[i:])
	}
	return le.LittleEndian.Uint64(last[:]) >> (r.at % 8)
}

// skip moves behind the next n bits.
func (r *bitReader) skip(n uint) {
	if r.at += int(n); r.at > 8*len(r.b) {
		r.at, r.short = 8*len(r.b), true
	}
}

// take returns the next n bits, at most 64.
func (r *bitReader) take(n uint) uint64 {
	if n > 56 {
		low := r.take(32)
		return low | r.take(n-32)<<32
	}
	v := r.peek() & (1<<n - 1)
	r.skip(n)
	return v
}

// golomb reads a number below 2^63. ok is false if there is none.
func (r *bitReader) golomb(k uint) (v uint64, ok bool) {
	more := uint(0)
	next := r.peek()
	if more = uint(bits.TrailingZeros64(next)); 2*more+1+k <= 57 { // all of it has been read
		r.skip(2*more + 1 + k)
		return next>>((more+1)&63)&(1<<(k+more)-1) + 1<<(k+more) - 1<<k, true
	}
	for more = 0; ; next = r.peek() {
		if next != 0 {
			n := uint(bits.TrailingZeros64(next))
			more += n
			r.skip(n + 1)
			break
		}
		if more += 56; more > 63 || r.short {
			return 0, false
		}
		r.skip(56)
	}
	if k+more > 63 {
		return 0, false
	}
	return r.take(k+more) + 1<<(k+more) - 1<<k, true
}

// lengths counts numbers by their length in bits.
type lengths [65]uint8

// order returns the order of the code for n numbers: the least k such that half of them, or more, are below 2^k.
func (l *lengths) order(n int) (k uint) {
	for below := int(l[0]); 2*below < n; below += int(l[k]) {
		k++
	}
	return k
}

// packing holds the parameters of a block.
type packing struct {
	shift uint // zero bits at the end of all steps between keys
	step  uint // order of the code of steps
	rows  uint // 0 if all cells have one row; else 1 + the order of the code of their numbers of rows
}

// packingOf returns the parameters of a block. before is the key before the first cell, except for the first block, which has none.
func packingOf(cells []exactCell, before uint64, first bool) (p packing) {
	steps, many := cells, uint64(0)
	if first {
		before, steps, many = cells[0].key, cells[1:], uint64(cells[0].n-1)
	}
	all, last := uint64(0), before
	for i := range steps {
		e := &steps[i]
		all |= e.key - last
		many |= uint64(e.n - 1)
		last = e.key
	}
	if all != 0 {
		p.shift = uint(bits.TrailingZeros64(all))
	}
	var l lengths
	last = before
	for i := range steps {
		key := steps[i].key
		l[bits.Len64((key-last)>>(p.shift&63)-1)]++
		last = key
	}
	p.step = l.order(len(steps))
	if many != 0 {
		l = lengths{}
		for _, e := range cells {
			l[bits.Len64(uint64(e.n-1))]++
		}
		p.rows = 1 + l.order(len(cells))
	}
	return p
}

// packer packs cells that arrive one by one.
type packer struct {
	w      bitWriter
	block  [packedBlock]exactCell
	n      int
	before uint64
	some   bool // a block has been written
}

func (p *packer) add(e exactCell) {
	p.block[p.n] = e
	if p.n++; p.n == packedBlock {
		p.flush()
	}
}

// flush writes the cells that have arrived as a block.
func (p *packer) flush() {
	cells := p.block[:p.n]
	if len(cells) == 0 {
		return
	}
	w, h := &p.w, packingOf(cells, p.before, !p.some)
	if !p.some {
		w.put(cells[0].key, 64)
	}
	w.put(uint64(h.shift)|uint64(h.step)<<6|uint64(h.rows)<<12, 18)
	for i, e := range cells {
		if i > 0 || p.some {
			w.golomb((e.key-p.before)>>h.shift-1, h.step)
		}
		p.before = e.key
		if h.rows > 0 {
			w.golomb(uint64(e.n-1), h.rows-1)
		}
		w.put(uint64(e.y), uint(bits.Len64(uint64(e.n))))
	}
	p.n, p.some = 0, true
}

// appendPacked appends the exact cells, which must be settled.
func (c *Cells) appendPacked(dst []byte) ([]byte, error) {
	p := packer{w: bitWriter{b: dst}}
	c.eachExact(p.add)
	p.flush()
	return p.w.end(), nil
}

// unpack returns n packed cells, whose keys are from least to last. There are rows
// besides theirs. It rejects any other form of them.
func unpack(b []byte, n int, least, last uint64, rows rowCount) ([]exactCell, error) {
	if n > MaxExact || n > 8*len(b)/leastPacked {
		return nil, errPacked
	}
	r := bitReader{b: b}
	cells := newCells(n)
	for from := 0; from < n; from += packedBlock {
		before, first := uint64(0), from == 0
		if first {
			before = r.take(64)
		} else {
			before = cells[from-1].key
		}
		start := before
		head := r.take(18)
		h := packing{uint(head & 63), uint(head >> 6 & 63), uint(head >> 12)}
		block := cells[from:min(from+packedBlock, n)]
		for i := 0; i < len(block); i++ {
			e := exactCell{key: before, n: 1}
			if i > 0 || !first {
				var some int
				if h.rows == 0 {
					some = r.singles(h, before, block[i:])
					if some > 0 && !rows.add(uint64(some)) {
						return nil, errPacked
					}
				} else {
					some = r.quick(h, before, block[i:])
					for _, e := range block[i : i+some] {
						if !rows.add(uint64(e.n)) {
							return nil, errPacked
						}
					}
				}
				if some > 0 {
					before = block[i+some-1].key
				}
				if i += some; i == len(block) {
					break
				}
				e.key = before
				step, ok := r.golomb(h.step)
				if step++; !ok || step > (1<<63)>>h.shift {
					return nil, errPacked
				}
				if e.key += step << h.shift; e.key < before {
					return nil, errPacked
				}
			}
			if h.rows > 0 {
				more, ok := r.golomb(h.rows - 1)
				if !ok || more >= mostRows {
					return nil, errPacked
				}
				e.n += int64(more)
			}
			e.y = int64(r.take(uint(bits.Len64(uint64(e.n)))))
			if r.short || e.y > e.n || !rows.add(uint64(e.n)) {
				return nil, errPacked
			}
			block[i], before = e, e.key
		}
		// Keys rise.
		if block[0].key < least || before > last || packingOf(block, start, first) != h {
			return nil, errPacked
		}
	}
	if (r.at+7)/8 != len(b) || r.at%8 != 0 && b[len(b)-1]>>(r.at%8) != 0 {
		return nil, errPacked
	}
	return cells, nil
}

// whole is the number of bits of a word that are there wherever they begin.
const whole = 57

// singles reads cells of one row, each from one word, and returns their number. It stops before a cell that is longer, and before any that is
// not valid.
func (r *bitReader) singles(h packing, before uint64, cells []exactCell) int {
	at, b, n := r.at, r.b, len(cells)
	order, shift := h.step&63, h.shift&63
	less, most := uint64(1)<<order-1, uint64(1<<63)>>shift // what a code is more than the step
	for i := range cells {
		if len(b)-at/8 < 8 {
			n = i
			break
		}
		next := le.LittleEndian.Uint64(b[at/8:]) >> (at & 7)
		zeros := uint(bits.TrailingZeros64(next))
		used := 2*zeros + order + 2 // with the outcome
		high := uint64(1) << ((order + zeros) & 63)
		step := next>>((zeros+1)&63)&(high-1) + high - less
		key := before + step<<shift
		if used > whole || step > most || key < before {
			n = i
			break
		}
		cells[i], before = exactCell{key, 1, int64(next >> ((used - 1) & 63) & 1)}, key
		at += int(used)
	}
	r.at = at
	return n
}

// quick reads cells as singles does, with numbers of rows.
func (r *bitReader) quick(h packing, before uint64, cells []exactCell) int {
	at, b, most := r.at, r.b, uint64(1<<63)>>(h.shift&63)
	order := h.rows - 1
	defer func() { r.at = at }()
	for i := range cells {
		if len(b)-at/8 < 8 {
			return i
		}
		next := le.LittleEndian.Uint64(b[at/8:]) >> (at % 8)
		zeros := uint(bits.TrailingZeros64(next))
		used := 2*zeros + 1 + h.step
		if used >= whole {
			return i
		}
		step := next>>((zeros+1)&63)&(1<<((h.step+zeros)&63)-1) + 1<<((h.step+zeros)&63) - 1<<(h.step&63) + 1
		next >>= used & 63
		key := before + step<<(h.shift&63)
		zeros = uint(bits.TrailingZeros64(next))
		if used += 2*zeros + 1 + order; used >= whole {
			return i
		}
		n := next>>((zeros+1)&63)&(1<<((order+zeros)&63)-1) + 1<<((order+zeros)&63) - 1<<(order&63) + 1
		next >>= (2*zeros + 1 + order) & 63
		length := uint(bits.Len64(n))
		y := next & (1<<(length&63) - 1)
		if used += length; used > whole || step > most || key < before || y > n {
			return i
		}
		cells[i], before = exactCell{key, int64(n), int64(y)}, key
		at += int(used)
	}
	return len(cells)
}

// MemoryOf returns the most memory, in bytes, that the exact cells in a state take once they are read: packed, a cell takes a fraction of
// that. state is that of Cells, or any that holds such states, like that of an evaluation.
func MemoryOf(state []byte) (n int64) {
	begin := append([]byte(cellsFormat.Magic), byte(cellsFormat.Version), byte(cellsFormat.Version>>8))
	const options = 8 + 1 + 1 + 4 + 1 + 1 + 8 // from the length of the payload to the number of cells
	for {
		at := bytes.Index(state, begin)
		if at < 0 || len(state)-at < len(begin)+options+8 {
			return n
		}
		state = state[at+len(begin):]
		n += int64(min(le.LittleEndian.Uint64(state[options:]), MaxExact)) * int64(unsafe.Sizeof(exactCell{}))
	}
}
