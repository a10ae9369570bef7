package kernel_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
)

// Scores are summed by the cells of a grid that no data choose.
func ExampleGridSums() {
	p := []float64{0.252, 0.2521, 0.748, 0.9999999}
	tail := []float64{0, 0, 0.252, 1e-7}
	y := []uint8{0, 0, 1, 1}
	cells := make([]kernel.GridCell, kernel.GridSize())
	out := kernel.GridSums(cells, p, tail, y) // of at most kernel.MaxGrid scores
	places, rising := kernel.GridPlaces()
	for i := range cells {
		if n, _, _ := kernel.GridTotals(&cells[i], i); n > 0 {
			fmt.Printf("%d from q = %.4g, upper half %v, outcome %d\n", n, places[i/4], i&2 != 0, i&1)
		}
	}
	q := rising[kernel.GridRank(0.252)]
	fmt.Println(out, places[q], kernel.GridBins(15), kernel.GridBins(17), len(p) <= kernel.MaxGrid)
	// Output:
	// 1 from q = 9.872e-08, upper half true, outcome 1
	// 2 from q = 0.2517, upper half false, outcome 0
	// 1 from q = 0.2517, upper half true, outcome 1
	// 0 0.25166666666666665 true false true
}
