package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// HitBlock holds what HitBlocksF32 computes from up to 64 sorted keys.
type HitBlock struct {
	Hits   uint64 // bit i: key i has the outcome 1
	Ends   uint64 // bit i: the key after key i has a different score, or key i is the last
	Gap    int64  // sum of p - hit, with every p rounded once to a multiple of 2^-51, which is the unit
	Square int64  // sum of (p - hit)^2 in float64, with every term rounded to a multiple of 2^-50, which is the unit
}

const (
	errHitBlocks = "kernel: the blocks of sorted keys are not one for each 64 keys"

	hitUnit    = 3 // added to a score, its last place is 2^-51
	squareUnit = 6 // added to a square, its last place is 2^-50

	hitBlocksLeast = 16 // keys from which on assembly is faster
)

// HitBlocksF32 writes to dst, for each block of 64 keys from HitKeysF32 and for the rest, what a walk through them in rising
// order needs: the outcomes, the ends of runs of equal scores, and sums. The keys must be sorted and stand for scores in
// [0,1]; dst has (len(keys)+63)/64 elements. Bits beyond the last key are 0.
//
// If keys are divided among several calls, all calls but the last must get a multiple of 64. The caller must check whether
// the score of the last key of a call continues in the next, since its bit in Ends is set.
func HitBlocksF32(dst []HitBlock, keys []uint32) {
	if len(dst) != (len(keys)+63)/64 {
		panic(errHitBlocks)
	}
	if !simd() || len(keys) < hitBlocksLeast {
		hitBlocksGeneric(dst, keys)
		return
	}
	// The assembly takes whole blocks that are followed by a key. The last block is padded with keys of score 0 and outcome
	// 0, which add nothing to its sums and end no run.
	b := (len(keys) - 1) / 64
	if b > 0 {
		asm.HitBlocksF32(&dst[0].Hits, &keys[0], b*64)
	}
	var last [65]uint32
	n, h := copy(last[:], keys[b*64:]), &dst[b]
	asm.HitBlocksF32(&h.Hits, &last[0], 64)
	h.Ends |= 1 << (n - 1)
}

func hitBlocksGeneric(dst []HitBlock, keys []uint32) {
	for b := range dst {
		from := b * 64
		part := keys[from:min(from+64, len(keys))]
		var h HitBlock
		for i, k := range part {
			hit := k & 1
			p := float64(math.Float32frombits(k >> 1))
			d := p - float64(hit)
			h.Hits |= uint64(hit) << i
			h.Gap += int64(math.Float64bits(p+hitUnit)-math.Float64bits(hitUnit)) - int64(hit)<<51
			h.Square += int64(math.Float64bits(float64(d*d)+squareUnit) - math.Float64bits(squareUnit))
			if at := from + i + 1; at == len(keys) || keys[at]>>1 != k>>1 {
				h.Ends |= 1 << i
			}
		}
		dst[b] = h
	}
}
