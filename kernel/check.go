package kernel

// A wrong shape is a bug of the caller: a kernel panics with one of these texts.
const (
	errLength  = "kernel: slices differ in length"
	errShape   = "kernel: rows, k and stride do not fit the slice"
	errColumns = "kernel: a column is shorter than the number of rows"
	errLabels  = "kernel: labels are fewer than rows"
	errEdges   = "kernel: edges are not two or more rising numbers"
	errBins    = "kernel: number of bins is not positive"
	errScratch = "kernel: the scratch is too short"
	errCount   = "kernel: more than MaxSum values in one call"
)

func checkEqual(a, b int) {
	if a != b {
		panic(errLength)
	}
}

// checkRows panics unless a row-major matrix of rows x k with this stride lies within n elements.
func checkRows(n, rows, k, stride int) {
	if rows < 0 || k < 1 || stride < k || rows > 0 && (n < k || (n-k)/stride < rows-1) {
		panic(errShape)
	}
}

func checkScratch(n, least int) {
	if n < least {
		panic(errScratch)
	}
}
