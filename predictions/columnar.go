package predictions

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// columnFile is what the reader of a format returns. Want is called once, before Next.
type columnFile interface {
	columns.File
	Want(columns.Want) error
}

// columnar reads files with named columns, as JSON Lines, whose readers know nothing of scores. One goroutine goes from part to part, several
// read parts and assemble chunks of their rows, and Next returns these in order.
type columnar struct {
	options *TableOptions
	numbers *ForecastOptions // of regression forecasts; nil for the scores of classes
	format  columnFormat
	layout  columnLayout
	groups  *groups
	files   []columnShard // those that are read, and the first
	number  int           // of all files
	divided bool          // only some rows are read, and the first file is opened again for its own
	base    int64         // the number of the first row, and
	counted int64         // of the next one of scan; -1 if it is not known
	first   *openColumns  // the first file, until it is read
	begun   *columnRun    // its first part, of which a block was looked at
	started bool

	runs, work chan *columnRun // in the order of rows
	done       chan struct{}   // closed by Close and by errors
	stop       sync.Once
	read       atomic.Int64

	next      sync.Mutex                  // held by Next
	run       *columnRun                  // that chunks are taken from
	early     []*columnChunk              // its next ones, before those in its channel
	err       error                       // the error that ended the stream
	rows      int64                       // read
	left      int64                       // and not left out
	fell      any                         // value of a panic in scan, valid once runs is closed
	reading   atomic.Pointer[openColumns] // by scan
	sequences sequences

	mu     sync.Mutex // guards what Locate and line read
	starts []int64    // number of the first row of each file reached so far
	total  int64
	lines  []lineMark
}

// columnShard is one file.
type columnShard struct {
	path, name string
	index      int // among all files
	stamp      stamp
	size       int64 // as stored; -1 for a pipe
	partitions []partition
	before     int64 // rows of it that are not read, before those that are
}

// openColumns is an open file.
type openColumns struct {
	columnFile
	file    fs.File // nil of a pipe
	columns []columns.Column
	stop    func() // ends a wait of Next; nil if it never waits
	closers []func()
}

func (o *openColumns) close() {
	if o.columnFile != nil {
		o.columnFile.Close()
	}
	for i := len(o.closers) - 1; i >= 0; i-- {
		o.closers[i]()
	}
}

// lineMark says that a row is the first of a part, which begins on a line.
type lineMark struct{ row, line int64 }

// columnRun is a part of a file and the chunks of its rows.
type columnRun struct {
	file   int
	part   columns.Part
	line   int64 // of its first row; -1 in formats without lines
	block  *columns.Block
	chunks chan *columnChunk // those that follow early
	over   *openColumns      // to close at its end; nil if other parts follow
	failed error             // why there is no part
	last   bool              // of the file
	passed int64             // rows before it that a run before has read

	mu    sync.Mutex
	taken bool           // Next takes its chunks
	early []*columnChunk // that were made before
}

// keep keeps a chunk for Next if an earlier run is still taken.
func (r *columnRun) keep(c *columnChunk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.taken {
		r.early = append(r.early, c)
	}
	return !r.taken
}

// isTaken reports whether Next takes its chunks.
func (r *columnRun) isTaken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// take begins to take the chunks of the run, and returns those that are there.
func (r *columnRun) take() []*columnChunk {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = true
	return r.early
}

func openColumnar(paths, roots []string, in io.ReadCloser, o *TableOptions, format columnFormat) (*ForecastReader, *Error) {
	return startColumnar(&columnar{options: o, format: format}, paths, roots, in)
}

func startColumnar(t *columnar, paths, roots []string, in io.ReadCloser) (*ForecastReader, *Error) {
	t.groups, t.done, t.sequences = newGroups(t.options.Columns.Groups, t.options.Columns.Cluster), make(chan struct{}), newSequences()
	r := &ForecastReader{from: t, groups: t.groups, clusters: t.groups.clusters}
	if e := t.open(r, paths, roots, in); e != nil {
		if t.first != nil {
			t.first.close()
		}
		if t.numbers == nil && slices.ContainsFunc(t.options.Columns.Scores, isResponse) {
			if l, ok := logAt(t.options.FS, paths[0]); ok && l.why == "" {
				return nil, l.fault().in(e.File)
			}
		}
		if w := &t.options.Columns; t.numbers == nil && (t.first == nil || len(w.Scores) == 0 && w.Prefix == nil) {
			if l, ok := logAt(t.options.FS, paths[0]); ok {
				return nil, l.fault().in(e.File)
			}
		}
		return nil, e
	}
	return r, nil
}

