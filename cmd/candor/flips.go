package main

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// flips is the file of --flips: the rows whose decisions differ. While rows are read they wait in a file of their own, part by part
// as they come, of which only the places are kept in memory.
type flips struct {
	path   string
	format predictions.TableFormat
	npz    bool

	mu    sync.Mutex
	file  *os.File
	to    *bufio.Writer
	parts []flipPart
	size  int64 // of the file
	buf   []byte
}

// flipPart is the place of a part's rows.
type flipPart struct{ number, at, rows int64 }

// flipBytes is the size of a row in the file.
const flipBytes = 8 + 2*2 + 3*4 + 2*8

// shownFlips is how many rows are printed.
const shownFlips = 20

// writtenFile is a file that another flag writes.
type writtenFile struct{ flag, path string }

// flipsTo checks --flips, and returns its file. written are those of other flags; reads are read.
func flipsTo(path string, written []writtenFile, reads ...string) (*flips, error) {
	f := &flips{path: path, npz: strings.HasSuffix(strings.ToLower(path), ".npz")}
	var ok bool
	if f.format, ok = predictions.TableFormatOf(path); !ok && !f.npz && path != "-" {
		return nil, usage("--flips %s: its extension names no format; end the name in .npz, %s", path, anyOf(predictions.TableExtensions()))
	}
	for _, o := range written {
		if o.path != "" && filepath.Clean(o.path) == filepath.Clean(path) {
			return nil, usage("--flips and %s both name %s; name another one", o.flag, path)
		}
	}
	if err := checkFile("--flips", path, reads...); err != nil {
		return nil, err
	}
	return f, nil
}

// open creates the file in which rows wait.
func (f *flips) open() error {
	var err error
	if f.file, err = scratchFile(f.path); err != nil {
		return cannotWrite(f.path, err)
	}
	f.to = bufio.NewWriterSize(f.file, 1<<18)
	return nil
}

func (f *flips) remove() {
	if f != nil && f.file != nil {
		temporary.Remove(f.file)
	}
}

