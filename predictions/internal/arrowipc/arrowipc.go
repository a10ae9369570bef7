// Package arrowipc reads Arrow's IPC files (Feather v2) and streams as columns. Apache Arrow's own library reads the messages; this package
// first checks what they say about their lengths, and turns arrays into the vectors of package columns.
//
// Numbers keep their types; integers of all widths become Int64, decimals Float64, rounded once. Dictionaries of texts keep their codes; all
// others, and columns that are run-end encoded, are written out. Extension types are read as what they store. Types that no role reads are of
// kind Other.
package arrowipc

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// File is an open file or stream. It implements columns.File.
type File struct {
	r       *messages
	stream  *ipc.Reader
	index   *index // of a file, which is no stream
	columns []columns.Column
	types   []arrow.DataType
	want    []int
	bytes   int64
	at      int // the next batch

	// Bytes of the batches that are in memory, and whether the reader has stopped.
	mu      sync.Mutex
	free    sync.Cond
	held    int64
	stopped bool
}

// Open opens a stream, which is read in order.
func Open(r io.Reader) (f *File, err error) {
	defer recovered(&err)
	f = newFile(r)
	if f.stream, err = ipc.NewReaderFromMessageReader(f.r); err != nil {
		return nil, fault(err)
	}
	return f, f.lay(f.stream.Schema())
}

func newFile(r io.Reader) *File {
	f := &File{r: &messages{r: r, most: defaultBytes}, bytes: defaultBytes}
	f.free.L = &f.mu
	return f
}

// defaultBytes bounds a batch before Want tells how much memory there is.
const defaultBytes = 128 << 20

func (f *File) lay(s *arrow.Schema) error {
	for _, field := range s.Fields() {
		f.columns, f.types = append(f.columns, columns.Column{Name: field.Name, Type: typeOf(field.Type, 0)}), append(f.types, field.Type)
	}
	if len(f.columns) == 0 {
		return columns.Wrong("", "it has no columns")
	}
	return nil
}

// Columns implements columns.File.
func (f *File) Columns() []columns.Column { return f.columns }

// Rows implements columns.File. The number of rows of each batch stands with the batch.
func (f *File) Rows() int64 { return -1 }

// Want says what to read of each batch. The library reads and decompresses all columns of a batch.
func (f *File) Want(w columns.Want) error {
	for _, c := range w.Columns {
		if c < 0 || c >= len(f.columns) {
			return columns.Wrong("", "there is no column %d; the file has %d", c, len(f.columns))
		}
		if f.columns[c].Kind == columns.Other {
			e := columns.Wrong("", "column %q has the type %s, which is not supported", f.columns[c].Name, f.columns[c].Type.Name)
			e.Column = f.columns[c].Name
			return e
		}
	}
	f.want, f.bytes = w.Columns, max(w.Bytes, 1<<20)
	f.r.most = f.bytes
	return nil
}

// Next returns the next batch.
//
// Next of a stream waits while the parts that are not closed take all the memory that Want allows.
func (f *File) Next() (_ columns.Part, err error) {
	defer recovered(&err)
	if f.index != nil {
		if f.at == f.index.end {
			return nil, io.EOF
		}
		f.at++
		return &part{f: f, batch: f.at - 1}, nil
	}
	f.mu.Lock()
	for f.held > f.bytes && !f.stopped {
		f.free.Wait()
	}
	f.mu.Unlock()
	r, err := f.stream.Read()
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fault(err)
	}
	r.Retain()
	f.at++
	p := &part{f: f, batch: f.at - 1, record: r, size: sizeOf(r), body: f.r.body}
	f.mu.Lock()
	f.held += p.size
	f.mu.Unlock()
	return p, nil
}

// sizeOf returns about how much memory a batch takes.
func sizeOf(r arrow.RecordBatch) (n int64) {
	for _, c := range r.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}

// Stop ends a wait of Next for parts that are not closed. It may be called by any goroutine.
func (f *File) Stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.free.Broadcast()
}

// Close forgets the file. It does not close what the file is read from.
func (f *File) Close() error { return nil }

// fault makes a Fault of an error of the library.
func fault(err error) error {
	var known *columns.Fault
	if errors.As(err, &known) {
		return known
	}
	f := damaged("%s", strings.ReplaceAll(err.Error(), "arrow/ipc: ", ""))
	f.Err = err
	return f
}

// recovered turns a panic into an error: the library trusts what a file says about itself.
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *columns.Fault:
		*err = r
	case runtime.Error:
		*err = &columns.Fault{Row: -1, Line: -1, Reason: "damaged: " + r.Error(), Remedy: "write it again", Err: r}
	case error:
		*err = &columns.Fault{Row: -1, Line: -1, Reason: "damaged: " + r.Error(), Remedy: "write it again", Err: r}
	default:
		*err = columns.Wrong("write it again", "damaged: %v", fmt.Sprint(r))
	}
}

// part is a batch.
type part struct {
	f      *File
	batch  int
	record arrow.RecordBatch
	rows   int64  // of the record
	size   int64  // in memory
	body   []byte // of a stream, as it was read
	at     int64
	each   []*converter // of the wanted columns
}

// Next implements columns.Part.
func (p *part) Next(b *columns.Block) (err error) {
	defer recovered(&err)
	b.Rows = 0
	if p.each == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	if p.at == p.rows {
		return io.EOF
	}
	n := min(int64(b.Most), p.rows-p.at)
	b.Columns = append(b.Columns[:0], make([]columns.Vector, len(p.each))...)
	for i, c := range p.each {
		b.Columns[i] = c.cells(int(p.at), int(p.at+n))
	}
	b.Rows = int(n)
	p.at += n
	return nil
}

// begin reads the batch.
func (p *part) begin() (err error) {
	if p.record == nil {
		if err := p.f.index.check(p.f.index.batches[p.batch]); err != nil {
			return err
		}
		if p.record, err = p.f.index.readers.batch(p.batch); err != nil {
			return fault(err)
		}
	}
	p.rows = p.record.NumRows()
	p.each = make([]*converter, len(p.f.want))
	for i, c := range p.f.want {
		a := p.record.Column(c)
		if int64(a.Len()) != p.rows {
			return columns.Wrong("write it again", "damaged: column %q of batch %d has %d rows, and the batch has %d", p.f.columns[c].Name, p.batch, a.Len(), p.rows)
		}
		p.each[i] = newConverter(p.f.columns[c].Name, &p.f.columns[c].Type, a)
	}
	return nil
}

// Close implements columns.Part.
func (p *part) Close() error {
	p.f.mu.Lock()
	p.f.held -= p.size
	p.f.mu.Unlock()
	p.f.free.Signal()
	switch {
	case p.record == nil:
	case p.f.index == nil:
		p.f.r.spare.Free(p.body)
	case p.f.index.lone:
		p.record.Release()
	}
	p.record, p.body, p.each, p.at, p.rows, p.size = nil, nil, nil, 0, 0, 0
	return nil
}
