package jsonlines

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/decimal"
)

// Part is a run of rows of a File.
type Part struct {
	*work
	file   *File
	text   []byte
	at     int
	first  bool  // in an array: no row is before it
	torn   bool  // in an array: the file ends without the closing bracket
	line   int64 // lines of the file before it
	starts []int // where the rows of the last block begin
	err    error
}

// Line returns the number of lines of the file before the part.
func (p *Part) Line() int64 { return p.line }

// LineOf returns the line of the file of a row of the last block, from 1.
func (p *Part) LineOf(row int) int64 {
	return p.line + 1 + int64(bytes.Count(p.text[:p.starts[row]], []byte{'\n'}))
}

// Close returns the part's memory to the file.
func (p *Part) Close() error {
	if p.work != nil {
		p.file.recycle(p.work, p.text)
		p.work, p.text, p.err = nil, nil, io.ErrClosedPipe
	}
	return nil
}

// Next implements columns.Part.
func (p *Part) Next(b *columns.Block) error {
	b.Rows, b.Columns, p.starts = 0, nil, p.starts[:0]
	if p.err != nil {
		return p.err
	}
	p.root.reset()
	for most := min(max(b.Most, 1), p.most); b.Rows < most; b.Rows++ {
		at, more := p.row(p.at, p.first)
		begins := at
		if at == p.n && p.torn {
			at = p.fail(at, "", "is it truncated? write it again", "the array of rows is not closed at the end of the file")
		}
		if more {
			if at = p.object(p.root, at); at >= 0 {
				at = p.ends(at)
			}
		}
		if at < 0 {
			b.Rows, p.err = 0, p.bad
			return p.err
		}
		p.at = at
		if !more {
			break
		}
		p.rows++
		p.starts, p.first = append(p.starts, begins), false
	}
	if b.Rows == 0 {
		p.err = io.EOF
		return p.err
	}
	p.root.finish()
	b.Columns = p.vectors
	return nil
}

// work is what it takes to read a part.
type work struct {
	scanner
	root    *object
	vectors []columns.Vector
	most    int // rows of a block
}

// object is an object of which fields are read.
type object struct {
	level
	fields []field // for the first keys
	wanted []int   // the fields that are read
}

// field says what to do with a field.
type field struct {
	sinks []*sink
	inner *object // reads fields of the field
}

func (f *field) wanted() bool { return f.sinks != nil || f.inner != nil }

func newObject(l *level) *object {
	return &object{level: level{l.outer, l.name, l.keys.copied()}, fields: make([]field, len(l.keys.names))}
}

// want returns the field at a path below the object, which has the shape h.
func (o *object) want(h *shape, path []string) *field {
	i := int(h.level.keys.index[path[0]])
	f := &o.fields[i]
	if !f.wanted() {
		o.wanted = append(o.wanted, i)
	}
	if len(path) == 1 {
		return f
	}
	if f.inner == nil {
		f.inner = newObject(h.fields[i].level)
	}
	return f.inner.want(h.fields[i], path[1:])
}

func (o *object) each(f func(*sink)) {
	for _, i := range o.wanted {
		for _, k := range o.fields[i].sinks {
			f(k)
		}
		if in := o.fields[i].inner; in != nil {
			in.each(f)
		}
	}
}

func (o *object) reset()  { o.each((*sink).reset) }
func (o *object) finish() { o.each((*sink).finish) }

// missing adds missing cells to the fields.
func (o *object) missing() { o.each((*sink).null) }

// shrink forgets keys of former parts, if they are many.
func (o *object) shrink() {
	o.keys.shrink()
	for _, i := range o.wanted {
		for _, k := range o.fields[i].sinks {
			k.shrink()
		}
		if in := o.fields[i].inner; in != nil {
			in.shrink()
		}
	}
}

