package recal

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
)

func TestEach(t *testing.T) {
	p := dataRows(1000, 3, 4, metrics.Float32)
	want := dataOf(t, OpenFunc(func() (Source, error) { return &dataParts{p: p, rows: []int{1000}}, nil }))
	for _, threads := range []int{0, 1, 2, 7} {
		visitors := 0
		var mu sync.Mutex
		var got []dataRow
		d := OpenFunc(func() (Source, error) { return &dataParts{p: p, rows: []int{1, 30}}, nil })
		err := each(d, &Options{Threads: threads}, func() func(*metrics.Chunk) {
			visitors++ // on the caller's goroutine
			return func(c *metrics.Chunk) {
				mu.Lock()
				defer mu.Unlock()
				one := *c
				one.Recycle = nil
				got = append(got, dataRead(t, &readOne{c: &one})...)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b dataRow) int { return int(a.number - b.number) })
		if !slices.Equal(got, want) {
			t.Errorf("%d threads: other rows", threads)
		}
		if threads == 0 {
			threads = runtime.GOMAXPROCS(0)
		}
		if visitors != threads {
			t.Errorf("%d visitors of %d threads", visitors, threads)
		}
	}
}

// readOne yields one chunk.
type readOne struct {
	c      *metrics.Chunk
	err    error // behind it, nil for the end
	panics bool
	closed bool
}

func (s *readOne) Close() error { s.closed = true; return nil }

func (s *readOne) Next() (*metrics.Chunk, error) {
	if c := s.c; c != nil {
		s.c = nil
		return c, nil
	}
	if s.panics {
		panic("the source")
	}
	if s.err != nil {
		return nil, s.err
	}
	return nil, io.EOF
}

// TestEachFaults: errors and panics of a source, of a visitor and of what makes visitors reach the caller, the source is closed and
// recycled, and no goroutine is left.
func TestEachFaults(t *testing.T) {
	broken := errors.New("broken")
	recycled := 0
	var src *readOne
	open := OpenFunc(func() (Source, error) {
		p := dataRows(5, 2, 2, metrics.Float64)
		s := *src
		src = &s
		src.c = &metrics.Chunk{Predictions: *p, Recycle: func() { recycled++ }}
		return src, nil
	})
	quiet := func() func(*metrics.Chunk) { return func(*metrics.Chunk) {} }
	for _, err := range []error{broken, io.ErrUnexpectedEOF} {
		src = &readOne{err: err}
		if got := each(open, &Options{Threads: 4}, quiet); got != err || !src.closed {
			t.Errorf("%v, want %v; closed: %v", got, err, src.closed)
		}
	}
	for what, f := range map[string]func() func(*metrics.Chunk){
		"the source": quiet,
		"a visit":    func() func(*metrics.Chunk) { return func(*metrics.Chunk) { panic("a visit") } },
		"a visitor": func() func(*metrics.Chunk) {
			panic("a visitor")
		},
	} {
		func() {
			src = &readOne{panics: what == "the source"}
			defer func() {
				if r := recover(); r != what {
					t.Errorf("%v, want %s", r, what)
				}
				if !src.closed {
					t.Errorf("%s: not closed", what)
				}
			}()
			each(open, &Options{Threads: 4}, f)
		}()
	}
	if recycled != 4 {
		t.Errorf("%d chunks are recycled, want 4: all but the one that nobody got", recycled)
	}
	check.Gone(t)
}
