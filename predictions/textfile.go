package predictions

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/decimal"
)

// textFile reads a table of text as a file of columns. It serves what the faster reader of tables, which writes numbers straight into chunks,
// does not: joins, long tables, several labels and members.
//
// A column is a list if its first cell is one, and Float64 if the cells of its first rows are numbers. Once Float or Texts was called, columns
// that were not named there are Text, as written: 01 stays 01.
type textFile struct {
	*text
	table     *layout
	header    []string
	kinds     []columns.Column
	float     []bool
	settled   bool
	steps     []textStep
	separator byte
	blank     int64 // line of the last line if that is empty; 0 if it is not
	ended     bool

	mu   sync.Mutex
	free [][]byte
}

// textStep is a cell to read, after cells to skip.
type textStep struct{ skip, column, to int }

// textFormat is the format of tables of text, as a format of columns.
func textFormat(o *TableOptions) columnFormat {
	return columnFormat{key: "text", name: "table", packed: true, open: func(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
		t := &table{options: &ForecastOptions{FS: from, Names: o.Names, NoHeader: o.NoHeader}}
		p, e := t.probe(path, in, true)
		if e != nil {
			return nil, e
		}
		t.layout.names, t.layout.comma = p.header, p.begins.comma
		f := &textFile{text: p.text, table: &t.layout, header: p.header, float: make([]bool, len(p.header)), separator: t.layout.separator}
		for i, name := range p.header {
			c := columns.Column{Name: name}
			if p.begins.text(i) {
				c.Kind = columns.Text
				if n, ok := listNumbers(nil, []byte(p.begins.first[i])); ok && n > 0 {
					c.Type = columns.Type{Kind: columns.List, Width: n, Elem: &columns.Type{Kind: columns.Float64}}
				}
			}
			f.kinds = append(f.kinds, c)
		}
		return &openColumns{columnFile: f, file: p.text.file, closers: []func(){p.text.close}}, nil
	}}
}

// Columns implements columns.File.
func (f *textFile) Columns() []columns.Column {
	l := slices.Clone(f.kinds)
	for i := range l {
		switch {
		case f.float[i]:
			l[i].Type = columns.Type{Kind: columns.Float64}
		case f.settled && l[i].Kind == columns.Float64:
			l[i].Kind = columns.Text
		}
	}
	return l
}

// Rows implements columns.File.
func (f *textFile) Rows() int64 { return -1 }

// Path finds a column by its name.
func (f *textFile) Path(name string) (int, bool) {
	i := slices.Index(f.header, name)
	return i, i >= 0
}

// Float says that a column is one of numbers. One of lists stays one.
func (f *textFile) Float(column int) {
	f.settled = true
	f.float[column] = f.kinds[column].Kind != columns.List
}

// Texts says that columns are texts unless Float names them.
func (f *textFile) Texts() { f.settled = true }

// Want says which columns to read.
func (f *textFile) Want(w columns.Want) error {
	f.settled = true
	for to, c := range w.Columns {
		f.steps = append(f.steps, textStep{column: c, to: to})
	}
	slices.SortFunc(f.steps, func(a, b textStep) int { return cmp.Compare(a.column, b.column) })
	next := 0
	for i := range f.steps {
		f.steps[i].skip = f.steps[i].column - next
		next = f.steps[i].column + 1
	}
	return nil
}

// Next implements columns.File. A part is about 1 MiB of whole lines.
func (f *textFile) Next() (columns.Part, error) {
	if f.ended {
		return nil, io.EOF
	}
	var b []byte
	f.mu.Lock()
	if n := len(f.free); n > 0 {
		b, f.free = f.free[n-1], f.free[:n-1]
	}
	f.mu.Unlock()
	p := &textPart{f: f, line: f.line - 1}
	var e *Error
	p.text, f.ended, e = f.lines(b[:0], textBytes, f.separator)
	if f.blank > 0 && len(bytes.Trim(p.text, "\r\n")) > 0 {
		return nil, emptyLine(f.blank)
	}
	if lines := bytes.TrimRight(p.text, "\r\n"); bytes.Count(p.text[len(lines):], []byte{'\n'}) > 1 || len(lines) == 0 && len(p.text) > 0 {
		f.blank = f.line - 1
	}
	if len(p.text) == 0 {
		if e != nil {
			return nil, e
		}
		return nil, io.EOF
	}
	p.after = e
	return p, nil
}

// Close implements columns.File. The text is closed with the file that it is read from.
func (f *textFile) Close() error { return nil }

// textPart is a run of whole lines.
type textPart struct {
	f       *textFile
	text    []byte // decimal.Pad spare bytes follow
	at      int
	line    int64 // lines before it
	after   *Error
	scratch []byte
	rows    []int // where the rows of the last block begin
}

