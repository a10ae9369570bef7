package kernel

const errRising = "kernel: edges to count up to are not rising"

// CountUpTo adds to counts[j], for each j, how many of the values are at most edges[j]. The edges rise, or stay, and are no NaN;
// infinities are allowed. A value that is NaN is at most no edge. There are as many counts as edges.
func CountUpTo(counts []int64, v []float64, edges []float64) {
	checkEqual(len(counts), len(edges))
	for j, e := range edges {
		if e != e || j > 0 && e < edges[j-1] {
			panic(errRising)
		}
	}
	countUpTo(counts, v, edges)
}

// countUpTo is the definition.
func countUpTo(counts []int64, v []float64, edges []float64) {
	for j, e := range edges {
		n := int64(0)
		for _, x := range v {
			if x <= e {
				n++
			}
		}
		counts[j] += n
	}
}