// sink writes the values of a field to a vector.
type sink struct {
	kind   columns.Kind
	name   string
	v      *columns.Vector
	nulls  []bool
	elem   *sink   // of a List or Map
	object *object // of a Struct
	cells  int     // of a Struct
	pairs  bool    // of a Map: the file has arrays of {label, score}
	keys   keys    // of a Map
	member keys    // of a Map with pairs
}

func newSink(h *shape, kind *columns.Type, v *columns.Vector) *sink {
	k := &sink{kind: kind.Kind, name: kind.Name, v: v, pairs: h.pairs}
	switch kind.Kind {
	case columns.List:
		v.Elem = &columns.Vector{}
		k.elem = newSink(h.elem, kind.Elem, v.Elem)
	case columns.Map:
		v.Elem, v.Keys = &columns.Vector{}, &columns.Vector{}
		k.elem = &sink{kind: kind.Elem.Kind, name: kind.Elem.Name, v: v.Elem}
		if h.pairs {
			k.keys.at = -1
			k.member = h.elem.level.keys.copied()
		} else {
			k.keys = h.level.keys.copied()
		}
	case columns.Struct:
		k.object = newObject(h.level)
		v.Fields = make([]columns.Vector, len(kind.Fields))
		for i := range kind.Fields {
			k.object.fields[i].sinks = []*sink{newSink(h.fields[i], &kind.Fields[i].Type, &v.Fields[i])}
			k.object.wanted = append(k.object.wanted, i)
		}
	}
	return k
}

// cellCount returns the number of cells.
func (k *sink) cellCount() int {
	switch v := k.v; k.kind {
	case columns.Float64:
		return len(v.Float64)
	case columns.Int64:
		return len(v.Int64)
	case columns.Bool:
		return len(v.Bool)
	case columns.Text:
		return len(v.Ends)
	case columns.List, columns.Map:
		return len(v.Offsets) - 1
	}
	return k.cells
}

func (k *sink) reset() {
	v := k.v
	v.Float64, v.Int64, v.Bool, v.Bytes, v.Ends = v.Float64[:0], v.Int64[:0], v.Bool[:0], v.Bytes[:0], v.Ends[:0]
	k.nulls, k.cells = k.nulls[:0], 0
	if k.kind == columns.List || k.kind == columns.Map {
		v.Offsets = append(v.Offsets[:0], 0)
		k.elem.reset()
	}
	if k.kind == columns.Map {
		v.Keys.Codes = v.Keys.Codes[:0]
	}
	if k.object != nil {
		k.object.reset()
	}
}

// finish completes the vector of a block.
func (k *sink) finish() {
	k.v.Null = nil
	if len(k.nulls) > 0 {
		k.nulls = extended(k.nulls, k.cellCount())
		k.v.Null = k.nulls
	}
	if k.elem != nil {
		k.elem.finish()
	}
	if k.kind == columns.Map {
		d := k.v.Keys
		for _, name := range k.keys.names[len(d.Ends):] {
			d.Bytes = append(d.Bytes, name...)
			d.Ends = append(d.Ends, len(d.Bytes))
		}
		if d.Codes == nil {
			d.Codes = []int32{}
		}
	}
	if k.object != nil {
		k.object.finish()
	}
}

func (k *sink) shrink() {
	if k.kind == columns.Map && k.keys.shrink() {
		d := k.v.Keys
		d.Bytes, d.Ends = d.Bytes[:0], d.Ends[:0]
	}
	k.member.shrink()
	if k.elem != nil {
		k.elem.shrink()
	}
	if k.object != nil {
		k.object.shrink()
	}
}

// extended appends false up to n.
func extended(b []bool, n int) []bool {
	for len(b) < n {
		b = append(b, false)
	}
	return b
}

