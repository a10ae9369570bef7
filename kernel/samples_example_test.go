package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// The CRPS of rows of samples, that of the samples as they are and the fair one.
func ExampleSampleSpreadF32() {
	const rows, m = 2, 4
	x := []float32{
		3, 1, 2, 4,
		0, 0, 1, 0,
	}
	y := []float64{2, 1}
	abs, spread := make([]float64, rows), make([]float64, rows)
	kernel.SampleSpreadF32(abs, spread, x, rows, m, m, y, make([]float32, kernel.SampleSpreadScratch(m)))
	for i := range rows {
		fmt.Printf("%.4f %.4f\n", abs[i]/m-spread[i]/(m*m), abs[i]/m-spread[i]/(m*(m-1)))
	}
	// Output:
	// 0.3750 0.1667
	// 0.5625 0.5000
}

// Gini's mean difference of a row: how far two of its numbers are apart on average.
func ExampleSampleSpreadF64() {
	x := []float64{1, 2, 4, 8}
	m := len(x)
	var abs, spread [1]float64
	kernel.SampleSpreadF64(abs[:], spread[:], x, 1, m, m, []float64{0}, make([]float64, kernel.SampleSpreadScratch(m)))
	fmt.Printf("%.4f\n", spread[0]/float64(m*(m-1)/2))
	// Output: 3.8333
}
