package predictions

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// cells reads the rows of a file with named columns one after the other, as texts. It is for files whose rows are put together with
// others: the readers of tables and of columns are faster and know what is in their cells.
type cells struct {
	name    string // for messages
	columns []string
	row     int64 // number of the current row; -1 before the first
	stamp   stamp
	size    int64 // as stored; -1 of a pipe

	// Of text.
	text      *text
	separator byte
	comma     bool
	block     []byte
	at        int
	last      bool
	lineAt    int64 // of the current row
	nextLine  int64
	table     [][]byte // cells of the current row
	scratch   [][]byte

	// Of a file with columns.
	open  *openColumns
	types []columns.Column // of the columns that are read
	part  columns.Part
	base  int64 // line of the part
	begin int64 // its first row
	rows  columns.Block
	in    int

	want []int // numbers of columns, as cell i has them
	cell []byte
}

// openCells opens a file and reads the names of its columns.
func openCells(path string, called names, read *atomic.Int64) (*cells, *Error) {
	c := &cells{name: called.of(path), row: -1, size: -1}
	if read == nil {
		read = new(atomic.Int64)
	}
	var in io.ReadCloser
	format, ok := formatOf(path)
	if path == "-" || streamed(path) != nil {
		s, npy, e := sniff(path)
		if e == nil && npy {
			s.Close()
			e = fault("name a table", "it is an .npy array, which has no named columns")
		}
		if e != nil {
			return nil, e.in(c.name)
		}
		format, ok = begunBy(s.start)
		in = s
	} else {
		fi, _, e := statText(nil, path)
		if e != nil {
			return nil, e.in(c.name)
		}
		c.size, c.stamp = fi.Size(), stampOf(fi)
	}
	if ok {
		o, e := format.open(nil, path, in, read)
		if e != nil {
			return nil, e.in(c.name)
		}
		c.open = o
		o.columns = o.Columns()
		for i := range o.columns {
			c.columns = append(c.columns, o.columns[i].Name)
		}
		return c, nil
	}
	t, e := openText(nil, path, in, read)
	if e != nil {
		return nil, e.in(c.name)
	}
	c.text = t
	h, e := t.header()
	if e == nil {
		c.separator = separatorOf(path, h)
		c.columns, e = headerNames(h, c.separator, false)
	}
	if e != nil {
		c.close()
		return nil, e.in(c.name)
	}
	b := begin(t.pending, c.separator)
	c.comma = b.comma
	if len(b.first) == len(c.columns)+1 && b.named {
		c.columns = append([]string{""}, c.columns...) // as R writes the names of rows
	}
	c.scratch = make([][]byte, len(c.columns))
	c.nextLine = t.line
	return c, nil
}

func (c *cells) close() {
	if c.text != nil {
		c.text.close()
	}
	if c.open != nil {
		c.open.close()
	}
}

// read says which columns next reads; cell i is then that of the i-th of them. Those in numbers, which counts in want, hold numbers.
func (c *cells) read(want []int, numbers ...int) *Error {
	c.want = want
	if c.open == nil {
		return nil
	}
	for at, i := range want {
		t := c.open.columns[i]
		if t.Kind > columns.Time {
			return fault("write texts and numbers", "column %q has neither texts nor numbers: it is %s", cut(t.Name), t.Kind).in(c.name)
		}
		if p, ok := c.open.columnFile.(pathed); ok && t.Kind == columns.Int64 && slices.Contains(numbers, at) {
			p.Float(i)
			t = c.open.Columns()[i]
		}
		c.types = append(c.types, t)
	}
	if e := wanted(c.open, want, 0); e != nil {
		return e.in(c.name)
	}
	return nil
}

// next reads the next row, and reports false at the end.
func (c *cells) next() (bool, *Error) {
	ok, e := false, (*Error)(nil)
	if c.open != nil {
		ok, e = c.nextOfColumns()
	} else {
		ok, e = c.nextOfText()
	}
	if e == nil && !ok && c.size >= 0 {
		var file fs.File
		if c.open != nil {
			file = c.open.file
		} else {
			file = c.text.file
		}
		if file != nil {
			e = c.stamp.compare(file)
		}
	}
	if e != nil {
		return false, e.in(c.name)
	}
	if ok {
		c.row++
	}
	return ok, nil
}

