package rank_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// The area under the ROC curve of a binary classifier, with its interval.
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
	r := rank.RankingOf(c)
	auroc, _ := r.AUROC()
	interval := r.AUROCInterval(0.95)
	fmt.Printf("AUROC %.4f [%.2f, %.2f]\n", auroc, interval.Low, interval.High)
	// Output:
	// AUROC 0.7812 [0.37, 0.95]
}
