package parallel

import (
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/order"
)

// Bins are bins of equal mass of scores with outcomes: each has about as many scores as the others, but equal scores are never divided.
// The zero value has no bins; ClassEqualMassF32 reuses its memory.
type Bins struct{ bins order.Bins }

// Bin describes the scores in one bin.
type Bin struct {
	Count, Events int64   // scores, and those with the outcome 1
	Scores        float64 // sum of the scores, rounded once
}

// Len returns the number of bins.
func (b *Bins) Len() int { return len(b.bins.Cells) }

// Bin returns bin i.
func (b *Bins) Bin(i int) Bin {
	c := &b.bins.Cells[i]
	return Bin{c.N, int64(c.Y.Float64()), c.P.Float64()}
}

// Edges returns the scores at the ranks min(round(j*(n/bins)), n-1) of the n scores in the bins, for j = 1 .. bins-1, halves rounded
// to even. There are none without scores. The bin of a score p is the number of edges <= p: bins are left-closed, and with equal edges all
// but the last bin are empty.
func (b *Bins) Edges() []float64 { return slices.Clone(b.bins.Edges) }

// Count returns the number of scores in the bins.
func (b *Bins) Count() int64 { return b.bins.N }

// Below returns the number of scores in [0,1] that are in no bin because they are not above the threshold.
func (b *Bins) Below() int64 { return b.bins.Below }

// Outside returns the number of scores that are in no bin because they are outside [0,1], or NaN.
func (b *Bins) Outside() int64 { return b.bins.Out }

// ECE returns the expected calibration error over the bins, (1/n) * sum over bins of |sum (p - y)|. The sum is exact and rounded once. It
// is 0 without scores.
func (b *Bins) ECE() float64 { return b.bins.ECE() }

// EqualMass returns bins of equal mass of keys made by kernel.HitKeysF32 or HitKeysF64, for scores above a threshold: with 0
// all except zeros, with a negative number all.
//
// Many keys are read once, by all threads, and not moved. The edges are sought in a part of the keys that a sample
// indicates, and what lies between is summed. That takes the memory of a fifth of the keys with 15 bins, or of half of them
// with 100, and half as much again with several threads. Fewer than 2^19 keys, or keys with so many bins that the part would
// be most of them, are reordered: one thread selects the edges, or all threads sort. This takes the memory of the keys once
// more. Neither the order of the keys nor equal keys affect the cost much.
func EqualMass[K kernel.Key](keys []K, bins int, above float64, threads int) *Bins {
	return &Bins{*order.EqualMass(keys, bins, above, threads)}
}

// EqualMassF32 is EqualMass for scores p with outcomes hit (0 or 1), which are not changed. Their keys are made chunk by
// chunk, or all at once if edges are selected.
func EqualMassF32(p []float32, hit []uint8, bins int, above float64, threads int) *Bins {
	return &Bins{*order.EqualMassF32(p, hit, bins, above, threads)}
}

// EqualMassF64 is EqualMassF32 for float64.
func EqualMassF64(p []float64, hit []uint8, bins int, above float64, threads int) *Bins {
	return &Bins{*order.EqualMassF64(p, hit, bins, above, threads)}
}

// ClassEqualMassF32 writes to dst[c], for each class c, the bins of equal mass of column c of a row-major matrix of rows x
// classes probabilities, where row i is x[i*stride : i*stride+classes]. They are those of EqualMass for the scores of the
// column with the outcomes labels[i] == c. A label that is no class is no column's outcome.
//
// A tile of columns at a time is transposed. It has as many columns as fit into 4 MiB, up to 64, but at least two cache
// lines of them (32 for float32, 16 for float64) unless these take more than 64 MiB, and at least 4. Each thread has memory
// for a tile and one more column: 6.6 MB for 50,000 rows of float32, 200 MB for ten million.
func ClassEqualMassF32(dst []Bins, x []float32, rows, classes, stride int, labels []int32, bins int, above float64, threads int) {
	of(dst, func(to []order.Bins) {
		order.ClassEqualMassF32(to, x, rows, classes, stride, labels, bins, above, threads)
	})
}

// ClassEqualMassF64 is ClassEqualMassF32 for float64.
func ClassEqualMassF64(dst []Bins, x []float64, rows, classes, stride int, labels []int32, bins int, above float64, threads int) {
	of(dst, func(to []order.Bins) {
		order.ClassEqualMassF64(to, x, rows, classes, stride, labels, bins, above, threads)
	})
}

// of calls f with what dst holds.
func of(dst []Bins, f func([]order.Bins)) {
	to := make([]order.Bins, len(dst))
	for i := range dst {
		to[i] = dst[i].bins
	}
	f(to)
	for i := range dst {
		dst[i].bins = to[i]
	}
}
