package predictions

import (
	"bytes"
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/roles"
)

// Rows says which rows of a table are read.
type Rows uint8

// The rows that are read.
const (
	AllRows  Rows = iota
	Marked        // those whose cell in the column roles.Want.Only is true, or 1
	Unmarked      // those whose cell is false, or 0
)

// filter notes which rows are left out.
func (a *assembler) filter(b *columns.Block) *Error {
	l := a.layout
	c, v := &l.types[l.only], &b.Columns[l.only]
	for i := range b.Rows {
		var cell []byte
		if v.Null == nil || !v.Null[i] {
			cell = bytes.TrimSpace(a.text(&c.Type, v, i))
		}
		marked, ok := truthOf(cell)
		if !ok {
			e := fault("write true or false, or 1 or 0", "column %q: %q does not say whether the row is one of them", cut(c.Name), cut(string(cell)))
			e.Row, e.Name, e.Value = int64(i), c.Name, string(cell)
			return e
		}
		a.out[i] = marked != (l.rows == Marked)
	}
	return nil
}

// truthOf reads true or false.
func truthOf(cell []byte) (is, ok bool) {
	switch string(bytes.ToLower(cell)) {
	case "true", "1", "1.0":
		return true, true
	case "false", "0", "0.0":
		return false, true
	}
	return false, false
}

// leave leaves rows out of the chunk.
func (b *columnChunk) leave(l *columnLayout, out []bool) {
	b.numbers = sized(b.numbers, b.rows)
	n, width, labels := 0, l.width(), l.labelsOfRow()
	for i, gone := range out {
		if gone {
			continue
		}
		b.numbers[n] = int32(i)
		switch l.dtype {
		case metrics.Float64:
			copy(b.f64[n*width:(n+1)*width], b.f64[i*width:])
		case metrics.Float32:
			copy(b.f32[n*width:(n+1)*width], b.f32[i*width:])
		default:
			copy(b.f16[n*width:(n+1)*width], b.f16[i*width:])
		}
		copy(b.labels[n*labels:(n+1)*labels], b.labels[i*labels:])
		if l.decision >= 0 || l.correct {
			b.decisions[n] = b.decisions[i]
		}
		if l.weight >= 0 {
			b.weights[n] = b.weights[i]
		}
		if l.confidence >= 0 {
			b.confidence[n] = b.confidence[i]
		}
		if l.bytes >= 0 {
			b.bytes[n] = b.bytes[i]
		}
		if l.sequence >= 0 {
			b.sequences[n] = b.sequences[i]
		}
		if l.keyed() {
			b.groups[n] = b.groups[i]
		}
		n++
	}
	for i := range b.kept {
		b.kept[i].pick(b.numbers[:n])
	}
	b.rows = n
}

// nothingLeft explains why no row is left.
func (l *columnLayout) nothingLeft() *Error {
	if l.only < 0 {
		return fault("are they of the same data?", "no row is in both tables")
	}
	name := l.types[l.only].Name
	if l.rows == Marked {
		return fault("write true or 1 for those that are", "no row is marked in column %q", cut(name))
	}
	return fault("write false or 0 for those that are not", "all rows are marked in column %q", cut(name))
}

// labelsOfRow returns how many labels a row has.
func (l *columnLayout) labelsOfRow() int {
	if l.several {
		return l.classes
	}
	return 1
}

// tagsOf writes the labels of the rows, each 0 or 1.
func (a *assembler) tagsOf(dst []int32, b *columns.Block) *Error {
	l := a.layout
	k := l.classes
	bad := func(i int, name, cell string) *Error {
		e := fault("labels are 0 and 1, or false and true", "column %q: label %q", cut(name), cut(cell))
		e.Row, e.Name, e.Value = int64(i), name, cell
		return e
	}
	if l.tags == nil {
		c, v := &l.types[l.label], &b.Columns[l.label]
		x := a.float64s(v.Elem, c.Elem)
		for i := range b.Rows {
			from, to := v.Offsets[i], v.Offsets[i+1]
			if v.Null != nil && v.Null[i] {
				from = to
			}
			if to-from != k {
				e := fault("a row has a label for each score", "column %q: %d labels, and the row has %d scores", cut(c.Name), to-from, k)
				e.Row, e.Name = int64(i), c.Name
				return e
			}
			for j, y := range x[from:to] {
				if dst[i*k+j] = int32(y); y != 0 && y != 1 {
					return bad(i, c.Name, fmt.Sprint(y))
				}
			}
		}
		return nil
	}
	one := make([]int32, b.Rows)
	for j, at := range l.tags {
		if e := a.classesOf(one, b, at); e != nil {
			return e
		}
		for i, y := range one {
			if y == roles.Missed && !a.out[i] {
				return bad(i, l.types[at].Name, "")
			}
			dst[i*k+j] = y
		}
	}
	return nil
}
