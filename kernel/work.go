package kernel

import "github.com/candor-go/candor/internal/isa"

// workRows is the number of rows whose sums stand in a work area at a time.
const workRows = 64

// work is the room that the assembly of the row kernels works in; kernel/asm/_gen/work.go has its layout in bytes. The
// columns hold the sums of rows on their way to the row ends.
type work struct {
	max, eTop, zTop, s, q, h, y [workRows]float64
	top, odd                    [workRows]int32
	room, tail                  [8]float64 // the end of a row
	reference                   uint64     // of a block; after rows, whether some are odd
	held                        int        // the index in a block of the element that is left out, or -1
	largest                     uint64     // of a block
	_                           [5]uint64
	keep                        [8][8]float64
	rawMax, index               [8]float64
	masks                       [16]uint64
	cols                        [2 * shortMax][8]float64

	padded   [7][workRows]float64 // columns of rows that are not a multiple of eight
	short    [shortMax * 32]float32
	labels   [workRows]int32
	ranks    *int32 // where the ranks of short logits go, or nil
	normOnly bool   // of probabilities no other sum is wanted
}

// simd tells whether the row kernels have assembly at the current level.
func simd() bool { return isa.AVX512 || isa.AVX2 || isa.NEON }

// groupRows is how many short rows the current level takes at a time, for elements of the given size.
func groupRows(size int) int {
	switch {
	case isa.AVX512:
		return 2 * 64 / size
	case isa.AVX2:
		return 32 / size
	}
	return 16 / size
}
