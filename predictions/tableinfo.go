package predictions

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/roles"
)

// Table describes a file with named columns, by its first rows.
type Table struct {
	Format    string // "text" for CSV and the like, "jsonl"
	Columns   []TableColumn
	Separator rune  // of text
	Comma     bool  // numbers of text have decimal commas
	Rows      int64 // -1 if only reading the file tells it
	Bytes     int64 // as stored; -1 for a pipe
}

// TableColumn is a column of a Table. Fields of nested objects are columns named by their paths.
type TableColumn struct {
	roles.Column
	Keyed bool   // Names are keys of the first row, whose order says nothing
	First string // its cell in the first row
}

// InspectTable describes the table at a path, or the first file of a folder. It reads the header and the first rows.
func InspectTable(path string) (Table, error) { return InspectTableIn(nil, path) }

// InspectTableIn is InspectTable of a file that from opens; nil is the system.
func InspectTableIn(from fs.FS, path string) (Table, error) {
	var t Table
	files, roots, e := expand(from, []string{path})
	if e != nil {
		return Table{}, e
	}
	t, e = inspectTable(from, files[0])
	if e != nil {
		return Table{}, e.in(files[0])
	}
	if roots[0] != "" {
		t.Rows, t.Bytes = -1, -1
		for _, p := range partitions(roots[0], files[0]) {
			t.Columns = append(t.Columns, TableColumn{Column: roles.Column{Name: p.key, Kind: roles.Text}, First: p.value})
		}
	}
	return t, nil
}

// InspectTableReader is like InspectTable, for a file that r reads, of a format that its first bytes tell. Messages call it name.
func InspectTableReader(r io.Reader, name string) (Table, error) {
	b := bufio.NewReaderSize(r, sniffed)
	start, _ := b.Peek(sniffed) // a failure comes again with what is read
	in := io.NopCloser(b)
	t, e := Table{}, (*Error)(nil)
	if f, ok := begunBy(start); ok {
		t, e = inspectColumns(nil, "-", in, f)
	} else {
		t, e = inspectText(nil, "-", in)
	}
	if e != nil {
		e.File = name
		return Table{}, e
	}
	return t, nil
}

func inspectTable(from fs.FS, path string) (t Table, e *Error) {
	if f, ok := formatOf(path); ok {
		if t, e = inspectColumns(from, path, nil, f); e != nil {
			if l, ok := logAt(from, path); ok {
				e = l.fault()
			}
		}
	} else {
		t, e = inspectText(from, path, nil)
	}
	return t, e
}

func inspectText(from fs.FS, path string, in io.ReadCloser) (Table, *Error) {
	t := &table{options: &ForecastOptions{FS: from}}
	f, e := t.probe(path, in, true)
	if e != nil {
		return Table{}, e
	}
	defer f.text.close()
	out := Table{Format: "text", Separator: rune(t.layout.separator), Comma: f.begins.comma, Rows: -1, Bytes: f.size}
	for i, name := range f.header {
		c := TableColumn{Column: roles.Column{Name: name}}
		if i < len(f.begins.first) {
			c.First = f.begins.first[i]
		}
		if i < len(f.begins.mixed) && f.begins.mixed[i] {
			c.Kind = roles.Text
			if n, ok := listNumbers(nil, []byte(c.First)); ok && n > 0 {
				c.Kind, c.Width = roles.List, n
			}
		}
		out.Columns = append(out.Columns, c)
	}
	return out, nil
}

// inspectColumns describes a file of a format with columns, or what in reads of one.
func inspectColumns(from fs.FS, path string, in io.ReadCloser, format columnFormat) (Table, *Error) {
	out := Table{Format: format.key, Bytes: -1}
	if in == nil {
		fi, regular, e := statText(from, path)
		if e != nil {
			return Table{}, e
		}
		if regular {
			out.Bytes = fi.Size()
		}
	}
	var read atomic.Int64
	f, e := format.open(from, path, in, &read)
	if e != nil {
		return Table{}, e
	}
	defer f.close()
	out.Rows = f.Rows()
	var flat []int // the columns that are shown
	for i, c := range f.Columns() {
		flat = append(flat, flatten(f, i, &c, c.Name)...)
	}
	all := f.Columns()
	var want []int
	for _, i := range flat {
		if readable(&all[i].Type) {
			want = append(want, i)
		}
	}
	b := &columns.Block{Most: 1}
	if err := f.Want(columns.Want{Columns: want, Bytes: partBytes}); err != nil {
		return Table{}, asError(err, 0, 0)
	}
	part, err := f.Next()
	if err == nil {
		defer part.Close()
		err = part.Next(b)
	}
	if err != nil && err != io.EOF {
		return Table{}, asError(err, 0, 0)
	}
	for _, i := range flat {
		c := TableColumn{Column: roleOf(&all[i])}
		if at := slices.Index(want, i); at >= 0 && b.Rows > 0 {
			v := &b.Columns[at]
			c.First = string(appendCell(nil, v, &all[i].Type, 0))
			if c.Keyed = all[i].Kind == columns.Map && (v.Null == nil || !v.Null[0]); c.Keyed {
				for j := v.Offsets[0]; j < v.Offsets[1]; j++ {
					c.Names = append(c.Names, string(v.Keys.Text(j)))
				}
				slices.Sort(c.Names)
			}
			if c.Kind == roles.List && c.Width == 0 && all[i].Kind == columns.List {
				c.Width = v.Offsets[1] - v.Offsets[0]
			}
		}
		out.Columns = append(out.Columns, c)
	}
	return out, nil
}

