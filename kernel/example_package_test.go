package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// Softmax and its parts for two rows of three logits. The bits are the same on every CPU.
func Example() {
	logits := []float32{2, 1, 0, 0, 0, 0}
	probs := make([]float32, 6)
	kernel.SoftmaxF32(probs, 3, logits, 2, 3, 3)
	lse := make([]float64, 2)
	kernel.LogSumExpF32(lse, logits, 2, 3, 3)
	best := make([]int32, 2)
	kernel.ArgMaxF32(best, logits, 2, 3, 3)
	fmt.Printf("%.4f\n%.4f %v\n", probs, lse, best)
	// Output:
	// [0.6652 0.2447 0.0900 0.3333 0.3333 0.3333]
	// [2.4076 1.0986] [0 0]
}
