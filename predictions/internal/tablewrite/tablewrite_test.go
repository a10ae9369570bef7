package tablewrite

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	parq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/parquet"
)

// sample is a table: cells by column and row. A cell is the bits of a number, an int64, a bool or a string, or nil if it is missing.
type sample struct {
	columns []columns.Column
	cells   [][]any
	rows    int
}

var kinds = []columns.Kind{columns.Float64, columns.Float32, columns.Int64, columns.Bool, columns.Text}

// tricky are numbers and texts that a format may change.
var (
	trickyNumbers = []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		1e-5, 1e21, 123456789012345678, math.Nextafter(1, 2), math.Pi}
	trickyTexts = []string{"", "a", "01", "say \"yes\"", "a,b", "a;b\tc", "line\nfeed", "cr\r\nlf\r", " spaced ", "\t", "Zürich", "日本語", "\U0001F600", "NA", "null",
		"NaN", "\"", "\ufeffx"}
)

// newSample returns a table of random cells. Each kind comes without missing cells and with some, whose share is 1 in missed.
func newSample(seed uint64, rows, missed int) *sample {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &sample{rows: rows}
	for i, k := range slices.Concat(kinds, kinds) {
		s.columns = append(s.columns, columns.Column{Name: fmt.Sprintf("%s, %d", k, i), Type: columns.Type{Kind: k}})
		l := make([]any, rows)
		for j := range l {
			l[j] = cellOf(r, k)
			if i >= len(kinds) && r.IntN(missed) == 0 {
				l[j] = nil
			}
		}
		s.cells = append(s.cells, l)
	}
	return s
}

func cellOf(r *rand.Rand, k columns.Kind) any {
	x := r.Float64()
	if r.IntN(2) == 0 {
		x = trickyNumbers[r.IntN(len(trickyNumbers))]
	}
	switch k {
	case columns.Float64:
		return math.Float64bits(x)
	case columns.Float32:
		return math.Float32bits(float32(x))
	case columns.Int64:
		return int64(r.Uint64()) >> r.IntN(64)
	case columns.Bool:
		return r.IntN(2) == 0
	}
	return trickyTexts[r.IntN(len(trickyTexts))]
}

// vectors returns rows [from, to) as what a Writer takes.
func (s *sample) vectors(from, to int) []columns.Vector {
	l := make([]columns.Vector, len(s.columns))
	for i, c := range s.columns {
		v := &l[i]
		for j, x := range s.cells[i][from:to] {
			if x == nil && v.Null == nil {
				v.Null = make([]bool, to-from)
			}
			if x == nil {
				v.Null[j] = true
			}
			switch c.Kind {
			case columns.Float64:
				b, _ := x.(uint64)
				v.Float64 = append(v.Float64, math.Float64frombits(b))
			case columns.Float32:
				b, _ := x.(uint32)
				v.Float32 = append(v.Float32, math.Float32frombits(b))
			case columns.Int64:
				n, _ := x.(int64)
				v.Int64 = append(v.Int64, n)
			case columns.Bool:
				b, _ := x.(bool)
				v.Bool = append(v.Bool, b)
			default:
				t, _ := x.(string)
				v.Bytes = append(v.Bytes, t...)
				v.Ends = append(v.Ends, len(v.Bytes))
			}
		}
	}
	return l
}

// forms are the writers.
var forms = map[string]func(w io.Writer, l []columns.Column) (Writer, error){
	"csv":     func(w io.Writer, l []columns.Column) (Writer, error) { return CSV(w, l, ','), nil },
	"tsv":     func(w io.Writer, l []columns.Column) (Writer, error) { return CSV(w, l, '\t'), nil },
	"parquet": Parquet,
	"arrow":   func(w io.Writer, l []columns.Column) (Writer, error) { return Arrow(w, l, false) },
	"arrows":  func(w io.Writer, l []columns.Column) (Writer, error) { return Arrow(w, l, true) },
}

// write writes the table in blocks of this many rows.
func (s *sample) write(form string, w io.Writer, block int) error {
	out, err := forms[form](w, s.columns)
	for from := 0; from < s.rows && err == nil; from += block {
		to := min(from+block, s.rows)
		err = out.Write(to-from, s.vectors(from, to))
	}
	if err == nil {
		err = out.Close()
	}
	return err
}

