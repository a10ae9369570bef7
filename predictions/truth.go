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
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/roles"
)

// Truth says that labels are in another file than the scores.
type Truth struct {
	// Path is a table, in any format that OpenTable reads, or an array (N,), .npy or .npz.
	Path string
	// Label is the column of the labels in a table.
	Label string
	// Keys are the columns by which the rows of both tables are matched, whatever their order. A key that is missing in one of them, or
	// that one has twice, is an *Error. Without Keys the first label belongs to the first row, and so on.
	Keys []string
	// Drop leaves out rows whose key only one of the tables has. Notes say how many.
	Drop bool
	// Many allows several rows of the scores to have a key, as in a table of several models.
	Many bool
	// Stay keeps the rows of the scores that Drop would leave out, with the label metrics.Ignored, so that all rows keep their numbers.
	Stay bool
	// Memory limits the bytes of all keys; 0 means 64 MiB. More are an *Error.
	Memory int64
}

// KeyBytes returns how much memory the keys of a Truth take.
func (r *ForecastReader) KeyBytes() int64 {
	if t, ok := r.from.(*columnar); ok && t.layout.truth != nil {
		return t.layout.truth.bytes()
	}
	return 0
}

const defaultJoinMemory = 64 << 20

// labelFile reads the labels, and the keys, of a Truth in order.
type labelFile struct {
	name   string // for messages
	labels *roles.Labels
	read   atomic.Int64

	file  *openColumns // of a table
	part  columns.Part
	line  int64 // of the part's first row, from 0; -1 in formats without lines
	block columns.Block
	a     assembler
	class []int32 // of the block
	at    int     // rows of the block that were taken
	row   int64   // and of the file

	array *column
	rest  int64 // labels of the array that are left
}

// openLabels opens the file of a Truth. classes, names and event are those of the scores.
func openLabels(t *Truth, from fs.FS, called names, labels *roles.Labels) (*labelFile, *Error) {
	l := &labelFile{name: called.of(t.Path), labels: labels}
	o := &TableOptions{FS: from, Names: called}
	format, ok := formatOf(t.Path)
	if !ok && IsTable(t.Path) {
		format, ok = textFormat(o), true
	}
	if !ok {
		return l, l.openArray(t, from, called)
	}
	var e *Error
	if l.file, e = format.open(from, t.Path, nil, &l.read); e != nil {
		return nil, e.in(l.name)
	}
	if e = l.lay(t); e != nil {
		l.file.close()
		return nil, e.in(l.name)
	}
	return l, nil
}

func (l *labelFile) openArray(t *Truth, from fs.FS, called names) *Error {
	if t.Label != "" || t.Keys != nil {
		return fault("put the labels into a table", "an array has no named columns").in(l.name)
	}
	b := newOpening(nil, &Options{FS: from, Names: called})
	arrays, e := b.take(labelsRole, []string{t.Path})
	if e == nil {
		e = checkColumn(arrays[0], labelsRole)
	}
	if e != nil {
		return e.in(l.name)
	}
	l.array, l.rest = &column{arrays: arrays, what: "label"}, arrays[0].rows()
	return nil
}

