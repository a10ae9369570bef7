package predictions

import (
	"fmt"
	"math"
	"strconv"

	"github.com/candor-go/candor/internal/setting"
)

// columnScratch is the size of the buffer through which labels, weights and the like are converted. It stays in the L2 cache.
const columnScratch = 256 << 10

// column reads several vectors as one: the labels, weights or the like of all shards. From matrices it reads whole rows.
type column struct {
	arrays []*array
	what   string // what one value is called: "label", "decision"
	next   int
	src    *source // of arrays[next-1]
	at     int64   // index of the next value in src
	buf    []uint64
	tile   *tiles // of src if it is column-major

	ignore []int32 // labels that are turned into metrics.Ignored
	seen   int64   // labels that mark has looked at
}

// fill reads the next len(dst) values. to converts n raw values in native byte order and returns the index of the first that does not
// fit, or n. direct, if set, returns dst as raw values, for arrays that need no conversion.
func (c *column) fill(n int, direct func(a *array) []byte, to func(a *array, at, n int, buf []uint64) int) *Error {
	for done := 0; done < n; {
		if c.src == nil {
			a := c.arrays[c.next]
			c.next++
			if a.rows() == 0 {
				continue
			}
			src, e := a.open()
			if e != nil {
				return e
			}
			c.src, c.at = src, 0
			if a.columnMajor() {
				c.tile = newTiles(src, columnScratch*4, nil)
			}
		}
		a := c.src.a
		size, width := a.dtype.size, a.columns()
		m := int(min(int64(n-done), a.rows()*width-c.at))
		if p := direct(a); p != nil && c.tile == nil {
			if e := c.src.read(p[done*size:][:m*size]); e != nil {
				return e
			}
		} else {
			scratch := columnScratch / size
			if c.tile != nil { // tiles return whole rows
				scratch = max(1, scratch/int(width)) * int(width)
			}
			if need := (scratch*size + 7) / 8; len(c.buf) < need {
				c.buf = make([]uint64, need)
			}
			m = min(m, scratch)
			var e *Error
			if c.tile != nil {
				e = c.tile.read(c.buf, c.at/width, m/int(width))
			} else {
				e = c.src.read(raw(c.buf)[:m*size])
			}
			if e != nil {
				return e
			}
			if a.dtype.swapped() {
				swapBytes(c.buf[:(m*size+7)/8], size)
			}
			if bad := to(a, done, m, c.buf); bad < m {
				row, column := a.skip+(c.at+int64(bad))/width, -1
				remedy := c.what + "s are class numbers from 0 to classes-1: numpy.unique(" + c.what + "s, return_inverse=True)[1] numbers anything else"
				if width > 1 {
					column, remedy = int((c.at+int64(bad))%width), "each is 0 or 1"
				}
				why, value := "does not fit in int32", integerText(a, c.buf, bad)
				if a.dtype.kind == 'f' {
					why = "is not a class number"
					if v, _ := strconv.ParseFloat(value, 64); v > 0 && v < 1 && width == 1 && c.what == "label" {
						remedy = fmt.Sprintf("probabilities? name them first, and labels with %v; %s", setting.Labels, remedy)
					}
				}
				return &Error{File: a.file, Row: row, Column: column, Value: value,
					Reason: fmt.Sprintf("%s %s %s", c.what, value, why), Remedy: remedy}
			}
		}
		done += m
		c.at += int64(m)
		if c.at == a.rows()*width {
			if e := c.src.finish(); e != nil {
				return e
			}
			if err := c.close(); err != nil {
				return cannotRead(err).in(a.file)
			}
		}
	}
	return nil
}

func (c *column) close() error {
	if c.src == nil {
		return nil
	}
	err := c.src.close()
	c.src, c.tile = nil, nil
	return err
}

// classes is labels for one label a row, where those that are to be ignored become metrics.Ignored.
func (c *column) classes(dst []int32) *Error {
	if e := c.labels(dst); e != nil {
		return e
	}
	if e := c.mark(dst); e != nil {
		return e
	}
	c.seen += int64(len(dst))
	return nil
}

// labels fills dst with the next labels. A label outside int32 is an Error that names its row.
func (c *column) labels(dst []int32) *Error {
	return c.fill(len(dst), func(a *array) []byte {
		if a.dtype.kind == 'i' && a.dtype.size == 4 && !a.dtype.swapped() {
			return raw(dst)
		}
		return nil
	}, func(a *array, at, n int, buf []uint64) int {
		d := dst[at:][:n]
		if a.dtype.kind == 'f' { // integral floating-point labels, as pandas and PyTorch write them
			switch a.dtype.size {
			case 2:
				for i, h := range view[uint16](buf, n) {
					v := half(h)
					if d[i] = int32(v); float64(d[i]) != v {
						return i
					}
				}
				return n
			case 4:
				return narrow(d, view[float32](buf, n), func(v float32) bool { return whole(float64(v)) })
			}
			return narrow(d, view[float64](buf, n), whole)
		}
		if a.dtype.kind == 'i' {
			switch a.dtype.size {
			case 1:
				convert(d, view[int8](buf, n))
			case 2:
				convert(d, view[int16](buf, n))
			case 4:
				convert(d, view[int32](buf, n))
			case 8:
				s := view[int64](buf, n)
				fit := narrowMost(d, s)
				return fit + narrow(d[fit:], s[fit:], func(v int64) bool { return int64(int32(v)) == v })
			}
			return n
		}
		switch a.dtype.size {
		case 1:
			convert(d, view[uint8](buf, n))
		case 2:
			convert(d, view[uint16](buf, n))
		case 4:
			return narrow(d, view[uint32](buf, n), func(v uint32) bool { return v <= math.MaxInt32 })
		case 8:
			return narrow(d, view[uint64](buf, n), func(v uint64) bool { return v <= math.MaxInt32 })
		}
		return n
	})
}

