package predictions

import (
	"sync/atomic"
	"unsafe"

	"github.com/candor-go/candor/metrics"
)

// hugePage is the size and alignment of the pages that scores are best kept in: one TLB entry a buffer.
const hugePage = 2 << 20

// buffer is the memory of one chunk. It is in the free list, or out in a chunk.
type buffer struct {
	words []uint64
	each  []metrics.Scores // views of an ensemble's members

	// What stands beside the scores, nil where there is none of it.
	labels     []int32
	observed   []float64
	weights    []float64
	decisions  []int32
	confidence []float64
	groups     []int32
}

// newBuffers returns n buffers of size bytes of scores.
func newBuffers(n, size int) []*buffer {
	align := 64
	if size > hugePage/2 {
		align = hugePage
	}
	each := (size + align - 1) &^ (align - 1)
	// One piece for all: where it is aligned to huge pages, so are the buffers.
	slab := make([]uint64, (n*each+align)/8)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(slab)))) & (align - 1)
	slab = slab[skip/8:][:n*each/8]
	if align == hugePage {
		adviseHuge(raw(slab))
	}
	out := make([]*buffer, n)
	for i := range out {
		out[i] = &buffer{words: slab[i*each/8:][: each/8 : each/8]}
	}
	return out
}

// scores sees the first n values of words as scores of a type.
func scores(words []uint64, n int, d metrics.DType) (s metrics.Scores) {
	switch d {
	case metrics.Float64:
		s.F64 = view[float64](words, n)
	case metrics.Float32:
		s.F32 = view[float32](words, n)
	case metrics.Float16:
		s.F16 = view[uint16](words, n)
	case metrics.BFloat16:
		s.BF16 = view[uint16](words, n)
	}
	return s
}

// head returns the first n values of a column, nil if there is none.
func head[T any](column []T, n int) []T {
	if column == nil {
		return nil
	}
	return column[:n:n]
}

// chunk sees rows rows of the buffer as a chunk. free takes the buffer back, once.
func (b *buffer) chunk(first int64, rows, classes int, d metrics.DType, k metrics.Kind, free chan<- *buffer) *metrics.Chunk {
	c := &metrics.Chunk{First: first, Recycle: b.recycle(free)}
	c.Scores = scores(b.words, rows*classes, d)
	c.Rows, c.Classes, c.Kind = rows, classes, k
	c.Labels, c.Observed, c.Weights = head(b.labels, rows), head(b.observed, rows), head(b.weights, rows)
	c.Decisions, c.ConfidenceScores, c.Groups = head(b.decisions, rows), head(b.confidence, rows), head(b.groups, rows)
	return c
}

// recycle returns a function that gives the buffer back to free, once: a second call must not put it under two chunks at a time.
func (b *buffer) recycle(free chan<- *buffer) func() { return recycler(b, free) }

// recycler is recycle of buffers of any kind.
func recycler[T any](b T, free chan<- T) func() {
	var back atomic.Bool
	return func() {
		if back.CompareAndSwap(false, true) {
			free <- b
		}
	}
}
