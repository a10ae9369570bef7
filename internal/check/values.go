package check

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Specials32 returns the float32 values on which code tends to break: all kinds of NaN, infinities, zeros of both signs, the
// ends of the subnormal and of the normal range, the neighbours of 1/2, 1 and 2, and the arguments where exp overflows,
// becomes subnormal and vanishes. The slice is a new copy.
func Specials32() []float32 {
	bits := []uint32{
		0x7FC00000, 0xFFC00000, // quiet NaN, as arm64 and as amd64 make it
		0x7FC12345, 0xFFFFFFFF, // with payload
		0x7F800001, 0xFF800001, 0x7FBFFFFF, // signalling
		0x7F800000, 0xFF800000, // infinities
		0x00000000, 0x80000000, // zeros
		0x00000001, 0x80000001, // smallest subnormal
		0x007FFFFF, 0x807FFFFF, // largest subnormal
		0x00800000, 0x80800000, // smallest normal
		0x7F7FFFFF, 0xFF7FFFFF, // largest
		0x3F800000, 0xBF800000, // 1
		0x3F7FFFFF, 0x3F800001, // 1 - ulp/2, 1 + ulp
		0x3F000000, 0xBF000000, // 1/2
		0x3EFFFFFF, 0x3F000001, // 1/2 - ulp/2, 1/2 + ulp
		0x40000000, 0x3FFFFFFF, // 2, and the value below
		0x3EAAAAAB, 0x3DCCCCCD, // 1/3, 1/10
		0x4B000000, 0x4B7FFFFF, 0x4B800000, // 2^23, 2^24-1, 2^24: the ends of odd integers
		0x4F000000, 0xCF000000, 0x4EFFFFFF, // 2^31, -2^31, the value below: the ends of int32
		0x42B17217, 0x42B17218, // exp is the last finite, and +Inf
		0xC2AEAC4F, 0xC2AEAC50, // exp is the last normal, and subnormal
		0xC2CFF1B4, 0xC2CFF1B5, // exp is the smallest subnormal, and 0
	}
	out := make([]float32, len(bits))
	for i, b := range bits {
		out[i] = math.Float32frombits(b)
	}
	return out
}

// Specials64 returns the float64 counterparts of Specials32.
func Specials64() []float64 {
	bits := []uint64{
		0x7FF8000000000000, 0xFFF8000000000000, // quiet NaN, as arm64 and as amd64 make it
		0x7FF8000012345678, 0xFFFFFFFFFFFFFFFF, // with payload
		0x7FF0000000000001, 0xFFF0000000000001, 0x7FF7FFFFFFFFFFFF, // signalling
		0x7FF0000000000000, 0xFFF0000000000000, // infinities
		0x0000000000000000, 0x8000000000000000, // zeros
		0x0000000000000001, 0x8000000000000001, // smallest subnormal
		0x000FFFFFFFFFFFFF, 0x800FFFFFFFFFFFFF, // largest subnormal
		0x0010000000000000, 0x8010000000000000, // smallest normal
		0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, // largest
		0x3FF0000000000000, 0xBFF0000000000000, // 1
		0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, // 1 - ulp/2, 1 + ulp
		0x3FE0000000000000, 0xBFE0000000000000, // 1/2
		0x3FDFFFFFFFFFFFFF, 0x3FE0000000000001, // 1/2 - ulp/2, 1/2 + ulp
		0x4000000000000000, 0x3FFFFFFFFFFFFFFF, // 2, and the value below
		0x3FD5555555555555, 0x3FB999999999999A, // 1/3, 1/10
		0x4330000000000000, 0x433FFFFFFFFFFFFF, 0x4340000000000000, // 2^52, 2^53-1, 2^53: the ends of odd integers
		0x41E0000000000000, 0xC1E0000000000000, 0x41DFFFFFFFC00000, // 2^31, -2^31, 2^31-1: the ends of int32
		0x43E0000000000000, 0xC3E0000000000000, 0x43DFFFFFFFFFFFFF, // 2^63, -2^63, the value below: the ends of int64
		0x40862E42FEFA39EF, 0x40862E42FEFA39F0, // exp is the last finite, and +Inf
		0xC086232BDD7ABCD2, 0xC086232BDD7ABCD3, // exp is the last normal, and subnormal
		0xC0874910D52D3051, 0xC0874910D52D3052, // exp is the smallest subnormal, and 0
		0x47EFFFFFE0000000, 0x47EFFFFFF0000000, // the largest float32, and the first that rounds to its infinity
		0x36A0000000000000, 0x3690000000000000, // the smallest float32, and the last that rounds to its 0
	}
	out := make([]float64, len(bits))
	for i, b := range bits {
		out[i] = math.Float64frombits(b)
	}
	return out
}

