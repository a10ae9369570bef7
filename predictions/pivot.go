package predictions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// long returns the format of files that have a row for each class, if the options say so, or the format itself.
func (o *TableOptions) long(f columnFormat) columnFormat {
	if o.Pivot == "" {
		return f
	}
	open := f.open
	f.open = func(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
		file, e := open(from, path, in, read)
		if e != nil {
			return nil, e
		}
		long := &longFile{columnFile: file.columnFile, o: o}
		if e := long.lay(); e != nil {
			file.close()
			return nil, e
		}
		file.columnFile = long
		return file, nil
	}
	return f
}

// longFile is a file with a row for each class as one with a list of scores in each row. All columns but those of the scores are taken from
// the first row of a key.
type longFile struct {
	columnFile
	o                *TableOptions
	types            []columns.Column
	class, score     int // columns of the file
	columns          []columns.Column
	from             []int // the file's column of each; that of the scores for the list
	keys             []int
	names            map[string]int
	want             []int // of columns
	part             *longPart
	classAt, scoreAt int // among the file's wanted columns
	keyAt            []int
	wantAt           []int // of want; -1 for the list
}

// mostOpen is how many bytes the scores of rows that are not whole may take.
const mostOpen = 128 << 20

func (f *longFile) lay() *Error {
	w := &f.o.Columns
	switch {
	case len(w.Scores) != 1 || w.Prefix != nil || w.Members != nil:
		return fault("name it by "+setting.ScoreColumns.String(), "a table with a row for each class has one column of scores")
	case len(w.Keys) == 0:
		return fault("name the columns that tell rows of different examples apart by "+setting.Keys.String(), "a table with a row for each class needs a key")
	}
	if p, ok := f.columnFile.(pathed); ok {
		for _, name := range slices.Concat([]string{f.o.Pivot, w.Scores[0], w.Label, w.Weight, w.Decision, w.Confidence, w.Only, w.Cluster}, w.Keys, w.Groups, w.Kept) {
			if name != "" {
				p.Path(name)
			}
		}
		if i, ok := p.Path(w.Scores[0]); ok {
			p.Float(i)
		}
		for _, name := range []string{w.Weight, w.Confidence} {
			if i, ok := p.Path(name); ok {
				p.Float(i)
			}
		}
	}
	f.types = f.columnFile.Columns()
	header := &layout{}
	for _, c := range f.types {
		header.names = append(header.names, c.Name)
	}
	find := func(name, what string, by setting.Setting) (int, *Error) {
		i := slices.Index(header.names, name)
		if i < 0 {
			return -1, fault("name the column by "+by.String(), "no column %q for the %s%s: %s", cut(name), what, header.similar(name), header.list())
		}
		return i, nil
	}
	var e *Error
	if f.class, e = find(f.o.Pivot, "class", setting.Pivot); e != nil {
		return e
	}
	if f.types[f.class].Kind > columns.Text {
		return fault("name another by "+setting.Pivot.String(), "column %q cannot name classes: its type is %s", cut(f.o.Pivot), f.types[f.class].Kind)
	}
	if f.score, e = find(w.Scores[0], "scores", setting.ScoreColumns); e != nil {
		return e
	}
	if w.Scores[0] == w.Label {
		return fault("name another by "+setting.ScoreColumns.String(), "column %q cannot be both the label and the scores", cut(w.Label))
	}
	if !isNumber(&f.types[f.score].Type) {
		return fault("name the column that has it by "+setting.ScoreColumns.String(), "column %q cannot be the scores: its type is %s", cut(w.Scores[0]), f.types[f.score].Kind)
	}
	for _, k := range w.Keys {
		i, e := find(k, "key", setting.Keys)
		if e != nil {
			return e
		}
		f.keys = append(f.keys, i)
	}
	f.names = map[string]int{}
	for i, n := range w.Classes {
		f.names[n] = i
	}
	for i, c := range f.types {
		switch {
		case i == f.class:
			continue
		case i == f.score:
			c.Type = columns.Type{Kind: columns.List, Width: len(w.Classes), Elem: &columns.Type{Kind: columns.Float64}}
		case c.Kind > columns.Time:
			continue
		case c.Name != w.Weight && c.Name != w.Confidence && c.Name != w.Bytes:
			c.Type = columns.Type{Kind: columns.Text}
		default:
			c.Type = columns.Type{Kind: columns.Float64}
		}
		f.columns, f.from = append(f.columns, c), append(f.from, i)
	}
	return nil
}

// Columns implements columns.File.
func (f *longFile) Columns() []columns.Column { return f.columns }

// Rows implements columns.File.
func (f *longFile) Rows() int64 { return -1 }

