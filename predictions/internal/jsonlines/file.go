// Package jsonlines reads JSON Lines: a row is an object on a line of its own. It reads a file that is one array of such objects too.
//
// The columns are the fields of the first rows, up to 100 within 1 MiB. File.Path adds fields of nested objects. A column of
//
//   - numbers is Float64, or Int64 if all of the first rows are integers. NaN, Infinity and -Infinity, as Python writes them, are numbers;
//     numbers in quotes are texts. Later integers may be written 3.0 or 3e2.
//   - texts is Text, of true and false Bool.
//   - arrays is List. Numbers of arrays are Float64. Width is the length that all of the first rows have, or 0.
//   - objects of numbers is Map. So is one of arrays of {"label": text, "score": number}, which Hugging Face pipelines write.
//   - other objects is Struct.
//   - only nulls, or values of several types, is Other, which cannot be read.
//
// A missing field is null. A line must hold one object; blank lines are skipped. Lines may end in CRLF, and the last needs no line end.
//
// The syntax of each row is checked in full, including the values that are not read. Duplicate keys are errors in rows and in objects that are
// read. So are invalid UTF-8 and unpaired surrogates in keys and texts that are read. Elsewhere they are ignored.
package jsonlines

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"sync"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/decimal"
)

const (
	firstRows = 100     // that tell the columns
	mostText  = 1 << 20 // bytes of a part with rows of usual size
	leastText = 128 << 10
	mostLine  = 32 << 20 // bytes of a row
)

var (
	_ columns.File = (*File)(nil)
	_ columns.Part = (*Part)(nil)
)

// File is an open file of JSON Lines.
type File struct {
	r     io.Reader
	text  []byte // read, and in no part; room for decimal.Pad bytes follows
	ended bool   // r is at its end
	begun bool   // there was a part
	err   error  // of Next, once there is one
	line  int64  // lines before text

	array bool // the file is one array of rows
	nest  nesting

	columns []columns.Column
	paths   [][]string // of the columns, below root
	shapes  []*shape   // of the columns
	root    *shape
	want    []int
	most    int // rows of a block
	size    int // bytes of a part
	longest int // bytes of a row

	mu    sync.Mutex
	works []*work // of closed parts
	texts [][]byte
}

// Open reads the first rows of r, which is read on by Next. Close does not close it. The Line of its Fault is one of the file.
func Open(r io.Reader) (*File, error) {
	f := &File{r: r, size: mostText, longest: mostLine, most: 1 << 16, root: &shape{level: &level{}}}
	if err := f.begin(); err != nil {
		return nil, err
	}
	end, err := f.cut()
	if err != nil {
		return nil, err
	}
	s := &survey{scanner: scanner{t: append(slices.Clip(f.text[:end]), make([]byte, decimal.Pad)...), n: end, lines: !f.array}}
	for p := 0; s.rows < firstRows; s.rows++ {
		var more bool
		if p, more = s.row(p, s.rows == 0); more {
			if p = s.value(f.root, p); p >= 0 {
				p = s.ends(p)
			}
		}
		if p < 0 {
			s.bad.Line += f.line
			return nil, s.bad
		}
		if !more {
			break
		}
	}
	f.root.settle(false)
	for i, name := range f.root.level.keys.names {
		f.add(name, f.root.fields[i], f.root.level.keys.names[i:i+1])
	}
	return f, nil
}

func (f *File) add(name string, h *shape, path []string) {
	f.columns, f.shapes, f.paths = append(f.columns, columns.Column{Name: name, Type: h.kind}), append(f.shapes, h), append(f.paths, path)
}

// begin reads up to the first row.
func (f *File) begin() error {
	if err := f.fill(f.size); err != nil {
		return err
	}
	t := f.text
	if bytes.HasPrefix(t, []byte("\xff\xfe")) || bytes.HasPrefix(t, []byte("\xfe\xff")) || len(t) > 1 && (t[0] == 0) != (t[1] == 0) {
		return columns.Wrong("iconv -f UTF-16 -t UTF-8 FILE converts it", "it is written in UTF-16")
	}
	f.text = bytes.TrimPrefix(t, []byte("\ufeff"))
	c, err := f.visible()
	if err != nil || len(f.text) == 0 || c == '{' {
		return err
	}
	if c != '[' {
		return columns.Wrong(`write each row as an object on a line of its own, as in {"scores": [0.2, 0.8], "label": 1}`,
			"it is not JSON Lines: it begins with \"%s\"", clean(f.text[:min(len(f.text), 20)]))
	}
	f.array = true
	f.text = f.text[1:]
	if c, err = f.visible(); err == nil && c != '{' && c != ']' && len(f.text) > 0 {
		err = columns.Wrong(`write each row as an object, as in {"scores": [0.2, 0.8], "label": 1}`, "its rows are not objects")
	}
	return err
}

