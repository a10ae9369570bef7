package parquet

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"unsafe"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// badValue is the error of a value that a column of its kind cannot have. index counts the values that were asked for.
type badValue struct {
	index         int
	value, reason string
}

func (b *badValue) Error() string { return b.reason }

func (c *chunk) badFault(b *badValue, row int64) *columns.Fault {
	f := c.fault("%s", b.reason)
	f.Row, f.Value = row, b.value
	return f
}

// batch is how many values are decoded at a time where they take a step more.
const batch = 1024

func (c *chunk) errValues() error { return c.fault("a page has fewer values than it says") }

// append appends the next n values of the loaded page, without missing cells.
func (c *chunk) append(g *gathered, n int) error {
	v, d := &g.v, &c.dict.v
	switch c.kind {
	case columns.Float32:
		return fixed(c, g, &v.Float32, d.Float32, n, floats32)
	case columns.Float64:
		if c.decimal {
			return c.decimals(g, n)
		}
		return fixed(c, g, &v.Float64, d.Float64, n, floats64)
	case columns.Int64:
		return c.integers(g, n)
	case columns.Float16:
		if c.encoding == encodingDeltaBytes {
			return each(c, g, &v.Float16, n, func(b []byte) (uint16, bool) { return binary.LittleEndian.Uint16(b), len(b) == 2 })
		}
		return fixed(c, g, &v.Float16, d.Float16, n, floats16)
	case columns.Bool:
		return c.bools(g, n)
	case columns.Text:
		return c.texts(g, n)
	}
	return nil
}

func floats16(dst []uint16, src []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint16(src[2*i:])
	}
}

// little reports whether the machine has the byte order of Parquet.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func floats32(dst []float32, src []byte) {
	src = src[:4*len(dst)]
	if little {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(src)), src)
		return
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func floats64(dst []float64, src []byte) {
	src = src[:8*len(dst)]
	if little {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(src)), src)
		return
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
}

// slots returns room for n more values.
func slots[T any](c *chunk, g *gathered, s *[]T, n int) ([]T, error) {
	least := 0
	if g == &c.out && c.maxRep == 0 {
		least = c.p.n
	}
	return grow(c, s, n, least)
}

// take returns the next n values of a size in the data.
func (c *chunk) take(n, size int) ([]byte, error) {
	if n > (len(c.data)-c.at)/size {
		return nil, c.errValues()
	}
	b := c.data[c.at : c.at+n*size]
	c.at += n * size
	return b, nil
}

// fixed appends values that lie in a page as they are, or are numbers of a dictionary's.
func fixed[T any](c *chunk, g *gathered, s *[]T, dict []T, n int, plain func(dst []T, src []byte)) error {
	if c.encoding == encodingRLEDict {
		return lookUp(c, g, s, dict, n)
	}
	if c.encoding != encodingPlain {
		return c.errValues()
	}
	src, err := c.take(n, c.size)
	if err != nil {
		return err
	}
	dst, err := slots(c, g, s, n)
	if err != nil {
		return err
	}
	plain(dst, src)
	return nil
}

// lookUp appends values of a dictionary.
func lookUp[T any](c *chunk, g *gathered, s *[]T, dict []T, n int) error {
	dst, err := slots(c, g, s, n)
	if err != nil {
		return err
	}
	for len(dst) > 0 {
		numbers := c.p.numbers[:min(batch, len(dst))]
		if err := c.readNumbers(numbers); err != nil {
			return err
		}
		for i, k := range numbers {
			if uint(k) >= uint(len(dict)) {
				return c.outside(k, len(dict))
			}
			dst[i] = dict[k]
		}
		dst = dst[len(numbers):]
	}
	return nil
}

func (c *chunk) outside(k uint32, n int) error {
	return c.fault("a page refers to value %d of a dictionary of %d", k, n)
}

// readNumbers fills dst with dictionary numbers.
func (c *chunk) readNumbers(dst []uint32) error {
	if err := read(&c.nums, dst, c.data, c.width); err != nil {
		return c.errValues()
	}
	return nil
}

