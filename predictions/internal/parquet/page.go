package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// chunk reads a leaf of a row group.
type chunk struct {
	*leaf
	p        *part
	codec    codec
	plain    bool  // not compressed
	from, to int64 // where its pages are
	values   int64 // levels that the metadata promises
	dictAt   int64 // where the dictionary page is; -1 before it was seen
	position

	// The loaded page, and what owns its memory.
	loaded   int64 // where its header is; -1 if there is none
	rep, def levels
	data     []byte // the values
	encoding int64
	width    int // bits of a dictionary number
	ints     []int64
	ends     []int
	body     []byte
	changed  []byte // values in another order than in the body

	dict    gathered
	hasDict bool
	out     gathered
}

// position is a place between two levels of a chunk. A copy of it returns there, though the page may have to be loaded again.
type position struct {
	next  int64 // where the next page's header is
	page  int64 // where the current page's header is
	seen  int64 // levels of the pages up to the current one
	left  int   // levels of the current page that were not taken
	coded bool  // the current page has dictionary numbers
	// Within the levels and values of the page:
	reps, defs, nums hybrid
	at, index        int // the next byte of data, the next of ints and ends
}

// gathered is what a block has of a chunk.
type gathered struct {
	reps, defs []uint8
	v          columns.Vector
	cells      int
	// Texts of a dictionary have codes only as long as no other page follows.
	coded bool
	codes []int32
	bytes []byte
	ends  []int
}

// fault returns a Fault about the column.
func (c *chunk) fault(format string, args ...any) *columns.Fault {
	f := columns.Wrong(again, "column %q: "+format, append([]any{c.path}, args...)...)
	f.Column = c.path
	return f
}

// unsupported returns a Fault about what the column has and this package does not read.
func (c *chunk) unsupported(format string, args ...any) *columns.Fault {
	f := c.fault(format, args...)
	f.Remedy = "write the column anew with common settings, as pandas, pyarrow or Polars do by default"
	return f
}

// shortage is the error of what needs more memory than it may have.
type shortage struct {
	need   int64
	column string
}

func (s *shortage) Error() string { return "it needs more memory" }

// room returns an error if size more bytes are too many.
func (c *chunk) room(size int64) error {
	if size > c.p.bytes-c.p.used {
		return &shortage{c.p.used + size, c.path}
	}
	return nil
}

// grow lengthens a slice by n and returns the new part. least is the capacity to begin with.
func grow[T any](c *chunk, s *[]T, n, least int) ([]T, error) {
	size := int64(unsafe.Sizeof(*new(T)))
	length := len(*s) + n
	if length > cap(*s) {
		to := max(length, least)
		if len(*s) > 0 {
			to = max(to, cap(*s)+cap(*s)/2)
		}
		if err := c.room(int64(to) * size); err != nil {
			if err := c.room(int64(length) * size); err != nil {
				return nil, err
			}
			to = length
		}
		bigger := make([]T, len(*s), to)
		copy(bigger, *s)
		c.p.used += int64(cap(bigger)-cap(*s)) * size
		*s = bigger
	}
	*s = (*s)[:length]
	return (*s)[length-n:], nil
}

// free gives a slice's memory up.
func free[T any](c *chunk, s *[]T) {
	c.p.used -= int64(cap(*s)) * int64(unsafe.Sizeof(*new(T)))
	*s = nil
}

// drop gives up the memory of pages, but not of texts that a block refers to.
func (c *chunk) drop() {
	c.loaded, c.data, c.rep.data, c.def.data = -1, nil, nil, nil
	free(c, &c.body)
	free(c, &c.changed)
	free(c, &c.ints)
	free(c, &c.ends)
	if !c.out.coded {
		c.dict.free(c)
		c.hasDict = false
	}
}

func (g *gathered) free(c *chunk) {
	free(c, &g.reps)
	free(c, &g.defs)
	free(c, &g.v.Float64)
	free(c, &g.v.Float32)
	free(c, &g.v.Float16)
	free(c, &g.v.Int64)
	free(c, &g.v.Bool)
	free(c, &g.codes)
	free(c, &g.bytes)
	free(c, &g.ends)
	if g.v.Null != nil {
		free(c, &g.v.Null)
	}
	*g = gathered{}
}

// reset empties it for a new block.
func (g *gathered) reset() {
	v := &g.v
	g.reps, g.defs, g.codes, g.bytes, g.ends = g.reps[:0], g.defs[:0], g.codes[:0], g.bytes[:0], g.ends[:0]
	v.Float64, v.Float32, v.Float16, v.Int64, v.Bool, v.Null = v.Float64[:0], v.Float32[:0], v.Float16[:0], v.Int64[:0], v.Bool[:0], v.Null[:0]
	g.cells, g.coded = 0, false
}

