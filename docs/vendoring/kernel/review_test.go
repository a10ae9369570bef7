package surprise

import "fmt"

func ExampleLeastSure() {
	logits := []float32{4, 0, 0, 0, 0.1, 0, 0, 0, 2}
	for _, p := range LeastSure(logits, 3, 3, 2) {
		fmt.Printf("row %d: class %d at %.2f, energy %.2f\n", p.Row, p.Class, p.Prob, p.Energy)
	}
	// Output:
	// row 1: class 1 at 0.36, energy -1.13
	// row 2: class 2 at 0.79, energy -2.24
}