// raw fills dst with the next stored integers.
func (c *chunk) raw(dst []int64) error {
	if c.encoding == encodingDelta {
		if len(dst) > len(c.ints)-c.index {
			return c.errValues()
		}
		copy(dst, c.ints[c.index:])
		c.index += len(dst)
		if c.size == 4 {
			for i, v := range dst {
				dst[i] = int64(int32(v))
			}
		}
		return nil
	}
	src, err := c.take(len(dst), c.size)
	if err != nil {
		return err
	}
	if c.size == 4 {
		for len(dst) >= 2 && len(src) >= 8 { // half the loads
			two := binary.LittleEndian.Uint64(src)
			dst[0], dst[1] = int64(int32(two)), int64(two)>>32
			dst, src = dst[2:], src[8:]
		}
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
		return nil
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return nil
}

// most returns an error if the loaded page cannot have n more values. It comes before what allocates for them.
func (c *chunk) most(n int) error {
	have := n
	switch {
	case c.encoding == encodingPlain && c.size > 0:
		have = (len(c.data) - c.at) / c.size
	case c.encoding == encodingPlain && c.kind == columns.Bool:
		have = 8*len(c.data) - c.at
	case c.encoding == encodingPlain:
		have = (len(c.data) - c.at) / 4
	case c.encoding == encodingDelta:
		have = len(c.ints) - c.index
	case c.encoding == encodingDeltaBytes || c.encoding == encodingDeltaLength:
		have = len(c.ends) - c.index
	}
	if n > have {
		return c.errValues()
	}
	return nil
}

func (c *chunk) integers(g *gathered, n int) error {
	if c.encoding == encodingRLEDict {
		return lookUp(c, g, &g.v.Int64, c.dict.v.Int64, n)
	}
	if err := c.most(n); err != nil {
		return err
	}
	dst, err := slots(c, g, &g.v.Int64, n)
	if err != nil {
		return err
	}
	if err := c.raw(dst); err != nil {
		return err
	}
	switch c.unsigned {
	case 0:
	case 64:
		for i, v := range dst {
			if v < 0 {
				return &badValue{i, strconv.FormatUint(uint64(v), 10), "it is beyond the integers of 64 bits with a sign"}
			}
		}
	default:
		for i, v := range dst {
			dst[i] = v & (1<<c.unsigned - 1)
		}
	}
	return nil
}

func (c *chunk) bools(g *gathered, n int) error {
	if c.encoding == encodingRLEDict {
		return lookUp(c, g, &g.v.Bool, c.dict.v.Bool, n)
	}
	if err := c.most(n); err != nil {
		return err
	}
	dst, err := slots(c, g, &g.v.Bool, n)
	if err != nil {
		return err
	}
	if c.encoding == encodingPlain {
		for i := range dst {
			dst[i] = c.data[c.at>>3]>>(c.at&7)&1 == 1
			c.at++
		}
		return nil
	}
	for len(dst) > 0 {
		numbers := c.p.numbers[:min(batch, len(dst))]
		if err := read(&c.nums, numbers, c.data, 1); err != nil {
			return c.errValues()
		}
		for i, k := range numbers {
			dst[i] = k == 1
		}
		dst = dst[len(numbers):]
	}
	return nil
}

// decimals appends unscaled integers, of up to any number of bytes, over powers of ten, each rounded once.
func (c *chunk) decimals(g *gathered, n int) error {
	if c.encoding == encodingRLEDict {
		return lookUp(c, g, &g.v.Float64, c.dict.v.Float64, n)
	}
	if c.physical == physicalBytes || c.physical == physicalFixed {
		return each(c, g, &g.v.Float64, n, func(b []byte) (float64, bool) { return scaledBytes(b, c.scale) })
	}
	if err := c.most(n); err != nil {
		return err
	}
	dst, err := slots(c, g, &g.v.Float64, n)
	if err != nil {
		return err
	}
	var some [256]int64
	for len(dst) > 0 {
		ints := some[:min(len(some), len(dst))]
		if err := c.raw(ints); err != nil {
			return err
		}
		for i, v := range ints {
			dst[i] = scaled(v, c.scale)
		}
		dst = dst[len(ints):]
	}
	return nil
}

// tens are the powers of ten that float64 represents exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

// scaled returns v / 10^scale, rounded once.
func scaled(v int64, scale int) float64 {
	if -1<<53 <= v && v <= 1<<53 && 0 <= scale && scale < len(tens) {
		return float64(v) / tens[scale] // both are exact
	}
	return parse(strconv.AppendInt(nil, v, 10), scale)
}

func parse(digits []byte, scale int) float64 {
	digits = strconv.AppendInt(append(digits, 'e'), -int64(scale), 10)
	f, _ := strconv.ParseFloat(string(digits), 64) // out of range is infinite
	return f
}

// mostDecimal is how many bytes a decimal may take. The format names no bound; 38 digits take 16 bytes, and 76 take 32.
const mostDecimal = 64

// scaledBytes returns the big-endian integer b in two's complement, over 10^scale, rounded once.
func scaledBytes(b []byte, scale int) (float64, bool) {
	negative := len(b) > 0 && b[0]>>7 == 1
	for len(b) > 8 && (b[0] == 0 && b[1]>>7 == 0 || b[0] == 0xff && b[1]>>7 == 1) {
		b = b[1:]
	}
	if len(b) > mostDecimal {
		return 0, false
	}
	if len(b) <= 8 {
		v := int64(0)
		if negative {
			v = -1
		}
		for _, x := range b {
			v = v<<8 | int64(x)
		}
		return scaled(v, scale), true
	}
	v := new(big.Int).SetBytes(b)
	if negative {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return parse(v.Append(nil, 10), scale), true
}

// slice returns the next byte array.
func (c *chunk) slice() ([]byte, error) {
	if c.encoding != encodingPlain {
		if c.index >= len(c.ends) {
			return nil, c.errValues()
		}
		from := 0
		if c.index > 0 {
			from = c.ends[c.index-1]
		}
		c.index++
		return c.data[from:c.ends[c.index-1]], nil
	}
	if c.size > 0 {
		return c.take(1, c.size)
	}
	head, err := c.take(1, 4)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head)
	if uint64(n) > uint64(len(c.data)-c.at) {
		return nil, c.errValues()
	}
	return c.take(int(n), 1)
}

// each appends what value makes of n byte arrays.
func each[T any](c *chunk, g *gathered, s *[]T, n int, value func([]byte) (T, bool)) error {
	if err := c.most(n); err != nil {
		return err
	}
	dst, err := slots(c, g, s, n)
	if err != nil {
		return err
	}
	for i := range dst {
		b, err := c.slice()
		if err != nil {
			return err
		}
		ok := false
		if dst[i], ok = value(b); !ok {
			return &badValue{i, "", strconv.Itoa(len(b)) + " bytes are not a number of this type"}
		}
	}
	return nil
}

// texts appends codes of a dictionary as long as all pages have them, and texts otherwise.
func (c *chunk) texts(g *gathered, n int) error {
	if c.encoding == encodingRLEDict {
		if g.cells == 0 || g.coded {
			g.coded = true
			dst, err := slots(c, g, &g.codes, n)
			if err != nil {
				return err
			}
			for len(dst) > 0 {
				numbers := c.p.numbers[:min(batch, len(dst))]
				if err := c.readNumbers(numbers); err != nil {
					return err
				}
				for i, k := range numbers {
					if uint(k) >= uint(len(c.dict.ends)) {
						return c.outside(k, len(c.dict.ends))
					}
					dst[i] = int32(k)
				}
				dst = dst[len(numbers):]
			}
			return nil
		}
		for n > 0 {
			numbers := c.p.numbers[:min(batch, n)]
			if err := c.readNumbers(numbers); err != nil {
				return err
			}
			for _, k := range numbers {
				if uint(k) >= uint(len(c.dict.ends)) {
					return c.outside(k, len(c.dict.ends))
				}
				if err := c.text(g, c.dict.text(int(k))); err != nil {
					return err
				}
			}
			n -= len(numbers)
		}
		return nil
	}
	if err := c.most(n); err != nil {
		return err
	}
	if err := c.uncode(g); err != nil {
		return err
	}
	if c.encoding == encodingPlain && g == &c.dict {
		// The texts of a dictionary have their sizes in front.
		if _, err := grow(c, &g.bytes, 0, len(c.data)-4*n); err != nil {
			return err
		}
	}
	for range n {
		b, err := c.slice()
		if err != nil {
			return err
		}
		if err := c.text(g, b); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathered) text(i int) []byte {
	from := 0
	if i > 0 {
		from = g.ends[i-1]
	}
	return g.bytes[from:g.ends[i]]
}

// text appends a text.
func (c *chunk) text(g *gathered, b []byte) error {
	to, err := grow(c, &g.bytes, len(b), 0)
	if err != nil {
		return err
	}
	copy(to, b)
	end, err := slots(c, g, &g.ends, 1)
	if err != nil {
		return err
	}
	end[0] = len(g.bytes)
	return nil
}

// uncode makes texts of codes.
func (c *chunk) uncode(g *gathered) error {
	if !g.coded {
		return nil
	}
	g.coded = false
	for i, k := range g.codes {
		var b []byte
		if len(g.v.Null) == 0 || !g.v.Null[i] {
			b = c.dict.text(int(k))
		}
		if err := c.text(g, b); err != nil {
			return err
		}
	}
	g.codes = g.codes[:0]
	return nil
}

// spread moves the last n values of s apart, so that they have the cells that are not missing.
func spread[T any](c *chunk, g *gathered, s *[]T, n int, missing []bool) error {
	if _, err := slots(c, g, s, len(missing)-n); err != nil {
		return err
	}
	tail := (*s)[len(*s)-len(missing):]
	k := n
	for i := len(missing) - 1; i >= 0; i-- {
		if missing[i] {
			tail[i] = *new(T)
			continue
		}
		k--
		tail[i] = tail[k]
	}
	return nil
}

// spreadOut does so with the values of the chunk's kind.
func (c *chunk) spreadOut(n int, missing []bool) error {
	g := &c.out
	switch c.kind {
	case columns.Float32:
		return spread(c, g, &g.v.Float32, n, missing)
	case columns.Float64:
		return spread(c, g, &g.v.Float64, n, missing)
	case columns.Float16:
		return spread(c, g, &g.v.Float16, n, missing)
	case columns.Int64:
		return spread(c, g, &g.v.Int64, n, missing)
	case columns.Bool:
		return spread(c, g, &g.v.Bool, n, missing)
	case columns.Text:
		if g.coded {
			return spread(c, g, &g.codes, n, missing)
		}
		if err := spread(c, g, &g.ends, n, missing); err != nil {
			return err
		}
		// A missing text is empty.
		first := len(g.ends) - len(missing)
		for i, m := range missing {
			if m {
				g.ends[first+i] = 0
				if first+i > 0 {
					g.ends[first+i] = g.ends[first+i-1]
				}
			}
		}
	}
	return nil
}