// Want says which columns to read.
func (f *longFile) Want(w columns.Want) error {
	f.want = w.Columns
	var want []int
	take := func(i int) int {
		if at := slices.Index(want, i); at >= 0 {
			return at
		}
		want = append(want, i)
		return len(want) - 1
	}
	f.classAt, f.scoreAt = take(f.class), take(f.score)
	for _, k := range f.keys {
		f.keyAt = append(f.keyAt, take(k))
	}
	for _, c := range w.Columns {
		at := -1
		if f.from[c] != f.score {
			at = take(f.from[c])
		}
		f.wantAt = append(f.wantAt, at)
	}
	return f.columnFile.Want(columns.Want{Columns: want, Bytes: w.Bytes})
}

// Next returns the one part: a key's rows may be anywhere.
func (f *longFile) Next() (columns.Part, error) {
	if f.part != nil {
		return nil, io.EOF
	}
	f.part = &longPart{f: f, open: map[string]*longRow{}}
	return f.part, nil
}

// longRow is a row whose classes are not all known yet.
type longRow struct {
	scores []float64
	there  []bool // which of these are known
	left   int    // how many are not
	cells  []byte // of the wanted columns, as keys are written
	number []float64
	row    int64 // of its first score
}

type longPart struct {
	f     *longFile
	part  columns.Part
	block columns.Block
	at    int
	rows  int64 // read of parts before
	a     assembler
	key   []byte
	open  map[string]*longRow
	bytes int
	spare []*longRow
}

// Next implements columns.Part.
func (p *longPart) Next(b *columns.Block) error {
	f := p.f
	b.Rows = 0
	b.Columns = sized(b.Columns, len(f.want))
	for i := range f.want {
		v := &b.Columns[i]
		v.Float64, v.Bytes, v.Ends = v.Float64[:0], v.Bytes[:0], v.Ends[:0]
		if f.wantAt[i] < 0 {
			if v.Elem == nil {
				v.Elem = &columns.Vector{}
			}
			v.Elem.Float64, v.Offsets = v.Elem.Float64[:0], append(v.Offsets[:0], 0)
		}
	}
	for b.Rows < b.Most {
		if p.at == p.block.Rows {
			if err := p.more(); err == io.EOF {
				if len(p.open) > 0 {
					return p.short()
				}
				if b.Rows == 0 {
					return io.EOF
				}
				return nil
			} else if err != nil {
				return err
			}
		}
		if err := p.take(b); err != nil {
			return err
		}
		p.at++
		p.rows++
	}
	return nil
}

// more reads the next rows of the file.
func (p *longPart) more() error {
	for {
		if p.part == nil {
			part, err := p.f.columnFile.Next()
			if err != nil {
				return err
			}
			p.part = part
		}
		p.block.Most, p.at = 1<<12, 0
		err := p.part.Next(&p.block)
		if err == nil {
			return nil
		}
		p.block.Rows = 0
		if err != io.EOF {
			if p, ok := p.part.(interface{ Line() int64 }); ok {
				return asError(err, p.Line(), 0)
			}
			return asError(err, -1, p.rows)
		}
		if err := p.part.Close(); err != nil {
			return err
		}
		p.part = nil
	}
}

