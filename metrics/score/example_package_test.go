package score_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

// Proper scores of a classifier with three classes, and of each row.
func Example() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{
			0.7, 0.2, 0.1,
			0.3, 0.5, 0.2,
			0.2, 0.2, 0.6,
		}, Rows: 3, Classes: 3},
		Labels: []int32{0, 0, 2},
	}
	loss, err := score.LossOf(p, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.3f, NLL %.3f, Brier %.3f\n", loss.Accuracy(), loss.NLL(), loss.Brier(score.BrierDefault))
	nll, err := score.ParseRowMetric("nll", p.Kind, p.Classes)
	if err != nil {
		log.Fatal(err)
	}
	rows := make([]float64, p.Rows)
	if err := nll.Rows(rows, p, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NLL of each row %.3f\n", rows)
	// Output:
	// accuracy 0.667, NLL 0.690, Brier 0.387
	// NLL of each row [0.357 1.204 0.511]
}
