package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// tableOut is a table being written: first the columns that are kept, then values. Values come in any order and wait in an arrayFile, row by
// row; kept columns come in order and wait in a file of their own.
type tableOut struct {
	path   string
	format predictions.TableFormat
	kept   *keptRows // nil if no column is kept
}

// valueColumn is a column of values to write.
type valueColumn struct {
	name   string
	at     int  // its place in the rows of the arrayFile
	finite bool // infinity is written as 0
}

// keepFlags holds the flags that name the columns to copy.
type keepFlags struct{ ids, keep []string }

func (k *keepFlags) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&k.ids, "id", nil, "`COLUMNS` of a table that identify its rows, to copy in front of the values")
	c.Flags().StringSliceVar(&k.keep, "keep", nil, "`COLUMNS` of a table to copy behind those of --id")
}

// newTableOut returns the table that -o names, nil if its name is not that of one. arrays are the extensions that the command writes besides.
func (f *evalFlags) newTableOut(path string, k *keepFlags, arrays string, paths []string) (*tableOut, error) {
	format, ok := predictions.TableFormatOf(path)
	names := slices.Concat(k.ids, k.keep)
	switch {
	case !ok && len(k.keep) == 0 && (f.table.pivot != "" || f.truth() != nil):
		return nil, nil // --id only tells which rows belong together
	case !ok && len(names) > 0:
		return nil, usage("--id and --keep copy columns, and an array (%s) has none; end the name of -o in %s", arrays, anyOf(predictions.TableExtensions()))
	case !ok:
		return nil, nil
	case len(names) == 0:
		return &tableOut{path: path, format: format}, nil
	case !f.tables(paths) && !f.forecasts(paths):
		return nil, usage("--id and --keep copy columns of a table, and arrays have none with names; leave them out, or name tables, such as .csv or .parquet")
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return nil, usage("--id and --keep name column %q twice; name it once", n)
		}
	}
	f.kept = &keptRows{names: names}
	return &tableOut{path, format, f.kept}, nil
}

// anyOf lists words with "or" before the last.
func anyOf(l []string) string { return strings.Join(l[:len(l)-1], ", ") + " or " + l[len(l)-1] }

// ready checks the columns, before rows are read, and creates the file of the kept ones.
func (t *tableOut) ready(r any, values []string) error {
	n := len(values)
	if t.kept != nil {
		n += len(t.kept.names)
		for _, v := range values {
			if slices.Contains(t.kept.names, v) {
				return usage("column %q is copied by --id or --keep, and it is also the name of a column that is computed; rename it in the table, or leave it out", v)
			}
		}
		table, ok := r.(*predictions.ForecastReader)
		if !ok {
			panic("columns are kept of a reader without any")
		}
		if err := t.kept.open(t.path, table.KeptColumns()); err != nil {
			return cannotWrite(t.path, err)
		}
	}
	if n > predictions.MaxTableColumns {
		return usage("-o %s: a table has %d columns at most, and these are %d; write .npy", t.path, predictions.MaxTableColumns, n)
	}
	return nil
}

// failure returns the error of writing kept columns, if any.
func (t *tableOut) failure() error {
	if t == nil || t.kept == nil {
		return nil
	}
	return t.kept.failed
}

// remove removes the file of the kept columns.
func (t *tableOut) remove() {
	if t != nil && t.kept != nil && t.kept.file != nil {
		temporary.Remove(t.kept.file)
	}
}