// readers read what was written, by this module and by others.
var readers = map[string][]func([]byte) (*sample, error){
	"csv":     {func(b []byte) (*sample, error) { return readCSV(b, ',') }},
	"tsv":     {func(b []byte) (*sample, error) { return readCSV(b, '\t') }},
	"parquet": {readParquet, readArrowsParquet},
	"arrow":   {readArrow},
	"arrows":  {readArrows},
}

// readCSV reads text by encoding/csv. All cells are texts.
func readCSV(b []byte, separator rune) (*sample, error) {
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma = separator
	l, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	s := &sample{rows: len(l) - 1, cells: make([][]any, len(l[0]))}
	for i, name := range l[0] {
		s.columns = append(s.columns, columns.Column{Name: name, Type: columns.Type{Kind: columns.Text}})
		for _, row := range l[1:] {
			s.cells[i] = append(s.cells[i], row[i])
		}
	}
	return s, nil
}

// readParquet reads by the module's own reader.
func readParquet(b []byte) (*sample, error) {
	f, err := parquet.Open(source{bytes.NewReader(b)})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &sample{columns: f.Columns(), cells: make([][]any, len(f.Columns()))}
	want := columns.Want{Bytes: 8 << 20}
	for i := range s.columns {
		want.Columns = append(want.Columns, i)
	}
	if err := f.Want(want); err != nil {
		return nil, err
	}
	for {
		p, err := f.Next()
		if err == io.EOF {
			return s, nil
		} else if err != nil {
			return nil, err
		}
		b := columns.Block{Most: 1000}
		for {
			if err := p.Next(&b); err == io.EOF {
				break
			} else if err != nil {
				return nil, err
			}
			for i := range s.columns {
				for j := range b.Rows {
					s.cells[i] = append(s.cells[i], cell(s.columns[i].Kind, &b.Columns[i], j))
				}
			}
			s.rows += b.Rows
		}
	}
}

type source struct{ *bytes.Reader }

func cell(k columns.Kind, v *columns.Vector, i int) any {
	switch {
	case missing(v, i):
		return nil
	case k == columns.Float64:
		return math.Float64bits(v.Float64[i])
	case k == columns.Float32:
		return math.Float32bits(v.Float32[i])
	case k == columns.Int64:
		return v.Int64[i]
	case k == columns.Bool:
		return v.Bool[i]
	}
	return string(v.Text(i))
}

// readArrowsParquet reads by arrow-go.
func readArrowsParquet(b []byte) (*sample, error) {
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := f.MetaData().Schema.NumColumns()
	s := &sample{rows: int(f.NumRows()), cells: make([][]any, n)}
	for i := range n {
		c := f.MetaData().Schema.Column(i)
		k := map[parq.Type]columns.Kind{parq.Types.Double: columns.Float64, parq.Types.Float: columns.Float32, parq.Types.Int64: columns.Int64,
			parq.Types.Boolean: columns.Bool, parq.Types.ByteArray: columns.Text}[c.PhysicalType()]
		if k == columns.Text && c.LogicalType().String() != "String" {
			return nil, fmt.Errorf("column %s is %s", c.Name(), c.LogicalType())
		}
		s.columns = append(s.columns, columns.Column{Name: c.Name(), Type: columns.Type{Kind: k}})
	}
	for g := range f.NumRowGroups() {
		for i := range n {
			r, err := f.RowGroup(g).Column(i)
			if err != nil {
				return nil, err
			}
			var l []any
			switch r := r.(type) {
			case *file.Float64ColumnChunkReader:
				l, err = values(f.RowGroup(g).NumRows(), r.ReadBatch, func(v float64) any { return math.Float64bits(v) })
			case *file.Float32ColumnChunkReader:
				l, err = values(f.RowGroup(g).NumRows(), r.ReadBatch, func(v float32) any { return math.Float32bits(v) })
			case *file.Int64ColumnChunkReader:
				l, err = values(f.RowGroup(g).NumRows(), r.ReadBatch, func(v int64) any { return v })
			case *file.BooleanColumnChunkReader:
				l, err = values(f.RowGroup(g).NumRows(), r.ReadBatch, func(v bool) any { return v })
			case *file.ByteArrayColumnChunkReader:
				l, err = values(f.RowGroup(g).NumRows(), r.ReadBatch, func(v parq.ByteArray) any { return string(v) })
			}
			if err != nil {
				return nil, err
			}
			s.cells[i] = append(s.cells[i], l...)
		}
	}
	return s, nil
}

