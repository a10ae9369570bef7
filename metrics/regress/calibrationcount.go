package regress

import "math"

// calibrationCountUpTo adds to counts[j] the number of v that are <= edges[j], which rise.
func calibrationCountUpTo(counts []int64, v, edges []float64) {
	if len(edges) == 0 {
		return
	}
	h := make([]int64, len(edges)+1)
	for _, x := range v {
		h[calibrationBelow(edges, x)]++
	}
	sum := int64(0)
	for j := range edges {
		sum += h[j]
		counts[j] += sum
	}
}

// calibrationPhiInv is the quantile function of the standard normal distribution.
func calibrationPhiInv(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