// flatten returns a column, or if it is a struct of other things than numbers, its fields, for files that find these by their paths.
func flatten(f *openColumns, i int, c *columns.Column, path string) (list []int) {
	p, ok := f.columnFile.(pathed)
	if !ok || c.Kind != columns.Struct || roleOf(c).Kind != roles.Other {
		return []int{i}
	}
	for j := range c.Fields {
		name := path + "." + c.Fields[j].Name
		if n, ok := p.Path(name); ok {
			list = append(list, flatten(f, n, &c.Fields[j], name)...)
		}
	}
	return list
}

// readable reports whether a reader gives the cells of a type.
func readable(t *columns.Type) bool {
	return t.Kind != columns.Other && (t.Elem == nil || readable(t.Elem)) && !slices.ContainsFunc(t.Fields, func(c columns.Column) bool { return !readable(&c.Type) })
}

// appendCell appends a cell as JSON writes it, but texts without quotes, cut after a few elements.
func appendCell(dst []byte, v *columns.Vector, t *columns.Type, i int) []byte {
	const most = 8
	if v.Null != nil && v.Null[i] {
		return append(dst, "null"...)
	}
	each := func(open, end string, n int, one func(j int)) []byte {
		dst = append(dst, open...)
		for j := range n {
			if j > 0 {
				dst = append(dst, ", "...)
			}
			if j == most {
				dst = append(dst, "..."...)
				break
			}
			one(j)
		}
		return append(dst, end...)
	}
	switch t.Kind {
	case columns.List:
		from := v.Offsets[i]
		return each("[", "]", v.Offsets[i+1]-from, func(j int) { dst = appendCell(dst, v.Elem, t.Elem, from+j) })
	case columns.Map:
		from := v.Offsets[i]
		return each("{", "}", v.Offsets[i+1]-from, func(j int) {
			dst = append(strconv.AppendQuote(dst, string(v.Keys.Text(from+j))), ": "...)
			dst = appendCell(dst, v.Elem, t.Elem, from+j)
		})
	case columns.Struct:
		return each("{", "}", len(t.Fields), func(j int) {
			dst = append(strconv.AppendQuote(dst, t.Fields[j].Name), ": "...)
			dst = appendCell(dst, &v.Fields[j], &t.Fields[j].Type, i)
		})
	}
	return appendText(dst, t, v, i)
}

// Propose returns the roles that the columns likely have, for a user to look at. OpenTable reads nothing by it.
func (t *Table) Propose() roles.Want {
	columns := make([]roles.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = c.Column
	}
	w := roles.Propose(columns)
	if len(w.Scores) == 1 {
		if i := slices.IndexFunc(t.Columns, func(c TableColumn) bool { return c.Name == w.Scores[0] }); t.Columns[i].Keyed {
			w.Classes = slices.Clone(t.Columns[i].Names)
		}
	}
	return w
}

// Log returns which log of what a language model answered the table is, judging by its columns, and why it has no probabilities. what is "" of other
// tables, and why is "" of samples that OpenChoices reads.
func (t *Table) Log() (what, why string) {
	l, _ := logOf(func(key string) bool {
		return slices.ContainsFunc(t.Columns, func(c TableColumn) bool { return c.Name == key || strings.HasPrefix(c.Name, key+".") })
	})
	if r := l.remedy(); r != "" {
		return l.what, l.why + "; " + r
	}
	return l.what, l.why
}

// String says what is between the cells, or which format it is.
func (t *Table) String() string {
	if t.Format != "text" {
		i := slices.IndexFunc(columnFormats, func(f columnFormat) bool { return f.key == t.Format })
		s := columnFormats[i].name
		if t.Rows >= 0 {
			s += fmt.Sprintf(", %s rows", thousands(int(t.Rows)))
		}
		return s
	}
	s := separatorName(byte(t.Separator)) + "s between cells"
	if t.Comma {
		s += ", decimal commas"
	}
	return "table, " + s
}
