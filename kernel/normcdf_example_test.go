package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// Of a normal number, what lies below the mean plus 1.96 standard deviations, and what beyond ten of them.
func ExampleNormCDF64() {
	fmt.Printf("%.4f %.3g\n", kernel.NormCDF64(1.96), kernel.NormCDF64(-10))
	// Output: 0.9750 7.62e-24
}

// How many standard deviations hold nine of ten normal numbers.
func ExampleNormQuantile64() {
	fmt.Printf("%.4f\n", kernel.NormQuantile64(0.95))
	// Output: 1.6449
}

// How many of the z-scores of a forecast lie below its quartiles: a calibrated one has a quarter, a half and three quarters.
func ExampleCountUpTo() {
	z := []float64{-1.2, 0.3, 0.1, -0.5, 2.2, 0.9, -0.1, -2}
	edges := []float64{kernel.NormQuantile64(0.25), kernel.NormQuantile64(0.5), kernel.NormQuantile64(0.75)}
	counts := make([]int64, 3)
	kernel.CountUpTo(counts, z, edges)
	fmt.Println(counts)
	// Output: [2 4 6]
}
