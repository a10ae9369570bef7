package predictions

import (
	"bytes"
	"unicode/utf8"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// untyped returns columns of a file without types.
func untyped(names []string) (l []Column) {
	for _, n := range names {
		l = append(l, Column{n, UntypedColumn})
	}
	return l
}

// addText appends a text, which is missing if it is empty.
func (c *Cells) addText(t []byte) {
	c.Bytes = append(c.Bytes, t...)
	c.Ends, c.Missing = append(c.Ends, len(c.Bytes)), append(c.Missing, len(t) == 0)
}

// plain returns a cell that is kept. In a table with decimal commas, numbers get decimal points.
func (l *layout) plain(c []byte) []byte {
	if !l.comma || bytes.Count(c, []byte{','}) != 1 {
		return c
	}
	p := bytes.Replace(c, []byte{','}, []byte{'.'}, 1)
	if _, ok := cellNumber(p); !ok {
		return c
	}
	return p
}

// keep tells ForecastOptions.Keep the cells of a block.
func (t *table) keep(b *block) error {
	if t.layout.kept == 0 || t.options.Keep == nil {
		return nil
	}
	if i, row := notUTF8(b.kept); row >= 0 {
		return notText(t.options.Kept[i], b.kept[i].Text(row)).on(t.line(t.rows + int64(row))).in(t.files[b.file].file)
	}
	return t.options.Keep(b.rows, b.kept)
}

// notUTF8 returns the first text that is not UTF-8, by column and row; -1 if there is none.
func notUTF8(l []Cells) (column, row int) {
	for i := range l {
		for j := range l[i].Ends {
			if !utf8.Valid(l[i].Text(j)) {
				return i, j
			}
		}
	}
	return -1, -1
}

func notText(name string, cell []byte) *Error {
	e := fault("write the file as UTF-8", "column %q: %q is not UTF-8", cut(name), cut(string(cell)))
	e.Name, e.Value = name, string(cell)
	return e
}

// keptTypes returns the columns that are kept, or an Error for one that no table has a type for.
func (l *columnLayout) keptTypes(names []string) ([]Column, *Error) {
	var kept []Column
	for k, at := range l.kept {
		c := Column{names[k], TextColumn}
		if at >= 0 && !(l.texts && l.types[at].Kind <= columns.Time) {
			switch t := &l.types[at]; t.Kind {
			case columns.Float64:
				c.Type = Float64Column
			case columns.Float32, columns.Float16:
				c.Type = Float32Column
			case columns.Int64:
				c.Type = Int64Column
			case columns.Bool:
				c.Type = BoolColumn
			case columns.Text:
				if l.untyped {
					c.Type = UntypedColumn
				}
			default:
				of := t.Type.Name
				if of == "" {
					of = t.Kind.String()
				}
				return nil, fault("numbers, texts and booleans are kept: leave it out, or write it as one of these", "column %q cannot be kept: it is %s", cut(names[k]), of)
			}
		}
		kept = append(kept, c)
	}
	return kept, nil
}

// keep copies the cells that are kept to the chunk.
func (a *assembler) keep(c *columnChunk, b *columns.Block, parts []partition) {
	l, n := a.layout, b.Rows
	if c.kept == nil {
		c.kept = make([]Cells, len(l.kept))
	}
	for k, at := range l.kept {
		to := &c.kept[k]
		to.Bytes, to.Ends, to.Missing = to.Bytes[:0], to.Ends[:0], to.Missing[:0]
		if at < 0 {
			for range n {
				to.addText([]byte(parts[-1-at].value))
			}
			continue
		}
		v := &b.Columns[at]
		if l.texts {
			for i := range n {
				var t []byte
				if v.Null == nil || !v.Null[i] {
					t = a.text(&l.types[at].Type, v, i)
				}
				to.addText(t)
			}
			continue
		}
		switch l.types[at].Kind {
		case columns.Float64:
			to.Float64 = append(to.Float64[:0], v.Float64[:n]...)
		case columns.Float32:
			to.Float32 = append(to.Float32[:0], v.Float32[:n]...)
		case columns.Float16:
			to.Float32 = sized(to.Float32, n)
			kernel.WidenF16(to.Float32, v.Float16[:n])
		case columns.Int64:
			to.Int64 = append(to.Int64[:0], v.Int64[:n]...)
		case columns.Bool:
			to.Bool = append(to.Bool[:0], v.Bool[:n]...)
		default:
			if l.untyped {
				for i := range n {
					t := v.Text(i)
					if l.text != nil {
						t = l.text.plain(t)
					}
					to.addText(t)
				}
				continue
			}
			for i := range n {
				if v.Null == nil || !v.Null[i] {
					to.Bytes = append(to.Bytes, v.Text(i)...)
				}
				to.Ends = append(to.Ends, len(to.Bytes))
			}
		}
		if v.Null == nil {
			to.Missing = nil
		} else {
			to.Missing = append(to.Missing, v.Null[:n]...)
		}
	}
}

// kept tells TableOptions.Keep the cells of a chunk.
func (t *columnar) kept(c *columnChunk, first int64) error {
	if len(t.layout.kept) == 0 || t.options.Keep == nil {
		return nil
	}
	if i, row := notUTF8(c.kept); row >= 0 {
		e := notText(t.options.Columns.Kept[i], c.kept[i].Text(row))
		if c.numbers != nil {
			row = int(c.numbers[row])
		}
		e.Row = first - t.starts[t.run.file] + int64(row)
		return e.in(t.files[t.run.file].name)
	}
	return t.options.Keep(c.rows, c.kept)
}

// pick leaves the cells of the numbered rows, which rise.
func (c *Cells) pick(numbers []int32) {
	c.Float64, c.Float32, c.Int64, c.Bool = picked(c.Float64, numbers), picked(c.Float32, numbers), picked(c.Int64, numbers), picked(c.Bool, numbers)
	c.Missing = picked(c.Missing, numbers)
	if len(c.Ends) == 0 {
		return
	}
	from, last, end := 0, int32(0), 0 // the text of row last begins at from
	for k, i := range numbers {
		if i > last {
			from = c.Ends[i-1]
		}
		to := c.Ends[i] // read before the k-th, k <= i, is written
		end += copy(c.Bytes[end:], c.Bytes[from:to])
		from, last, c.Ends[k] = to, i+1, end
	}
	c.Bytes, c.Ends = c.Bytes[:end], c.Ends[:len(numbers)]
}

func picked[T any](l []T, numbers []int32) []T {
	if len(l) == 0 {
		return l
	}
	for k, i := range numbers {
		l[k] = l[i]
	}
	return l[:len(numbers)]
}
