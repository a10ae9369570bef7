package predictions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	npyMagic  = "\x93NUMPY"
	maxHeader = 64 << 10 // maximum length of header text; NumPy's own limit for plain types is 10,000
	maxDims   = 64       // NumPy's limit

	again = "write it again with numpy.save"
)

// header is what precedes the data of an .npy array.
type header struct {
	major, minor byte
	descr        string // the value if it is a string, or the text of a structured type's list
	dtype        dtype
	fortran      bool
	shape        []int64
	size         int64 // bytes from the magic to the start of the data
}

// readHeader reads an .npy header and leaves r at the start of the data.
//
// size is the number of bytes that r holds; -1 if unknown. It allocates at most 64 KiB, whatever the header says. If the file is no
// .npy, the Error says what it looks like, which may depend on the extension of path.
func readHeader(r io.Reader, size int64, path string) (header, *Error) {
	var h header
	var fixed [12]byte
	n, err := io.ReadFull(r, fixed[:8])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return h, cannotRead(err)
	}
	if n < 8 || string(fixed[:6]) != npyMagic {
		return h, notNPY(r, fixed[:n], path)
	}
	h.major, h.minor = fixed[6], fixed[7]
	if h.major < 1 || h.major > 3 || h.minor != 0 {
		return h, fault(again+` (version=(1, 0))`, "version %d.%d of the .npy format is not supported: 1.0, 2.0 and 3.0 are", h.major, h.minor)
	}
	width := 4
	if h.major == 1 {
		width = 2
	}
	if _, err := io.ReadFull(r, fixed[8:8+width]); err != nil {
		return h, shortHeader(err)
	}
	length := int64(binary.LittleEndian.Uint16(fixed[8:]))
	if width == 4 {
		length = int64(binary.LittleEndian.Uint32(fixed[8:]))
	}
	h.size = int64(8+width) + length
	if size >= 0 && h.size > size {
		return h, fault(again, "truncated: its header is %d bytes long, the file has %d", h.size, size)
	}
	if length > maxHeader {
		return h, fault(`save a plain array, such as probs.astype("float32")`, "its header is %d bytes long: at most %d are read", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, shortHeader(err)
	}
	if h.major == 3 && !utf8.Valid(text) {
		return h, fault(again, "damaged header: it is not UTF-8")
	}
	if e := h.parse(string(text)); e != nil {
		return h, e
	}
	return h, nil
}

// shortHeader returns the Error of a header that cannot be read to its end.
func shortHeader(err error) *Error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fault(again, "truncated: it ends inside its header")
	}
	return cannotRead(err)
}

// cannotRead returns the Error of a failed read.
func cannotRead(err error) *Error {
	// The Error has the file's name already.
	if u := errors.Unwrap(err); u != nil {
		err = u
	}
	return fault("", "cannot be read: %v", err).because(err)
}

// bytes returns the length of the data, from the shape and the size of the type. ok is false if it overflows int64.
func (h *header) bytes() (int64, bool) {
	n := int64(h.dtype.size)
	for _, d := range h.shape {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range h.shape {
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || int64(lo) < 0 {
			return 0, false
		}
		n = int64(lo)
	}
	return n, true
}

// parse reads the dictionary, a Python literal such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. It must have these
// three keys, each once, in any order.
func (h *header) parse(text string) *Error {
	p := &literal{s: text}
	const (
		descr = 1 << iota
		order
		shape
	)
	seen := 0
	p.need('{')
	for !p.bad && !p.take('}') {
		key := p.str()
		p.need(':')
		bit := 0
		switch key {
		case "descr":
			bit = descr
			if c := p.peek(); c == '[' || c == '(' {
				h.descr, h.dtype = p.brackets(), dtype{kind: '['}
			} else {
				h.descr = p.str()
				h.dtype = parseDType(h.descr)
			}
		case "fortran_order":
			bit = order
			h.fortran = p.boolean()
		case "shape":
			bit = shape
			h.shape = p.tuple()
		default:
			p.fail("a key other than descr, fortran_order and shape")
		}
		if seen&bit != 0 {
			p.fail("a key that appears twice")
		}
		seen |= bit
		if !p.take(',') && p.peek() != '}' {
			p.fail("no comma between its items")
		}
	}
	if p.peek() != 0 || p.i < len(p.s) {
		p.fail("more text after the dictionary")
	}
	if seen != descr|order|shape {
		p.fail("a key missing of descr, fortran_order and shape")
	}
	if p.bad {
		return fault(again, "damaged header: it has %s, at byte %d of its text", p.why, p.at)
	}
	return nil
}

// literal parses a Python literal. After an error, bad is set and results are meaningless.
type literal struct {
	s   string
	i   int
	bad bool
	why string
	at  int
}

func (p *literal) fail(why string) {
	if !p.bad {
		p.bad, p.why, p.at = true, why, p.i
	}
}

// peek returns the next byte that is no space; 0 at the end.
func (p *literal) peek() byte {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case ' ', '\t', '\n', '\r':
			p.i++
		default:
			return c
		}
	}
	return 0
}