// visible drops white space in front of the text, and returns its first character, 0 at the end.
func (f *File) visible() (byte, error) {
	for {
		rest := bytes.TrimLeft(f.text, " \t\r\n")
		f.line += int64(bytes.Count(f.text[:len(f.text)-len(rest)], []byte{'\n'}))
		if f.text = rest; len(rest) > 0 {
			return rest[0], nil
		}
		if f.ended {
			return 0, nil
		}
		if err := f.fill(f.size); err != nil {
			return 0, err
		}
	}
}

// fill reads until the text has n bytes, or r ends. It allocates no more than it needs for what there is.
func (f *File) fill(n int) error {
	for idle := 0; len(f.text) < n && !f.ended; {
		f.text = slices.Grow(f.text, min(n-len(f.text), max(len(f.text), 64<<10))+decimal.Pad)
		k, err := f.r.Read(f.text[len(f.text):min(n, cap(f.text)-decimal.Pad)])
		f.text = f.text[:len(f.text)+k]
		idle++
		switch {
		case err == io.EOF:
			f.ended = true
		case err != nil:
			return err
		case k > 0:
			idle = 0
		case idle > 100:
			return io.ErrNoProgress
		}
	}
	f.text = slices.Grow(f.text, decimal.Pad)
	return nil
}

// cut reads the next part. It returns the end of its rows in the text, 0 if there are no more.
func (f *File) cut() (end int, err error) {
	for size := f.size; ; size *= 2 {
		if err := f.fill(min(size, f.longest+1)); err != nil {
			return 0, err
		}
		switch {
		case f.array:
			end = f.nest.rows(f.text)
		case !f.ended:
			end = bytes.LastIndexByte(f.text, '\n') + 1
		}
		switch {
		case f.nest.closed:
			return end, f.nothing(end)
		case f.ended:
			return len(f.text), nil
		case end > 0:
			return end, nil
		case len(f.text) <= f.longest:
		case f.longest < mostLine:
			return 0, columns.Wrong("raise "+setting.PartMemory.String(), "the row on line %d is longer than %d KiB, and needs at least %d KiB of memory",
				f.line+1, f.longest>>10, f.longest>>8)
		default:
			return 0, columns.Wrong("is it JSON Lines, with a row on each line?", "line %d is longer than 32 MiB", f.line+1)
		}
	}
}

// nothing checks that only white space follows the array that ends at end, and drops it.
func (f *File) nothing(end int) error {
	if end == len(f.text) {
		return nil // it was checked before
	}
	rest := bytes.Clone(f.text[end+1:])
	rows := f.text[:end]
	defer func(line int64) { f.text, f.line = rows, line }(f.line)
	f.line += int64(bytes.Count(rows, []byte{'\n'}))
	f.text = rest
	_, err := f.visible()
	if err == nil && len(f.text) > 0 {
		err = columns.Wrong(`write each row as an object on a line of its own, as in {"scores": [0.2, 0.8], "label": 1}, or all rows in one array`,
			"on line %d, more follows the end of the array", f.line+1)
	}
	return err
}

// nesting finds rows in an array.
type nesting struct {
	at     int  // scanned so far
	depth  int  // of open brackets
	quoted bool // a string is open
	end    int  // of the last whole row
	closed bool // the array ends at end
}

// rows returns the end of the rows that are whole in t, whose first part was scanned before. If the array ends, it returns the position of its
// bracket. Room for decimal.Pad bytes follows t.
func (n *nesting) rows(t []byte) int {
	size := len(t)
	for t = t[:size+decimal.Pad]; n.at < size && !n.closed; {
		v := binary.LittleEndian.Uint64(t[n.at:])
		m := zeros(v ^ '"'*ones)
		if n.quoted {
			m |= zeros(v ^ '\\'*ones)
		} else {
			v |= 0x20 * ones // brackets become braces
			m |= zeros(v^'{'*ones) | zeros(v^'}'*ones)
		}
		if m == 0 {
			n.at += 8
			continue
		}
		at := n.at + bits.TrailingZeros64(m)/8
		if at >= size {
			break
		}
		n.at = at + 1
		switch c := t[at]; {
		case c == '"':
			n.quoted = !n.quoted
		case n.quoted: // a backslash
			if at+1 == size {
				n.at = at
				return n.end
			}
			n.at++
		case c == '{' || c == '[':
			n.depth++
		case n.depth > 0:
			if n.depth--; n.depth == 0 {
				n.end = at + 1
			}
		case c == ']':
			n.end, n.closed = at, true
		}
	}
	if n.at = min(n.at, size); !n.closed {
		n.at = size // nothing is in the last bytes
	}
	return n.end
}

// Columns implements columns.File. The columns that Path added follow those of the file.
func (f *File) Columns() []columns.Column { return f.columns }

