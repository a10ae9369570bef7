package predictions

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// RowFormat is the format of files of losses by row.
const RowFormat = "candor-rows/1"

// Names of the arrays that a file of losses by row has beside those of its metrics.
const (
	RowMarkArray      = "candor_rows" // the mark: a single text
	RowLabelsArray    = "labels"      // the true classes; metrics.Ignored in rows that do not count
	RowWeightsArray   = "weights"     // the weights, if rows have any
	RowDecisionsArray = "decisions"   // the classes that were chosen; -1 in rows that were left out
)

// RowMark says what the values of a file of losses by row are. The file is an .npz with a float64 array (N,) for each metric, NaN in rows that
// were left out, and this mark as JSON in a text array.
type RowMark struct {
	Format       string   `json:"format"`                 // RowFormat
	Name         string   `json:"name"`                   // of the model
	Task         string   `json:"task"`                   // binary, classification, or a task without classes
	Rows         int64    `json:"rows"`                   // of each array
	Classes      int      `json:"classes,omitempty"`      // 2 of a binary task; 0 without classes
	ClassNames   []string `json:"class_names,omitempty"`  // in the order of the classes; nil if they have none
	Input        string   `json:"input"`                  // the kind of scores that were read
	Renormalized bool     `json:"renormalized,omitempty"` // rows were divided by their sums
	Metrics      []string `json:"metrics"`                // with their options; names of arrays
	Columns      []string `json:"columns,omitempty"`      // arrays with columns of the file that was read, as ids
}

// NPY returns the mark as the .npy of a single text. The error is that of a name that is no JSON text.
func (m *RowMark) NPY() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	text := []rune(string(b))
	out := npyHeader(nil, fmt.Sprintf("<U%d", len(text)))
	for _, r := range text {
		out = binary.LittleEndian.AppendUint32(out, uint32(r))
	}
	return out, nil
}

// RowOptions says how files of losses by row are read.
type RowOptions struct {
	Kept  []string                            // names of arrays of ids, of whole numbers or texts
	Keep  func(rows int, cells []Cells) error // is told their cells, as Options.Keep is
	Names map[string]string                   // what messages call paths
}

// RowReader reads the losses by row. It is a metrics.Source whose rows are no scores: they have a float64 for each column that Choose names.
type RowReader struct {
	mark    RowMark
	c       *container
	o       RowOptions
	labels  *column
	weights *column
	values  []*column
	kept    *keptArrays
	at      int64
	read    int64 // bytes
	file    string
	free    sync.Pool
}

var _ metrics.Source = (*RowReader)(nil)

// OpenRows opens a file of losses by row, and reads its mark. Errors are *Error.
func OpenRows(path string, o *RowOptions) (*RowReader, error) {
	r, e := openRows(path, o)
	if e != nil {
		return nil, e.in(names(o.Names).of(path))
	}
	return r, nil
}

func writeRows() string { return "write it again, by " + setting.RowFile.String() }

func openRows(path string, o *RowOptions) (_ *RowReader, e *Error) {
	c, e := openContainer(nil, path, o.Names)
	if e != nil {
		return nil, e
	}
	r := &RowReader{c: c, o: *o, file: c.names.of(path)}
	defer func() {
		if e != nil {
			r.Close()
		}
	}()
	if e := r.readMark(); e != nil {
		return nil, e
	}
	if r.mark.Classes == 0 {
		return r, nil
	}
	a, e := r.array(RowLabelsArray)
	if e != nil {
		return nil, e
	}
	if d := a.dtype; !d.integer() {
		return nil, fault(writeRows(), "its labels are %s, not integers", d).in(a.file)
	}
	r.labels = &column{arrays: []*array{a}, what: "label"}
	if r.has(RowWeightsArray) {
		if r.weights, e = r.column(RowWeightsArray); e != nil {
			return nil, e
		}
	}
	return r, r.findKept()
}

// readMark reads and checks the mark.
func (r *RowReader) readMark() *Error {
	if !r.has(RowMarkArray) {
		return fault(writeRows(), "it has no array %s, which says what its values are: it has %s", RowMarkArray, r.c.list())
	}
	a, e := r.load(RowMarkArray)
	if e != nil {
		return e
	}
	const most = 1 << 26 // the names of a million classes or so
	if d := a.dtype; d.kind != 'U' || len(a.shape) > 0 || d.size > most {
		return fault(writeRows(), "it is %s %s, not a text", d, shapeText(a.shape)).in(a.file)
	}
	if e := a.checkLength(); e != nil {
		return e
	}
	src, e := a.open()
	if e != nil {
		return e
	}
	defer src.close()
	cell := make([]byte, a.dtype.size)
	if e := src.read(cell); e != nil {
		return e
	}
	if e := src.finish(); e != nil {
		return e
	}
	text, ok := groupText(nil, cell, a.dtype)
	text = []byte(strings.TrimRight(string(text), "\x00"))
	if !ok || !utf8.Valid(text) || json.Unmarshal(text, &r.mark) != nil {
		return fault(writeRows(), "it is no JSON text: %q", cut(string(text))).in(a.file)
	}
	m := &r.mark
	switch {
	case m.Format != RowFormat:
		return fault(writeRows(), "its format is %q, and %s is read", cut(m.Format), RowFormat)
	case m.Rows < 1 || m.Classes < 0 || m.Classes == 1 || m.Classes > 1<<30 || (m.Task == "binary") && m.Classes != 2:
		return fault(writeRows(), "it says %d rows and %d classes of a task %q", m.Rows, m.Classes, cut(m.Task)).in(a.file)
	}
	return nil
}

