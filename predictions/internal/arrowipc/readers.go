package arrowipc

import (
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// mostCopied is how large the dictionaries of a file may be that each goroutine holds for itself.
const mostCopied = 1 << 20

// readers are the library's readers of a file. One reader reads several batches at the same time only if they have no dictionaries: it looks for
// those with a hash that all calls share, so that a call may fail, or return the dictionary of another column.
type readers struct {
	src    columns.Source
	copies bool // each goroutine may have a reader
	lone   *ipc.FileReader

	mu   sync.Mutex
	free []*ipc.FileReader
	back sync.Cond // of a reader in free
}

// counted counts the memory that a reader takes while it is opened: that of the dictionaries.
type counted struct {
	memory.Allocator
	bytes int
}

func (c *counted) Allocate(size int) []byte {
	c.bytes += size
	return c.Allocator.Allocate(size)
}

func (c *counted) Reallocate(size int, b []byte) []byte {
	c.bytes += size - len(b)
	return c.Allocator.Reallocate(size, b)
}

func (r *readers) open(m memory.Allocator) (*ipc.FileReader, error) {
	s := struct {
		io.ReaderAt
		io.ReadSeeker
	}{r.src, io.NewSectionReader(r.src, 0, r.src.Size())}
	return ipc.NewFileReader(s, ipc.WithBodySizeLimit(0), ipc.WithAllocator(m))
}

// newReaders returns the readers of a file whose batches are lone, or share dictionaries, and one of them, for its schema.
func newReaders(src columns.Source, lone bool, s *spare) (*readers, *ipc.FileReader, error) {
	r := &readers{src: src}
	r.back.L = &r.mu
	var err error
	if lone {
		r.lone, err = r.open(s)
		return r, r.lone, err
	}
	c := &counted{Allocator: memory.DefaultAllocator}
	first, err := r.open(c)
	if err != nil {
		return nil, nil, err
	}
	r.free, r.copies = []*ipc.FileReader{first}, c.bytes <= mostCopied
	return r, first, nil
}

// batch reads a batch.
func (r *readers) batch(i int) (arrow.RecordBatch, error) {
	if r.lone != nil {
		return r.lone.RecordBatchAt(i)
	}
	f, err := r.take()
	if err != nil {
		return nil, err
	}
	defer r.put(f)
	return f.RecordBatchAt(i)
}

// take returns a reader that nobody uses.
func (r *readers) take() (*ipc.FileReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.free) == 0 {
		if r.copies {
			return r.open(memory.DefaultAllocator)
		}
		r.back.Wait()
	}
	f := r.free[len(r.free)-1]
	r.free = r.free[:len(r.free)-1]
	return f, nil
}

func (r *readers) put(f *ipc.FileReader) {
	r.mu.Lock()
	r.free = append(r.free, f)
	r.mu.Unlock()
	r.back.Signal()
}