func (t *columnar) open(r *ForecastReader, paths, roots []string, in io.ReadCloser) *Error {
	size := int64(0)
	var seen streams
	t.number = len(paths)
	from, to := t.options.Share.files(t.number)
	for i, p := range paths {
		if i > 0 && (i < from || i >= to) {
			continue
		}
		f := columnShard{path: p, name: names(t.options.Names).of(p), index: i, size: -1}
		if roots[i] != "" {
			f.partitions = partitions(roots[i], p)
		}
		if t.options.FS == nil && seen.twice(p) {
			return fault("name each once", "it is named twice, and can be read once").in(f.name)
		}
		if in == nil {
			fi, regular, e := statText(t.options.FS, p)
			if e != nil {
				return e.in(f.name)
			}
			if regular {
				f.size, f.stamp = fi.Size(), stampOf(fi)
			}
		}
		if f.size < 0 || size < 0 || !t.format.packed { // not all columns are read
			size = -1
		} else {
			size += f.size
		}
		t.files = append(t.files, f)
	}
	first, e := t.openFile(0, in)
	if e != nil {
		return e.in(t.files[0].name)
	}
	t.first = first
	if t.numbers != nil {
		r.levels, e = t.layout.layForecast(t.numbers, first, t.files[0].partitions)
	} else {
		e = t.layout.lay(t.options, first, t.files[0].partitions)
	}
	l := &t.layout
	if e == nil {
		f, text := first.columnFile.(*textFile)
		if text {
			l.text = f.table
		}
		l.untyped = text || t.options.Pivot != ""
		l.texts = t.options.KeepTexts
		r.kept, e = l.keptTypes(t.options.Columns.Kept)
	}
	if e == nil {
		e = t.begin()
	}
	if e != nil {
		return e.in(t.files[0].name)
	}
	if t.options.Share.divided() {
		if e := t.divide(paths); e != nil {
			return e
		}
	}
	if t.options.Truth != nil && t.options.Truth.Keys != nil {
		if e := t.layout.join(t.options); e != nil {
			return e
		}
	}
	r.scoreColumns = l.scoreColumns
	if l.scored != nil {
		r.binding, r.classNames, r.labels = l.scored.String(), l.scored.classNames(), l.scored.labels
	}
	rows := int64(-1)
	if len(paths) == 1 && t.first != nil {
		rows = first.Rows()
	}
	r.info = Info{Rows: rows, Classes: l.classes, Dimensions: l.dimensions, DType: l.dtype, Bytes: size, Files: len(paths), Weighted: l.weight >= 0, Decided: l.decision >= 0 || l.correct,
		Scored: l.confidence >= 0, Shape: l.shape()}
	r.info.Members = l.members
	if l.scored != nil && l.scored.pairs {
		r.info.Classes, r.info.Pairs, r.info.Event = 1, true, l.scored.event
	}
	n := t.options.Buffers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0) + 1
	}
	t.runs, t.work = make(chan *columnRun, n), make(chan *columnRun, n)
	return nil
}

// openFile opens a file and says which columns to read of it, if that is known.
func (t *columnar) openFile(i int, in io.ReadCloser) (*openColumns, *Error) {
	o, e := t.format.open(t.options.FS, t.files[i].path, in, &t.read)
	if e != nil {
		return nil, e
	}
	o.columns = o.Columns()
	if i > 0 || t.divided {
		e := t.layout.again(t.options, o, t.files[0].name)
		if e == nil && !slices.EqualFunc(t.files[i].partitions, t.files[0].partitions, func(a, b partition) bool { return a.key == b.key }) {
			e = fault("files of a folder are under the same keys", "its folders have other keys than those of %s", t.files[0].name)
		}
		if e != nil {
			o.close()
			return nil, e
		}
	}
	return o, nil
}

// begin reads the first rows, which tell what the types of columns do not: how long a list is, and the names in a map.
func (t *columnar) begin() *Error {
	run, e := t.partOf(t.first, 0)
	if e != nil {
		return e
	}
	if run == nil {
		return noRows()
	}
	run.block = &columns.Block{Most: t.layout.blockRows()}
	if err := run.part.Next(run.block); err != nil && err != io.EOF {
		return asError(err, run.line, 0)
	}
	t.begun = run
	if t.numbers != nil {
		return nil
	}
	return t.layout.settle(t.options, run.block)
}

func noRows() *Error {
	return fault("was the program that wrote it given any data?", "no rows").because(ErrNoRows)
}

