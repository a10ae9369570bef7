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
	words   []uint64
	labels  []int32
	weights []float64

	decisions  []int32
	confidence []float64
}

// newBuffers returns n buffers of size bytes of scores and of rows labels, and as many weights, decisions and confidence
// scores where these are wanted.
func newBuffers(n, size, rows int, weighted, decided, scored bool) []*buffer {
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
		out[i] = &buffer{words: slab[i*each/8:][: each/8 : each/8], labels: make([]int32, rows)}
		if weighted {
			out[i].weights = make([]float64, rows)
		}
		if decided {
			out[i].decisions = make([]int32, rows)
		}
		if scored {
			out[i].confidence = make([]float64, rows)
		}
	}
	return out
}

// chunk sees rows rows of the buffer as a chunk. free takes the buffer back, once.
func (b *buffer) chunk(first int64, rows, classes int, d metrics.DType, k metrics.Kind, free chan<- *buffer) *metrics.Chunk {
	c := &metrics.Chunk{First: first}
	c.Rows, c.Classes, c.Kind = rows, classes, k
	n := rows * classes
	switch d {
	case metrics.Float64:
		c.F64 = view[float64](b.words, n)
	case metrics.Float32:
		c.F32 = view[float32](b.words, n)
	case metrics.Float16:
		c.F16 = view[uint16](b.words, n)
	case metrics.BFloat16:
		c.BF16 = view[uint16](b.words, n)
	}
	c.Labels = b.labels[:rows:rows]
	if b.weights != nil {
		c.Weights = b.weights[:rows:rows]
	}
	if b.decisions != nil {
		c.Decisions = b.decisions[:rows:rows]
	}
	if b.confidence != nil {
		c.ConfidenceScores = b.confidence[:rows:rows]
	}
	var back atomic.Bool
	c.Recycle = func() {
		// A second call must not put the buffer under two chunks at a time.
		if back.CompareAndSwap(false, true) {
			free <- b
		}
	}
	return c
}
