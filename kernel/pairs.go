package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// This file compares the rows of two matrices of the same shape, such as the probabilities of two members of an ensemble.
// Rows of any length, short ones too, are processed in blocks of 1,024 and lanes, in the order of operations of long rows.

// PairKLF32 writes sum p*ln(p/q) of each row to kl. lp and lq are the logarithms of p and q from LogSliceF32, which the
// caller computes once for all pairs that a matrix is part of. 0 ln 0 is 0. The sum is +Inf if q is 0 where p is not. A row
// gives NaN if it has a p that is NaN or below 0, or such a q where p is not 0.
//
// Each term is p*(lp-lq), with the difference rounded and the product fused into the sum. |error| is at most 1e-6 * (sum of
// p * max(1, |ln p|, |ln q|)). This is an absolute error: for rows that are nearly equal the result can be below 0 by as
// much.
func PairKLF32(kl []float64, p, lp, lq []float32, rows, k, stride int) {
	checkPair(len(kl), len(p), len(lp), rows, k, stride)
	checkRows(len(lq), rows, k, stride)
	if simd() && rows > 0 {
		var room [16]float64
		asm.PairKLF32(&kl[0], &p[0], &lp[0], &lq[0], rows, k, stride, &room[0])
		return
	}
	for i := range kl[:rows] {
		at := i * stride
		kl[i] = pairKL32(p[at:at+k], lp[at:at+k], lq[at:at+k])
	}
}

// PairKLF64 is PairKLF32 for float64; |error| is at most 1e-15 * (sum of p * max(1, |ln p|, |ln q|)) for up to 1,024 elements.
func PairKLF64(kl, p, lp, lq []float64, rows, k, stride int) {
	checkPair(len(kl), len(p), len(lp), rows, k, stride)
	checkRows(len(lq), rows, k, stride)
	if simd() && rows > 0 {
		var room [16]float64
		asm.PairKLF64(&kl[0], &p[0], &lp[0], &lq[0], rows, k, stride, &room[0])
		return
	}
	for i := range kl[:rows] {
		at := i * stride
		kl[i] = pairKL64(p[at:at+k], lp[at:at+k], lq[at:at+k])
	}
}

// PairSumsF32 writes the sums of p*q, |p-q| and (p-q)**2 of each row to dot, abs and squares. The difference is rounded, and
// the products are fused into their sums. |error| is at most 2e-6 * (sum of |p*q|) + 2**-110 for dot, and 2e-6 of the value
// + 2**-110 for the other two, unless a sum leaves the range of float32. A row with a NaN has NaN in all three; infinities
// propagate.
func PairSumsF32(dot, abs, squares []float64, p, q []float32, rows, k, stride int) {
	checkPair(min(len(dot), len(abs), len(squares)), len(p), len(q), rows, k, stride)
	if simd() && rows > 0 {
		var room [3 * 16]float64
		asm.PairSumsF32(&dot[0], &abs[0], &squares[0], &p[0], &q[0], rows, k, stride, &room[0])
		return
	}
	for i := range rows {
		at := i * stride
		dot[i], abs[i], squares[i] = pairSums32(p[at:at+k], q[at:at+k])
	}
}

// PairSumsF64 is PairSumsF32 for float64, with errors of 1e-13 and 2**-950.
func PairSumsF64(dot, abs, squares, p, q []float64, rows, k, stride int) {
	checkPair(min(len(dot), len(abs), len(squares)), len(p), len(q), rows, k, stride)
	if simd() && rows > 0 {
		var room [3 * 16]float64
		asm.PairSumsF64(&dot[0], &abs[0], &squares[0], &p[0], &q[0], rows, k, stride, &room[0])
		return
	}
	for i := range rows {
		at := i * stride
		dot[i], abs[i], squares[i] = pairSums64(p[at:at+k], q[at:at+k])
	}
}

func checkPair(columns, p, q, rows, k, stride int) {
	checkRows(p, rows, k, stride)
	checkRows(q, rows, k, stride)
	if columns < rows {
		panic(errColumns)
	}
}

// The definitions.

func pairKL32(p, lp, lq []float32) float64 {
	var acc [16]float64
	for b := 0; b < len(p); b += blockLen {
		var s [16]float32
		end := min(b+blockLen, len(p))
		for j := b; j < end; j++ {
			if v := p[j]; v != 0 {
				s[j&15] = fma32(v, lp[j]-lq[j], s[j&15])
			}
		}
		for l, v := range s {
			acc[l] += float64(v)
		}
	}
	return pairColumn(&acc)
}

func pairKL64(p, lp, lq []float64) float64 {
	var acc [16]float64
	for b := 0; b < len(p); b += blockLen {
		var s [8]float64
		end := min(b+blockLen, len(p))
		for j := b; j < end; j++ {
			if v := p[j]; v != 0 {
				s[j&7] = fma64(v, lp[j]-lq[j], s[j&7])
			}
		}
		for l, v := range s {
			acc[l] += v
		}
	}
	return pairColumn(&acc)
}

func pairSums32(p, q []float32) (dot, abs, squares float64) {
	var acc [3][16]float64
	for b := 0; b < len(p); b += blockLen {
		var d, a, s [16]float32
		for l := range d {
			d[l], s[l] = under32, under32
		}
		end := min(b+blockLen, len(p))
		for j := b; j < end; j++ {
			l, x, y := j&15, p[j], q[j]
			e := x - y
			d[l] = fma32(x, y, d[l])
			a[l] += float32(math.Abs(float64(e)))
			s[l] = sum32(float64(float64(e)*float64(e)), float64(s[l]))
		}
		for l := range d {
			acc[0][l] += float64(d[l]) - under32
			acc[1][l] += float64(a[l])
			acc[2][l] += float64(s[l]) - under32
		}
	}
	return pairColumn(&acc[0]), pairColumn(&acc[1]), pairColumn(&acc[2])
}

func pairSums64(p, q []float64) (dot, abs, squares float64) {
	var acc [3][16]float64
	for b := 0; b < len(p); b += blockLen {
		var d, a, s [8]float64
		for l := range d {
			d[l], s[l] = under64, under64
		}
		end := min(b+blockLen, len(p))
		for j := b; j < end; j++ {
			l, x, y := j&7, p[j], q[j]
			e := x - y
			d[l] = fma64(x, y, d[l])
			a[l] += math.Abs(e)
			s[l] = fma64(e, e, s[l])
		}
		for l := range d {
			acc[0][l] += d[l] - under64
			acc[1][l] += a[l]
			acc[2][l] += s[l] - under64
		}
	}
	return pairColumn(&acc[0]), pairColumn(&acc[1]), pairColumn(&acc[2])
}

// pairColumn folds the lanes of a row; the result is never -0, and NaN is canonical.
func pairColumn(lanes *[16]float64) float64 {
	if s := fold16(lanes); s == s {
		return s + 0
	}
	return nan64
}