// partOf returns the next part of a file; nil at its end.
func (t *columnar) partOf(o *openColumns, file int) (*columnRun, *Error) {
	p, err := o.Next()
	if err == io.EOF {
		return nil, nil
	} else if err != nil {
		return nil, asError(err, 0, 0)
	}
	run := &columnRun{file: file, part: p, line: -1, chunks: make(chan *columnChunk, 2)}
	if p, ok := p.(interface{ Line() int64 }); ok {
		run.line = p.Line()
	}
	return run, nil
}

// asError makes an Error of one of a reader, whose rows count from row and whose lines from line, -1 if there are none.
func asError(err error, line, row int64) *Error {
	var f *columns.Fault
	var found *Error
	if errors.As(err, &found) {
		return found
	}
	if !errors.As(err, &f) {
		return cannotRead(err)
	}
	e := fault(f.Remedy, "%s", f.Reason).because(f.Err)
	e.Name, e.Value = f.Column, f.Value
	switch {
	case f.Line >= 0 && line >= 0:
		e.Line = line + f.Line + 1
	case f.Row >= 0:
		e.Row = row + f.Row
	}
	return e
}

// start starts the goroutines.
func (t *columnar) start() {
	t.started = true
	if t.begun != nil {
		t.begun.taken = true
	}
	n, ahead := max(1, cap(t.work)-1), leastChunks
	if n > 1 {
		ahead = t.ahead()
	}
	go t.scan()
	for range n {
		go t.assemble(ahead)
	}
}

// scan goes from part to part.
func (t *columnar) scan() {
	defer close(t.work)
	defer close(t.runs)
	defer func() { t.fell = recover() }() // raised again by Next
	give := func(r *columnRun) bool {
		select {
		case t.runs <- r:
		case <-t.done:
			return false
		}
		if r.part != nil {
			select {
			case t.work <- r:
			case <-t.done:
				return false
			}
		}
		return true
	}
	for i := range t.files {
		o := t.first
		run := t.begun
		passed := int64(0)
		switch {
		case t.divided:
			var e *Error
			if o, passed, e = t.openShare(i); e != nil {
				give(&columnRun{file: i, failed: e})
				return
			}
			if o == nil {
				if passed > 0 {
					give(&columnRun{file: i, line: -1, passed: passed})
				}
				continue
			}
		case i == 0:
			t.first, t.begun = nil, nil
		default:
			var e *Error
			if o, e = t.openFile(i, nil); e != nil {
				give(&columnRun{file: i, failed: e})
				return
			}
			run = nil
		}
		t.reading.Store(o)
		select {
		case <-t.done:
			t.halt()
		default:
		}
		for {
			var e *Error
			if run == nil {
				run, e = t.partOf(o, i)
			}
			if e != nil {
				o.close()
				give(&columnRun{file: i, failed: e})
				return
			}
			if run == nil {
				break
			}
			run.passed, passed = passed, 0
			if !give(run) {
				o.close()
				return
			}
			run = nil
		}
		if !give(&columnRun{file: i, over: o, last: true, passed: passed}) {
			o.close()
			return
		}
	}
}

// assemble reads parts and assembles the chunks of their rows.
func (t *columnar) assemble(ahead int) {
	free := newSpareChunks(ahead)
	a := &assembler{layout: &t.layout}
	for run := range t.work {
		t.chunksOf(run, a, free)
		close(run.chunks)
	}
}

// ahead returns how many chunks a goroutine may be ahead: more let it work on a part while the rows of an earlier one are still taken, and
// fewer where their memory would be much beside that of a part.
func (t *columnar) ahead() int {
	bytes := t.options.PartBytes
	if bytes <= 0 {
		bytes = partBytes
	}
	each := t.layout.blockRows() * (t.layout.width()*t.layout.dtype.Size() + 16)
	return int(max(leastChunks, min(mostChunks, bytes/4/int64(each))))
}

// The numbers of chunks that a goroutine may be ahead: of a part whose rows are taken the least, which stay in the caches.
const leastChunks, mostChunks = 3, 32

