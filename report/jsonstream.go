package report

import (
	"bytes"
	"io"
	"math"
	"strconv"
)

// many are objects that are made when they are written, so that they are not all in memory at once.
type many struct {
	n  int
	at func(i int) object
}

func (m many) append(b []byte) (_ []byte, err error) {
	b = append(b, '[')
	for i := range m.n {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = m.at(i).append(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// append appends what MarshalJSON returns.
func (n number) append(b []byte) []byte {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		return append(b, "null"...)
	case math.IsInf(f, 1):
		return append(b, `"+Inf"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Inf"`...)
	case f == 0:
		return append(b, '0') // not -0
	case math.Abs(f) >= 1e-6 && math.Abs(f) < 1e21:
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' { // 1e-07, which encoding/json writes as 1e-7
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// writeJSON writes an object, indented as by json.Indent with two spaces, and a newline. Only a part of it is in memory at a time.
func writeJSON(w io.Writer, o object) error {
	s := stream{indenter: indenter{w: w}}
	if err := s.value(o); err != nil {
		return err
	}
	s.b = append(s.b, '\n')
	if err := s.flush(); err != nil {
		return err
	}
	return s.indenter.flush()
}

// stream writes JSON in parts.
type stream struct {
	indenter
	b []byte // not indented yet
}

// together is the number of bytes that are indented, and written, at once.
const together = 1 << 16

func (s *stream) flush() error {
	err := s.write(s.b)
	s.b = s.b[:0]
	return err
}

func (s *stream) value(v any) (err error) {
	switch v := v.(type) {
	case object:
		s.b = append(s.b, '{')
		for i, f := range v {
			if i > 0 {
				s.b = append(s.b, ',')
			}
			if s.b, err = appendName(s.b, f.name); err != nil {
				return err
			}
			if err := s.value(f.value); err != nil {
				return err
			}
		}
		s.b = append(s.b, '}')
	case many:
		s.b = append(s.b, '[')
		for i := range v.n {
			if i > 0 {
				s.b = append(s.b, ',')
			}
			if s.b, err = v.at(i).append(s.b); err == nil && len(s.b) >= together {
				err = s.flush()
			}
			if err != nil {
				return err
			}
		}
		s.b = append(s.b, ']')
	case []object:
		if v == nil {
			s.b = append(s.b, "null"...)
			break
		}
		return s.value(many{len(v), func(i int) object { return v[i] }})
	default:
		s.b, err = appendJSON(s.b, v)
	}
	if err == nil && len(s.b) >= together {
		err = s.flush()
	}
	return err
}

// indenter indents JSON that comes in parts.
type indenter struct {
	w       io.Writer
	out     []byte
	depth   int
	opened  bool // after { or [
	text    bool // within a string
	escaped bool // after a backslash
}

func (d *indenter) newline() {
	d.out = append(d.out, '\n')
	for range d.depth {
		d.out = append(d.out, ' ', ' ')
	}
}

func (d *indenter) write(b []byte) error {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if d.text {
			if d.escaped {
				d.escaped = false
				d.out = append(d.out, c)
				continue
			}
			n := bytes.IndexAny(b[i:], `"\`)
			if n < 0 {
				d.out = append(d.out, b[i:]...)
				break
			}
			d.out = append(d.out, b[i:i+n+1]...)
			i += n
			d.escaped, d.text = b[i] == '\\', b[i] != '"'
			continue
		}
		switch c {
		case '}', ']':
			if d.depth--; !d.opened {
				d.newline()
			}
			d.opened = false
			d.out = append(d.out, c)
			continue
		case '\n':
			d.out = append(d.out, c)
			continue
		}
		if d.opened {
			d.opened = false
			d.newline()
		}
		d.out = append(d.out, c)
		switch c {
		case '"':
			d.text = true
		case '{', '[':
			d.depth++
			d.opened = true
		case ',':
			d.newline()
		case ':':
			d.out = append(d.out, ' ')
		}
	}
	if len(d.out) >= together {
		return d.flush()
	}
	return nil
}

func (d *indenter) flush() error {
	_, err := d.w.Write(d.out)
	d.out = d.out[:0]
	return err
}