// null adds a missing cell.
func (k *sink) null() {
	k.nulls = append(extended(k.nulls, k.cellCount()), true)
	switch v := k.v; k.kind {
	case columns.Float64:
		v.Float64 = append(v.Float64, 0)
	case columns.Int64:
		v.Int64 = append(v.Int64, 0)
	case columns.Bool:
		v.Bool = append(v.Bool, false)
	case columns.Text:
		v.Ends = append(v.Ends, len(v.Bytes))
	case columns.List, columns.Map:
		v.Offsets = append(v.Offsets, k.elem.cellCount())
	default:
		k.cells++
	}
	if k.object != nil {
		k.object.missing()
	}
}

// object reads an object whose bracket is at p.
func (s *work) object(o *object, p int) int {
	outer := s.where
	s.where = &o.level
	o.keys.begin()
	got := 0
	p, last := s.open(p, '}')
	for p >= 0 && !last {
		if p = s.key(&o.keys, p, "key"); p < 0 {
			return p
		}
		i := o.keys.at
		if p = s.colon(p); p < 0 {
			return p
		}
		if i < len(o.fields) && o.fields[i].wanted() {
			got++
			p = s.field(&o.fields[i], p)
		} else {
			p = s.skip(p)
		}
		if p >= 0 {
			p, last = s.comma(p, '}')
		}
	}
	s.where = outer
	if got < len(o.wanted) && p >= 0 {
		for _, i := range o.wanted {
			if o.keys.turns[i] != o.keys.turn {
				o.fields[i].missing()
			}
		}
	}
	return p
}

func (f *field) missing() {
	for _, k := range f.sinks {
		k.null()
	}
	if f.inner != nil {
		f.inner.missing()
	}
}

// field reads the value of a field, for each that wants it.
func (s *work) field(f *field, p int) (end int) {
	for _, k := range f.sinks {
		if end = s.value(k, p); end < 0 {
			return end
		}
	}
	switch {
	case f.inner == nil:
		return end
	case s.t[p] == '{':
		return s.object(f.inner, p)
	case s.t[p] == 'n':
		f.inner.missing()
		return s.word(p, "null")
	}
	return s.mismatch("object", p)
}

// mismatch fails for a value of another type than the column has.
func (s *work) mismatch(name string, p int) int {
	end := s.skip(p)
	if end < 0 {
		return end // it is no value at all
	}
	value := clean(s.t[p:end])
	is := "a number"
	remedy := "write values of one type, and null for a missing one"
	switch s.t[p] {
	case '"':
		if is = "a text"; name == "number" || name == "integer" {
			remedy = "write numbers without quotes, and null for a missing one"
		}
	case '{':
		is = "an object"
	case '[':
		is = "an array"
	case 't', 'f':
		is = "a boolean"
	case 'n':
		is = "null"
	}
	return s.fail(p, value, remedy, "%s is %s, not %s as in the first rows", value, is, article(name))
}

// value reads the value at p into a vector.
func (s *work) value(k *sink, p int) int {
	c := s.t[p]
	if c == 'n' {
		k.null()
		return s.word(p, "null")
	}
	v := k.v
	switch {
	case k.kind == columns.Float64 && c != '"' && c != '{' && c != '[' && c != 't' && c != 'f':
		x, end := s.float(p)
		v.Float64 = append(v.Float64, x)
		return end
	case k.kind == columns.Int64 && c != '"' && c != '{' && c != '[' && c != 't' && c != 'f':
		x, end := s.integer(p)
		v.Int64 = append(v.Int64, x)
		return end
	case k.kind == columns.Bool && c == 't':
		v.Bool = append(v.Bool, true)
		return s.word(p, "true")
	case k.kind == columns.Bool && c == 'f':
		v.Bool = append(v.Bool, false)
		return s.word(p, "false")
	case k.kind == columns.Text && c == '"':
		return s.textOf(v, p+1)
	case k.kind == columns.List && c == '[':
		p, last := s.open(p, ']')
		if p >= 0 && !last && k.elem.kind == columns.Float64 {
			p, last = s.floats(k.elem.v, p)
		}
		for p >= 0 && !last {
			if p = s.value(k.elem, p); p >= 0 {
				p, last = s.comma(p, ']')
			}
		}
		v.Offsets = append(v.Offsets, k.elem.cellCount())
		return p
	case k.kind == columns.Map && k.pairs && c == '[':
		return s.pairs(k, p)
	case k.kind == columns.Map && !k.pairs && c == '{':
		k.keys.begin()
		p, last := s.open(p, '}')
		for p >= 0 && !last {
			if p = s.key(&k.keys, p, "key"); p < 0 {
				return p
			}
			v.Keys.Codes = append(v.Keys.Codes, int32(k.keys.at))
			if p = s.colon(p); p < 0 {
				return p
			}
			if p = s.value(k.elem, p); p >= 0 {
				p, last = s.comma(p, '}')
			}
		}
		v.Offsets = append(v.Offsets, k.elem.cellCount())
		return p
	case k.kind == columns.Struct && c == '{':
		k.cells++
		return s.object(k.object, p)
	case k.kind == columns.Other:
		k.cells++
		return s.skip(p)
	}
	return s.mismatch(k.name, p)
}

