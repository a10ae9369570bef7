package recal

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
)

// each reads the data once. Every goroutine calls newVisit once and hands its chunks, in no order among the goroutines, to what that
// returned; the chunks' slices are not to be kept. Rows are as they were when look checked them.
func each(d Data, o *Options, newVisit func() (visit func(*metrics.Chunk))) error {
	src, err := d.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	threads := o.threads()
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	visits := make([]func(*metrics.Chunk), threads)
	for i := range visits {
		visits[i] = newVisit() // before there are goroutines, which a panic would leave behind
	}
	chunks := make(chan *metrics.Chunk)
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
	err = func() error {
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
				return io.EOF
			}
		}
	}()
	if f := fault.Load(); f != nil {
		panic(f.(panicked).value)
	}
	if err != io.EOF {
		return err
	}
	return nil
}

type panicked struct{ value any }