// values reads the cells of a column of a row group.
func values[T any](rows int64, read func(int64, []T, []int16, []int16) (int64, int, error), as func(T) any) (l []any, err error) {
	v, def := make([]T, rows), make([]int16, rows)
	for int64(len(l)) < rows {
		n, _, err := read(rows-int64(len(l)), v, def, nil)
		if err != nil || n == 0 {
			return l, errors.Join(err, io.ErrUnexpectedEOF)
		}
		at := 0
		for _, d := range def[:n] {
			if d == 0 {
				l = append(l, nil)
				continue
			}
			l = append(l, as(v[at]))
			at++
		}
	}
	return l, nil
}

// readArrow and readArrows read by arrow-go.
func readArrow(b []byte) (*sample, error) {
	r, err := ipc.NewFileReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := ofSchema(r.Schema())
	for i := range r.NumRecords() {
		rec, err := r.RecordBatch(i)
		if err != nil {
			return nil, err
		}
		s.record(rec)
	}
	return s, nil
}

func readArrows(b []byte) (*sample, error) {
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Release()
	s := ofSchema(r.Schema())
	for r.Next() {
		s.record(r.RecordBatch())
	}
	return s, r.Err()
}

func ofSchema(schema *arrow.Schema) *sample {
	s := &sample{cells: make([][]any, schema.NumFields())}
	for _, f := range schema.Fields() {
		k := map[arrow.Type]columns.Kind{arrow.FLOAT64: columns.Float64, arrow.FLOAT32: columns.Float32, arrow.INT64: columns.Int64, arrow.BOOL: columns.Bool,
			arrow.STRING: columns.Text}[f.Type.ID()]
		s.columns = append(s.columns, columns.Column{Name: f.Name, Type: columns.Type{Kind: k}})
	}
	return s
}

func (s *sample) record(r arrow.RecordBatch) {
	s.rows += int(r.NumRows())
	for i, c := range r.Columns() {
		for j := range c.Len() {
			var x any
			switch a := c.(type) {
			case *array.Float64:
				x = math.Float64bits(a.Value(j))
			case *array.Float32:
				x = math.Float32bits(a.Value(j))
			case *array.Int64:
				x = a.Value(j)
			case *array.Boolean:
				x = a.Value(j)
			case *array.String:
				x = string([]byte(a.Value(j)))
			}
			if c.IsNull(j) {
				x = nil
			}
			s.cells[i] = append(s.cells[i], x)
		}
	}
}

// asText returns the table as text gives it.
func (s *sample) asText() *sample {
	o := &sample{rows: s.rows}
	for i, c := range s.columns {
		o.columns = append(o.columns, columns.Column{Name: c.Name, Type: columns.Type{Kind: columns.Text}})
		l := make([]any, 0, s.rows)
		for _, x := range s.cells[i] {
			t := ""
			switch x := x.(type) {
			case string:
				t = string(bytes.ReplaceAll([]byte(x), []byte("\r\n"), []byte("\n"))) // which encoding/csv does
			case uint64:
				t = number(math.Float64frombits(x), 64)
			case uint32:
				t = number(float64(math.Float32frombits(x)), 32)
			case nil:
			default:
				t = fmt.Sprint(x)
			}
			l = append(l, t)
		}
		o.cells = append(o.cells, l)
	}
	return o
}

