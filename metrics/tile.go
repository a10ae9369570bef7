package metrics

import (
	"unsafe"

	"github.com/candor-go/candor/kernel"
)

// probabilities sets the block's tile, except for logits of several classes, where columns sets it. The tile is a view of
// the scores if these are the probabilities that accumulators receive.
func (w *worker) probabilities(b *Block, c *Chunk, at, n, st int) {
	k := c.Classes
	lo := at * st
	switch {
	case k == 1:
		t := w.wide(b, n, 2)
		for i := range n {
			p := w.stats.Positive[i]
			t[2*i], t[2*i+1] = 1-p, p
		}
	case w.scales(c):
		t := w.wide(b, n, k)
		for i := range n {
			row := t[i*k : (i+1)*k]
			for j := range row {
				row[j] = c.element(lo + i*st + j)
			}
			if t := w.stats.Norm[i]; t > 0 {
				for j := range row {
					row[j] /= t
				}
			}
		}
	default:
		w.view(b, c, at, n, st)
	}
}

// view sets the block's tile to the scores as they are; half-precision scores are widened.
func (w *worker) view(b *Block, c *Chunk, at, n, st int) {
	k := c.Classes
	lo := at * st
	hi := lo + (n-1)*st + k
	switch {
	case c.DType() == Float64:
		b.Probs = Tile{F64: c.F64[lo:hi], Width: k, Stride: st}
	case c.DType() == Float32:
		b.Probs = Tile{F32: c.F32[lo:hi], Width: k, Stride: st}
	default:
		t := w.narrowTile(b, n, k)
		for i := range n {
			if row, from := t[i*k:(i+1)*k], lo+i*st; c.DType() == Float16 {
				kernel.WidenF16(row, c.F16[from:from+k])
			} else {
				kernel.WidenBF16(row, c.BF16[from:from+k])
			}
		}
	}
}

// ahead returns the distance in bytes from the first entry of the tile to element i of the scores, which may lie beyond
// their end.
func ahead(t *Tile, s *Scores, i int) int {
	address := func(p unsafe.Pointer) int { return int(uintptr(p)) }
	tile := address(unsafe.Pointer(unsafe.SliceData(t.F32)))
	if t.F64 != nil {
		tile = address(unsafe.Pointer(unsafe.SliceData(t.F64)))
	}
	var first unsafe.Pointer
	switch s.DType() {
	case Float64:
		first = unsafe.Pointer(unsafe.SliceData(s.F64))
	case Float32:
		first = unsafe.Pointer(unsafe.SliceData(s.F32))
	case Float16:
		first = unsafe.Pointer(unsafe.SliceData(s.F16))
	default:
		first = unsafe.Pointer(unsafe.SliceData(s.BF16))
	}
	return address(first) + i*s.DType().Size() - tile
}

// wide gives the block a float64 tile in the worker's memory. narrowTile does the same for float32.
func (w *worker) wide(b *Block, n, width int) []float64 {
	w.tile = room(w.tile, n*width)
	b.Probs = Tile{F64: w.tile[:n*width], Width: width, Stride: width}
	return b.Probs.F64
}

func (w *worker) narrowTile(b *Block, n, width int) []float32 {
	w.tile32 = room(w.tile32, n*width)
	b.Probs = Tile{F32: w.tile32[:n*width], Width: width, Stride: width}
	return b.Probs.F32
}
