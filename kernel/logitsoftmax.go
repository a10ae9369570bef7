package kernel

// LogitSoftmaxF32 is LogitStatsF32 and SoftmaxF32 of the same logits, bit for bit, for little more than the cost of the
// second: the sums of a row are made once. dst and x do not overlap.
func LogitSoftmaxF32(c *Stats, dst []float32, dstStride int, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{f32: x}, rows, k, stride, labels)
}

// LogitTermsF32 is LogitSoftmaxF32 without its last step, which MeanScaledF32 makes: entry j of row i of the probabilities is
// dst[i*dstStride+j] * scale[i], rounded to float32. But what is below 0x1p-124 in dst may stand for a probability of 0. scale has an
// element for each row.
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

// minTerm is the least element of LogitTermsF32 that is what it says: the assembly clamps what is smaller.
const minTerm = 0x1p-124

// HasTerms tells whether LogitTermsF32 of rows of k elements that follow each other saves the step: by assembly, of 33 to 1,024
// elements. What it stores of others has been multiplied, and their scales are 1.
func HasTerms(k int) bool { return simd() && k > shortMax && k <= blockLen }

// termRows tells whether the assembly stores terms of rows beside their sums.
func termRows(x *rows32, k, stride, dstStride int) bool {
	return x.f32 != nil && k > shortMax && k <= blockLen && stride == dstStride
}

// LogitSoftmaxF16 is LogitSoftmaxF32 of the widened IEEE binary16 logits.
func LogitSoftmaxF16(c *Stats, dst []float32, dstStride int, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{f16: x}, rows, k, stride, labels)
}

// LogitSoftmaxBF16 is LogitSoftmaxF32 of the widened bfloat16 logits.
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