func (t *columnar) chunksOf(run *columnRun, a *assembler, free *spareChunks) {
	block := run.block
	for {
		c := free.take(run, t.done)
		if c == nil {
			return
		}
		c.rows, c.read, c.failed, c.fell = 0, 0, nil, nil
		var err error
		func() {
			// The caller could not recover a panic in this goroutine, so Next raises it again.
			defer func() { c.fell = recover() }()
			if block == nil {
				block = &columns.Block{}
			}
			if block.Rows == 0 {
				block.Most = t.layout.blockRows()
				err = run.part.Next(block)
			}
			if err == nil {
				a.fill(c, block, t.files[run.file].partitions)
				c.failed = atLine(c.failed, run.part)
				block.Rows = 0
			} else if err != io.EOF {
				c.failed = err
			}
		}()
		if err == io.EOF && c.fell == nil {
			if err = run.part.Close(); err == nil {
				free.put(c)
				return
			}
			c.failed = err
		}
		over := c.failed != nil || c.fell != nil
		if !run.keep(c) { // and not looked at any more
			select {
			case run.chunks <- c:
			case <-t.done:
				return
			}
		}
		if over {
			return
		}
	}
}

// Next returns the next chunk of rows, all of one file.
func (t *columnar) Next() (*metrics.Chunk, error) {
	t.next.Lock()
	defer t.next.Unlock()
	select {
	case <-t.done:
		if t.err == nil {
			t.err = os.ErrClosed
		}
	default:
	}
	if t.err != nil {
		return nil, t.err
	}
	if !t.started {
		t.start()
	}
	for {
		if t.run == nil {
			run, ok := <-t.runs
			select {
			case <-t.done:
				return nil, t.ended(os.ErrClosed)
			default:
			}
			if !ok {
				if t.fell != nil {
					t.ended(os.ErrClosed)
					panic(t.fell)
				}
				return nil, t.ended(t.overall())
			}
			if err := t.begins(run); err != nil {
				return nil, t.ended(err)
			}
			if run.part == nil {
				continue
			}
			t.run, t.early = run, run.take()
		}
		var c *columnChunk
		ok := len(t.early) > 0
		if ok {
			c, t.early = t.early[0], t.early[1:]
		} else {
			select {
			case c, ok = <-t.run.chunks:
			case <-t.done:
				return nil, t.ended(os.ErrClosed)
			}
		}
		if !ok {
			t.run = nil
			continue
		}
		if c.fell != nil {
			t.ended(os.ErrClosed)
			panic(c.fell)
		}
		if c.failed == nil && c.rows > 0 && t.layout.keyed() {
			c.failed = c.renumber(t.groups)
		}
		if c.failed == nil && t.layout.sequence >= 0 {
			c.failed = c.number(&t.sequences, t.layout.types[t.layout.sequence].Name)
		}
		if c.failed != nil {
			e := asFound(c.failed, t.run.line, t.rows-t.starts[t.run.file])
			if f := &t.files[t.run.file]; f.size >= 0 {
				if fi, _, err := statText(t.options.FS, f.path); err == nil && stampOf(fi) != f.stamp {
					e = changed()
				}
			}
			return nil, t.ended(e.in(t.files[t.run.file].name))
		}
		first := t.rows
		t.mu.Lock()
		t.rows += int64(c.read)
		t.total = t.rows
		t.left += int64(c.rows)
		t.mu.Unlock()
		if c.rows == 0 {
			c.free.put(c)
			continue
		}
		if err := t.kept(c, first); err != nil {
			return nil, t.ended(err)
		}
		return c.chunk(&t.layout, first, t.options.Kind), nil
	}
}

// lined is a part that knows the lines of the rows of its last block.
type lined interface{ LineOf(row int) int64 }

// atLine sets the line of an Error whose row counts from the beginning of the part's last block, in formats with lines.
func atLine(err error, p columns.Part) error {
	var e *Error
	if l, ok := p.(lined); ok && errors.As(err, &e) && e.Row >= 0 && !e.fixed && e.Line <= 0 {
		e.Line, e.Row = l.LineOf(int(e.Row)), -1
	}
	return err
}

// asFound is asError for what the assembler found, which has its own Error.
func asFound(err error, line, row int64) *Error {
	var e *Error
	if errors.As(err, &e) {
		if e.Row >= 0 && !e.fixed {
			e.Row += row
		}
		return e
	}
	return asError(err, line, row)
}

// begins notes where a run begins, and finishes a file at its end.
func (t *columnar) begins(run *columnRun) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.starts) <= run.file {
		at := t.rows
		if len(t.starts) == run.file {
			at -= t.files[run.file].before
		}
		t.starts = append(t.starts, at)
	}
	t.rows += run.passed
	t.total = t.rows
	f := &t.files[run.file]
	switch {
	case run.failed != nil:
		return asFound(run.failed, 0, 0).in(f.name)
	case run.over != nil:
		t.sequences.cut()
		defer run.over.close()
		if run.over.file != nil && f.size >= 0 {
			if e := f.stamp.compare(run.over.file); e != nil {
				return e.in(f.name)
			}
		}
	case run.line >= 0 && len(t.lines) < maxJumps:
		t.lines = append(t.lines, lineMark{t.rows, run.line})
	}
	return nil
}

