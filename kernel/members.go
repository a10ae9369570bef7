package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// This file combines the values that several members of an ensemble have for the same rows. Member m has the n elements
// x[m*stride : m*stride+n].

const errMembers = "kernel: number of members is not positive"

// MeanF32 writes the mean of the members to the first n elements of dst: the sum in the order of the members, with each
// partial sum rounded to float32, divided by their number. If the sum of finite elements overflows, the mean is infinite;
// NaN and infinities propagate. So probabilities in [0,1] have a mean in [0,1], within 6e-8 times the number of members of
// the exact one.
func MeanF32(dst, x []float32, members, n, stride int) {
	checkMembers(len(dst), len(x), members, n, stride)
	if simd() && n > 0 {
		by := float32(members)
		asm.MeanF32(&dst[0], &x[0], &by, members, n, stride)
		return
	}
	for i := range dst[:n] {
		s := x[i]
		for m := 1; m < members; m++ {
			s += x[m*stride+i]
		}
		dst[i] = s / float32(members)
	}
}

// MeanScaledF32 is MeanF32 for the results of LogitTermsF32: packed matrices of rows x k elements, one per member, where row
// i of member m is multiplied by scale[m*rows+i] and each product is rounded to float32. If it returns true, dst is the mean
// of the probabilities, bit for bit. If it returns false, an element is below 0x1p-124 and dst is undefined; with NaN among
// the elements, which propagate, it may return either.
func MeanScaledF32(dst, x, scale []float32, members, rows, k, stride int) bool {
	if rows < 0 || k < 1 || rows > len(dst)/k {
		panic(errShape)
	}
	checkMembers(len(dst), len(x), members, rows*k, stride)
	if rows > 0 && members > len(scale)/rows {
		panic(errShape)
	}
	if simd() && rows > 0 {
		by := float32(members)
		return asm.MeanScaledF32(&dst[0], &x[0], &scale[0], &by, members, rows, k, stride) == 0
	}
	good := true
	for i := range rows {
		for j := i * k; j < (i+1)*k; j++ {
			v := x[j]
			good = good && v >= minTerm
			s := v * scale[i]
			for m := 1; m < members; m++ {
				v = x[m*stride+j]
				good = good && v >= minTerm
				s += float32(v * scale[m*rows+i])
			}
			dst[j] = s / float32(members)
		}
	}
	return good
}

// MeanF64 is MeanF32 for float64, within 1.2e-16 times the number of members.
func MeanF64(dst, x []float64, members, n, stride int) {
	checkMembers(len(dst), len(x), members, n, stride)
	if simd() && n > 0 {
		by := float64(members)
		asm.MeanF64(&dst[0], &x[0], &by, members, n, stride)
		return
	}
	for i := range dst[:n] {
		s := x[i]
		for m := 1; m < members; m++ {
			s += x[m*stride+i]
		}
		dst[i] = s / float64(members)
	}
}

// LogMeanExpF64 writes to the first n elements of dst the logarithm of the mean over the members of e**x: for
// log-probabilities, the logarithm of the mean probability. With the largest element as top, and the mean of e**(x-top)
// above 1/2, it is
//
//	top + ln(1 + (sum over the members of e**(x-top) - 1) / members)
//
// which keeps the digits of results near 0. Otherwise it is top + ln((sum of e**(x-top)) / members). Neither overflows.
// |error| is at most 1.2e-16 * (8 + members) * max(|result|, |top|). -Inf is a valid element; if all are -Inf, so is the
// result. The result is +Inf if an element is, and NaN if one is NaN.
func LogMeanExpF64(dst, x []float64, members, n, stride int) {
	checkMembers(len(dst), len(x), members, n, stride)
	done := 0
	if simd() && n >= 8 {
		by := float64(members)
		done = n &^ 7
		asm.LogMeanExp(&dst[0], &x[0], &by, members, done, stride)
	}
	for i := done; i < n; i++ {
		dst[i] = logMeanExp(x[i:], members, stride)
	}
}

func logMeanExp(x []float64, members, stride int) float64 {
	top := x[0]
	for m := 1; m < members; m++ {
		if v := x[m*stride]; !(v <= top) && top == top {
			top = v // NaN stays
		}
	}
	if !(math.Abs(top) <= math.MaxFloat64) {
		return top + 0 // a signalling NaN becomes a quiet one, as in the other operations
	}
	sum, below := 0.0, 0.0
	for m := range members {
		d := x[m*stride] - top
		e := Exp64(d)
		sum += e
		if fma64(d, log2e, magic64)-magic64 == 0 {
			below += expm1Poly(d)
		} else {
			below += e - 1
		}
	}
	if b := below / float64(members); b > -0.5 {
		return top + Log1p64(b)
	}
	return top + Log64(sum/float64(members))
}

// checkMembers panics unless n elements of each member lie within x, and within dst.
func checkMembers(dst, x, members, n, stride int) {
	if members < 1 {
		panic(errMembers)
	}
	if n < 0 || stride < n || dst < n || x < n || n > 0 && (x-n)/stride < members-1 {
		panic(errShape)
	}
}