// SpecialHalf returns the bits of the float16 (IEEE binary16) values on which code tends to break.
func SpecialHalf() []uint16 {
	return []uint16{
		0x7E00, 0xFE00, 0x7E55, 0xFFFF, // quiet NaN, with payload
		0x7C01, 0xFC01, 0x7DFF, // signalling NaN
		0x7C00, 0xFC00, // infinities
		0x0000, 0x8000, // zeros
		0x0001, 0x8001, // smallest subnormal
		0x03FF, 0x83FF, // largest subnormal
		0x0400, 0x8400, // smallest normal
		0x7BFF, 0xFBFF, // largest, 65504
		0x3C00, 0xBC00, 0x3BFF, 0x3C01, // 1, -1, 1 - ulp/2, 1 + ulp
		0x3800, 0xB800, 0x37FF, 0x3801, // 1/2, -1/2, 1/2 - ulp/2, 1/2 + ulp
		0x4000, 0x3FFF, // 2, and the value below
	}
}

// SpecialBF16 returns the bits of the bfloat16 values on which code tends to break.
func SpecialBF16() []uint16 {
	return []uint16{
		0x7FC0, 0xFFC0, 0x7FD5, 0xFFFF, // quiet NaN, with payload
		0x7F81, 0xFF81, 0x7FBF, // signalling NaN
		0x7F80, 0xFF80, // infinities
		0x0000, 0x8000, // zeros
		0x0001, 0x8001, // smallest subnormal
		0x007F, 0x807F, // largest subnormal
		0x0080, 0x8080, // smallest normal
		0x7F7F, 0xFF7F, // largest
		0x3F80, 0xBF80, 0x3F7F, 0x3F81, // 1, -1, 1 - ulp/2, 1 + ulp
		0x3F00, 0xBF00, 0x3EFF, 0x3F01, // 1/2, -1/2, 1/2 - ulp/2, 1/2 + ulp
		0x4000, 0x3FFF, // 2, and the value below
	}
}

// Rand returns a generator whose numbers depend only on the seed.
func Rand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
}

// Logits32 returns n scores with mean 0 and standard deviation scale, bell-shaped and within 6 deviations. No logarithm is
// involved, so the bits are the same on every CPU.
func Logits32(r *rand.Rand, n int, scale float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		// The sum of twelve uniform integers below 2^40 has variance 2^80 - 1; all of it is exact until the product.
		var sum int64
		for range 12 {
			sum += int64(r.Uint64() >> 24)
		}
		out[i] = float32(float64(sum-6<<40) * 0x1p-40 * scale)
	}
	return out
}

// SimplexRow returns k probabilities whose sum is 1 up to float32 rounding. A row is, with equal probability, uniform on the
// simplex (Dirichlet with all parameters 1), or its square, fourth or eighth power, normalized. So rows range from flat to
// one dominating class, with probabilities down to subnormal ones and 0. The bits are the same on every CPU.
func SimplexRow(r *rand.Rand, k int) []float32 {
	if k == 0 {
		return []float32{}
	}
	// The gaps between sorted uniform numbers are a Dirichlet row, and need no logarithm.
	cuts := make([]float64, k)
	for i := range cuts[:k-1] {
		cuts[i] = r.Float64()
	}
	cuts[k-1] = 1
	slices.Sort(cuts)
	squarings := r.IntN(4)
	sum, last := 0.0, 0.0
	for i, c := range cuts {
		p := c - last
		for range squarings {
			p = float64(p * p) // never fused with the sum
		}
		cuts[i], last = p, c
		sum += p
	}
	out := make([]float32, k)
	for i, p := range cuts {
		out[i] = float32(p / sum)
	}
	return out
}
