package kernel

import "github.com/candor-go/candor/internal/isa"

// workRows is the number of rows whose sums are in a work area at a time.
const workRows = 64

// work is the work area of the row kernels' assembly; kernel/asm/_gen/work.go defines its layout in bytes. The columns hold
// the sums of rows until the row ends are computed.
type work struct {
	max, eTop, zTop, s, q, h, y [workRows]float64
	top, odd                    [workRows]int32
	room, tail                  [8]float64 // buffers for the end of a row
	reference                   uint64     // of a block; after a call for rows, whether some are odd
	held                        int        // index in a block of the element that is left out, or -1
	largest                     uint64     // of a block
	_                           [5]uint64
	keep                        [8][8]float64
	rawMax, index               [8]float64
	masks                       [16]uint64
	cols                        [2 * shortMax][8]float64

	padded   [7][workRows]float64 // columns for numbers of rows that are not a multiple of eight
	short    [shortMax * 32]float32
	labels   [workRows]int32
	ranks    *int32 // where the ranks of short logits go, or nil
	normOnly bool   // for probabilities: no other sum is needed
}

// simd reports whether the row kernels have assembly at the current level.
func simd() bool { return isa.AVX512 || isa.AVX2 || isa.NEON }

// groupRows returns how many short rows the current level takes at a time, for elements of this size.
func groupRows(size int) int {
	switch {
	case isa.AVX512:
		return 2 * 64 / size
	case isa.AVX2:
		return 32 / size
	}
	return 16 / size
}