// lay finds the columns of the label and the keys.
func (l *labelFile) lay(t *Truth) *Error {
	f := l.file
	if p, ok := f.columnFile.(pathed); ok {
		for _, name := range append([]string{t.Label}, t.Keys...) {
			p.Path(name)
		}
	}
	if p, ok := f.columnFile.(interface{ Texts() }); ok {
		p.Texts()
	}
	list := f.Columns()
	header := &layout{}
	for _, c := range list {
		header.names = append(header.names, c.Name)
	}
	if t.Label == "" {
		return fault(fmt.Sprintf("name the column of the labels, as in %v %s:%s", setting.Labels, t.Path, l.likely()), "it is a table: %s", header.list())
	}
	var want []int
	layout := &columnLayout{scored: &scored{labels: l.labels}}
	for i, name := range append([]string{t.Label}, t.Keys...) {
		at := slices.IndexFunc(list, func(c columns.Column) bool { return c.Name == name })
		if at < 0 {
			what := "label"
			if i > 0 {
				what = "key"
			}
			remedy := fmt.Sprintf("name it as in %v %s:%s", setting.Labels, t.Path, l.likely())
			if i > 0 {
				remedy = "name columns that both tables have by " + setting.Keys.String()
			}
			return fault(remedy, "no column %q for the %s%s: %s", cut(name), what, header.similar(name), header.list())
		}
		if list[at].Kind > columns.Text && (i == 0 || list[at].Kind != columns.Time) {
			return fault("name a column of texts or numbers", "column %q has the type %s", cut(name), list[at].Kind)
		}
		if j := slices.Index(want, at); j >= 0 {
			layout.keys = append(layout.keys, j)
			continue
		}
		want, layout.types = append(want, at), append(layout.types, list[at])
		if i > 0 {
			layout.keys = append(layout.keys, len(want)-1)
		}
	}
	l.a.layout = layout
	l.block.Most = 1 << 12
	return wanted(f, want, 0)
}

// likely returns the column that has the labels by its name.
func (l *labelFile) likely() string {
	list := make([]roles.Column, 0, len(l.file.columns))
	for _, c := range l.file.Columns() {
		list = append(list, roleOf(&c))
	}
	if w := roles.Propose(list); w.Label != "" {
		return w.Label
	}
	return "COLUMN"
}

// more reads the next rows of a table. The Error is nil at the end, and there are none.
func (l *labelFile) more() (int, *Error) {
	l.at = 0
	for {
		if l.part == nil {
			p, err := l.file.Next()
			if err == io.EOF {
				return 0, nil
			} else if err != nil {
				return 0, asError(err, 0, 0).in(l.name)
			}
			l.part, l.line = p, -1
			if p, ok := p.(interface{ Line() int64 }); ok {
				l.line = p.Line()
			}
		}
		err := l.part.Next(&l.block)
		if err == io.EOF {
			err = l.part.Close()
			l.part = nil
			if err == nil {
				continue
			}
		}
		if err != nil {
			return 0, asError(err, l.line, l.row).in(l.name)
		}
		n := l.block.Rows
		l.class = sized(l.class, n)
		l.a.out = append(l.a.out[:0], make([]bool, n)...)
		e := l.a.classesOf(l.class, &l.block, 0)
		if e != nil {
			_ = atLine(e, l.part)
			if e.Row >= 0 {
				e.Row += l.row
			}
			return 0, e.in(l.name)
		}
		return n, nil
	}
}

// next fills dst with the next labels, and returns how many there are.
func (l *labelFile) next(dst []int32) (n int, e *Error) {
	if l.array != nil {
		n = int(min(l.rest, int64(len(dst))))
		l.rest -= int64(n)
		e = l.array.labels(dst[:n])
		l.row += int64(n)
		return n, e
	}
	for n < len(dst) {
		if l.at == len(l.class) {
			if m, e := l.more(); e != nil || m == 0 {
				l.class = l.class[:0]
				return n, e
			}
		}
		m := copy(dst[n:], l.class[l.at:])
		n, l.at, l.row = n+m, l.at+m, l.row+int64(m)
	}
	return n, nil
}

func (l *labelFile) close() {
	switch {
	case l.file != nil:
		l.file.close()
	case l.array != nil:
		l.array.close()
		closePipes(l.array.arrays)
	}
}

// besideLabels gives the rows of a source labels in their order.
type besideLabels struct {
	*labelFile
	event int // the class that is 1, of two columns that became one; -1 for the classes themselves
	err   error
	rows  int64
	more  bool // there may be labels of other rows behind
}

