package kernel

import "github.com/candor-go/candor/kernel/asm"

// This file runs the binary columns by assembly, 16 rows at a time; the last rows are copied to a buffer. Scores of half
// precision are widened to one, which costs less than a hundredth of what their columns take. Rows with a fault or an entry
// outside [0,1] are left to the definition.

const binaryRows = 16

func simdBinary(c *Stats, x *scores, n int, labels []int32, probs bool) uint8 {
	whole := n &^ (binaryRows - 1)
	odd := false
	switch {
	case x.f32 == nil && x.f64 == nil:
		odd = c.halfBinary(x, whole, labels, probs)
	case whole > 0:
		odd = c.binary(x, 0, whole, labels, probs)
	}
	if whole < n {
		odd = c.lastBinary(x, whole, n, labels, probs) || odd
	}
	clear(c.Flags[:n])
	var all uint8
	for i := 0; odd && i < n; i++ {
		v, y := x.at(i), labels[i]
		switch {
		case binaryFlags(v, y) == 0 && (!probs || v >= 0 && v <= 1):
		case probs:
			all |= c.binaryProb(i, v, y)
		default:
			all |= c.binaryLogit(i, v, y, x.f64 != nil)
		}
	}
	return all
}

// halfBinary fills the first n rows, whose scores are of half precision.
func (c *Stats) halfBinary(x *scores, n int, labels []int32, probs bool) (odd bool) {
	var room [blockLen]float32
	for i := 0; i < n; i += blockLen {
		part := room[:min(blockLen, n-i)]
		if x.f16 != nil {
			WidenF16(part, x.f16[i:i+len(part)])
		} else {
			WidenBF16(part, x.bf16[i:i+len(part)])
		}
		odd = c.binary(&scores{f32: part}, i, len(part), labels, probs) || odd
	}
	return odd
}

// lastBinary fills rows [from, to), fewer than binaryRows.
func (c *Stats) lastBinary(x *scores, from, to int, labels []int32, probs bool) (odd bool) {
	var room struct {
		f32    [binaryRows]float32
		f64    [binaryRows]float64
		labels [binaryRows]int32
		floats [8][binaryRows]float64
		argMax [binaryRows]int32
		rank   [binaryRows]int32
	}
	f := &room.floats
	d := Stats{Top: f[0][:], Tail: f[1][:], Label: f[2][:], NLL: f[3][:], Rest: f[4][:], Entropy: f[5][:], Norm: f[6][:],
		ArgMax: room.argMax[:], Rank: room.rank[:], Positive: f[7][:]}
	copy(room.labels[:], labels[from:to])
	last := scores{f32: room.f32[:]}
	if x.f64 != nil {
		last = scores{f64: room.f64[:]}
		copy(room.f64[:], x.f64[from:to])
	} else {
		for i := from; i < to; i++ {
			room.f32[i-from] = float32(x.at(i))
		}
	}
	odd = d.binary(&last, 0, binaryRows, room.labels[:], probs)
	for i, col := range [...][]float64{c.Top, c.Tail, c.Label, c.NLL, c.Rest, c.Entropy, c.Norm, c.Positive} {
		if col != nil {
			copy(col[from:to], f[i][:])
		}
	}
	copy(c.ArgMax[from:to], room.argMax[:])
	if c.Rank != nil {
		copy(c.Rank[from:to], room.rank[:])
	}
	return odd
}

// binary fills all columns except Flags for rows [i, i+n), whose scores are the first n of x, of float32 or float64. n is a
// positive multiple of binaryRows.
func (c *Stats) binary(x *scores, i, n int, labels []int32, probs bool) (odd bool) {
	y, top, tail, label, nll := &labels[i], &c.Top[i], &c.Tail[i], &c.Label[i], &c.NLL[i]
	rest, entropy, norm, argMax := &c.Rest[i], &c.Entropy[i], &c.Norm[i], &c.ArgMax[i]
	var positive *float64
	if c.Positive != nil {
		positive = &c.Positive[i]
	}
	var rank *int32
	if c.Rank != nil {
		rank = &c.Rank[i]
	}
	var r int
	switch {
	case probs && x.f32 != nil:
		r = asm.BinaryProbsF32(&x.f32[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case probs:
		r = asm.BinaryProbsF64(&x.f64[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case x.f32 != nil:
		r = asm.BinaryLogitsF32(&x.f32[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	default:
		r = asm.BinaryLogitsF64(&x.f64[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	}
	return r != 0
}
