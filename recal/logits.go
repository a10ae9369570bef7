package recal

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// logits writes the logits of rows [lo, hi) of a chunk to dst as float64, without gaps. Logits and log-probabilities are
// copied; for probabilities they are the logarithms, -Inf for 0. For one score per row it is ln(p/(1-p)).
func logits(dst []float64, s *metrics.Scores, k metrics.Kind, lo, hi int) {
	if s.Classes > 1 && k == metrics.Probs && s.RowStride() == s.Classes {
		// The same numbers by one kernel.
		dst, from, to := dst[:(hi-lo)*s.Classes], lo*s.Classes, hi*s.Classes
		switch s.DType() {
		case metrics.Float64:
			kernel.LogSliceF64(dst, s.F64[from:to])
		case metrics.Float32:
			kernel.WidenLogF32(dst, s.F32[from:to])
		case metrics.Float16:
			kernel.WidenLogF16(dst, s.F16[from:to])
		default:
			kernel.WidenLogBF16(dst, s.BF16[from:to])
		}
		return
	}
	s.Widen(dst, lo, hi)
	switch {
	case s.Classes == 1 && k == metrics.LogProbs:
		for i, l := range dst[:hi-lo] {
			dst[i] = logProbLogit(l)
		}
	case s.Classes == 1 && k == metrics.Probs:
		logitAll(dst[:hi-lo])
	case k == metrics.Probs:
		dst = dst[:(hi-lo)*s.Classes]
		kernel.LogSliceF64(dst, dst)
	}
}

// logit returns ln(p/(1-p)) to some units in the last place, even near 1/2, where it is 0.
func logit(p float64) float64 {
	q := 1 - p
	r := p / q
	return unrounded(kernel.Log64(r), p, q, r)
}

// logitAll replaces each probability with its logit.
func logitAll(x []float64) {
	var room [2][256]float64
	for len(x) > 0 {
		n := min(len(x), len(room[0]))
		r, z := room[0][:n], room[1][:n]
		for i, p := range x[:n] {
			r[i] = p / (1 - p)
		}
		kernel.LogSliceF64(z, r)
		for i, p := range x[:n] {
			x[i] = unrounded(z[i], p, 1-p, r[i])
		}
		x = x[n:]
	}
}

// unrounded returns ln(p/(1-p)) from the logarithm z of the rounded r = p/q, q = 1-p. It corrects for the rounding errors,
// which would leave few digits near 0.
func unrounded(z, p, q, r float64) float64 {
	if r > 0.5 && r < 2 {
		z += (math.FMA(-r, q, p) - float64((1-q-p)*r)) / p
	}
	return z
}

// logProbLogit returns the logit of the probability whose logarithm is l. It is finite for all finite l < 0.
func logProbLogit(l float64) float64 {
	p := kernel.Exp64(l)
	switch {
	case l >= 0:
		return math.Inf(1)
	case p <= 0.5:
		return l - kernel.Log1p64(-p)
	case p == 1:
		return l - kernel.Log64(-l)
	}
	return l - kernel.Log64((1-p)*(l/kernel.Log64(p))) // rounding of p changed 1-p and ln p by the same factor
}

// sigmoid returns 1/(1+exp(-z)).
func sigmoid(z float64) float64 {
	if z < 0 {
		e := kernel.Exp64(z)
		return e / (1 + e)
	}
	return 1 / (1 + kernel.Exp64(-z))
}

// store writes results, rounded, to rows [lo, hi) of dst.
func store(dst *metrics.Scores, src []float64, lo, hi int) {
	n, width, stride := hi-lo, dst.Classes, dst.RowStride()
	if stride == width { // without gaps: treat them as one row
		n, width = min(n, 1), n*width
	}
	for i := range n {
		row := src[i*width:][:width]
		at := lo*stride + i*stride
		if dst.F64 != nil {
			copy(dst.F64[at:], row)
			continue
		}
		to := dst.F32[at:][:width]
		for j, v := range row {
			to[j] = float32(v)
		}
	}
}

var nan = math.NaN()