// only skips labels of rows that are not read. more says that there are some behind, too.
func (b *besideLabels) only(skip int64, more bool) *Error {
	b.more = more
	to := make([]int32, 1<<12)
	for left := skip; left > 0; {
		n, e := b.next(to[:min(left, int64(len(to)))])
		if e == nil && n == 0 {
			e = fault("are they of the same data, and all of it?", "it has %s, and there are more rows of predictions", count(int(b.row), "label")).in(b.name)
		}
		if e != nil {
			return e
		}
		left -= int64(n)
	}
	b.rows = skip
	return nil
}

// openBeside opens the labels of rows that a reader describes.
func openBeside(t *Truth, from fs.FS, called names, i Info, labels *roles.Labels) (*besideLabels, *Error) {
	f, e := openLabels(t, from, called, labels)
	if e != nil {
		return nil, e
	}
	b := &besideLabels{labelFile: f, event: -1}
	if i.Pairs {
		b.event = i.Event
	}
	return b, nil
}

// label sets the labels of a chunk. After the last chunk, c is nil.
func (b *besideLabels) label(c *metrics.Chunk) error {
	if b.err != nil {
		return b.err
	}
	e := func() *Error {
		if c == nil && b.more {
			return nil
		}
		if c == nil {
			var one [1]int32
			if n, e := b.next(one[:]); e != nil || n == 0 {
				return e
			}
			return fault("are they of the same data, and all of it?", "it has more labels than there are rows of predictions, %s", thousands(int(b.rows))).in(b.name)
		}
		c.Labels = make([]int32, c.Rows)
		b.rows += int64(c.Rows)
		n, e := b.next(c.Labels)
		if e == nil && n < c.Rows {
			e = fault("are they of the same data, and all of it?", "it has %s, and there are more rows of predictions", count(int(b.row), "label")).in(b.name)
		}
		if e == nil && b.event >= 0 {
			for i, y := range c.Labels {
				if y >= 0 {
					c.Labels[i] = 0
					if int(y) == b.event {
						c.Labels[i] = 1
					}
				}
			}
		}
		return e
	}()
	if e != nil {
		b.err = e
		return e
	}
	return nil
}

// truthTable finds the label of a key. Its find may be called from several goroutines.
type truthTable struct {
	name string
	drop bool
	stay bool
	many bool // several rows may have a key
	keyTable
	class []int32
	met   []atomic.Bool
	blank int          // rows without a key
	none  atomic.Int64 // rows of the predictions whose key is not there
}

// join loads the labels by their keys.
func (l *columnLayout) join(o *TableOptions) *Error {
	f, e := openLabels(o.Truth, o.FS, o.Names, l.scored.labels)
	if e != nil {
		return e
	}
	defer f.close()
	t := &truthTable{name: f.name, drop: o.Truth.Drop, stay: o.Truth.Stay, many: o.Truth.Many, keyTable: newKeyTable()}
	most := o.Truth.Memory
	if most == 0 {
		most = defaultJoinMemory
	}
	var key []byte
	for {
		n, e := f.more()
		if e != nil {
			return e
		}
		if n == 0 {
			break
		}
		for i := range n {
			key = f.a.keyOf(key[:0], &f.block, i)
			bad := func(remedy, format string, args ...any) *Error {
				e := fault(remedy, format, args...)
				e.Row, e.Name = int64(i), o.Truth.Keys[0]
				if _ = atLine(e, f.part); e.Row >= 0 {
					e.Row += f.row
				}
				return e.in(f.name)
			}
			if noKey(key) {
				if t.drop {
					t.blank++
					continue
				}
				return bad(missingKey(), "the key is missing")
			}
			at, other := t.find(key)
			if other >= 0 {
				return bad(ownKey(), "key %s is there twice", keyText(key))
			}
			t.add(key, at)
			t.class = append(t.class, f.class[i])
		}
		f.row += int64(n)
		if t.bytes() > most || len(t.ends) > 1<<30 {
			return fault(fmt.Sprintf("raise %v, or sort both files by the key and leave %v out: labels are then matched by position", setting.JoinMemory, setting.Keys),
				"the keys of its rows take more than %d MiB of memory", most>>20).in(f.name)
		}
	}
	t.met = make([]atomic.Bool, len(t.ends))
	l.truth = t
	return nil
}

