package kernel

import "github.com/candor-go/candor/kernel/asm"

// This file computes softmax and related functions by assembly: the sums of LogitStats, 64 rows at a time, then the
// elements. Rows that the assembly marks as odd are left to the definition.

// classZero holds labels for calls that need none.
var classZero [workRows]int32

// simdRows reports whether a matrix is worth a work area and, for short rows, a group. With one row of 2 to 32 classes that
// takes 160 to 480 ns, the definition 50 to 400; with four rows 150 to 500 against 200 to 2,400.
func simdRows(rows, k int) bool { return simd() && (rows >= 4 || k > shortMax && rows > 0) }

func simdSoftmax32(dst []float32, dstStride int, x *rows32, rows, k, stride int, log bool) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(x.f32 != nil, 4, rows-i, k)
		at, to := i*stride, i*dstStride
		odd := w.logits32(x, at, n, k, stride, classZero[:n])
		if log {
			w.norms(n, k, &w.q[0])
			w.logSoftmaxRows32(&dst[to], dstStride, x, at, n, k, stride)
			for j := 0; odd && j < n; j++ {
				if w.odd[j] != 0 {
					logSoftmaxRow32(dst[to+j*dstStride:][:k], x, at+j*stride)
				}
			}
		} else {
			w.softmax32(dst[to:], dstStride, x, at, n, k, stride, odd)
		}
	}
}

// softmax32 writes the probabilities of n rows from their sums, which it destroys.
func (w *work) softmax32(dst []float32, dstStride int, x *rows32, at, n, k, stride int, odd bool) {
	if k <= shortMax {
		asm.SoftmaxEndsShortF32(&w.max[0], (n+7)&^7)
	} else {
		asm.SoftmaxEndsF32(&w.max[0], (n+7)&^7)
	}
	w.softmaxRows32(&dst[0], dstStride, x, at, n, k, stride)
	w.oddSoftmax32(dst, dstStride, x, at, n, k, stride, odd)
}

// oddSoftmax32 writes the probabilities of odd rows.
func (w *work) oddSoftmax32(dst []float32, dstStride int, x *rows32, at, n, k, stride int, odd bool) {
	for j := 0; odd && j < n; j++ {
		if w.odd[j] != 0 {
			softmaxRow32(dst[j*dstStride:][:k], x, at+j*stride)
		}
	}
}

// softmaxRows32 processes short half-precision rows from the copy that their sums used.
func (w *work) softmaxRows32(dst *float32, dstStride int, x *rows32, at, n, k, stride int) {
	switch {
	case x.f32 != nil:
		asm.SoftmaxRowsF32(&w.max[0], &x.f32[at], n, k, stride, dst, dstStride)
	case k <= shortMax:
		asm.SoftmaxRowsF32(&w.max[0], &w.short[0], n, k, k, dst, dstStride)
	case x.f16 != nil:
		asm.SoftmaxRowsF16(&w.max[0], &x.f16[at], n, k, stride, dst, dstStride)
	default:
		asm.SoftmaxRowsBF16(&w.max[0], &x.bf16[at], n, k, stride, dst, dstStride)
	}
}

func (w *work) logSoftmaxRows32(dst *float32, dstStride int, x *rows32, at, n, k, stride int) {
	switch {
	case x.f32 != nil:
		asm.LogSoftmaxRowsF32(&w.max[0], &x.f32[at], n, k, stride, dst, dstStride)
	case k <= shortMax:
		asm.LogSoftmaxRowsF32(&w.max[0], &w.short[0], n, k, k, dst, dstStride)
	case x.f16 != nil:
		asm.LogSoftmaxRowsF16(&w.max[0], &x.f16[at], n, k, stride, dst, dstStride)
	default:
		asm.LogSoftmaxRowsBF16(&w.max[0], &x.bf16[at], n, k, stride, dst, dstStride)
	}
}

func simdSoftmax64(dst []float64, dstStride int, x []float64, rows, k, stride int, log bool) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(true, 8, rows-i, k)
		at, to := i*stride, i*dstStride
		odd := w.logits64(x, at, n, k, stride, classZero[:n])
		if log {
			w.norms(n, k, &w.q[0])
			asm.LogSoftmaxRowsF64(&w.max[0], &x[at], n, k, stride, &dst[to], dstStride)
			for j := 0; odd && j < n; j++ {
				if w.odd[j] != 0 {
					logSoftmaxRow64(dst[to+j*dstStride:][:k], x[at+j*stride:][:k])
				}
			}
		} else {
			w.softmax64(dst[to:], dstStride, x[at:], n, k, stride, odd)
		}
	}
}

// softmax64 is softmax32 for float64.
func (w *work) softmax64(dst []float64, dstStride int, x []float64, n, k, stride int, odd bool) {
	if k <= shortMax {
		asm.SoftmaxEndsShortF64(&w.max[0], (n+7)&^7)
	} else {
		asm.SoftmaxEndsF64(&w.max[0], (n+7)&^7)
	}
	asm.SoftmaxRowsF64(&w.max[0], &x[0], n, k, stride, &dst[0], dstStride)
	for j := 0; odd && j < n; j++ {
		if w.odd[j] != 0 {
			softmaxRow64(dst[j*dstStride:][:k], x[j*stride:][:k])
		}
	}
}

func simdLogSumExp32(dst []float64, x *rows32, rows, k, stride int) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(x.f32 != nil, 4, rows-i, k)
		at := i * stride
		odd := w.logits32(x, at, n, k, stride, classZero[:n])
		w.normsTo(dst[i:i+n], k)
		for j := 0; odd && j < n; j++ {
			if w.odd[j] != 0 {
				dst[i+j] = logSumExpRow32(x, at+j*stride, k)
			}
		}
	}
}

func simdLogSumExp64(dst []float64, x []float64, rows, k, stride int) {
	var w work
	for i, n := 0, 0; i < rows; i += n {
		n = w.batch(true, 8, rows-i, k)
		at := i * stride
		odd := w.logits64(x, at, n, k, stride, classZero[:n])
		w.normsTo(dst[i:i+n], k)
		for j := 0; odd && j < n; j++ {
			if w.odd[j] != 0 {
				dst[i+j] = logSumExpRow64(x[at+j*stride:][:k])
			}
		}
	}
}

// norms writes the log-sum-exp of n rows from their sums, and fills up to a multiple of eight.
func (w *work) norms(n, k int, dst *float64) {
	if k <= shortMax {
		asm.LogitNormsShort(&w.max[0], (n+7)&^7, dst)
	} else {
		asm.LogitNorms(&w.max[0], (n+7)&^7, dst)
	}
}

func (w *work) normsTo(dst []float64, k int) {
	if len(dst)&7 == 0 {
		w.norms(len(dst), k, &dst[0])
		return
	}
	w.norms(len(dst), k, &w.q[0])
	copy(dst, w.q[:])
}
