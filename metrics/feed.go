package metrics

import (
	"io"
	"sync"
	"sync/atomic"
)

// InMemory returns the source of predictions that are in memory: views of about 1 MiB, or of a few long rows. Nothing is copied.
// They may lack labels, for whoever needs none.
func InMemory(p *Predictions) Source { return &inMemory{preds: p} }

type inMemory struct {
	preds *Predictions
	at    int
}

func (m *inMemory) Next() (*Chunk, error) {
	p := m.preds
	if m.at == 0 {
		if err := p.check(false); err != nil {
			return nil, err
		}
	}
	if m.at >= p.Rows {
		return nil, io.EOF
	}
	n := min(p.Rows-m.at, wholeBatches(max(longRows, (1<<20)/(p.RowStride()*p.DType().Size()))))
	c := &Chunk{Predictions: p.Slice(m.at, m.at+n), First: int64(m.at)}
	m.at += n
	return c, nil
}

// wholeBatches returns a number of rows that is not above n and that kernels, which take 64 together, like better.
func wholeBatches(n int) int {
	if n > 64 {
		n &^= 63
	}
	return n
}

// checkChunk is check of a chunk. Numbers that are not those of its rows panic too.
func (c *Chunk) checkChunk() error {
	if c.Numbers != nil && len(c.Numbers) != c.Rows {
		panic(errNumbers)
	}
	return c.check(true)
}

// Number returns the number of row i in the whole set.
func (c *Chunk) Number(i int) int64 {
	if c.Numbers != nil {
		return c.First + int64(c.Numbers[i])
	}
	return c.First + int64(i)
}

// Slice returns a view of the rows [from, to), which does not recycle the chunk.
func (c *Chunk) Slice(from, to int) Chunk {
	v := Chunk{Predictions: c.Predictions.Slice(from, to), First: c.First, Numbers: part(c.Numbers, from, to), Groups: part(c.Groups, from, to)}
	if c.Numbers == nil {
		v.First += int64(from)
	}
	return v
}

// place tells a block, which begins at row at, the numbers of its rows.
func (c *Chunk) place(b *Block, at int) {
	if b.first = c.First + int64(at); c.Numbers != nil {
		b.first, b.numbers = c.First, c.Numbers[at:]
	}
}

// checked passes on a source's chunks. Their shapes are compared here, where they come in order, so that what is found
// does not depend on the threads.
type checked struct {
	src  Source
	seen Audit
}

func (s *checked) Next() (*Chunk, error) {
	c, err := s.src.Next()
	if err != nil {
		return nil, err
	}
	if err := c.checkChunk(); err != nil {
		return nil, err
	}
	if c.Rows > 0 {
		a := c.shape()
		if s.seen.Merge(&a) != nil {
			panic(errChunks)
		}
	}
	return c, nil
}

// Feed hands a source's chunks to the functions, each of which runs on a goroutine of its own and gets the next chunk when it is done
// with one, and recycles them. What a chunk holds is gone when the function returns. It returns the error that the source ended with,
// nil after its last chunk; a panic of a function is carried over to the caller.
func Feed(src Source, visits ...func(*Chunk)) error {
	chunks := make(chan *Chunk)
	var wg sync.WaitGroup
	var fault atomic.Value
	for _, visit := range visits {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for c := range chunks {
				func() {
					// A panic on a goroutine of ours could not be recovered by the caller: it is carried over.
					defer func() {
						if r := recover(); r != nil {
							fault.CompareAndSwap(nil, panicked{r})
						}
					}()
					if c.Recycle != nil {
						defer c.Recycle()
					}
					if fault.Load() == nil {
						visit(c)
					}
				}()
			}
		}()
	}
	err := func() error {
		// Deferred, so that a source that panics leaves no goroutines behind.
		defer wg.Wait()
		defer close(chunks)
		for {
			c, err := src.Next()
			if err != nil {
				return err
			}
			chunks <- c
			if fault.Load() != nil {
				return nil
			}
		}
	}()
	if f := fault.Load(); f != nil {
		panic(f.(panicked).value)
	}
	// Only io.EOF itself is the end: an error that wraps it says that something ended too early.
	if err != io.EOF {
		return err
	}
	return nil
}

type panicked struct{ value any }
