package kernel

// LogitSoftmaxF32 computes LogitStatsF32 and SoftmaxF32 of the same logits, with the same bits, for little more than the
// cost of the latter: the sums of a row are computed once. dst and x must not overlap.
func LogitSoftmaxF32(c *Stats, dst []float32, dstStride int, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{f32: x}, rows, k, stride, labels)
}

// LogitTermsF32 is LogitSoftmaxF32 without its last multiplication, which MeanScaledF32 performs: the probability j of row i
// is dst[i*dstStride+j] * scale[i], rounded to float32. An element of dst below 0x1p-124 may stand for a probability of 0.
// scale has one element per row.
func LogitTermsF32(c *Stats, dst []float32, dstStride int, scale, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	if len(scale) < rows {
		panic(errColumns)
	}
	r := &rows32{f32: x}
	if simdRows(rows, k) && termRows(r, k, stride, dstStride) {
		return simdLogits32(c, dst, dstStride, scale, r, rows, k, stride, labels)
	}
	for i := range scale[:rows] {
		scale[i] = 1
	}
	return logitSoftmax32(c, dst, dstStride, r, rows, k, stride, labels)
}

// minTerm is the smallest reliable element of LogitTermsF32; the assembly clamps smaller ones.
const minTerm = 0x1p-124

// HasTerms reports whether LogitTermsF32 saves the multiplication for contiguous rows of k elements: with assembly, for 33
// to 1,024 elements. For other rows it stores products, with scales of 1.
func HasTerms(k int) bool { return simd() && k > shortMax && k <= blockLen }

// termRows reports whether the assembly stores terms of rows beside their sums.
func termRows(x *rows32, k, stride, dstStride int) bool {
	return x.f32 != nil && k > shortMax && k <= blockLen && stride == dstStride
}

// LogitSoftmaxF16 is LogitSoftmaxF32 for IEEE binary16 logits, which are widened.
func LogitSoftmaxF16(c *Stats, dst []float32, dstStride int, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{f16: x}, rows, k, stride, labels)
}

// LogitSoftmaxBF16 is LogitSoftmaxF32 for bfloat16 logits, which are widened.
func LogitSoftmaxBF16(c *Stats, dst []float32, dstStride int, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{bf16: x}, rows, k, stride, labels)
}

// LogitSoftmaxF64 is LogitSoftmaxF32 for float64.
func LogitSoftmaxF64(c *Stats, dst []float64, dstStride int, x []float64, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	if simdRows(rows, k) {
		return simdLogits64(c, dst, dstStride, x, rows, k, stride, labels)
	}
	softmax64(dst, dstStride, x, rows, k, stride)
	return logitStats64(c, x, rows, k, stride, labels)
}

func logitSoftmax32(c *Stats, dst []float32, dstStride int, x *rows32, rows, k, stride int, labels []int32) uint8 {
	if simdRows(rows, k) {
		return simdLogits32(c, dst, dstStride, nil, x, rows, k, stride, labels)
	}
	softmax32(dst, dstStride, x, rows, k, stride)
	return logitStats32(c, x, rows, k, stride, labels)
}