// weights fills dst with the next weights.
func (c *column) weights(dst []float64) *Error {
	return c.fill(len(dst), func(a *array) []byte {
		if a.dtype.kind == 'f' && a.dtype.size == 8 && !a.dtype.swapped() {
			return raw(dst)
		}
		return nil
	}, func(a *array, at, n int, buf []uint64) int {
		d := dst[at:][:n]
		size := strconv.Itoa(a.dtype.size)
		switch string(a.dtype.kind) + size {
		case "f2":
			for i, h := range view[uint16](buf, n) {
				d[i] = half(h)
			}
		case "f4":
			convert(d, view[float32](buf, n))
		case "f8":
			copy(d, view[float64](buf, n))
		case "i1":
			convert(d, view[int8](buf, n))
		case "i2":
			convert(d, view[int16](buf, n))
		case "i4":
			convert(d, view[int32](buf, n))
		case "i8":
			convert(d, view[int64](buf, n))
		case "u1", "b1":
			convert(d, view[uint8](buf, n))
		case "u2":
			convert(d, view[uint16](buf, n))
		case "u4":
			convert(d, view[uint32](buf, n))
		case "u8":
			convert(d, view[uint64](buf, n))
		}
		return n
	})
}

func convert[D int32 | float64, S fixed](dst []D, src []S) {
	dst = dst[:len(src)]
	for ; len(src) >= 8; src, dst = src[8:], dst[8:] {
		s, d := (*[8]S)(src), (*[8]D)(dst)
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = D(s[0]), D(s[1]), D(s[2]), D(s[3]), D(s[4]), D(s[5]), D(s[6]), D(s[7])
	}
	for i, v := range src {
		dst[i] = D(v)
	}
}

// narrowMost converts values, eight at a time, up to the first eight of which one does not fit, and returns their number. Fewer than eight at
// the end are left.
func narrowMost(dst []int32, src []int64) (n int) {
	dst = dst[:len(src)]
	for ; len(src) >= 8; src, dst, n = src[8:], dst[8:], n+8 {
		s, d := (*[8]int64)(src), (*[8]int32)(dst)
		// The sum is from 0 to 2^32 - 1 if a value fits.
		const half = 1 << 31
		a, b := uint64(s[0]+half)|uint64(s[1]+half)|uint64(s[2]+half)|uint64(s[3]+half), uint64(s[4]+half)|uint64(s[5]+half)|uint64(s[6]+half)|uint64(s[7]+half)
		if (a|b)>>32 != 0 {
			return n
		}
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = int32(s[0]), int32(s[1]), int32(s[2]), int32(s[3]), int32(s[4]), int32(s[5]), int32(s[6]), int32(s[7])
	}
	return n
}

// whole reports whether v is an integer in the range of int32.
func whole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1<<31 }

// narrow converts the values up to the first that does not fit, and returns its index, or len(src).
func narrow[S int64 | uint64 | uint32 | float32 | float64](dst []int32, src []S, fits func(S) bool) int {
	for i, v := range src {
		if !fits(v) {
			return i
		}
		dst[i] = int32(v)
	}
	return len(src)
}

// integerText returns the i-th integer in buf, as text.
func integerText(a *array, buf []uint64, i int) string {
	switch {
	case a.dtype.kind == 'f' && a.dtype.size == 2:
		return strconv.FormatFloat(half(view[uint16](buf, i+1)[i]), 'g', 7, 64)
	case a.dtype.kind == 'f' && a.dtype.size == 4:
		return strconv.FormatFloat(float64(view[float32](buf, i+1)[i]), 'g', -1, 32)
	case a.dtype.kind == 'f':
		return strconv.FormatFloat(view[float64](buf, i+1)[i], 'g', -1, 64)
	case a.dtype.kind == 'i':
		return strconv.FormatInt(view[int64](buf, i+1)[i], 10)
	case a.dtype.size == 4:
		return strconv.FormatUint(uint64(view[uint32](buf, i+1)[i]), 10)
	}
	return strconv.FormatUint(view[uint64](buf, i+1)[i], 10)
}

// half returns the value of the bits of an IEEE 754 binary16 number.
func half(h uint16) float64 {
	sign := uint64(h>>15) << 63
	exp, frac := h>>10&0x1F, uint64(h&0x3FF)
	switch exp {
	case 0:
		v := float64(frac) * 0x1p-24
		return math.Float64frombits(math.Float64bits(v) | sign)
	case 0x1F:
		return math.Float64frombits(sign | 0x7FF<<52 | frac<<42)
	}
	return math.Float64frombits(sign | (uint64(exp)+1023-15)<<52 | frac<<42)
}