func (c *cells) nextOfText() (bool, *Error) {
	for c.at >= len(c.block) {
		if c.last {
			return false, nil
		}
		var e *Error
		c.block, c.last, e = c.text.lines(c.block[:0], textBytes, c.separator)
		if c.at = 0; e != nil {
			return false, e
		}
	}
	c.table = c.table[:0]
	c.lineAt = c.nextLine
	start := c.at
	if blankLine(c.block[c.at:]) {
		for rest := c.block[c.at:]; len(rest) > 0; {
			if !blankLine(rest) {
				return false, emptyLine(c.lineAt)
			}
			rest = rest[bytes.IndexByte(rest, '\n')+1:]
		}
		c.at = len(c.block)
		return c.nextOfText()
	}
	for i := 0; ; i++ {
		if i == len(c.scratch) {
			return false, fault("every line has as many cells as the header", "more than %d cells", len(c.columns)).on(c.lineAt)
		}
		cell, end, why := readCell(c.block, c.at, c.separator, &c.scratch[i])
		if why != "" {
			return false, fault(quotesRemedy, "%s", why).on(c.lineAt)
		}
		c.table = append(c.table, cell)
		if c.at = end + 1; c.block[end] == '\n' {
			break
		}
	}
	c.nextLine += int64(bytes.Count(c.block[start:c.at], []byte{'\n'}))
	if len(c.table) != len(c.columns) {
		return false, fault("every line has as many cells as the header", "%d cells, and the header has %d", len(c.table), len(c.columns)).on(c.lineAt)
	}
	return true, nil
}

// blankLine reports whether a text begins with an empty line.
func blankLine(b []byte) bool {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return len(bytes.TrimSpace(line)) == 0
}

func (c *cells) nextOfColumns() (bool, *Error) {
	for c.in+1 >= c.rows.Rows {
		if c.part == nil {
			p, err := c.open.Next()
			if err == io.EOF {
				return false, nil
			} else if err != nil {
				return false, asError(err, 0, 0)
			}
			c.part, c.base, c.begin = p, -1, c.row+1
			if p, ok := p.(interface{ Line() int64 }); ok {
				c.base = p.Line()
			}
		}
		c.rows.Most, c.rows.Rows, c.in = 4096, 0, -1
		err := c.part.Next(&c.rows)
		if err == io.EOF {
			err = c.part.Close()
			c.part = nil
		}
		if err != nil {
			return false, asError(err, c.base, c.begin)
		}
	}
	c.in++
	return true, nil
}

// line returns the line of the current row; -1 in formats without lines.
func (c *cells) line() int64 {
	if c.open == nil {
		return c.lineAt
	}
	return -1
}

// of returns the text of cell i, which is valid until the next row; missing cells are "NA" or empty.
func (c *cells) of(i int) (text []byte, missing bool) {
	if c.open == nil {
		text = bytes.TrimSpace(c.table[c.want[i]])
		return text, absent(text)
	}
	v := &c.rows.Columns[i]
	if v.Null != nil && v.Null[c.in] {
		return nil, true
	}
	t := &c.types[i].Type
	if t.Kind == columns.Text {
		text = bytes.TrimSpace(v.Text(c.in))
		return text, absent(text)
	}
	c.cell = appendText(c.cell[:0], t, v, c.in)
	return bytes.Clone(c.cell), string(c.cell) == "NaN"
}

// number returns the number of cell i; NaN if it is missing.
func (c *cells) number(i int) (float64, bool) {
	if c.open == nil {
		cell := c.table[c.want[i]]
		if c.comma && bytes.IndexByte(cell, ',') >= 0 {
			cell = bytes.ReplaceAll(cell, []byte{','}, []byte{'.'})
		}
		return cellNumber(cell)
	}
	v := &c.rows.Columns[i]
	if v.Null != nil && v.Null[c.in] {
		return nan, true
	}
	switch c.types[i].Kind {
	case columns.Float64:
		return v.Float64[c.in], true
	case columns.Float32:
		return float64(v.Float32[c.in]), true
	case columns.Int64:
		return float64(v.Int64[c.in]), true
	case columns.Time, columns.Bool:
		return 0, false
	}
	text, _ := c.of(i)
	x, err := strconv.ParseFloat(string(text), 64)
	if absent(text) {
		return nan, true
	}
	return x, err == nil || errors.Is(err, strconv.ErrRange)
}

// absent reports whether a text stands for a missing value.
func absent(text []byte) bool {
	return len(text) == 0 || bytes.EqualFold(text, []byte("NA")) || bytes.EqualFold(text, []byte("null")) || bytes.EqualFold(text, []byte("NaN"))
}

// placed adds the place of the current row to an Error.
func (c *cells) placed(e *Error) *Error {
	if line := c.line(); line >= 0 {
		e.Line = line
	} else {
		e.Row = c.row
	}
	return e.in(c.name)
}