// add takes the rows of a part, from any goroutine.
func (f *flips) add(part int64, rows []compared.Flip) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.buf[:0]
	for i := range rows {
		r := &rows[i]
		b = binary.LittleEndian.AppendUint64(b, uint64(r.Row))
		b = binary.LittleEndian.AppendUint16(b, uint16(r.A))
		b = binary.LittleEndian.AppendUint16(b, uint16(r.B))
		for _, v := range []int32{r.Label, r.Decisions[0], r.Decisions[1]} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		for _, v := range r.Scores {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	f.buf = b
	f.parts = append(f.parts, flipPart{part, f.size, int64(len(rows))})
	f.size += int64(len(b))
	if _, err := f.to.Write(b); err != nil {
		return cannotWrite(f.path, err)
	}
	return nil
}

// each calls visit for all rows in their order.
func (f *flips) each(visit func(r *compared.Flip) error) error {
	for _, p := range f.parts {
		from := bufio.NewReaderSize(io.NewSectionReader(f.file, p.at, p.rows*flipBytes), int(min(1<<18, p.rows*flipBytes)))
		var b [flipBytes]byte
		for range p.rows {
			if _, err := io.ReadFull(from, b[:]); err != nil {
				return err
			}
			u32 := func(at int) int32 { return int32(binary.LittleEndian.Uint32(b[at:])) }
			f64 := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) }
			r := compared.Flip{Row: int64(binary.LittleEndian.Uint64(b[:])), A: int(binary.LittleEndian.Uint16(b[8:])), B: int(binary.LittleEndian.Uint16(b[10:])),
				Label: u32(12), Decisions: [2]int32{u32(16), u32(20)}, Scores: [2]float64{f64(24), f64(32)}}
			if err := visit(&r); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows returns how many there are.
func (f *flips) rows() int64 { return f.size / flipBytes }

// rowIDs tells the ids of rows.
type rowIDs interface {
	names() []string                     // of the columns that have them
	of(dst [][]byte, row int64) [][]byte // appends those of a row
}

// finish writes the file, and returns its first rows. Without ids rows have their numbers.
func (f *flips) finish(names []string, spec *eval.Spec, ids rowIDs) (*report.FlippedRows, error) {
	shown, err := f.write(names, spec, ids)
	if err != nil {
		return nil, cannotWrite(f.path, err)
	}
	return shown, nil
}

func (f *flips) write(names []string, spec *eval.Spec, ids rowIDs) (*report.FlippedRows, error) {
	if err := f.to.Flush(); err != nil {
		return nil, err
	}
	slices.SortFunc(f.parts, func(a, b flipPart) int { return cmp.Compare(a.number, b.number) })
	t := &flipTable{f: f, names: names, classes: spec.Names, ids: ids}
	if err := t.lay(); err != nil {
		return nil, err
	}
	write := f.tableTo
	if f.npz {
		write = f.npzTo
	}
	var failed error
	if err := writeTo(f.path, writer(func(w io.Writer) (int64, error) {
		b := bufio.NewWriterSize(w, 1<<20)
		if failed = write(b, t); failed == nil {
			failed = b.Flush()
		}
		return 0, failed
	})); err != nil {
		return nil, cmp.Or(failed, err)
	}
	return t.first()
}

// writer is a function that is an io.WriterTo.
type writer func(w io.Writer) (int64, error)

func (f writer) WriteTo(w io.Writer) (int64, error) { return f(w) }

// flipTable is the table of the rows.
type flipTable struct {
	f       *flips
	names   []string // of the sets
	classes []string // nil if classes have no names
	ids     rowIDs   // nil if rows have none
	columns []predictions.Column
	before  int   // columns of ids, or of the row
	width   []int // of each column of texts, the most characters
}

// flipBlock is how many rows are written at a time.
const flipBlock = 1 << 12

// lay finds the columns, and their types.
func (t *flipTable) lay() error {
	add := func(name string, k predictions.ColumnType) {
		t.columns, t.width = append(t.columns, predictions.Column{Name: name, Type: k}), append(t.width, 0)
	}
	if t.ids == nil {
		add("row", predictions.Int64Column)
	} else {
		own := []string{"a", "b", "label", "decision_a", "decision_b", "confidence_a", "confidence_b"}
		for _, n := range t.ids.names() {
			for slices.Contains(own, n) {
				n = "id_" + n
			}
			add(n, predictions.TextColumn)
		}
	}
	t.before = len(t.columns)
	class := predictions.Int64Column
	if t.classes != nil {
		class = predictions.TextColumn
	}
	add("a", predictions.TextColumn)
	add("b", predictions.TextColumn)
	for _, n := range []string{"label", "decision_a", "decision_b"} {
		add(n, class)
	}
	add("confidence_a", predictions.Float64Column)
	add("confidence_b", predictions.Float64Column)
	if t.ids != nil && (t.f.npz || t.f.format.Typed()) {
		guesses := make([]cellType, t.before)
		empty := make([]bool, t.before)
		err := t.cells(func(n int, cells []predictions.Cells) error {
			for c := range guesses {
				for i := range n {
					cell := cells[c].Text(i)
					guesses[c].see(cell)
					empty[c] = empty[c] || len(cell) == 0
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for c := range guesses {
			if k := guesses[c].result(); k == predictions.Int64Column && !empty[c] {
				t.columns[c].Type = k
			}
		}
	}
	if !t.f.npz {
		return nil
	}
	return t.cells(func(n int, cells []predictions.Cells) error {
		for c := range cells {
			if t.columns[c].Type == predictions.TextColumn {
				for i := range n {
					t.width[c] = max(t.width[c], utf8.RuneCount(cells[c].Text(i)))
				}
			}
		}
		return nil
	})
}

// class returns the name of a class, if it has one.
func (t *flipTable) class(k int32) string {
	if int(k) < len(t.classes) {
		return t.classes[k]
	}
	return strconv.Itoa(int(k))
}

// cells calls visit for blocks of rows.
func (t *flipTable) cells(visit func(n int, cells []predictions.Cells) error) error {
	cells := make([]predictions.Cells, len(t.columns))
	n := 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		err := visit(n, cells)
		n = 0
		for c := range cells {
			cells[c] = predictions.Cells{Int64: cells[c].Int64[:0], Float64: cells[c].Float64[:0], Bytes: cells[c].Bytes[:0], Ends: cells[c].Ends[:0]}
		}
		return err
	}
	text := func(c int, s []byte) {
		cells[c].Bytes = append(cells[c].Bytes, s...)
		cells[c].Ends = append(cells[c].Ends, len(cells[c].Bytes))
	}
	var ids [][]byte
	err := t.f.each(func(r *compared.Flip) error {
		if t.ids == nil {
			cells[0].Int64 = append(cells[0].Int64, r.Row)
		} else {
			ids = t.ids.of(ids[:0], r.Row)
			for c, id := range ids {
				if t.columns[c].Type != predictions.Int64Column {
					text(c, id)
					continue
				}
				v, err := strconv.ParseInt(string(id), 10, 64)
				if err != nil {
					return err
				}
				cells[c].Int64 = append(cells[c].Int64, v)
			}
		}
		c := t.before
		text(c, []byte(t.names[r.A]))
		text(c+1, []byte(t.names[r.B]))
		for i, k := range []int32{r.Label, r.Decisions[0], r.Decisions[1]} {
			if t.classes != nil {
				text(c+2+i, []byte(t.class(k)))
			} else {
				cells[c+2+i].Int64 = append(cells[c+2+i].Int64, int64(k))
			}
		}
		for i, p := range r.Scores {
			cells[c+5+i].Float64 = append(cells[c+5+i].Float64, p)
		}
		if n++; n == flipBlock {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// tableTo writes a table.
func (f *flips) tableTo(w io.Writer, t *flipTable) error {
	out, err := predictions.NewTableWriter(w, f.format, t.columns)
	if err != nil {
		return err
	}
	if err := t.cells(out.Write); err != nil {
		return err
	}
	return out.Close()
}

// npzTo writes an .npz with an array for each column.
func (f *flips) npzTo(w io.Writer, t *flipTable) error {
	z := zip.NewWriter(w)
	for c, of := range t.columns {
		e, err := z.CreateHeader(&zip.FileHeader{Name: of.Name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if _, err := e.Write(predictions.NPYColumnHeader(f.rows(), of.Type, t.width[c])); err != nil {
			return err
		}
		var b []byte
		err = t.cells(func(n int, cells []predictions.Cells) error {
			b = b[:0]
			for i := range n {
				switch of.Type {
				case predictions.Int64Column:
					b = binary.LittleEndian.AppendUint64(b, uint64(cells[c].Int64[i]))
				case predictions.Float64Column:
					b = binary.LittleEndian.AppendUint64(b, math.Float64bits(cells[c].Float64[i]))
				default:
					left := max(1, t.width[c])
					for _, r := range string(cells[c].Text(i)) {
						b = binary.LittleEndian.AppendUint32(b, uint32(r))
						left--
					}
					b = append(b, make([]byte, 4*left)...)
				}
			}
			_, err := e.Write(b)
			return err
		})
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// first returns the first rows, for people.
func (t *flipTable) first() (*report.FlippedRows, error) {
	s := &report.FlippedRows{All: t.f.rows(), File: t.f.path}
	for _, c := range t.columns {
		s.Head = append(s.Head, visible.Text(c.Name))
	}
	err := t.cells(func(n int, cells []predictions.Cells) error {
		for i := range min(n, shownFlips) {
			var row []string
			for c := range cells {
				switch t.columns[c].Type {
				case predictions.Int64Column:
					row = append(row, strconv.FormatInt(cells[c].Int64[i], 10))
				case predictions.Float64Column:
					row = append(row, fmt.Sprintf("%.4f", cells[c].Float64[i]))
				default:
					row = append(row, visible.Text(string(cells[c].Text(i))))
				}
			}
			s.Rows = append(s.Rows, row)
		}
		return io.EOF // that is enough
	})
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(t.names) == 2 { // which need not be said in each row
		for i := range s.Rows {
			s.Rows[i] = slices.Delete(s.Rows[i], t.before, t.before+2)
		}
		s.Head = slices.Delete(s.Head, t.before, t.before+2)
		a, b := visible.Text(t.names[0]), visible.Text(t.names[1])
		if len(s.Rows) > 0 {
			err := t.f.each(func(r *compared.Flip) error {
				a, b = visible.Text(t.names[r.A]), visible.Text(t.names[r.B])
				return io.EOF
			})
			if err != io.EOF {
				return nil, err
			}
		}
		copy(s.Head[t.before:], []string{"label", a, b, "confidence " + a, "confidence " + b})
	}
	return s, nil
}

// checkFlips checks --flips; reads are the files that are read.
func (f *compareRun) checkFlips(reads []string) error {
	if f.flipped == "" {
		return nil
	}
	_, ofNumbers := numbers[f.task]
	switch {
	case ofNumbers || f.model.from != "" && f.columns.observed != "":
		return usage("--flips is for classes: forecasts have no decisions that could differ; leave it out")
	case f.table.correct != "":
		return usage("--flips: --correct says whether a decision was right, not what it was; leave one of them out")
	case f.choices.from == harness:
		return usage("--flips is for sets of classes, and choices of --from lm-eval are others in each question; leave it out")
	}
	written := []writtenFile{{"--plot", f.plot.file}, {"--state", f.state}}
	for _, r := range f.reports.files {
		written = append(written, writtenFile{"--report", r.path})
	}
	var err error
	f.flips, err = flipsTo(f.flipped, written, reads...)
	return err
}