// number writes a number as Go's shortest text of it, with the names of infinities that most software has.
func number(v float64, bits int) string {
	switch {
	case v > math.MaxFloat64:
		return "inf"
	case v < -math.MaxFloat64:
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

func (s *sample) check(t *testing.T, got *sample) {
	t.Helper()
	if got.rows != s.rows || len(got.columns) != len(s.columns) {
		t.Fatalf("%d rows of %d columns, want %d of %d", got.rows, len(got.columns), s.rows, len(s.columns))
	}
	for i, c := range s.columns {
		if g := got.columns[i]; g.Name != c.Name || g.Kind != c.Kind {
			t.Errorf("column %d is %q, %s; want %q, %s", i, g.Name, g.Kind, c.Name, c.Kind)
		}
		if len(got.cells[i]) != s.rows {
			t.Fatalf("column %q has %d cells", c.Name, len(got.cells[i]))
		}
		for j, x := range s.cells[i] {
			if got.cells[i][j] != x {
				t.Fatalf("column %q, row %d: %#v, want %#v", c.Name, j, got.cells[i][j], x)
			}
		}
	}
}

// checkForm writes a table and reads it.
func (s *sample) checkForm(t *testing.T, form string, block int) {
	t.Helper()
	var b bytes.Buffer
	if err := s.write(form, &b, block); err != nil {
		t.Fatal(err)
	}
	for _, read := range readers[form] {
		got, err := read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if form == "csv" || form == "tsv" {
			s.asText().check(t, got)
		} else {
			s.check(t, got)
		}
	}
}

// TestRoundTrip: what is written is read by this module's readers, arrow-go's and encoding/csv to the same bits.
func TestRoundTrip(t *testing.T) {
	for form := range forms {
		t.Run(form, func(t *testing.T) {
			for _, rows := range []int{0, 1, 7, 8, 9, 5000} {
				for _, missed := range []int{1, 3, 1000} {
					newSample(uint64(rows), rows, missed).checkForm(t, form, 777)
				}
			}
		})
	}
}

// TestManyRows has more rows than a row group and a record batch.
func TestManyRows(t *testing.T) {
	rows := groupRows + 5000
	s := &sample{rows: rows, columns: []columns.Column{{Name: "i", Type: columns.Type{Kind: columns.Int64}}}, cells: [][]any{make([]any, rows)}}
	for i := range rows {
		s.cells[0][i] = int64(i)
	}
	for form := range forms {
		s.checkForm(t, form, 50_000)
	}
	var b bytes.Buffer
	if err := s.write("parquet", &b, 50_000); err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(b.Bytes()))
	if err != nil || f.NumRowGroups() != 2 {
		t.Error(f.NumRowGroups(), err)
	}
}

// TestChecksums: each bit of a page is covered, so a reader that checks finds any that is wrong.
func TestChecksums(t *testing.T) {
	s := newSample(3, 50, 3)
	var b bytes.Buffer
	if err := s.write("parquet", &b, 50); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	footer := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	for i := 4; i < footer; i++ {
		bad := slices.Clone(whole)
		bad[i] ^= 1 << (i % 8)
		got, err := readParquet(bad)
		if err == nil {
			s.check(t, got) // a field of a header that does not matter
		}
	}
}

// full is a writer that fails behind some bytes.
type full struct{ left int }

var errFull = errors.New("no room")

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.left {
		return f.left, errFull
	}
	f.left -= len(b)
	return len(b), nil
}

// TestFull: an error of what is written to is returned, wherever it comes.
func TestFull(t *testing.T) {
	s := newSample(4, 300, 3)
	for form := range forms {
		var b bytes.Buffer
		if err := s.write(form, &b, 100); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < b.Len(); n += 13 {
			if err := s.write(form, &full{n}, 100); !errors.Is(err, errFull) {
				t.Errorf("%s, %d bytes: %v", form, n, err)
			}
		}
	}
}

// FuzzRoundTrip writes any texts and numbers and reads them again.
func FuzzRoundTrip(f *testing.F) {
	f.Add("a,b", "name", uint64(1), uint64(math.Float64bits(0.1)), uint16(20))
	f.Add("\"\r\n", "\ufeff ", uint64(2), uint64(math.Float64bits(math.Inf(-1))), uint16(0))
	f.Fuzz(func(t *testing.T, text, name string, seed, bits uint64, rows uint16) {
		if !utf8.ValidString(text) || !utf8.ValidString(name) {
			return
		}
		s := newSample(seed, int(rows%300)+1, 1+int(seed%5))
		r := rand.New(rand.NewPCG(seed, 2))
		at := r.IntN(s.rows)
		s.columns[4].Name = name
		s.cells[4][at] = text
		if v := math.Float64frombits(bits); v == v { // text has one NaN
			s.cells[0][at], s.cells[1][at] = bits, math.Float32bits(float32(v))
		}
		s.cells[2][at] = int64(bits)
		for form := range forms {
			if (form == "csv" || form == "tsv") && bytes.Contains([]byte(name), []byte("\r")) {
				continue // encoding/csv reads CR LF as LF
			}
			s.checkForm(t, form, 1+r.IntN(s.rows))
		}
	})
}
