package ensemble

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// paretoTail smooths importance weights by a generalized Pareto distribution. It holds the scratch.
type paretoTail struct {
	r       []float64 // logarithms of the raw weights, rising; the largest is 0
	scratch []uint64
	excess  []float64 // excesses of the tail's weights over the cut, in units of the cut
	b, l    []float64 // the fit's grid and its log-likelihoods
}

// leastTail is the fewest weights for which a tail is fitted.
const leastTail = 5

// leaveOneOut returns ln(sum w_j exp x_j / sum w_j) and the shape k of the weights w, which are 1/exp x_j with the largest
// smoothed. If too few weights would be smoothed, both are NaN. If the fit overflows float64, they are NaN and +Inf.
//
// The tail is the M' = ceil(min(M/5, 3 sqrt(M/r))) largest weights, where r is the relative efficiency of the draws, without
// those equal to the next weight, the cut u. A generalized Pareto distribution is fitted to their excesses over u. The j-th
// smallest of the n weights of the tail becomes u plus the distribution's quantile of (j-1/2)/n, but at most the largest raw
// weight.
//
// Weights are sorted, so the order of the draws has no effect.
//
// Source: Vehtari et al. 2024.
func (t *paretoTail) leaveOneOut(x []float64, r float64) (elpd, k float64) {
	m := len(x)
	if len(t.r) != m {
		t.r, t.scratch = make([]float64, m), make([]uint64, kernel.SortScratch(m))
	}
	lo := x[0]
	for _, v := range x {
		lo = min(lo, v)
	}
	for j, v := range x {
		t.r[j] = lo - v
	}
	kernel.SortF64(t.r, t.scratch)
	at := m - int(math.Ceil(min(float64(m)/5, 3*math.Sqrt(float64(m)/r))))
	if at < 1 {
		return math.NaN(), math.NaN()
	}
	cut := max(t.r[at-1], logLeast)
	for at < m && t.r[at]-cut < sameWeight {
		at++
	}
	n := m - at
	if n < leastTail {
		return math.NaN(), math.NaN()
	}
	t.excess = t.excess[:0]
	for _, v := range t.r[at:] {
		t.excess = append(t.excess, expm1(v-cut))
	}
	k, sigma := t.fit()
	if k-k != 0 || !(sigma > 0) || sigma-sigma != 0 {
		return math.NaN(), math.Inf(1)
	}
	// In units of the largest raw weight and of exp lo, the product w_j exp x_j is 1 for a raw weight, and exp(s_j - r_j)
	// for a smoothed one.
	highS, highT := math.Inf(-1), 0.0
	s := t.excess
	for j := range s {
		s[j] = min(0, cut+kernel.Log1p64(paretoQuantile((float64(j)+0.5)/float64(n), k, sigma)))
		highS = max(highS, s[j])
		highT = max(highT, s[j]-t.r[at+j])
	}
	raw := t.r[:at]
	for j := range raw {
		raw[j] -= highS
	}
	kernel.ExpSliceF64(raw, raw)
	weights, products := 0.0, float64(float64(at)*kernel.Exp64(-highT))
	for _, w := range raw {
		weights += w
	}
	for j, v := range s {
		weights += kernel.Exp64(v - highS)
		products += kernel.Exp64(v - t.r[at+j] - highT)
	}
	return lo + (highT - highS) + kernel.Log64(products/weights), k
}

// sameWeight is the difference of logarithms below which weights count as equal. Rounding is larger unless they are near 1.
const sameWeight = 0x1p-60

// logLeast is ln 2^-1022: no cut is below the smallest normal float64.
const logLeast = -708.3964185322641

// fit returns the shape and the scale of the generalized Pareto distribution of the excesses, which rise and are above 0. It
// takes the posterior mean of b = k/sigma over a grid (Zhang and Stephens 2009, whose k has the opposite sign), and shrinks
// the shape towards 1/2 as ten more observations would (Vehtari et al. 2024, appendix C).
//
//	b_i = 1/x_n + (1 - sqrt(m/(i-1/2))) / (3 x_q),  i = 1 ... m,  m = 30 + floor(sqrt n),  q = floor(n/4 + 1/2)
//	k(b) = (1/n) sum ln(1 - b x_j),  l(b) = n (ln(-b/k(b)) - k(b) - 1)
func (t *paretoTail) fit() (k, sigma float64) {
	x := t.excess
	n := len(x)
	m := 30 + int(math.Sqrt(float64(n)))
	quarter := x[(n+2)/4-1]
	t.b, t.l = t.b[:0], t.l[:0]
	high := math.Inf(-1)
	for i := range m {
		b := 1/x[n-1] + (1-math.Sqrt(float64(m)/(float64(i)+0.5)))/(3*quarter)
		k, s := paretoShape(x, b)
		l := float64(n) * (-kernel.Log64(s) - k - 1)
		t.b, t.l = append(t.b, b), append(t.l, l)
		high = greater(high, l)
	}
	sum, b := 0.0, 0.0
	for i, l := range t.l {
		w := kernel.Exp64(l - high)
		sum += w
		b += float64(w * t.b[i])
	}
	k, sigma = paretoShape(x, b/sum)
	const prior, mean = 10, 0.5
	return (float64(float64(n)*k) + prior*mean) / (float64(n) + prior), sigma
}

// paretoShape returns the maximum-likelihood shape and scale for a given b; x rises.
func paretoShape(x []float64, b float64) (k, sigma float64) {
	s := 0.0
	switch far := math.Abs(float64(b * x[len(x)-1])); {
	case b == 0:
		for _, v := range x {
			s += v
		}
		return 0, s / float64(len(x))
	case far < 0.25:
		for _, v := range x {
			s += kernel.Log1p64(float64(-b * v))
		}
	default:
		s = logProduct(x, b)
	}
	k = s / float64(len(x))
	return k, -k / b
}

// logProduct returns ln prod (1 - b x_j) with few logarithms. Each factor adds at most some 2^-53 to the error, which is
// negligible unless the sum is near 0.
func logProduct(x []float64, b float64) float64 {
	const most, least = 0x1p400, 0x1p-400
	s, p := 0.0, 1.0
	for _, v := range x {
		u := 1 - float64(b*v)
		if !(u < most) {
			s += kernel.Log64(u)
			continue
		}
		if p *= u; !(p < most && p > least) {
			s += kernel.Log64(p)
			p = 1
		}
	}
	return s + kernel.Log64(p)
}

// paretoQuantile returns the quantile at p of the generalized Pareto distribution: sigma ((1-p)^-k - 1) / k.
func paretoQuantile(p, k, sigma float64) float64 {
	y := -kernel.Log1p64(-p)
	if k != 0 {
		y = expm1(k*y) / k
	}
	return float64(sigma * y)
}

// expm1 returns e**x - 1 to some ulps, also for x near 0 (Kahan): the rounding error of e**x is in its logarithm too.
func expm1(x float64) float64 {
	u := kernel.Exp64(x)
	switch d := u - 1; {
	case d == 0:
		return x
	case d == -1 || u > math.MaxFloat64:
		return d
	default:
		return d * (x / kernel.Log64(u))
	}
}
