package arrowipc

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// index is the end of a file, which says where its messages are.
type index struct {
	src     columns.Source
	batches []location
	end     int // the batch behind the last that is read
	checks  *messages
	lone    bool // batches share nothing, as dictionaries are
	readers *readers
}

// location is where a message is.
type location struct{ at, meta, body int64 }

// OpenFile opens a file by its index. Its batches may be read at the same time.
func OpenFile(src columns.Source) (_ *IndexedFile, err error) {
	defer recovered(&err)
	f := newFile(nil)
	x := &index{src: src, checks: f.r}
	if err := x.read(); err != nil {
		return nil, err
	}
	f.index = x
	var first *ipc.FileReader
	if x.readers, first, err = newReaders(src, x.lone, &f.r.spare); err != nil {
		return nil, fault(err)
	}
	if first.NumRecords() != len(x.batches) {
		return nil, damaged("its index has %d batches and %d", len(x.batches), first.NumRecords())
	}
	return &IndexedFile{f}, f.lay(first.Schema())
}

// read reads the index, and checks it and the dictionaries.
func (x *index) read() error {
	const tail = 4 + int64(len(magic))
	end, err := x.bytes(x.src.Size()-tail, tail)
	if err != nil || string(end[4:]) != magic {
		return columns.Wrong("was the program that wrote it interrupted?", "truncated: it begins as an Arrow file and does not end as one")
	}
	size := int64(binary.LittleEndian.Uint32(end))
	if size < 8 || size > mostMetadata {
		return damaged("an index of %d bytes", size)
	}
	b, err := x.bytes(x.src.Size()-tail-size, size)
	if err != nil {
		return err
	}
	t := root(b)
	schema, ok := t.child(1)
	if !ok {
		return damaged("an index without columns")
	}
	if err := x.checks.checkSchema(&schema); err != nil {
		return err
	}
	dictionaries, err := x.locations(&t, 2)
	if err != nil {
		return err
	}
	x.lone = len(dictionaries) == 0
	for _, l := range dictionaries {
		if err := x.check(l); err != nil {
			return err
		}
	}
	x.batches, err = x.locations(&t, 3)
	x.end = len(x.batches)
	return err
}

// IndexedFile is a file whose index says where its batches are.
type IndexedFile struct{ *File }

var _ columns.Divided = (*IndexedFile)(nil)

// Units returns the number of batches.
func (f *IndexedFile) Units() int64 { return int64(len(f.index.batches)) }

// RowsOf returns the number of rows of batches, from what stands before each.
func (f *IndexedFile) RowsOf(from, to int64) (n int64, err error) {
	defer recovered(&err)
	for _, l := range f.index.batches[from:to] {
		if err := f.index.check(l); err != nil {
			return 0, err
		}
		b, err := f.index.bytes(l.at, l.meta)
		if err != nil {
			return 0, err
		}
		start := 4
		if binary.LittleEndian.Uint32(b) == continuation {
			start = 8
		}
		t := root(b[start:])
		batch, ok := t.child(2)
		rows := batch.int64(0)
		if !ok || t.byte(1) != batchMessage || rows < 0 || rows > mostRows {
			return 0, damaged("a batch of %d rows", rows)
		}
		n += rows
	}
	return n, nil
}

// Only limits Next to some batches.
func (f *IndexedFile) Only(from, to int64) { f.at, f.index.end = int(from), int(to) }

// bytes reads n bytes that the file has.
func (x *index) bytes(at, n int64) ([]byte, error) {
	if at < 0 || n < 0 || n > x.src.Size()-at {
		return nil, damaged("a message that is not in the file")
	}
	b := make([]byte, n)
	if _, err := x.src.ReadAt(b, at); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

func (x *index) locations(t *table, field int) (l []location, err error) {
	const size = 24
	at, n, err := t.vector(field, size)
	if err != nil {
		return nil, err
	}
	for i := range n {
		p := at + flatbuffers.UOffsetT(size*i)
		l = append(l, location{t.GetInt64(p), int64(t.GetInt32(p + 8)), t.GetInt64(p + 16)})
	}
	return l, nil
}

// check checks a message.
func (x *index) check(l location) error {
	if l.meta < 16 || l.meta > mostMetadata || l.body < 0 || l.body > x.src.Size() || l.at < 0 || l.at > x.src.Size()-l.meta-l.body {
		return damaged("a message that is not in the file")
	}
	if l.body > x.checks.most {
		return x.checks.tooMuch(l.body)
	}
	b, err := x.bytes(l.at, l.meta)
	if err != nil {
		return err
	}
	start := 4
	if binary.LittleEndian.Uint32(b) == continuation {
		start = 8
	}
	length, check, err := x.checks.check(b[start:])
	if err != nil {
		return err
	}
	if length > l.body {
		return damaged("a body of %d bytes where the index has %d", length, l.body)
	}
	return check(l.body, func(at int64) (int64, error) {
		b, err := x.bytes(l.at+l.meta+at, 8)
		if err != nil {
			return 0, err
		}
		return int64(binary.LittleEndian.Uint64(b)), nil
	})
}