// advance makes sure that levels are left of the current page, and reports false at the end of the chunk.
func (c *chunk) advance() (bool, error) {
	for c.left == 0 {
		if c.seen >= c.values {
			return false, nil
		}
		at := c.next
		h, body, err := c.readPage(at)
		if err != nil {
			return false, err
		}
		switch h.kind {
		case pageDict:
			if c.dictAt >= 0 && c.dictAt != at {
				return false, c.fault("it has two dictionaries")
			}
			c.dictAt = at
			if err := c.readDict(h, body); err != nil {
				return false, err
			}
		case pageData, pageDataV2:
			if h.values < 0 || h.values > math.MaxInt32 || h.values > c.values-c.seen {
				return false, c.fault("a page says that it has %d values, and the row group has %d in all", h.values, c.values)
			}
			if err := c.readData(h, body, at); err != nil {
				return false, err
			}
			c.position = position{page: at, seen: c.seen + h.values, left: int(h.values), coded: h.coded()}
		}
		c.next = at + int64(h.size) + h.compressed
	}
	return true, c.reload()
}

// reload reads the current page again if it was dropped.
func (c *chunk) reload() error {
	if c.loaded == c.page {
		return nil
	}
	if c.coded {
		if err := c.needDict(); err != nil {
			return err
		}
	}
	h, body, err := c.readPage(c.page)
	if err != nil {
		return err
	}
	return c.readData(h, body, c.page)
}

// needDict reads the dictionary again if it was dropped.
func (c *chunk) needDict() error {
	if c.hasDict || c.dictAt < 0 {
		return nil
	}
	h, body, err := c.read(c.dictAt)
	if err != nil {
		return err
	}
	return c.readDict(h, body)
}

// readPage reads a page, and before it the dictionary that it needs.
func (c *chunk) readPage(at int64) (h header, body []byte, err error) {
	h, body, err = c.read(at)
	if err == nil && h.coded() && !c.hasDict && c.dictAt >= 0 {
		if err = c.needDict(); err == nil {
			h, body, err = c.read(at) // the dictionary took its place
		}
	}
	return h, body, err
}

// read returns the header and the body, as it is in the file, of the page at a byte. It is valid until the next call with the same part.
func (c *chunk) read(at int64) (h header, body []byte, err error) {
	buffer := &c.p.scratch
	if c.plain {
		buffer = &c.body
		c.loaded = -1
	}
	have := 0
	for window := int64(16 << 10); ; window *= 8 {
		if at >= c.to {
			return h, nil, c.fault("its pages end after %d of %d values", c.seen, c.values)
		}
		n := int(min(window, c.to-at))
		if err := c.fill(buffer, have, n, at); err != nil {
			return h, nil, err
		}
		have = n
		h, err = readHeader((*buffer)[:n])
		if err == nil {
			break
		}
		if !errors.Is(err, errShort) || int64(n) == c.to-at {
			return h, nil, c.fault("the header of the page at byte %d is damaged: %v", at, err)
		}
	}
	if h.compressed > c.to-at-int64(h.size) {
		return h, nil, c.fault("the page at byte %d should have %d bytes, more than are left of the column", at, h.compressed)
	}
	end := h.size + int(h.compressed)
	if end > have {
		if err := c.fill(buffer, have, end, at); err != nil {
			return h, nil, err
		}
	}
	body = (*buffer)[h.size:end]
	if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
		return h, nil, c.fault("the file is damaged: the checksum of the page at byte %d is wrong", at)
	}
	return h, body, nil
}

// fill reads the bytes from have up to n of what starts at a byte of the file. A buffer keeps those that it has.
func (c *chunk) fill(buffer *[]byte, have, n int, at int64) error {
	*buffer = (*buffer)[:have]
	b, err := grow(c, buffer, n-have, 0)
	if err != nil {
		return err
	}
	if err := readAt(c.p.src, b, at+int64(have)); err != nil {
		if f := (*columns.Fault)(nil); errors.As(err, &f) {
			f.Column, f.Reason = c.path, fmt.Sprintf("column %q: %s", c.path, f.Reason)
		}
		return err
	}
	return nil
}

// decompress fills dst.
func (c *chunk) decompress(dst, src []byte) error {
	if len(dst) == 0 {
		return nil // writers leave out even a codec's own header
	}
	got, err := c.codec.decode(dst, src)
	if err != nil {
		return c.fault("a page cannot be decompressed: %v", err)
	}
	if len(got) != len(dst) {
		return c.fault("a page has %d bytes in place of %d", len(got), len(dst))
	}
	if unsafe.SliceData(got) != unsafe.SliceData(dst) {
		copy(dst, got)
	}
	return nil
}