// overall is what Next returns at the end.
func (t *columnar) overall() error {
	if s := &t.options.Share; s.some() { // other shares have the other rows
		return io.EOF
	}
	if t.rows == 0 {
		return noRows().in(t.files[0].name)
	}
	if e := t.layout.unmatched(); e != nil {
		return e
	}
	if t.left == 0 && t.options.Share.From == 0 {
		return t.layout.nothingLeft().in(t.files[0].name)
	}
	return io.EOF
}

// ended ends the stream with an error.
func (t *columnar) ended(err error) error {
	t.err = err
	t.end()
	return err
}

// end stops the goroutines.
func (t *columnar) end() {
	t.stop.Do(func() {
		close(t.done)
		t.halt()
	})
}

// halt ends a wait of scan for the memory of parts.
func (t *columnar) halt() {
	if o := t.reading.Load(); o != nil && o.stop != nil {
		o.stop()
	}
}

func (t *columnar) Close() error {
	t.end()
	t.next.Lock()
	defer t.next.Unlock()
	if !t.started {
		t.started = true
		if t.first != nil {
			t.first.close()
		}
	}
	return nil
}

func (t *columnar) said() []string { return t.layout.truth.said() }

func (t *columnar) BytesRead() int64 { return t.read.Load() }

func (t *columnar) Locate(row int64) (file string, rowInFile int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row < 0 || row >= t.total {
		return "", -1
	}
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > row }) - 1
	return t.files[i].name, row - t.starts[i]
}

// line returns the line of a row, or -1 if it is not certain: a part may have lines without rows.
func (t *columnar) line(row int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := sort.Search(len(t.lines), func(i int) bool { return t.lines[i].row > row }) - 1
	if i < 0 || row >= t.total || i+1 == len(t.lines) && len(t.lines) == maxJumps {
		return -1
	}
	if i+1 < len(t.lines) {
		if m, n := t.lines[i], t.lines[i+1]; n.line > m.line && n.line-m.line != n.row-m.row {
			return -1
		}
	}
	return t.lines[i].line + 1 + row - t.lines[i].row
}

// columnFormat is a format with named columns.
type columnFormat struct {
	key, name  string // in documents, in messages
	extensions []string
	packed     bool // it may be compressed as a whole
	begins     func(start []byte) bool
	open       func(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error)
}

// columnFormats are the formats that are read, by the names of their files.
var columnFormats = []columnFormat{
	{"jsonl", "JSON Lines", []string{".jsonl", ".ndjson", ".json"}, true, func(start []byte) bool {
		start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
		return len(start) > 0 && (start[0] == '{' || start[0] == '[')
	}, openJSONLines},
	{"parquet", "Parquet", []string{".parquet", ".pq"}, false, beginsParquet, openParquet},
	{"arrow", "Arrow", []string{".arrow", ".arrows", ".feather", ".ipc"}, false, beginsArrow, openArrow},
	{"safetensors", "safetensors", []string{".safetensors"}, false, beginsTensors, openSafetensors},
}

// formatOf returns the format of a file, judging by its name.
func formatOf(path string) (columnFormat, bool) {
	path = strings.ToLower(path)
	for _, f := range columnFormats {
		name := path
		if f.packed {
			name = unpackedName(path)
		}
		if slices.ContainsFunc(f.extensions, func(e string) bool { return strings.HasSuffix(name, e) }) {
			return f, true
		}
	}
	return columnFormat{}, false
}

// begunBy returns the format of a stream that begins so.
func begunBy(start []byte) (columnFormat, bool) {
	for _, f := range columnFormats {
		if f.begins(start) {
			return f, true
		}
	}
	return columnFormat{}, false
}

// HasColumns reports whether OpenTable reads a path as a file with named columns, as JSON Lines and Parquet, judging by its name, or as a
// folder of such files or of tables.
func HasColumns(path string) bool {
	if _, ok := formatOf(path); ok {
		return true
	}
	if fi, err := os.Stat(path); err != nil || !fi.IsDir() {
		return false
	}
	found := false
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if _, ok := formatOf(name); err == nil && !d.IsDir() && (ok || IsTable(name)) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
