package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// logits says whether rows are ordered by the magnitude of one logit, and of which type that is. Their top label's probability and
// entropy rank them alike, but are equal for different logits where they are near 1, 0 or ln 2.
type logits uint8

const (
	noLogits logits = iota
	logits32        // float32 or narrower
	logits64
)

// logitsOf returns which a block has.
func logitsOf(b *metrics.Block) logits {
	switch {
	case b.Classes != 1 || b.Kind != metrics.Logits || b.Peak == nil:
		return noLogits
	case b.DType == metrics.Float64:
		return logits64
	}
	return logits32
}

// sure returns the columns of a row whose logit has such a magnitude, as a Pass makes them.
func (l logits) sure(z float64) (top, tail, entropy float64) {
	var c [8][1]float64
	var argMax, label [1]int32
	var flags [1]uint8
	s := kernel.Stats{Top: c[0][:], Tail: c[1][:], Label: c[2][:], NLL: c[3][:], Rest: c[4][:], Entropy: c[5][:], Norm: c[6][:],
		Positive: c[7][:], ArgMax: argMax[:], Flags: flags[:]}
	if !(z <= math.MaxFloat32) { // a place's end may be no number
		z = math.MaxFloat32
	}
	if l == logits64 {
		kernel.BinaryLogitStatsF64(&s, []float64{z}, label[:])
	} else {
		kernel.BinaryLogitStatsF32(&s, []float32{float32(z)}, label[:])
	}
	return s.Top[0], s.Tail[0], s.Entropy[0]
}