func (t *truthTable) bytes() int64 {
	return t.keyTable.bytes() + int64(4*cap(t.class)+4*len(t.ends))
}

// keyOf appends the key of a row.
func (a *assembler) keyOf(dst []byte, b *columns.Block, i int) []byte {
	for _, at := range a.layout.keys {
		v := &b.Columns[at]
		var cell []byte
		if v.Null == nil || !v.Null[i] {
			cell = a.text(&a.layout.types[at].Type, v, i)
		}
		dst = appendKey(dst, cell)
	}
	return dst
}

// noKey reports whether all cells of a key are missing.
func noKey(key []byte) bool { return len(bytes.Trim(key, "\x00")) == 0 }

func missingKey() string {
	return fmt.Sprintf("give each row a key; %v leaves such rows out", setting.Unmatched)
}

func ownKey() string {
	return "each row needs a key of its own: name more columns by " + setting.Keys.String()
}

// keyText returns a key as messages show it.
func keyText(key []byte) string {
	var l []string
	for len(key) > 0 {
		n, w := binary.Uvarint(key)
		l = append(l, fmt.Sprintf("%q", cut(string(key[w:w+int(n)]))))
		key = key[w+int(n):]
	}
	return strings.Join(l, ", ")
}

// match writes the labels that the keys of the rows have in another table.
func (a *assembler) match(dst []int32, b *columns.Block) *Error {
	t := a.layout.truth
	for i := range dst {
		if dst[i] = roles.Missed; a.out[i] {
			continue
		}
		a.key = a.keyOf(a.key[:0], b, i)
		at := -1
		if t.len() > 0 {
			_, at = t.find(a.key)
		}
		bad := func(remedy, format string, args ...any) *Error {
			e := fault(remedy, format, args...)
			e.Row, e.Name = int64(i), a.layout.types[a.layout.keys[0]].Name
			return e
		}
		switch {
		case noKey(a.key) && !t.drop:
			return bad(missingKey(), "the key is missing")
		case at < 0 && t.drop:
			if t.none.Add(1); t.stay {
				dst[i] = roles.Ignored
			} else {
				a.out[i] = true
			}
		case at < 0:
			return bad(fmt.Sprintf("%v leaves such rows out", setting.Unmatched), "key %s is in no row of %s", keyText(a.key), t.name)
		case t.met[at].Swap(true) && !t.many:
			return bad(ownKey(), "key %s is there twice", keyText(a.key))
		default:
			dst[i] = t.class[at]
		}
	}
	return nil
}

// unmatched returns the Error of labels whose key no row has.
func (l *columnLayout) unmatched() error {
	if l.truth == nil || l.truth.drop {
		return nil
	}
	if i := l.truth.unmet(); i >= 0 {
		e := fault(fmt.Sprintf("%v leaves such rows out", setting.Unmatched), "key %s is in no row of the predictions", keyText(l.truth.key(i)))
		e.Row = int64(i)
		return e.in(l.truth.name)
	}
	return nil
}

// count says how many of a thing are.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

// unmet returns the first key that no row has; -1 if there is none.
func (t *truthTable) unmet() int {
	for i := range t.met {
		if !t.met[i].Load() {
			return i
		}
	}
	return -1
}

// said says how many rows were left out.
func (t *truthTable) said() []string {
	if t == nil || !t.drop {
		return nil
	}
	spare := t.blank
	for i := range t.met {
		if !t.met[i].Load() {
			spare++
		}
	}
	if n := t.none.Load(); n > 0 || spare > 0 {
		return []string{fmt.Sprintf("%s: left out, as their keys are in one file only: %s of the predictions, and %s", t.name, count(int(n), "row"), count(spare, "label"))}
	}
	return nil
}