// Line returns the number of lines before the part.
func (p *textPart) Line() int64 { return p.line }

// LineOf returns the line of a row of the last block, from 1.
func (p *textPart) LineOf(row int) int64 { return p.lineAt(p.rows[row]) }

// Close implements columns.Part.
func (p *textPart) Close() error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.f.free = append(p.f.free, p.text)
	p.text = nil
	return nil
}

// Next implements columns.Part. Its errors are *Error.
func (p *textPart) Next(b *columns.Block) error {
	f := p.f
	b.Rows, p.rows = 0, p.rows[:0]
	b.Columns = sized(b.Columns, len(f.steps))
	for _, s := range f.steps {
		v := &b.Columns[s.to]
		v.Float64, v.Bytes, v.Ends = v.Float64[:0], v.Bytes[:0], v.Ends[:0]
		if f.kinds[s.column].Kind == columns.List {
			if v.Elem == nil {
				v.Elem = &columns.Vector{}
			}
			v.Elem.Float64, v.Offsets = v.Elem.Float64[:0], append(v.Offsets[:0], 0)
		}
	}
	n := len(p.text)
	for b.Rows < b.Most && p.at < n {
		t := p.text[: n+decimal.Pad : n+decimal.Pad]
		if t[p.at] == '\n' || t[p.at] == '\r' && t[p.at+1] == '\n' {
			if len(bytes.Trim(p.text[p.at:], "\r\n")) > 0 {
				return emptyLine(p.lineAt(p.at))
			}
			p.at = n
			break
		}
		end, e := p.row(b, t)
		if e != nil {
			return e
		}
		b.Rows, p.rows = b.Rows+1, append(p.rows, p.at)
		p.at = end + 1
	}
	if b.Rows == 0 {
		if p.after != nil {
			return p.after
		}
		return io.EOF
	}
	return nil
}

func (p *textPart) lineAt(at int) int64 {
	return p.line + 1 + int64(bytes.Count(p.text[:at], []byte{'\n'}))
}

// row reads the wanted cells of the row at p.at, and returns the position of its line end.
func (p *textPart) row(b *columns.Block, t []byte) (end int, e *Error) {
	f := p.f
	text, at, next := p.text, p.at, 0
	wide := 0x0101010101010101 * uint64(f.separator)
	cells := func() *Error { return p.explain() }
	for _, s := range f.steps {
		for range s.skip {
			if at = skipCell(t, at, wide, f.separator); at < 0 || t[at] != f.separator {
				return 0, cells()
			}
			at++
		}
		next = s.column + 1
		v := &b.Columns[s.to]
		if f.float[s.column] && !f.table.comma {
			if x, to, ok := decimal.Parse(t, at); ok && (t[to] == f.separator || t[to] == '\n') {
				v.Float64 = append(v.Float64, x)
				at = to
				goto read
			}
		}
		{
			c, to, why := readCell(text, at, f.separator, &p.scratch)
			if why != "" {
				return 0, cells()
			}
			switch {
			case f.kinds[s.column].Kind == columns.List:
				before := len(v.Elem.Float64)
				n, _ := listNumbers(nil, c)
				v.Elem.Float64 = append(v.Elem.Float64, make([]float64, n)...)
				if n, ok := listNumbers(v.Elem.Float64[before:], c); !ok && len(bytes.TrimSpace(c)) > 0 {
					return 0, badList(f.header[s.column], c, n, false, 0).on(p.lineAt(at))
				}
				v.Offsets = append(v.Offsets, len(v.Elem.Float64))
			case f.float[s.column]:
				x, ok := f.table.number(c)
				if !ok {
					return 0, badCell(f.header[s.column], c).on(p.lineAt(at))
				}
				v.Float64 = append(v.Float64, x)
			default:
				v.Bytes = append(v.Bytes, c...)
				v.Ends = append(v.Ends, len(v.Bytes))
			}
			at = to
		}
	read:
		if next < len(f.header) {
			if t[at] != f.separator {
				return 0, cells()
			}
			at++
		}
	}
	for ; next < len(f.header); next++ {
		if at = skipCell(t, at, wide, f.separator); at < 0 {
			return 0, cells()
		}
		if next+1 < len(f.header) {
			if t[at] != f.separator {
				return 0, cells()
			}
			at++
		}
	}
	if t[at] == '\r' && t[at+1] == '\n' {
		at++
	}
	if t[at] != '\n' {
		return 0, cells()
	}
	return at, nil
}

// explain returns the Error of a row with a wrong number of cells or with misplaced quotes.
func (p *textPart) explain() *Error {
	b := &block{text: p.text, line: p.line + 1}
	return (&layout{names: p.f.header, separator: p.f.separator}).explain(b, p.at)
}