// Rows implements columns.File: it is not known.
func (f *File) Rows() int64 { return -1 }

// Path returns the number of the column of a field, such as "label" or "target.idx". A field of an object in the first rows becomes a column
// with that name. ok is false if no row of them has it.
func (f *File) Path(path string) (column int, ok bool) {
	if i := slices.IndexFunc(f.columns, func(c columns.Column) bool { return c.Name == path }); i >= 0 {
		return i, true
	}
	h, keys := f.root.find(path)
	if h == nil {
		return 0, false
	}
	f.add(path, h, keys)
	return len(f.columns) - 1, true
}

// Float makes an integer column Float64. Call it before Want for a column whose later numbers need not be integers although the first ones
// are, such as scores that begin with 0 and 1.
func (f *File) Float(column int) {
	if c := &f.columns[column]; c.Kind == columns.Int64 {
		c.Type = columns.Type{Kind: columns.Float64, Name: "number"}
	}
}

// Want says what to read. Call it before Next; without it, rows are checked and counted. If Bytes is 0, memory has no limit but that of a
// row, 32 MiB.
func (f *File) Want(w columns.Want) error {
	leaves := 0
	for _, i := range w.Columns {
		if i < 0 || i >= len(f.columns) {
			return columns.Wrong("", "there is no column %d", i)
		}
		c := &f.columns[i]
		t := &c.Type
		for t.Kind == columns.List {
			t = t.Elem
		}
		if t.Kind == columns.Other {
			e := columns.Wrong("write values of one type, and null for a missing one", "column %q has %s in its first rows",
				clean([]byte(c.Name)), plural(c.Type.Name))
			e.Column = c.Name
			return e
		}
		leaves += count(&c.Type)
	}
	f.want = slices.Clone(w.Columns)
	f.size, f.longest, f.most = mostText, mostLine, 1<<16
	if w.Bytes > 0 {
		b := max(w.Bytes, 1<<20)
		const each = 900 // bytes of a sink and a vector
		if least := 2 * each * int64(leaves); least > b {
			return columns.Wrong("read fewer columns, or raise "+setting.PartMemory.String(), "reading %d columns needs at least %d MiB of memory", len(w.Columns), least>>20+1)
		}
		f.size = int(min(max(b/8, leastText), mostText))
		f.longest = int(min(b/4, mostLine))
		f.most = int(min(max(b/4/int64(9*leaves+1), 1), 1<<16))
	}
	return nil
}

// count returns the number of vectors of a type.
func count(t *columns.Type) int {
	n := 1
	if t.Elem != nil {
		n += count(t.Elem)
	}
	for i := range t.Fields {
		n += count(&t.Fields[i].Type)
	}
	return n
}

// Next implements columns.File. Its parts are *Part.
func (f *File) Next() (columns.Part, error) {
	if f.err != nil {
		return nil, f.err
	}
	end, err := f.cut()
	torn := f.array && !f.nest.closed && f.ended
	switch {
	case err != nil:
		f.err = err
		return nil, err
	case f.ended && (f.nest.closed || end == len(f.text)):
		f.err = io.EOF // of the next call
	}
	if end == 0 && !torn {
		f.err = io.EOF
		return nil, io.EOF
	}
	text := f.text
	f.mu.Lock()
	w, next := pop(&f.works), pop(&f.texts)
	f.mu.Unlock()
	f.text = append(next[:0], text[end:]...)
	f.nest.at, f.nest.end = f.nest.at-end, 0
	if w == nil {
		w = f.newWork()
	}
	text = append(text[:end], make([]byte, decimal.Pad)...)
	w.scanner = scanner{t: text, n: end, lines: !f.array}
	p := &Part{work: w, file: f, text: text, first: !f.begun, torn: torn, line: f.line}
	f.line += int64(bytes.Count(text[:end], []byte{'\n'}))
	f.begun = true
	return p, nil
}

func pop[T any](list *[]T) (v T) {
	if n := len(*list); n > 0 {
		v, *list = (*list)[n-1], (*list)[:n-1]
	}
	return v
}

// newWork returns what it takes to read a part.
func (f *File) newWork() *work {
	w := &work{root: newObject(f.root.level), vectors: make([]columns.Vector, len(f.want)), most: f.most}
	for i, c := range f.want {
		field := w.root.want(f.root, f.paths[c])
		field.sinks = append(field.sinks, newSink(f.shapes[c], &f.columns[c].Type, &w.vectors[i]))
	}
	return w
}

// recycle takes back what a part used.
func (f *File) recycle(w *work, text []byte) {
	w.root.shrink()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.works = append(f.works, w)
	if cap(text) <= 2*mostText {
		f.texts = append(f.texts, text)
	}
}

// Close implements columns.File.
func (f *File) Close() error {
	f.err = io.ErrClosedPipe
	return nil
}