// write writes the table. The rows of a have width values of type d.
func (t *tableOut) write(w io.Writer, a *arrayFile, values []valueColumn, d metrics.DType, width int, rows int64) error {
	var list []predictions.Column
	if t.kept != nil {
		if err := t.kept.settle(t.format.Typed()); err != nil {
			return err
		}
		list = t.kept.as
	}
	before := len(list)
	kind := predictions.Float64Column
	if d == metrics.Float32 {
		kind = predictions.Float32Column
	}
	for _, v := range values {
		list = append(list, predictions.Column{Name: v.name, Type: kind})
	}
	out, err := predictions.NewTableWriter(w, t.format, list)
	if err != nil {
		return err
	}
	each := int64(d.Size() * width)
	from := bufio.NewReaderSize(io.NewSectionReader(a.file, int64(len(a.head)), rows*each), 1<<20)
	cells := make([]predictions.Cells, len(list))
	row := make([]byte, each)
	for done := int64(0); done < rows; {
		n := int(min(rows-done, max(1, (1<<20)/each)))
		if t.kept != nil {
			if n, err = t.kept.next(cells[:before]); err != nil {
				return err
			}
		}
		for j := range values {
			c := &cells[before+j]
			c.Float64, c.Float32 = c.Float64[:0], c.Float32[:0]
		}
		for range n {
			if _, err := io.ReadFull(from, row); err != nil {
				return err
			}
			for j := range values {
				v, c := &values[j], &cells[before+j]
				if d == metrics.Float32 {
					x := math.Float32frombits(binary.LittleEndian.Uint32(row[4*v.at:]))
					if v.finite && math.IsInf(float64(x), 1) {
						x = 0
					}
					c.Float32 = append(c.Float32, x)
					continue
				}
				x := math.Float64frombits(binary.LittleEndian.Uint64(row[8*v.at:]))
				if v.finite && math.IsInf(x, 1) {
					x = 0
				}
				c.Float64 = append(c.Float64, x)
			}
		}
		if err := out.Write(n, cells); err != nil {
			return err
		}
		done += int64(n)
	}
	return out.Close()
}

// keptRows is a file of the cells of kept columns, in blocks of rows.
type keptRows struct {
	names   []string
	columns []predictions.Column
	file    *os.File
	to      *bufio.Writer
	from    *bufio.Reader
	failed  error
	guesses []cellType
	as      []predictions.Column // as they are written
	buf     []byte
}

func (k *keptRows) open(path string, l []predictions.Column) error {
	var err error
	if k.file, err = scratchFile(path); err != nil {
		return err
	}
	k.columns, k.to = l, bufio.NewWriterSize(k.file, 1<<20)
	k.guesses = make([]cellType, len(l))
	return nil
}

