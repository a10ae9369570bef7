package kernel

import "github.com/candor-go/candor/kernel/asm"

// WidenLogF32 writes Log64(x[i]) to dst[i]: natural logarithms as float64, -Inf for 0, NaN for a negative number. The slices
// have equal lengths. LogSliceF64 is the counterpart for float64.
func WidenLogF32(dst []float64, x []float32) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{f32: x})
}

// WidenLogF16 is WidenLogF32 for IEEE binary16 numbers, which are widened.
func WidenLogF16(dst []float64, x []uint16) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{f16: x})
}

// WidenLogBF16 is WidenLogF32 for bfloat16 numbers, which are widened.
func WidenLogBF16(dst []float64, x []uint16) {
	checkEqual(len(dst), len(x))
	logs(dst, &rows32{bf16: x})
}

// logsStep is the number of elements that the assembly takes at a time.
const logsStep = 16

func logs(dst []float64, x *rows32) {
	if simd() && len(dst) >= logsStep {
		n := len(dst) &^ (logsStep - 1)
		simdLogs(dst, x, 0, n)
		if n < len(dst) { // some of them twice
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

// simdLogs takes half precision in blocks: to widen one costs little beside the logarithms.
func simdLogs(dst []float64, x *rows32, at, n int) {
	if x.f32 != nil {
		asm.LogsF32(&dst[0], &x.f32[at], n)
		return
	}
	for b := 0; b < n; b += blockLen {
		part := x.part(at+b, min(blockLen, n-b))
		asm.LogsF32(&dst[b], &part[0], len(part))
	}
}
