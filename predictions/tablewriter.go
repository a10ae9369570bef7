package predictions

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/tablewrite"
)

// ColumnType is the type of the cells of a column.
type ColumnType uint8

// The types of columns that a TableWriter writes.
const (
	Float64Column ColumnType = iota
	Float32Column
	Int64Column
	BoolColumn
	TextColumn
	UntypedColumn // texts of a file without types, as CSV; written as texts
)

// Column is a column with a name.
type Column struct {
	Name string
	Type ColumnType
}

// Cells are consecutive cells of a column. The slice of the column's type is set.
type Cells struct {
	Float64 []float64
	Float32 []float32
	Int64   []int64
	Bool    []bool

	// Text i, in UTF-8, is Bytes[Ends[i-1]:Ends[i]], from 0 for the first.
	Bytes []byte
	Ends  []int

	// Missing[i] says that cell i has no value; nil if all have one. What the slice of the type has there means nothing.
	Missing []bool
}

// Text returns the i-th text.
func (c *Cells) Text(i int) []byte {
	from := 0
	if i > 0 {
		from = c.Ends[i-1]
	}
	return c.Bytes[from:c.Ends[i]]
}

// TableFormat is a format of tables that a TableWriter writes.
type TableFormat struct{ extension, packing string }

// tableExtensions are the ends of the names of the formats that are written.
var tableExtensions = []string{".csv", ".tsv", ".parquet", ".arrow", ".feather", ".arrows"}

// TableFormatOf returns the format that the end of a file's name says: .csv, .tsv, .parquet, .arrow or .feather (an Arrow IPC file) or
// .arrows (an Arrow IPC stream), in any case. Behind .csv and .tsv, .gz and .zst compress it. ok is false for any other name.
func TableFormatOf(path string) (f TableFormat, ok bool) {
	path = strings.ToLower(path)
	for _, p := range []string{".gz", ".zst"} {
		if rest, has := strings.CutSuffix(path, p); has && (strings.HasSuffix(rest, ".csv") || strings.HasSuffix(rest, ".tsv")) {
			path, f.packing = rest, p
		}
	}
	for _, e := range tableExtensions {
		if strings.HasSuffix(path, e) {
			f.extension = e
			return f, true
		}
	}
	return TableFormat{}, false
}

// Typed reports whether files of the format have types of columns, as Parquet and Arrow do.
func (f TableFormat) Typed() bool { return f.extension != ".csv" && f.extension != ".tsv" }

// TableExtensions returns the ends of names that TableFormatOf knows, without compression.
func TableExtensions() []string { return slices.Clone(tableExtensions) }

// MaxTableColumns is how many columns a TableWriter takes. Formats of tables describe each column many times.
const MaxTableColumns = 10_000

// TableWriter writes named columns as a table, in rows that come in blocks. Its memory does not depend on the number of rows: it holds at
// most a row group of Parquet or a batch of Arrow, some 64 MiB, or 8 KiB a column if that is more.
type TableWriter struct {
	format  TableFormat
	columns []Column
	writer  tablewrite.Writer
	packing io.Closer // of the compression; nil if there is none
	vectors []columns.Vector
}

// NewTableWriter returns a writer of a table with these columns to w, front to back. Errors are those of w, and for columns that have the
// same name, and for more than MaxTableColumns. A format that is not one of TableFormatOf panics.
//
// Values are written so that reading gives the same bits. In text, numbers have the fewest digits for that; NaN and infinities are NaN, inf
// and -inf; a missing cell is empty. Parquet has pages compressed by zstd, with checksums, and Arrow is not compressed; in both, all columns
// may have missing cells, and NaN is a value.
func NewTableWriter(w io.Writer, f TableFormat, l []Column) (*TableWriter, error) {
	if len(l) > MaxTableColumns {
		return nil, fmt.Errorf("%s columns: a table has %s at most; write .npy", thousands(len(l)), thousands(MaxTableColumns))
	}
	t := &TableWriter{format: f, columns: l, vectors: make([]columns.Vector, len(l))}
	var of []columns.Column
	seen := map[string]bool{}
	for _, c := range l {
		if seen[c.Name] {
			return nil, fmt.Errorf("two columns are named %q", cut(c.Name))
		}
		seen[c.Name] = true
		kind := map[ColumnType]columns.Kind{Float64Column: columns.Float64, Float32Column: columns.Float32, Int64Column: columns.Int64,
			BoolColumn: columns.Bool, TextColumn: columns.Text, UntypedColumn: columns.Text}[c.Type]
		of = append(of, columns.Column{Name: c.Name, Type: columns.Type{Kind: kind}})
	}
	switch f.packing {
	case ".gz":
		z := gzip.NewWriter(w)
		w, t.packing = z, z
	case ".zst":
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w, t.packing = z, z
	}
	var err error
	switch f.extension {
	case ".csv":
		t.writer = tablewrite.CSV(w, of, ',')
	case ".tsv":
		t.writer = tablewrite.CSV(w, of, '\t')
	case ".parquet":
		t.writer, err = tablewrite.Parquet(w, of)
	case ".arrow", ".feather", ".arrows":
		t.writer, err = tablewrite.Arrow(w, of, f.extension == ".arrows")
	default:
		panic("predictions: NewTableWriter of a format that TableFormatOf did not return")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Write appends rows: cells[i] has that many cells of the i-th column. They are not used after it returns. Errors are those of the writer
// below. It panics if there are more or fewer columns than NewTableWriter was told, or more or fewer cells than rows.
func (t *TableWriter) Write(rows int, cells []Cells) error {
	if len(cells) != len(t.columns) {
		panic("predictions: TableWriter.Write of another number of columns")
	}
	for i := range cells {
		c, v := &cells[i], &t.vectors[i]
		*v = columns.Vector{Null: c.Missing}
		n := len(c.Ends)
		switch t.columns[i].Type {
		case Float64Column:
			v.Float64, n = c.Float64, len(c.Float64)
		case Float32Column:
			v.Float32, n = c.Float32, len(c.Float32)
		case Int64Column:
			v.Int64, n = c.Int64, len(c.Int64)
		case BoolColumn:
			v.Bool, n = c.Bool, len(c.Bool)
		default:
			v.Bytes, v.Ends = c.Bytes, c.Ends
		}
		if n != rows || c.Missing != nil && len(c.Missing) != rows {
			panic("predictions: TableWriter.Write of columns of another length")
		}
	}
	return t.writer.Write(rows, t.vectors)
}

// Close completes the table. It does not close the writer below. Without it the table is not valid.
func (t *TableWriter) Close() error {
	err := t.writer.Close()
	if t.packing != nil {
		err = errors.Join(err, t.packing.Close())
	}
	return err
}
