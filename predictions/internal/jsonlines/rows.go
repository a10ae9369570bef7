package jsonlines

import (
	"bytes"
	"io"
	"iter"

	"github.com/candor-go/candor/predictions/internal/decimal"
)

// Rows reads the rows of a file one by one, for rows that are too irregular for columns. It checks the syntax of each in full.
type Rows struct {
	f     *File
	part  *Part // of which s has the text; nil between parts
	s     scanner
	at    int   // of the last row in the text, or its beginning
	end   int   // of the last row
	line  int64 // of the last row
	begun bool  // there was a row
}

// NewRows returns the rows of r, which is JSON Lines or one array of objects.
func NewRows(r io.Reader) (*Rows, error) {
	f := &File{r: r, size: mostText, longest: mostLine, root: &shape{level: &level{}}}
	if err := f.begin(); err != nil {
		return nil, err
	}
	return &Rows{f: f}, nil
}

// Next returns the next row, which is an object, and its line, from 0. It returns io.EOF at the end. A *columns.Fault counts lines from the
// beginning of the file. The row is valid until the next call.
func (r *Rows) Next() (row Value, line int64, err error) {
	for {
		if r.part == nil {
			p, err := r.f.Next()
			if err != nil {
				return Value{}, 0, err
			}
			r.part = p.(*Part)
			r.s, r.at, r.end, r.line = r.part.scanner, 0, 0, r.part.line
		}
		s := &r.s
		at, more := s.row(r.end, !r.begun)
		if at == s.n && r.part.torn {
			at = s.fail(at, "", "is it truncated? write it again", "the array of rows is not closed at the end of the file")
		}
		end := at
		if more {
			if end = s.skip(at); end >= 0 {
				end = s.ends(end)
			}
		}
		if end < 0 {
			s.bad.Line += r.part.line
			return Value{}, 0, s.bad
		}
		if !more {
			r.part.Close()
			r.part = nil
			continue
		}
		r.line += int64(bytes.Count(s.t[r.at:at], []byte{'\n'}))
		r.at, r.end, r.begun = at, end, true
		return Value{s.t, s.n, at}, r.line, nil
	}
}

// Parse returns the value that a text is.
func Parse(text []byte) (Value, error) {
	s := scanner{t: append(bytes.Clone(text), make([]byte, decimal.Pad)...), n: len(text)}
	from := s.space(0)
	p := s.skip(from)
	if p >= 0 {
		if p = s.space(p); p < s.n {
			p = s.unexpected(p, "the end of the text")
		}
	}
	if p < 0 {
		return Value{}, s.bad
	}
	return Value{s.t, s.n, from}, nil
}

// Value is a JSON value whose syntax was checked. The zero Value is that of a field which is not there: its methods say that it is nothing.
type Value struct {
	t    []byte
	n, p int
}

func (v Value) scanner() *scanner { return &scanner{t: v.t, n: v.n} }

// Kind returns the first character of the value: { [ " t f n, and 0 for a number. It is -1 of the zero Value.
func (v Value) Kind() rune {
	if v.t == nil {
		return -1
	}
	switch c := v.t[v.p]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return rune(c)
	}
	return 0
}

// Members returns the members of an object in the file's order, none of another value.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != '{' {
			return
		}
		s := v.scanner()
		p, last := s.open(v.p, '}')
		for !last {
			end, escaped := s.quoted(p + 1)
			key := v.t[p+1 : end]
			if escaped {
				key = unescape(nil, key)
			}
			p = s.colon(end + 1)
			if !yield(string(key), Value{v.t, v.n, p}) {
				return
			}
			p, last = s.comma(s.skip(p), '}')
		}
	}
}

// Elements returns the elements of an array with their numbers, none of another value.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != '[' {
			return
		}
		s := v.scanner()
		p, last := s.open(v.p, ']')
		for i := 0; !last; i++ {
			if !yield(i, Value{v.t, v.n, p}) {
				return
			}
			p, last = s.comma(s.skip(p), ']')
		}
	}
}

// Field returns the value of a key of an object, the first one of equal keys.
func (v Value) Field(key string) (value Value, ok bool) {
	for k, value := range v.Members() {
		if k == key {
			return value, true
		}
	}
	return Value{}, false
}

// Text returns what a string means. Half a surrogate pair becomes invalid UTF-8.
func (v Value) Text() (text string, ok bool) {
	if v.Kind() != '"' {
		return "", false
	}
	end, escaped := v.scanner().quoted(v.p + 1)
	if escaped {
		return string(unescape(nil, v.t[v.p+1:end])), true
	}
	return string(v.t[v.p+1 : end]), true
}

// Number returns a number, which may be NaN or infinite as Python writes them. ok is false of other values and of numbers beyond float64.
func (v Value) Number() (number float64, ok bool) {
	if v.Kind() != 0 {
		return 0, false
	}
	x, end := v.scanner().float(v.p)
	return x, end >= 0
}

// Raw returns the text of the value in the file.
func (v Value) Raw() []byte {
	if v.t == nil {
		return nil
	}
	return v.t[v.p:v.scanner().skip(v.p)]
}
