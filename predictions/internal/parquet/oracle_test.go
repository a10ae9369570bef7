package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"

	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// memory is a source.
type memory struct{ *bytes.Reader }

func inMemory(b []byte) columns.Source { return memory{bytes.NewReader(b)} }

// entry is a level of a leaf and its value, nil if there is none.
type entry struct {
	rep, def int
	value    any
}

func (e entry) String() string { return fmt.Sprintf("(%d %d %v)", e.rep, e.def, e.value) }

// shred appends the levels and values that cell i of a node has in its leaves: the way back from columns to what the file stores.
func shred(n *node, v *columns.Vector, i, rep, def int, out map[*leaf][]entry) {
	null := func(def int) {
		if n.Kind == columns.Other {
			return
		}
		for _, l := range n.leaves {
			out[l] = append(out[l], entry{rep, def, nil})
		}
	}
	if v.Null != nil && v.Null[i] {
		null(def)
		return
	}
	switch n.Kind {
	case columns.Struct:
		for k, c := range n.children {
			shred(c, &v.Fields[k], i, rep, n.def, out)
		}
	case columns.List, columns.Map:
		if v.Offsets[i] == v.Offsets[i+1] {
			null(n.def)
			return
		}
		inner := []*columns.Vector{v.Elem}
		if n.Kind == columns.Map {
			inner = []*columns.Vector{v.Keys, v.Elem}
		}
		for at := v.Offsets[i]; at < v.Offsets[i+1]; at++ {
			r := n.rep + 1
			if at == v.Offsets[i] {
				r = rep
			}
			for k, c := range n.children {
				shred(c, inner[k], at, r, n.elemDef, out)
			}
		}
	case columns.Other:
	default:
		out[n.leaf] = append(out[n.leaf], entry{rep, n.def, value(n.Kind, v, i)})
	}
}

func value(kind columns.Kind, v *columns.Vector, i int) any {
	switch kind {
	case columns.Float64:
		return math.Float64bits(v.Float64[i])
	case columns.Float32:
		return math.Float32bits(v.Float32[i])
	case columns.Float16:
		return v.Float16[i]
	case columns.Int64, columns.Time:
		return v.Int64[i]
	case columns.Bool:
		return v.Bool[i]
	case columns.Text:
		return string(v.Text(i))
	}
	return "other"
}

// mostRead bounds what tests read: a page of some bytes may have 2^31 missing cells.
const mostRead = 50000

var errMany = columns.Wrong("", "it has more rows than the test reads")

// ours reads a file and returns the levels and values of all leaves.
func ours(src columns.Source, want columns.Want, most int) (f *File, out map[*leaf][]entry, err error) {
	if f, err = Open(src); err != nil {
		return nil, nil, err
	}
	if want.Columns == nil {
		for i := range f.Columns() {
			want.Columns = append(want.Columns, i)
		}
	}
	if err := f.Want(want); err != nil {
		return f, nil, err
	}
	out = map[*leaf][]entry{}
	rows := int64(0)
	for {
		p, err := f.Next()
		if err == io.EOF {
			if rows != f.Rows() && len(want.Columns) > 0 {
				return f, out, fmt.Errorf("%d rows of %d", rows, f.Rows())
			}
			return f, out, nil
		}
		if err != nil {
			return f, out, err
		}
		b := columns.Block{Most: most}
		for {
			err := p.Next(&b)
			if err == io.EOF {
				if b.Rows != 0 {
					return f, out, errors.New("rows at the end")
				}
				break
			}
			if err != nil {
				return f, out, err
			}
			if b.Rows < 1 || b.Rows > most {
				return f, out, fmt.Errorf("%d rows of at most %d", b.Rows, most)
			}
			if rows += int64(b.Rows); rows > mostRead {
				return f, out, errMany
			}
			for k, i := range want.Columns {
				for r := range b.Rows {
					shred(f.nodes[i], &b.Columns[k], r, 0, 0, out)
				}
			}
		}
		if err := p.Close(); err != nil {
			return f, out, err
		}
	}
}