func (r *RowReader) has(name string) bool {
	return slices.ContainsFunc(r.c.members, func(m member) bool { return m.name == name })
}

// load returns the one array of a name.
func (r *RowReader) load(name string) (*array, *Error) {
	at := slices.IndexFunc(r.c.members, func(m member) bool { return m.name == name })
	if at < 0 {
		return nil, fault(writeRows(), "no array %s: it has %s", name, r.c.list())
	}
	return r.c.load(at)
}

// array returns an array that has a value for each row.
func (r *RowReader) array(name string) (*array, *Error) {
	a, e := r.load(name)
	if e != nil {
		return nil, e
	}
	if len(a.shape) != 1 || a.rows() != r.mark.Rows {
		return nil, fault(writeRows(), "its shape is %s, and "+RowMarkArray+" says %s", shapeText(a.shape), count(int(r.mark.Rows), "row")).in(a.file)
	}
	return a, a.checkLength()
}

// column returns the reader of an array of numbers.
func (r *RowReader) column(name string) (*column, *Error) {
	a, e := r.array(name)
	if e != nil {
		return nil, e
	}
	if d := a.dtype; !d.integer() && d.kind != 'f' {
		return nil, fault(writeRows(), "its values are %s, not numbers", d).in(a.file)
	}
	return &column{arrays: []*array{a}, what: "value"}, nil
}

// findKept finds the arrays of ids.
func (r *RowReader) findKept() *Error {
	if len(r.o.Kept) == 0 {
		return nil
	}
	r.kept = &keptArrays{keep: r.o.Keep, cells: make([]Cells, len(r.o.Kept))}
	for _, name := range r.o.Kept {
		if !slices.Contains(r.mark.Columns, name) || !r.has(name) {
			has := "none"
			if len(r.mark.Columns) > 0 {
				has = strings.Join(r.mark.Columns, ", ")
			}
			return fault(fmt.Sprintf("%s, with %v %s", writeRows(), setting.Keys, name), "no column %q of the rows was kept in it: there is %s", cut(name), cut(has))
		}
		a, e := r.array(name)
		if e == nil {
			e = checkKept(a)
		}
		if e != nil {
			return e
		}
		r.kept.columns = append(r.kept.columns, column{arrays: []*array{a}, what: "kept value"})
	}
	return nil
}

// Mark returns the mark.
func (r *RowReader) Mark() RowMark { return r.mark }

// Choose names the columns of the rows, before the first is read: those of wanted that the file has, in their order. It returns them. Errors are
// *Error.
func (r *RowReader) Choose(wanted []string) ([]string, error) {
	var l []string
	for _, name := range wanted {
		if name != RowDecisionsArray && !slices.Contains(r.mark.Metrics, name) || !r.has(name) {
			continue
		}
		c, e := r.column(name)
		if e != nil {
			return nil, e.in(r.file)
		}
		l, r.values = append(l, name), append(r.values, c)
	}
	return l, nil
}

// Info describes the file. Its classes are 1 for a binary task.
func (r *RowReader) Info() Info {
	k := r.mark.Classes
	if r.mark.Task == "binary" {
		k = 1
	}
	return Info{Rows: r.mark.Rows, Classes: k, DType: metrics.Float64, Bytes: 8 * r.mark.Rows * int64(len(r.values)), Shape: shapeText([]int64{r.mark.Rows}), Files: 1, Weighted: r.weights != nil}
}

// BytesRead returns how many bytes of values have been read.
func (r *RowReader) BytesRead() int64 { return r.read }

// Locate returns the file, and the row.
func (r *RowReader) Locate(row int64) (string, int64) { return r.file, row }

// rowChunk is how many rows a chunk has.
const rowChunk = 8192

// rowBuffer is the memory of a chunk.
type rowBuffer struct {
	values, column, weights []float64
	labels                  []int32
}

// Next returns the next rows. Errors are *Error.
func (r *RowReader) Next() (*metrics.Chunk, error) {
	n := int(min(rowChunk, r.mark.Rows-r.at))
	if n == 0 {
		return nil, io.EOF
	}
	width := len(r.values)
	b, _ := r.free.Get().(*rowBuffer)
	if b == nil {
		b = &rowBuffer{values: make([]float64, rowChunk*width), column: make([]float64, rowChunk), labels: make([]int32, rowChunk)}
		if r.weights != nil {
			b.weights = make([]float64, rowChunk)
		}
	}
	for k, c := range r.values {
		if e := c.weights(b.column[:n]); e != nil {
			return nil, e.in(r.file)
		}
		for i, v := range b.column[:n] {
			b.values[i*width+k] = v
		}
	}
	if e := r.labels.labels(b.labels[:n]); e != nil {
		return nil, e.in(r.file)
	}
	c := &metrics.Chunk{First: r.at, Recycle: recycler(b, func(b *rowBuffer) { r.free.Put(b) })}
	c.F64, c.Rows, c.Classes, c.Labels = b.values[:n*width], n, width, b.labels[:n]
	if r.weights != nil {
		if e := r.weights.weights(b.weights[:n]); e != nil {
			return nil, e.in(r.file)
		}
		c.Weights = b.weights[:n]
	}
	if e := r.kept.fill(n); e != nil {
		return nil, e.in(r.file)
	}
	r.at += int64(n)
	r.read += 8 * int64(n) * int64(width)
	return c, nil
}

// Close closes the file.
func (r *RowReader) Close() error {
	r.c.close()
	r.kept.release()
	var first error
	for _, c := range append(slices.Clone(r.values), r.labels, r.weights) {
		if c == nil {
			continue
		}
		if err := c.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
