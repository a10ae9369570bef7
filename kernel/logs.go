package kernel

import "github.com/candor-go/candor/kernel/asm"

// WidenLogF32 writes Log64(x[i]) to dst[i]: natural logarithms as float64, -Inf of 0, NaN of a negative number. The slices have equal lengths.
// LogSliceF64 is its like for float64.
func WidenLogF32(dst []float64, x []float32) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{f32: x})
}

// WidenLogF16 is WidenLogF32 of the widened IEEE binary16 numbers.
func WidenLogF16(dst []float64, x []uint16) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{f16: x})
}

// WidenLogBF16 is WidenLogF32 of the widened bfloat16 numbers.
func WidenLogBF16(dst []float64, x []uint16) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{bf16: x})
}

// logsStep is how many elements the assembly takes at a time.
const logsStep = 16

func logs(dst []float64, x *rows32) {
	if simd() && len(dst) >= logsStep {
		n := len(dst) &^ (logsStep - 1)
		simdLogs(dst, x, 0, n)
		if n < len(dst) { // some once more
			simdLogs(dst[len(dst)-logsStep:], x, len(dst)-logsStep, logsStep)
		}
		return
	}
	for b := 0; b < len(dst); b += blockLen {
		for j, v := range x.part(b, min(blockLen, len(dst)-b)) {
			dst[b+j] = Log64(float64(v))
		}
	}
}

func simdLogs(dst []float64, x *rows32, at, n int) {
	switch {
	case x.f32 != nil:
		asm.LogsF32(&dst[0], &x.f32[at], n)
	case x.f16 != nil:
		asm.LogsF16(&dst[0], &x.f16[at], n)
	default:
		asm.LogsBF16(&dst[0], &x.bf16[at], n)
	}
}
