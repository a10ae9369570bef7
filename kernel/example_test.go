package kernel_test

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/kernel"
)

// Two rows of three logits, the second with a class that is masked out.
func ExampleLogitStatsF32() {
	x := []float32{
		2, 1, 0,
		0, float32(math.Inf(-1)), 12,
	}
	labels := []int32{1, 2}
	const rows, k = 2, 3
	column := func() []float64 { return make([]float64, rows) }
	c := kernel.Stats{
		Top: column(), Tail: column(), Label: column(), NLL: column(), Rest: column(), Entropy: column(), Norm: column(),
		ArgMax: make([]int32, rows), Flags: make([]uint8, rows),
	}
	if flags := kernel.LogitStatsF32(&c, x, rows, k, k, labels); flags != 0 {
		fmt.Println("some row has a fault")
	}
	for i := range rows {
		fmt.Printf("class %d with p = %.6f (the others %.3e), nll %.4e, entropy %.4f\n", c.ArgMax[i], c.Top[i], c.Tail[i], c.NLL[i], c.Entropy[i])
	}
	// Output:
	// class 0 with p = 0.665241 (the others 3.348e-01), nll 1.4076e+00, entropy 0.8324
	// class 2 with p = 0.999994 (the others 6.144e-06), nll 6.1442e-06, entropy 0.0001
}

// A row whose score is NaN has no columns, and the others have theirs.
func ExampleBinaryProbStatsF64() {
	p := []float64{0.9, math.NaN(), 0.2}
	labels := []int32{1, 0, 1}
	column := func() []float64 { return make([]float64, len(p)) }
	c := kernel.Stats{
		Top: column(), Tail: column(), Label: column(), NLL: column(), Rest: column(), Entropy: column(), Norm: column(),
		ArgMax: make([]int32, len(p)), Flags: make([]uint8, len(p)),
	}
	kernel.BinaryProbStatsF64(&c, p, labels)
	for i := range p {
		fmt.Println(c.ArgMax[i], c.Flags[i]&kernel.FlagNotFinite != 0, c.NLL[i])
	}
	// Output:
	// 1 false 0.10536051565782628
	// -1 true NaN
	// 0 false 1.6094379124341003
}

func ExampleSoftmaxF32() {
	x := []float32{1, 2, 3}
	kernel.SoftmaxF32(x, 3, x, 1, 3, 3) // in place
	fmt.Printf("%.4f\n", x)
	// Output: [0.0900 0.2447 0.6652]
}

// A score that stands on an edge belongs to the bin above it, or to the one below.
func ExampleBinEqual() {
	edges := kernel.Edges(4)
	p := []float64{0, 0.25, 0.3, 1}
	bin := make([]int32, len(p))
	kernel.BinEqual(bin, p, edges, kernel.LeftClosed)
	fmt.Println(bin)
	kernel.BinEqual(bin, p, edges, kernel.RightClosed)
	fmt.Println(bin)
	// Output:
	// [0 1 1 3]
	// [0 0 1 3]
}

// Each row of an ensemble's members is sorted in place.
func ExampleSortRowsF32() {
	x := []float32{
		21.5, 19, 20.25, 22,
		-3, float32(math.Inf(-1)), 0, -7,
	}
	const rows, k = 2, 4
	kernel.SortRowsF32(x, rows, k, k, make([]float32, kernel.SortRowsScratch(k)))
	fmt.Println(x[:k])
	fmt.Println(x[k:])
	// Output:
	// [19 20.25 21.5 22]
	// [-Inf -7 -3 0]
}

// The entries of the lowest bin are summed by class, the others are listed.
func ExampleClassSumsF32() {
	x := []float32{
		0.75, 0.125, 0.125,
		0.25, 0.5, 0.25,
	}
	lowest := kernel.NewLowest(kernel.Edges(4)[1], kernel.LeftClosed, -1)
	sums := kernel.ClassSums{N: make([]int64, 3), P: make([]int64, 3), PP: make([]int64, 3)}
	list := make([]uint32, len(x)+kernel.ListSlack)
	listed, rows := kernel.ClassSumsF32(&sums, list, x, 2, 3, 3, &lowest, 0)
	p, class := make([]float64, listed), make([]int32, listed)
	kernel.ClassEntriesF32(p, class, list[:listed], x, 3, -1)
	fmt.Println(rows, sums.N, listed)
	fmt.Println(float64(sums.P[1]) * 0x1p-51)
	// Output:
	// 2 [0 1 1] 4
	// 0.125
}
