package kernel

import "github.com/candor-go/candor/kernel/asm"

// SoftmaxResidualsF64 replaces rows of k logits with the gradient of weight * NLL, which is weight * (softmax - one-hot of
// the label). It writes the NLL of each row, -ln of the label's probability, without the weight, to nll. If weights is nil
// all are 1. Rows are packed: row i is u[i*k : (i+1)*k].
//
// A term is e**(u_j - m), with m the largest logit of the row; terms below e**-708 are 0. With e the term of the label and s
// the sum of all others,
//
//	residual of j      term * (weight / (s+e))
//	residual of label  -(s * (weight / (s+e)))
//	NLL                (m - u_y) + ln(1 + (s + (e-1)))
//
// so nothing cancels where the label's probability is near 1. For k up to 1,024 the relative error is at most 1e-15 +
// 2e-16*d: for a residual whose logit is d below the largest, and for the label's residual and the NLL if the other logits
// are d below the label's. If the label's logit is not the largest, the error of these two is at most 1e-15. A row with NaN
// or +Inf, or all -Inf, or a label < 0 or >= k, or a weight that is NaN, has NaN in nll and in all its residuals. -Inf is a
// valid logit; if it is the label's, the NLL is +Inf.
func SoftmaxResidualsF64(nll, u []float64, rows, k int, labels []int32, weights []float64) {
	checkRows(len(u), rows, k, k)
	if len(nll) < rows || weights != nil && len(weights) < rows {
		panic(errColumns)
	}
	if len(labels) < rows {
		panic(errLabels)
	}
	if simd() {
		simdResiduals(nll, u, rows, k, labels, weights)
		return
	}
	for i := range rows {
		weight := 1.0
		if weights != nil {
			weight = weights[i]
		}
		nll[i] = residuals(u[i*k:][:k], int(labels[i]), weight)
	}
}

// leastTerm is the logarithm of the smallest term that is not replaced by 0; such a term and its factors are normal numbers.
const leastTerm = -708

// residuals is the definition for a row; it returns the NLL. A fault makes the sum NaN.
func residuals(row []float64, y int, weight float64) float64 {
	if y < 0 || y >= len(row) {
		y, weight = 0, nan64
	}
	m := row[0]
	for _, v := range row {
		if v > m {
			m = v
		}
	}
	term := func(v float64) float64 {
		if d := v - m; !(d < leastTerm) {
			return Exp64(d)
		}
		return 0
	}
	uy := row[y]
	e := term(uy)
	var lanes [8]float64
	for j, v := range row {
		if row[j] = 0; j != y {
			row[j] = term(v)
		}
		lanes[j&7] += row[j]
	}
	for n := 4; n > 0; n /= 2 {
		for l := range n {
			lanes[l] += lanes[l+n]
		}
	}
	s := lanes[0]
	scale := weight / (s + e)
	if scale != scale {
		for j := range row {
			row[j] = nan64
		}
		return nan64
	}
	for j := range row {
		row[j] *= scale
	}
	row[y] = 0 - float64(s*scale) // not -0
	return (m - uy) + Log1p64(s+(e-1))
}

// residualRoom is the work area of the assembly for rows; kernel/asm/_gen/residuals.go defines its layout.
type residualRoom struct {
	max, label  [workRows]float64
	_           [workRows]float64 // sums of the terms
	weight, nll [workRows]float64
}

// termsRoom is how many terms of short rows are buffered until their sum is known. Written in place, the partial store at
// the end of a row would stall the loads of the next row.
const termsRoom = 2048

func simdResiduals(nll, u []float64, rows, k int, labels []int32, weights []float64) {
	var room residualRoom
	var terms [termsRoom + 7]float64
	var y [workRows]int32
	stride := (k + 7) &^ 7
	most := min(workRows, termsRoom/stride&^7)
	beside := most > 0
	if !beside { // the terms of some rows stay in the first-level cache
		stride, most = k, max(8, 4096/k&^7)
	}
	for i, n := 0, 0; i < rows; i += n {
		n = min(most, rows-i)
		for j, label := range labels[i : i+n] {
			weight := 1.0
			if weights != nil {
				weight = weights[i+j]
			}
			if uint(label) >= uint(k) {
				label, weight = 0, nan64 // makes everything NaN
			}
			at := &u[(i+j)*k+int(label)]
			y[j], room.weight[j], room.label[j], *at = label, weight, *at, -inf64
		}
		to := &u[i*k]
		if beside {
			to = aligned(&terms[0])
		}
		asm.ResidualTermsF64(&room.max[0], to, stride, &u[i*k], n, k)
		asm.ResidualEndsF64(&room.max[0], (n+7)&^7)
		asm.ResidualRowsF64(&room.max[0], &u[i*k], to, stride, n, k, &y[0])
		copy(nll[i:i+n], room.nll[:])
	}
}