// unpacked returns a page, of which the first levels bytes are never compressed, in a buffer.
func (c *chunk) unpacked(h header, raw []byte, levels int64, compressed bool, buffer *[]byte) ([]byte, error) {
	if c.plain || !compressed {
		if h.uncompressed != h.compressed {
			return nil, c.fault("a page that is not compressed has %d bytes and says %d", h.compressed, h.uncompressed)
		}
		if c.plain {
			return raw, nil // it was read to c.body
		}
	}
	if levels > int64(len(raw)) || levels > h.uncompressed {
		return nil, c.fault("a page is too short for its levels")
	}
	if h.uncompressed > c.p.bytes {
		return nil, &shortage{h.uncompressed, c.path}
	}
	*buffer = (*buffer)[:0]
	body, err := grow(c, buffer, int(h.uncompressed), 0)
	if err != nil {
		return nil, err
	}
	if !compressed {
		copy(body, raw)
		return body, nil
	}
	copy(body, raw[:levels])
	return body, c.decompress(body[levels:], raw[levels:])
}

// readDict decodes the dictionary page.
func (c *chunk) readDict(h header, raw []byte) error {
	if h.encoding != encodingPlain && h.encoding != encodingPlainDict {
		return c.unsupported("the encoding of its dictionary (%d) is not supported", h.encoding)
	}
	if h.values < 0 || h.values > math.MaxInt32 {
		return c.fault("its dictionary says that it has %d values", h.values)
	}
	body, err := c.unpacked(h, raw, 0, true, &c.p.dict)
	if err != nil {
		return err
	}
	c.dict.reset()
	c.hasDict = true
	if c.kind == columns.Other {
		return nil
	}
	saved := c.position
	c.data, c.encoding, c.at = body, encodingPlain, 0
	err = c.append(&c.dict, int(h.values))
	c.position, c.data = saved, nil
	c.loaded = -1
	if c.plain {
		free(c, &c.body) // it may be much larger than other pages
	}
	if bad := (*badValue)(nil); errors.As(err, &bad) {
		return c.badFault(bad, -1)
	}
	return err
}

// readData makes a page the loaded one.
func (c *chunk) readData(h header, raw []byte, at int64) error {
	levels, compressed := int64(0), true
	if h.kind == pageDataV2 {
		levels, compressed = h.repBytes+h.defBytes, !h.plainBody
	}
	c.loaded = -1
	body, err := c.unpacked(h, raw, levels, compressed, &c.body)
	if err != nil {
		return err
	}
	c.rep.width, c.def.width = levelWidth(c.maxRep), levelWidth(c.maxDef)
	if h.kind == pageDataV2 {
		if levels > int64(len(body)) {
			return c.fault("a page is too short for its levels")
		}
		c.rep.data, c.def.data, c.data = body[:h.repBytes], body[h.repBytes:levels], body[levels:]
	} else {
		if c.rep.data, body, err = c.levelsV1(body, h.repEncoding, c.rep.width, int(h.values)); err != nil {
			return err
		}
		if c.def.data, body, err = c.levelsV1(body, h.defEncoding, c.def.width, int(h.values)); err != nil {
			return err
		}
		c.data = body
	}
	c.encoding = h.encoding
	if err := c.prepare(int(h.values)); err != nil {
		return err
	}
	c.loaded = at
	return nil
}

// levelsV1 returns the levels at the start of a page of version 1, and the rest.
func (c *chunk) levelsV1(body []byte, encoding int64, width, n int) (data, rest []byte, err error) {
	if width == 0 {
		return nil, body, nil
	}
	switch encoding {
	case encodingRLE:
		if len(body) >= 4 {
			if size := binary.LittleEndian.Uint32(body); uint64(size) <= uint64(len(body)-4) {
				return body[4 : 4+size], body[4+size:], nil
			}
		}
	case encodingBitPacked:
		if size := (n*width + 7) / 8; size <= len(body) {
			if err := c.room(int64(size)); err != nil {
				return nil, nil, err
			}
			return fromBitPacked(body[:size], n, width), body[size:], nil
		}
	default:
		return nil, nil, c.unsupported("the encoding of its levels (%d) is not supported", encoding)
	}
	return nil, nil, c.fault("a page is too short for its levels")
}

