package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// logits says whether rows are ordered by the magnitude of a single logit, and which type it has. The top label's
// probability and entropy give the same order, but round different logits to equal values near 1, 0 or ln 2.
type logits uint8

const (
	noLogits logits = iota
	logits32        // float32 or narrower
	logits64
)

// logitsOf returns the logits type of a block.
func logitsOf(b *metrics.Block) logits {
	switch {
	case b.Classes != 1 || b.Kind != metrics.Logits || b.Peak == nil:
		return noLogits
	case b.DType == metrics.Float64:
		return logits64
	}
	return logits32
}

// sure returns the columns of a row with a logit of magnitude z, exactly as a Pass computes them.
func (l logits) sure(z float64) (top, tail, entropy float64) {
	var c [8][1]float64
	var argMax, label [1]int32
	var flags [1]uint8
	s := kernel.Stats{Top: c[0][:], Tail: c[1][:], Label: c[2][:], NLL: c[3][:], Rest: c[4][:], Entropy: c[5][:], Norm: c[6][:],
		Positive: c[7][:], ArgMax: argMax[:], Flags: flags[:]}
	if !(z <= math.MaxFloat32) { // the end of a key range may be NaN or infinite
		z = math.MaxFloat32
	}
	if l == logits64 {
		kernel.BinaryLogitStatsF64(&s, []float64{z}, label[:])
	} else {
		kernel.BinaryLogitStatsF32(&s, []float32{float32(z)}, label[:])
	}
	return s.Top[0], s.Tail[0], s.Entropy[0]
}
