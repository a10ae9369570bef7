package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// One step of Newton's method towards the inverse temperature of the least mean NLL, and what it makes of a row.
func ExampleTemperedF32() {
	logits := []float32{4, 0, 2, 1, 0, 3, 5, 1, 0}
	labels := []int32{0, 0, 0}
	c := &kernel.Tempered{NLL: make([]float64, 3), Slope: make([]float64, 3), Curvature: make([]float64, 3), Label: make([]float64, 3)}
	kernel.TemperedF32(c, logits, 3, 3, 3, labels, 1)
	slope, curvature := 0.0, 0.0
	for i := range c.Slope {
		slope += c.Slope[i]
		curvature += c.Curvature[i]
	}
	beta := 1 - slope/curvature
	fmt.Printf("NLL %.3f, slope %.3f, curvature %.3f, label %g\n", c.NLL, c.Slope, c.Curvature, c.Label)
	fmt.Printf("beta %.3f\n", beta)

	p := make([]float32, 9)
	kernel.ScaledSoftmaxF32(p, 3, logits, 3, 3, 3, beta)
	fmt.Printf("%.3f\n", p[:3])

	// Probabilities have logits too.
	z := make([]float64, 3)
	kernel.WidenLogF32(z, p[:3])
	fmt.Printf("%.3f\n", z)
	// Output:
	// NLL [0.143 2.170 0.025], slope [-0.298 1.646 -0.104], curvature [0.634 0.709 0.439], label [0 -2 0]
	// beta 0.303
	// [0.542 0.162 0.296]
	// [-0.612 -1.823 -1.217]
}
