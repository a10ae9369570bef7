package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// The gradient of matrix scaling, softmax(W z + b), over rows of logits z, by tiles that stand in the second cache.
func ExampleSoftmaxResidualsF64() {
	const rows, k = 3, 2
	z := []float64{2, 0, 1, -1, 0, 1}
	labels := []int32{0, 1, 1}
	w, b := []float64{1, 0, 0, 1}, []float64{0, 0} // W transposed

	d, nll := make([]float64, rows*k), make([]float64, rows)
	kernel.AffineF64(d, z, w, b, rows, k, k)
	kernel.SoftmaxResidualsF64(nll, d, rows, k, labels, nil)

	gw, gb := make([]float64, k*k), make([]float64, k)
	kernel.AddOuterF64(gw, d, z, rows, k, k)
	kernel.AddRowsF64(gb, d, rows, k)
	fmt.Printf("NLL %.4f\n", nll)
	fmt.Printf("gradient by W %.4f, by b %.4f\n", gw, gb)
	// Output:
	// NLL [0.1269 2.1269 0.3133]
	// gradient by W [0.6424 -0.6119 -0.6424 0.6119], by b [1.0305 -1.0305]
}

// The gradient of vector scaling, softmax(a*z + b).
func ExampleAddProductsF64() {
	const rows, k = 3, 2
	z := []float64{2, 0, 1, -1, 0, 1}
	labels := []int32{0, 1, 1}
	a, b := []float64{1, 1}, []float64{0, 0}

	d, nll := make([]float64, rows*k), make([]float64, rows)
	kernel.ScaleShiftF64(d, z, a, b, rows, k)
	kernel.SoftmaxResidualsF64(nll, d, rows, k, labels, nil)

	ga, gb := make([]float64, k), make([]float64, k)
	kernel.AddProductsF64(ga, gb, d, z, rows, k)
	fmt.Printf("gradient by a %.4f, by b %.4f\n", ga, gb)
	// Output:
	// gradient by a [0.6424 0.6119], by b [1.0305 -1.0305]
}
