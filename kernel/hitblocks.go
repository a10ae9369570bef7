package kernel

import "math"

// HitBlock is what HitBlocksF32 takes from up to 64 sorted keys.
type HitBlock struct {
	Hits   uint64 // bit i: key i has the outcome 1
	Ends   uint64 // bit i: the key after key i has another score, or there is none
	Gap    int64  // sum of p - hit, every p rounded once to a multiple of 2^-51, which is the unit
	Square int64  // sum of (p - hit)^2, every term rounded once to a multiple of 2^-50, which is the unit
}

const (
	errHitBlocks = "kernel: the blocks of sorted keys are not one for each 64 keys"

	hitUnit    = 3 // added to a score, the last place is 2^-51
	squareUnit = 6 // added to a square, it is 2^-50
)

// HitBlocksF32 writes to dst, for each 64 keys that HitKeysF32 has made of scores in [0,1], and for the rest of them, what a walk
// through them in rising order needs: the outcomes, where scores end, and sums. The keys are sorted; dst has (len(keys)+63)/64
// elements. Bits beyond the last key are 0.
func HitBlocksF32(dst []HitBlock, keys []uint32) {
	if len(dst) != (len(keys)+63)/64 {
		panic(errHitBlocks)
	}
	hitBlocksGeneric(dst, keys)
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
