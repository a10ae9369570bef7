package kernel

import "github.com/candor-go/candor/kernel/asm"

// This file runs the binary columns by assembly, 16 rows at a time; the last rows are copied to a buffer. Rows with a fault
// or an entry outside [0,1] are left to the definition.

const binaryRows = 16

func simdBinary(c *Stats, x *scores, n int, labels []int32, probs bool) uint8 {
	whole := n &^ (binaryRows - 1)
	odd := false
	if whole > 0 {
		odd = c.binary(x, whole, labels, probs)
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
	odd = d.binary(&last, binaryRows, room.labels[:], probs)
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

// binary fills all columns except Flags for the first n rows; n is a positive multiple of binaryRows.
func (c *Stats) binary(x *scores, n int, labels []int32, probs bool) (odd bool) {
	y, top, tail, label, nll := &labels[0], &c.Top[0], &c.Tail[0], &c.Label[0], &c.NLL[0]
	rest, entropy, norm, argMax := &c.Rest[0], &c.Entropy[0], &c.Norm[0], &c.ArgMax[0]
	var positive *float64
	if c.Positive != nil {
		positive = &c.Positive[0]
	}
	var rank *int32
	if c.Rank != nil {
		rank = &c.Rank[0]
	}
	var r int
	switch {
	case probs && x.f32 != nil:
		r = asm.BinaryProbsF32(&x.f32[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case probs && x.f64 != nil:
		r = asm.BinaryProbsF64(&x.f64[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case probs && x.f16 != nil:
		r = asm.BinaryProbsF16(&x.f16[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case probs:
		r = asm.BinaryProbsBF16(&x.bf16[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case x.f32 != nil:
		r = asm.BinaryLogitsF32(&x.f32[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case x.f64 != nil:
		r = asm.BinaryLogitsF64(&x.f64[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	case x.f16 != nil:
		r = asm.BinaryLogitsF16(&x.f16[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	default:
		r = asm.BinaryLogitsBF16(&x.bf16[0], y, n, top, tail, label, nll, rest, entropy, norm, positive, argMax, rank)
	}
	return r != 0
}