// floats reads the numbers of an array from its first on. It stops in front of what is no number.
func (s *work) floats(v *columns.Vector, p int) (end int, last bool) {
	t, out := s.t, v.Float64
	for c := t[p]; digit(c) || c == '-'; c = t[p] {
		x, q := 0.0, p+2
		if c == '0' && t[p+1] == '.' {
			x, q = decimal.Fraction(t, q) // as float does, but a call less
		}
		if q == p+2 {
			if x, q = s.float(p); q < 0 {
				return q, false
			}
		}
		out = append(out, x)
		if t[q] == ',' {
			p = s.after(q + 1)
			continue
		}
		if p, last = s.comma(q, ']'); p < 0 || last {
			break
		}
	}
	v.Float64 = out
	return p, last
}

// pairs reads an array of {label, score}.
func (s *work) pairs(k *sink, p int) int {
	k.keys.begin()
	p, last := s.open(p, ']')
	for p >= 0 && !last {
		if s.t[p] != '{' {
			return s.mismatch("object", p)
		}
		start := p
		k.member.begin()
		label, score := false, false
		end := false
		p, end = s.open(p, '}')
		for p >= 0 && !end {
			if p = s.key(&k.member, p, "key"); p < 0 {
				return p
			}
			name := k.member.names[k.member.at]
			if p = s.colon(p); p < 0 {
				return p
			}
			switch name {
			case "label":
				if label = true; s.t[p] != '"' {
					return s.mismatch("text", p)
				}
				if p = s.key(&k.keys, p, "label"); p >= 0 {
					v := k.v.Keys
					v.Codes = append(v.Codes, int32(k.keys.at))
				}
			case "score":
				score = true
				p = s.value(k.elem, p)
			default:
				p = s.skip(p)
			}
			if p >= 0 {
				p, end = s.comma(p, '}')
			}
		}
		if p < 0 {
			return p
		}
		if !label || !score {
			value := clean(s.t[start:p])
			return s.fail(start, value, "write a label and a score in each", "%s lacks its label or its score", value)
		}
		p, last = s.comma(p, ']')
	}
	k.v.Offsets = append(k.v.Offsets, k.elem.cellCount())
	return p
}

// textOf reads a text after its opening quote.
func (s *work) textOf(v *columns.Vector, p int) int {
	end, escaped := s.quoted(p)
	if end < 0 {
		return end
	}
	from := len(v.Bytes)
	if escaped {
		v.Bytes = unescape(v.Bytes, s.t[p:end])
	} else {
		v.Bytes = append(v.Bytes, s.t[p:end]...)
	}
	if !utf8.Valid(v.Bytes[from:]) {
		return s.invalid(p, "text")
	}
	v.Ends = append(v.Ends, len(v.Bytes))
	return end + 1
}
