package predictions

import (
	"os"
	"sync"
	"sync/atomic"
)

// pool is what readers have in common: the buffers of their chunks, and how they end.
type pool struct {
	free chan *buffer
	done chan struct{} // closed by Close
	read atomic.Int64

	mu  sync.Mutex // held by Next and Close while they touch what a reader reads from
	err error      // what ended the stream
}

// next waits for a buffer and has it filled. ended is what ended the stream, nil if there are rows to read; release closes what a
// reader reads from. Both, and fill, are called with the lock held.
func next[C any](p *pool, ended func() error, fill func(*buffer) (C, *Error), release func() error) (c C, err error) {
	p.mu.Lock()
	err = ended()
	p.mu.Unlock()
	if err != nil {
		return c, err
	}
	var b *buffer
	select {
	case b = <-p.free:
	case <-p.done:
		return c, os.ErrClosed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil { // closed meanwhile
		p.free <- b
		return c, p.err
	}
	c, e := fill(b)
	if e != nil {
		p.free <- b
		p.err = e
		release()
		return c, e
	}
	return c, nil
}

// close ends the stream once and calls release.
func (p *pool) close(release func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return nil
	default:
	}
	close(p.done)
	p.err = os.ErrClosed
	return release()
}

// stock makes at most n buffers of size bytes of scores and of rows rows of what stands beside them, for so many chunks.
func (p *pool) stock(n, size, rows int, chunks int64, s *beside) {
	n = int(min(int64(n), chunks))
	p.free = make(chan *buffer, n)
	for _, b := range newBuffers(n, size) {
		s.room(b, rows)
		p.free <- b
	}
}

// chunkRows returns how many rows of so many bytes a chunk has, at most most.
func chunkRows(o *Options, row int, most int64) int {
	size := o.BufferBytes
	if size <= 0 {
		size = defaultBufferBytes
	}
	rows := max(1, size/row)
	// Round numbers of rows leave kernels no remainders.
	if rows >= 1024 {
		rows &^= 1023
	} else if rows >= 16 {
		rows &^= 15
	}
	return int(min(int64(rows), maxChunkRows, most))
}

// buffers returns how many chunks may be out.
func (o *Options) buffers() int {
	if o.Buffers <= 0 {
		return defaultBuffers
	}
	return o.Buffers
}
