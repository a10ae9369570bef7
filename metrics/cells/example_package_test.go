package cells_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// One pass keeps the data of several metrics.
func Example() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9}, Rows: 8, Classes: 1}, // P(y = 1)
		Labels: []int32{0, 0, 1, 0, 1, 0, 1, 1},
	}
	c, err := cells.New(&cells.Options{Event: metrics.Positive})
	if err != nil {
		log.Fatal(err)
	}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	auroc, _ := rank.RankingOf(c).AUROC()
	ece, _ := binfree.SmoothOf(c).ECE()
	fmt.Printf("%d rows, exact %t: AUROC %.4f, smooth ECE %.4f\n", c.Len(), c.Exact(), auroc, ece)
	// Output:
	// 8 rows, exact true: AUROC 0.7812, smooth ECE 0.0986
}
