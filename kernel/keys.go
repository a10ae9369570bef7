package kernel

import (
	"math"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

// Key is an unsigned integer that represents a score; keys are ordered as scores. Equal keys are indistinguishable, so every
// way of sorting gives the same bits.
type Key interface{ uint32 | uint64 }

// KeysF32 writes the key of each value to dst: its bits, transformed so that keys rise with the values. -0 counts as 0. A
// NaN without the sign bit is above +Inf, one with it below -Inf.
func KeysF32(dst []uint32, x []float32) {
	checkEqual(len(dst), len(x))
	n := whole(len(x))
	if n > 0 {
		asm.KeysF32(&dst[0], &x[0], n)
	}
	for i, v := range x[n:] {
		dst[n+i] = keyF32(v)
	}
}

// whole returns how many of n elements the assembly takes at the current level.
func whole(n int) int {
	if !simd() {
		return 0
	}
	return n &^ (columnStep - 1)
}

// ValuesF32 writes the values of keys to dst; it is the inverse of KeysF32.
func ValuesF32(dst []float32, keys []uint32) {
	checkEqual(len(dst), len(keys))
	n := whole(len(keys))
	if n > 0 {
		asm.ValuesF32(&dst[0], &keys[0], n)
	}
	for i, k := range keys[n:] {
		dst[n+i] = math.Float32frombits(bitsOf32(k))
	}
}

// KeysF64 is KeysF32 for float64.
func KeysF64(dst []uint64, x []float64) {
	checkEqual(len(dst), len(x))
	n := whole(len(x))
	if n > 0 {
		asm.KeysF64(&dst[0], &x[0], n)
	}
	for i, v := range x[n:] {
		dst[n+i] = keyF64(v)
	}
}

// ValuesF64 is ValuesF32 for float64.
func ValuesF64(dst []float64, keys []uint64) {
	checkEqual(len(dst), len(keys))
	n := whole(len(keys))
	if n > 0 {
		asm.ValuesF64(&dst[0], &keys[0], n)
	}
	for i, k := range keys[n:] {
		dst[n+i] = math.Float64frombits(bitsOf64(k))
	}
}

const sign32, sign64 = 1 << 31, 1 << 63

// keyF32 flips all bits if the sign is set, else only the sign.
func keyF32(v float32) uint32 {
	b := math.Float32bits(v)
	if b == sign32 {
		b = 0
	}
	return b ^ (uint32(int32(b)>>31) | sign32)
}

func bitsOf32(k uint32) uint32 { return k ^ (uint32(^int32(k)>>31) | sign32) }

func keyF64(v float64) uint64 {
	b := math.Float64bits(v)
	if b == sign64 {
		b = 0
	}
	return b ^ (uint64(int64(b)>>63) | sign64)
}

func bitsOf64(k uint64) uint64 { return k ^ (uint64(^int64(k)>>63) | sign64) }

// HitKeysF32 writes to dst the key of each score in [0,1] with its outcome hit (0 or 1): the score's bits, followed by the
// outcome as the last bit. So keys rise with the scores, and for equal scores with the outcome. A score outside [0,1] or NaN
// gets the largest key, which no other score has; out is the number of these.
func HitKeysF32(dst []uint32, p []float32, hit []uint8) (out int) {
	checkEqual(len(dst), len(p))
	checkEqual(len(dst), len(hit))
	n := whole(len(p))
	if n > 0 {
		var room uint64
		out = n - asm.HitKeysF32(&dst[0], &p[0], &hit[0], n, &room)
	}
	for i := n; i < len(p); i++ {
		v := p[i]
		if !(v >= 0 && v <= 1) {
			dst[i] = math.MaxUint32
			out++
			continue
		}
		dst[i] = math.Float32bits(v)<<1 | uint32(hit[i])
	}
	return out
}

// HitKeysF64 is HitKeysF32 for float64.
func HitKeysF64(dst []uint64, p []float64, hit []uint8) (out int) {
	checkEqual(len(dst), len(p))
	checkEqual(len(dst), len(hit))
	n := whole(len(p))
	if n > 0 {
		var room uint64
		out = n - asm.HitKeysF64(&dst[0], &p[0], &hit[0], n, &room)
	}
	for i := n; i < len(p); i++ {
		v := p[i]
		if !(v >= 0 && v <= 1) {
			dst[i] = math.MaxUint64
			out++
			continue
		}
		dst[i] = math.Float64bits(v)<<1 | uint64(hit[i])
	}
	return out
}

// HitScore returns the score and the outcome of a key made by HitKeysF32 or HitKeysF64; NaN for a score outside [0,1].
func HitScore[K Key](key K) (score float64, hit uint8) {
	if key == ^K(0) {
		return math.NaN(), 0
	}
	if narrow[K]() {
		return float64(math.Float32frombits(uint32(key >> 1))), uint8(key & 1)
	}
	return math.Float64frombits(uint64(key >> 1)), uint8(key & 1)
}

// narrow reports whether keys have 32 bits.
func narrow[K Key]() bool { return unsafe.Sizeof(K(0)) == 4 }

// HitSum returns the sums of the scores of keys made by HitKeysF32 or HitKeysF64, rounded as by BinSums. out is the number
// of keys for scores outside [0,1], which are in no sum, nor in N. At most MaxSum keys are allowed.
func HitSum[K Key](keys []K) (s BinSum, out int) {
	if len(keys) > MaxSum {
		panic(errCount)
	}
	n := whole(len(keys))
	if n == 0 {
		return hitSum(keys)
	}
	var r [4]uint64
	if simdHitSum(&r, keys[:n]) != 0 {
		return hitSum(keys)
	}
	s, out = hitSum(keys[n:])
	s.N += int64(n)
	s.Y += int64(r[0])
	s.P += int64(r[1] - uint64(n)*bits3)
	s.PP += int64(r[2] - uint64(n)*bits3)
	s.PY += int64(r[3] - r[0]*bits3)
	return s, out
}

func simdHitSum[K Key](r *[4]uint64, keys []K) int {
	if narrow[K]() {
		return asm.HitSumU32(&r[0], word32(&keys[0]), len(keys))
	}
	return asm.HitSumU64(&r[0], word64(&keys[0]), len(keys))
}

func hitSum[K Key](keys []K) (s BinSum, out int) {
	for _, k := range keys {
		p, h := HitScore(k)
		if p != p {
			out++
			continue
		}
		v, y := fixed51(p), int64(h)
		s.Y += y
		s.P += v
		s.PP += fixed51(float64(p * p))
		s.PY += v & -y
	}
	s.N = int64(len(keys) - out)
	return s, out
}