// theirs reads a leaf of all row groups by the library.
func theirs(b []byte, l *leaf) (out []entry, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for g := range r.NumRowGroups() {
		c, err := r.RowGroup(g).Column(l.number)
		if err != nil {
			return nil, err
		}
		chunk, err := r.RowGroup(g).MetaData().ColumnChunk(l.number)
		if err != nil {
			return nil, err
		}
		n := chunk.NumValues()
		defs, reps := make([]int16, n), make([]int16, n)
		var values []any
		total, empty := int64(0), 0
		for total < n {
			var k int64
			var err error
			d, rep := defs[total:], reps[total:]
			switch c := c.(type) {
			case *file.BooleanColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v bool) any { return v })
			case *file.Int32ColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v int32) any { return l.integer(int64(v)) })
			case *file.Int64ColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v int64) any { return l.integer(v) })
			case *file.Int96ColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(parq.Int96) any { return "other" })
			case *file.Float32ColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v float32) any { return math.Float32bits(v) })
			case *file.Float64ColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v float64) any { return math.Float64bits(v) })
			case *file.ByteArrayColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v parq.ByteArray) any { return l.bytes(v) })
			case *file.FixedLenByteArrayColumnChunkReader:
				k, values, err = batchOf(n-total, d, rep, values, c.ReadBatch, func(v parq.FixedLenByteArray) any { return l.bytes(v) })
			}
			if err != nil {
				return nil, err
			}
			if empty++; k > 0 {
				empty = 0
			} else if empty > 3 {
				return nil, fmt.Errorf("it ends after %d of %d levels: %v", total, n, c.Err())
			}
			total += k
		}
		for i := range defs {
			e := entry{int(reps[i]), int(defs[i]), nil}
			if int(defs[i]) == l.maxDef {
				e.value, values = values[0], values[1:]
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func batchOf[T any](n int64, defs, reps []int16, values []any, read func(int64, []T, []int16, []int16) (int64, int, error), as func(T) any,
) (int64, []any, error) {
	n = min(n, 1000)
	some := make([]T, n)
	total, k, err := read(n, some, defs[:n], reps[:n])
	for _, v := range some[:k] {
		values = append(values, as(v))
	}
	return total, values, err
}

// integer is a stored integer as a column has it.
func (l *leaf) integer(v int64) any {
	switch {
	case l.kind == columns.Other:
		return "other"
	case l.decimal:
		return rounded(big.NewInt(v), l.scale)
	case l.unsigned > 0 && l.unsigned < 64:
		return v & (1<<l.unsigned - 1)
	}
	return v
}

// rounded divides by a power of ten exactly, and rounds to the nearest float64.
func rounded(v *big.Int, scale int) uint64 {
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	f, _ := new(big.Rat).SetFrac(v, ten).Float64()
	return math.Float64bits(f)
}

func (l *leaf) bytes(b []byte) any {
	switch {
	case l.kind == columns.Other:
		return "other"
	case l.kind == columns.Float16:
		return binary.LittleEndian.Uint16(b)
	case l.decimal:
		v := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0] >= 128 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return rounded(v, l.scale)
	}
	return string(b)
}

// compare reports whether both readings of a file agree. Leaves of other kinds are not values.
func compare(t *testing.T, b []byte, f *File, got map[*leaf][]entry) {
	t.Helper()
	for l, g := range got {
		want, err := theirs(b, l)
		if err != nil {
			t.Logf("%s: the library: %v", l.path, err)
			continue
		}
		if len(g) != len(want) {
			t.Errorf("%s: %d levels, want %d", l.path, len(g), len(want))
		}
		for i := range min(len(g), len(want)) {
			if g[i] != want[i] {
				t.Errorf("%s: level %d is %v, want %v", l.path, i, g[i], want[i])
				break
			}
		}
	}
}

// typesOf lists a file's columns.
func typesOf(f *File) string {
	var all []string
	for _, c := range f.Columns() {
		all = append(all, c.Name+" "+c.Type.Name+" as "+c.Kind.String())
	}
	return strings.Join(all, "; ")
}

// fault reports whether an error is one that a reader may return.
func fault(err error) bool {
	f := (*columns.Fault)(nil)
	return errors.As(err, &f) && f.Reason != "" && f.Row >= -1 && f.Line == -1
}