// take skips c if it is next, and reports whether it was.
func (p *literal) take(c byte) bool {
	if p.peek() != c || c == 0 {
		return false
	}
	p.i++
	return true
}

func (p *literal) need(c byte) {
	if !p.take(c) {
		p.fail("no " + strconv.Quote(string(c)) + " where one belongs")
	}
}

// str reads 'text' or "text". Escapes are errors: no key and no plain type needs them.
func (p *literal) str() string {
	q := p.peek()
	if q != '\'' && q != '"' {
		p.fail("no string where one belongs")
		return ""
	}
	end := strings.IndexByte(p.s[p.i+1:], q)
	if end < 0 {
		p.fail("a string without an end")
		return ""
	}
	s := p.s[p.i+1 : p.i+1+end]
	if strings.ContainsAny(s, "\\\n") {
		p.fail("an escape in a string")
		return ""
	}
	p.i += end + 2
	return s
}

// word reads a run of letters, digits and underscores.
func (p *literal) word() string {
	p.peek()
	start := p.i
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		p.i++
	}
	return p.s[start:p.i]
}

func (p *literal) boolean() bool {
	p.peek()
	start := p.i
	switch p.word() {
	case "True":
		return true
	case "False":
		return false
	}
	p.i = start
	p.fail("a fortran_order other than True and False")
	return false
}

// tuple reads a shape: (), (3,), (3, 4), or (3L, 4L) from Python 2.
func (p *literal) tuple() []int64 {
	if !p.take('(') {
		p.fail("a shape that is no tuple")
		return nil
	}
	dims := []int64{}
	comma := true
	for !p.bad && !p.take(')') {
		if !comma {
			p.fail("no comma between dimensions")
			break
		}
		if len(dims) == maxDims {
			p.fail("more than " + strconv.Itoa(maxDims) + " dimensions")
			break
		}
		start := p.i
		if p.peek() == '-' {
			p.fail("a negative dimension")
			break
		}
		w := strings.TrimSuffix(p.word(), "L")
		if digits(w) != len(w) || w == "" {
			p.i = start
			p.fail("a dimension that is no whole number")
			break
		}
		d, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			p.i = start
			p.fail("a dimension of 2^63 or more")
			break
		}
		dims = append(dims, d)
		comma = p.take(',')
	}
	if len(dims) == 1 && !comma {
		p.fail("a shape that is no tuple")
	}
	return dims
}

// brackets skips a bracketed value and returns its text.
func (p *literal) brackets() string {
	start := p.i
	var open []byte
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case '[', '(':
			if len(open) == 64 {
				p.fail("brackets nested too deeply")
				return ""
			}
			open = append(open, c)
		case ']', ')':
			opener := byte('[')
			if c == ')' {
				opener = '('
			}
			if open[len(open)-1] != opener {
				p.fail("brackets that do not match")
				return ""
			}
			open = open[:len(open)-1]
			if len(open) == 0 {
				p.i++
				return strings.ToValidUTF8(p.s[start:p.i], "\uFFFD")
			}
		case '\'', '"':
			// Field names are whatever repr writes, so skip escapes.
			p.i++
			for p.i < len(p.s) && p.s[p.i] != c {
				if p.s[p.i] == '\\' {
					p.i++
				}
				p.i++
			}
		}
		p.i++
	}
	p.i = min(p.i, len(p.s))
	p.fail("brackets without an end")
	return ""
}

// shapeText formats a shape as Python does: (10000, 10), (10000,), ().
func shapeText(shape []int64) string {
	var b bytes.Buffer
	b.WriteByte('(')
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// timesText formats a shape as 10000 x 10.
func timesText(shape []int64) string {
	s := make([]string, len(shape))
	for i, d := range shape {
		s[i] = strconv.FormatInt(d, 10)
	}
	return strings.Join(s, " x ")
}
