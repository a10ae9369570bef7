package predictions

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/jsonlines"
	"github.com/candor-go/candor/predictions/internal/parquet"
	"github.com/candor-go/candor/predictions/internal/safetensors"
)

func openJSONLines(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
	t, e := openText(from, path, in, read)
	if e != nil {
		return nil, e
	}
	f, err := jsonlines.Open(t.r)
	if err != nil {
		t.close()
		return nil, asError(err, 0, 0)
	}
	return &openColumns{columnFile: f, file: t.file, closers: []func(){t.close}}, nil
}

func openParquet(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
	return openAt(from, path, in, read, beginsParquet, func(s columns.Source) (columnFile, error) {
		f, err := parquet.Open(s)
		return f, err // nil of its type only with an error
	})
}

func openSafetensors(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64) (*openColumns, *Error) {
	return openAt(from, path, in, read, beginsTensors, func(s columns.Source) (columnFile, error) {
		f, err := safetensors.Open(s)
		return f, err
	})
}

// arrowMagic begins Arrow's files.
const arrowMagic = "ARROW1"

func beginsParquet(start []byte) bool { return bytes.HasPrefix(start, []byte("PAR1")) }

// beginsArrow reports whether a file begins as Arrow's files or streams do.
func beginsArrow(start []byte) bool {
	return bytes.HasPrefix(start, []byte(arrowMagic)) || bytes.HasPrefix(start, []byte("\xff\xff\xff\xff"))
}

// openAt opens a file that is read at any place. begins reports whether it begins as its format does. What can be read only once is copied to a temporary file.
func openAt(from fs.FS, path string, in io.ReadCloser, read *atomic.Int64, begins func([]byte) bool, open func(columns.Source) (columnFile, error)) (*openColumns, *Error) {
	o := &openColumns{}
	s := &atSource{read: read}
	e := func() *Error {
		if in == nil {
			var err error
			o.file, err = openFile(from, path)
			if err != nil {
				return cannotOpen(err)
			}
			o.closers = append(o.closers, func() { o.file.Close() })
			fi, err := o.file.Stat()
			if err != nil {
				return cannotRead(err)
			}
			if at, ok := o.file.(io.ReaderAt); ok && fi.Mode().IsRegular() {
				s.ReaderAt, s.size = at, fi.Size()
				return nil
			}
			in = o.file
			o.file = nil
		}
		return o.spool(in, s)
	}()
	if e == nil {
		f, err := open(s)
		if err == nil {
			o.columnFile = f
			return o, nil
		}
		var head [sniffed]byte
		n, _ := s.ReadAt(head[:], 0)
		if e = notTable(head[:n], path); e == nil || begins(head[:n]) { // then it is damaged
			e = asError(err, 0, 0)
		}
	}
	o.close()
	return nil, e
}

// spool copies a stream to a temporary file.
func (o *openColumns) spool(in io.ReadCloser, s *atSource) *Error {
	o.closers = append(o.closers, func() { in.Close() })
	f, err := temporary.Create(os.TempDir(), 0o600)
	if err != nil {
		return fault("give TMPDIR a folder with room for it, or write it to a file and name that", "the format is not read from a pipe, and no temporary file can be made: %v", err).because(err)
	}
	temporary.Hide(f)
	o.closers = append(o.closers, func() { temporary.Remove(f) })
	n, err := io.Copy(f, in)
	if err != nil {
		return fault("give TMPDIR a folder with room for it, or write it to a file and name that", "it cannot be copied to a temporary file: %v", err).because(err)
	}
	s.ReaderAt, s.size = f, n
	return nil
}

// atSource counts what is read of a file.
type atSource struct {
	io.ReaderAt
	size int64
	read *atomic.Int64
}

func (s *atSource) Size() int64 { return s.size }

func (s *atSource) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(b, at)
	s.read.Add(int64(n))
	return n, err
}
