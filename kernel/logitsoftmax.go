package kernel

// LogitSoftmaxF32 is LogitStatsF32 and SoftmaxF32 of the same logits, bit for bit, for little more than the cost of the
// second: the sums of a row are made once. dst and x do not overlap.
func LogitSoftmaxF32(c *Stats, dst []float32, dstStride int, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkRows(len(dst), rows, k, dstStride)
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitSoftmax32(c, dst, dstStride, &rows32{f32: x}, rows, k, stride, labels)
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
		return simdLogits32(c, dst, dstStride, x, rows, k, stride, labels)
	}
	softmax32(dst, dstStride, x, rows, k, stride)
	return logitStats32(c, x, rows, k, stride, labels)
}