// add appends rows.
func (k *keptRows) add(rows int, cells []predictions.Cells) error {
	b := binary.AppendUvarint(k.buf[:0], uint64(rows))
	for i := range cells {
		c := &cells[i]
		b = append(b, oneIf(c.Missing != nil))
		if c.Missing != nil {
			b = appendBools(b, c.Missing)
		}
		switch k.columns[i].Type {
		case predictions.Float64Column:
			for _, v := range c.Float64 {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		case predictions.Float32Column:
			for _, v := range c.Float32 {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
		case predictions.Int64Column:
			for _, v := range c.Int64 {
				b = binary.LittleEndian.AppendUint64(b, uint64(v))
			}
		case predictions.BoolColumn:
			b = appendBools(b, c.Bool)
		default:
			for j := range rows {
				t := c.Text(j)
				if k.columns[i].Type == predictions.UntypedColumn {
					k.guesses[i].see(t)
				}
				b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
			}
		}
	}
	k.buf = b
	_, k.failed = k.to.Write(b)
	return k.failed
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendBools(b []byte, l []bool) []byte {
	for _, v := range l {
		b = append(b, oneIf(v))
	}
	return b
}

// settle ends the adding of rows and, if typed, decides on the types of columns without one. It begins the reading of them by next, again
// if it is called again.
func (k *keptRows) settle(typed bool) error {
	if err := k.to.Flush(); err != nil {
		return err
	}
	if _, err := k.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	k.from = bufio.NewReaderSize(k.file, 1<<20)
	k.as = slices.Clone(k.columns)
	for i := range k.as {
		if c := &k.as[i]; c.Type == predictions.UntypedColumn && typed {
			c.Type = k.guesses[i].result()
		}
	}
	return nil
}

// next reads the next rows.
func (k *keptRows) next(cells []predictions.Cells) (int, error) {
	n, err := binary.ReadUvarint(k.from)
	if err != nil {
		return 0, cutOff(err)
	}
	rows := int(n)
	for i := range cells {
		c := &cells[i]
		*c = predictions.Cells{Float64: c.Float64[:0], Float32: c.Float32[:0], Int64: c.Int64[:0], Bool: c.Bool[:0], Bytes: c.Bytes[:0], Ends: c.Ends[:0], Missing: c.Missing[:0]}
		some, err := k.from.ReadByte()
		if err != nil {
			return 0, cutOff(err)
		}
		if some == 0 {
			c.Missing = nil
		} else if c.Missing, err = k.bools(c.Missing, rows); err != nil {
			return 0, err
		}
		switch k.columns[i].Type {
		case predictions.Float64Column:
			err = k.words(8*rows, func(b []byte) {
				for ; len(b) > 0; b = b[8:] {
					c.Float64 = append(c.Float64, math.Float64frombits(binary.LittleEndian.Uint64(b)))
				}
			})
		case predictions.Float32Column:
			err = k.words(4*rows, func(b []byte) {
				for ; len(b) > 0; b = b[4:] {
					c.Float32 = append(c.Float32, math.Float32frombits(binary.LittleEndian.Uint32(b)))
				}
			})
		case predictions.Int64Column:
			err = k.words(8*rows, func(b []byte) {
				for ; len(b) > 0; b = b[8:] {
					c.Int64 = append(c.Int64, int64(binary.LittleEndian.Uint64(b)))
				}
			})
		case predictions.BoolColumn:
			c.Bool, err = k.bools(c.Bool, rows)
		default:
			for j := 0; j < rows && err == nil; j++ {
				var n uint64
				if n, err = binary.ReadUvarint(k.from); err == nil {
					err = k.words(int(n), func(b []byte) { k.cell(c, k.as[i].Type, j, b) })
				}
			}
		}
		if err != nil {
			return 0, cutOff(err)
		}
	}
	return rows, nil
}

// cutOff is the error of a file of kept columns that somebody else has changed.
func cutOff(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the temporary file with the copied columns was changed")
	}
	return err
}

// words reads n bytes, which take takes.
func (k *keptRows) words(n int, take func([]byte)) error {
	k.buf = slices.Grow(k.buf[:0], n)[:n]
	if _, err := io.ReadFull(k.from, k.buf); err != nil {
		return err
	}
	take(k.buf)
	return nil
}

func (k *keptRows) bools(to []bool, n int) ([]bool, error) {
	err := k.words(n, func(b []byte) {
		for _, v := range b {
			to = append(to, v != 0)
		}
	})
	return to, err
}

// cell appends the j-th cell of a column of texts as its type.
func (k *keptRows) cell(c *predictions.Cells, t predictions.ColumnType, j int, text []byte) {
	switch t {
	case predictions.Int64Column:
		v, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			c.Missing[j] = true
		}
		c.Int64 = append(c.Int64, v)
	case predictions.Float64Column:
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			c.Missing[j] = true
		}
		c.Float64 = append(c.Float64, v)
	default:
		c.Bytes = append(c.Bytes, text...)
		c.Ends = append(c.Ends, len(c.Bytes))
	}
}

// cellType finds out whether the texts of a column are all integers, or all numbers. Texts such as 01, +1 and integers beyond what the type
// holds would not come back as they were, so they make it a column of texts. Empty cells, NA and null are missing numbers.
type cellType struct {
	some          bool // there is a number
	notInt, notIn bool // some cell is no integer, or no number
	large         bool // an integer is not a float64
}

// see takes a cell into account.
func (t *cellType) see(cell []byte) {
	if t.notIn || len(cell) == 0 || bytes.EqualFold(cell, []byte("na")) || bytes.EqualFold(cell, []byte("null")) {
		return
	}
	t.some = true
	digits := bytes.TrimPrefix(cell, []byte{'-'})
	zero := len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
	switch v, err := strconv.ParseInt(string(cell), 10, 64); {
	case zero || cell[0] == '+':
		t.notIn = true
	case err == nil:
		t.notInt = t.notInt || v == 0 && cell[0] == '-'
		t.large = t.large || v < -1<<53 || v > 1<<53
	default:
		_, err := strconv.ParseFloat(string(cell), 64)
		t.notInt = true
		t.notIn = err != nil || bytes.ContainsAny(digits, "xX_") || !bytes.ContainsAny(digits, ".eEnN")
	}
}

// result returns the type of the column.
func (t *cellType) result() predictions.ColumnType {
	switch {
	case !t.some || t.notIn || t.notInt && t.large:
		return predictions.TextColumn
	case t.notInt:
		return predictions.Float64Column
	}
	return predictions.Int64Column
}