// prepare makes the values of a page that has n levels ready to be appended.
func (c *chunk) prepare(n int) error {
	if c.kind == columns.Other {
		return nil
	}
	switch c.encoding {
	case encodingPlain:
		return nil
	case encodingPlainDict, encodingRLEDict:
		c.encoding = encodingRLEDict
		if !c.hasDict {
			return c.fault("a page refers to a dictionary, and there is none before it")
		}
		c.width = 0
		if len(c.data) > 0 {
			c.width, c.data = int(c.data[0]), c.data[1:]
		}
		if c.width > 32 {
			return c.fault("a page is damaged: its dictionary numbers have %d bits", c.width)
		}
		return nil
	case encodingSplit:
		if c.size == 0 || len(c.data)%c.size != 0 {
			break
		}
		c.changed = c.changed[:0]
		to, err := grow(c, &c.changed, len(c.data), 0)
		if err != nil {
			return err
		}
		join4or8(to, c.data, c.size)
		c.data, c.encoding = to, encodingPlain
		return nil
	case encodingRLE:
		if c.kind != columns.Bool || len(c.data) < 4 {
			break
		}
		size := binary.LittleEndian.Uint32(c.data)
		if uint64(size) > uint64(len(c.data)-4) {
			break
		}
		c.data = c.data[4 : 4+size]
		return nil
	case encodingDelta:
		if c.size != 4 && c.size != 8 || c.kind == columns.Float16 {
			break
		}
		_, err := c.deltas(c.data, n)
		return err
	case encodingDeltaLength, encodingDeltaBytes:
		return c.prepareBytes(n)
	}
	return c.unsupported("a page has the encoding %s, which is not supported for the type %s", encodingName(c.encoding), physicalName(c.physical))
}

// encodingName returns the format's name of an encoding.
func encodingName(e int64) string {
	names := []string{"PLAIN", "", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
		"RLE_DICTIONARY", "BYTE_STREAM_SPLIT"}
	if e < 0 || e >= int64(len(names)) || names[e] == "" {
		return fmt.Sprint(e)
	}
	return names[e]
}

// join4or8 puts the bytes of values together: src has the first bytes of all, then the second ones, and so on.
func join4or8(dst, src []byte, size int) {
	n := len(src) / size
	switch size {
	case 4:
		a, b, c, d := src[:n], src[n:2*n], src[2*n:3*n], src[3*n:4*n]
		for i := range a {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	default:
		for k := range size {
			for i, v := range src[k*n : k*n+n] {
				dst[i*size+k] = v
			}
		}
	}
}

// deltas decodes numbers to c.ints, and returns the rest of the data.
func (c *chunk) deltas(data []byte, most int) (rest []byte, err error) {
	c.ints = c.ints[:0]
	_, used, err := deltas(data, most, func(n int) ([]int64, error) { return grow(c, &c.ints, n, 0) })
	if errors.Is(err, errDelta) {
		return nil, c.fault("%v", err)
	}
	return data[used:], err
}

// prepareBytes finds the ends of byte arrays of the DELTA encodings.
func (c *chunk) prepareBytes(n int) error {
	bad := c.fault("a page of the encoding %s is damaged", encodingName(c.encoding))
	if c.kind != columns.Text && !c.decimal && c.kind != columns.Float16 {
		return bad
	}
	data := c.data
	var prefixes []int64
	var err error
	if c.encoding == encodingDeltaBytes {
		if data, err = c.deltas(data, n); err != nil {
			return err
		}
		if err := c.room(int64(8 * len(c.ints))); err != nil {
			return err
		}
		prefixes = slices.Clone(c.ints)
	}
	if data, err = c.deltas(data, n); err != nil {
		return err
	}
	c.ends = c.ends[:0]
	ends, err := grow(c, &c.ends, len(c.ints), 0)
	if err != nil {
		return err
	}
	total := 0
	for i, l := range c.ints {
		if l < 0 || l > int64(len(data)-total) {
			return bad
		}
		total += int(l)
		ends[i] = total
	}
	c.data = data[:total]
	if prefixes == nil {
		return nil
	}
	if len(prefixes) != len(ends) {
		return bad
	}
	c.changed = c.changed[:0]
	from, before := 0, 0
	for i, end := range ends {
		suffix, last := data[from:end], len(c.changed)
		if prefixes[i] < 0 || prefixes[i] > int64(last-before) {
			return bad
		}
		k := int(prefixes[i])
		to, err := grow(c, &c.changed, k+len(suffix), total)
		if err != nil {
			return err
		}
		copy(to[copy(to, c.changed[before:before+k]):], suffix)
		from, before, ends[i] = end, last, len(c.changed)
	}
	c.data = c.changed
	return nil
}