// take reads one row of the file. If it is the last of its key, the row is added to b.
func (p *longPart) take(b *columns.Block) error {
	f, i := p.f, p.at
	cell := func(column, at int) []byte {
		v := &p.block.Columns[at]
		if v.Null != nil && v.Null[i] {
			return nil
		}
		return p.a.text(&f.types[column].Type, v, i)
	}
	p.key = p.key[:0]
	for j, at := range f.keyAt {
		p.key = appendKey(p.key, cell(f.keys[j], at))
	}
	name := string(bytes.TrimSpace(cell(f.class, f.classAt))) // whose memory the next cell takes
	bad := func(column string, remedy, format string, args ...any) *Error {
		e := fault(remedy, format, args...)
		e.Row, e.Name = int64(i), column
		if _ = atLine(e, p.part); e.Row >= 0 {
			e.Row = p.rows
		}
		e.fixed = true
		return e
	}
	if noKey(p.key) {
		return bad(f.o.Columns.Keys[0], "give each row a key", "column %q: the key is missing", cut(f.o.Columns.Keys[0]))
	}
	if name == "" {
		return bad(f.o.Pivot, "name the class in each row", "column %q: the class is missing", cut(f.o.Pivot))
	}
	if len(f.o.Columns.Classes) == 0 {
		return p.unnamed(name)
	}
	class, ok := f.names[name]
	if !ok {
		return bad(f.o.Pivot, "name all classes by "+setting.ClassNames.String(), "column %q: %q is not one of the classes %s", cut(f.o.Pivot), cut(name),
			strings.Join(f.o.Columns.Classes, ", "))
	}
	r := p.open[string(p.key)]
	if r == nil {
		if n := len(p.spare); n > 0 {
			r, p.spare = p.spare[n-1], p.spare[:n-1]
		} else {
			r = &longRow{scores: make([]float64, len(f.names)), there: make([]bool, len(f.names))}
		}
		clear(r.there)
		r.left, r.cells, r.number, r.row = len(f.names), r.cells[:0], r.number[:0], p.rows
		for j, at := range f.wantAt {
			switch c := f.want[j]; {
			case at < 0:
			case f.columns[c].Kind == columns.Float64:
				r.number = append(r.number, p.number(at, f.from[c]))
			default:
				r.cells = appendKey(r.cells, cell(f.from[c], at))
			}
		}
		p.open[string(p.key)] = r
		if p.bytes += r.size(p.key); p.bytes > mostOpen {
			return fault("sort the file by its key, so that the rows of a key follow one another", "the rows whose classes are not all there yet take more than %d MiB", mostOpen>>20)
		}
	} else if column, ok := p.same(r, cell); !ok {
		return bad(column, "the rows of a key must agree in everything but the class and its score", "column %q: key %s has another value in an earlier row", cut(column), keyText(p.key))
	}
	if r.there[class] {
		return bad(f.o.Pivot, "a key must have each class once: name more columns by "+setting.Keys.String(), "column %q: key %s has the class %q twice",
			cut(f.o.Pivot), keyText(p.key), cut(name))
	}
	r.scores[class], r.there[class] = p.number(f.scoreAt, f.score), true
	if r.left--; r.left > 0 {
		return nil
	}
	cells, n := r.cells, 0
	for j, at := range f.wantAt {
		v := &b.Columns[j]
		switch c := f.want[j]; {
		case at < 0:
			v.Elem.Float64 = append(v.Elem.Float64, r.scores...)
			v.Offsets = append(v.Offsets, len(v.Elem.Float64))
		case f.columns[c].Kind == columns.Float64:
			v.Float64 = append(v.Float64, r.number[n])
			n++
		default:
			var text []byte
			text, cells = firstCell(cells)
			v.Bytes = append(v.Bytes, text...)
			v.Ends = append(v.Ends, len(v.Bytes))
		}
	}
	b.Rows++
	p.bytes -= r.size(p.key)
	delete(p.open, string(p.key))
	p.spare = append(p.spare, r)
	return nil
}

// size returns about how many bytes a row takes.
func (r *longRow) size(key []byte) int {
	return 9*len(r.scores) + len(key) + len(r.cells) + 8*len(r.number) + 250
}

// firstCell takes the first cell off what appendKey wrote.
func firstCell(cells []byte) (cell, rest []byte) {
	n, w := binary.Uvarint(cells)
	return cells[w : w+int(n)], cells[w+int(n):]
}

// same reports whether the current row of the file has the cells of a row, or else the column in which it does not.
func (p *longPart) same(r *longRow, cell func(column, at int) []byte) (string, bool) {
	f, cells, n := p.f, r.cells, 0
	for j, at := range f.wantAt {
		c := f.want[j]
		if at < 0 {
			continue
		}
		if f.columns[c].Kind == columns.Float64 {
			if x, y := r.number[n], p.number(at, f.from[c]); x != y && (x == x || y == y) {
				return f.columns[c].Name, false
			}
			n++
			continue
		}
		var was []byte
		if was, cells = firstCell(cells); !bytes.Equal(was, cell(f.from[c], at)) {
			return f.columns[c].Name, false
		}
	}
	return "", true
}

// number returns the number in the current row of the file, NaN if it is missing.
func (p *longPart) number(at, column int) float64 {
	v := stretch(&p.block.Columns[at], p.at, p.at+1)
	if null := p.block.Columns[at].Null; null != nil && null[p.at] {
		return nan
	}
	return p.a.float64s(&v, &p.f.types[column].Type)[0]
}

// unnamed is the Error of classes without an order.
func (p *longPart) unnamed(first string) *Error {
	names := []string{first}
	v := &p.block.Columns[p.f.classAt]
	for i := range p.block.Rows {
		if v.Null != nil && v.Null[i] {
			continue
		}
		if name := string(bytes.TrimSpace(p.a.text(&p.f.types[p.f.class].Type, v, i))); !slices.Contains(names, name) && len(names) < 1000 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return fault(fmt.Sprintf("name the classes, in their order, by %v: %s", setting.ClassNames, strings.Join(names, ",")),
		"column %q names the class of each score, but the order of its rows does not tell the order of the classes", cut(p.f.o.Pivot))
}

// short is the Error of a key without a score for each class.
func (p *longPart) short() *Error {
	var key string
	var r *longRow
	for k, o := range p.open {
		if r == nil || o.row < r.row {
			key, r = k, o
		}
	}
	e := fault("a key must have a row for each class", "key %s has no class %q", keyText([]byte(key)), cut(p.f.o.Columns.Classes[slices.Index(r.there, false)]))
	e.Row, e.Name, e.fixed = r.row, p.f.o.Pivot, true
	return e
}

// Close implements columns.Part.
func (p *longPart) Close() error { return nil }
