package metrics_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

// A Pass reads predictions once, for any number of accumulators. Their states merge.
func Example() {
	a := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.1, 0.8, 0.6}, Rows: 3, Classes: 1}, Labels: []int32{0, 1, 0}}
	b := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.3, 0.9}, Rows: 2, Classes: 1}, Labels: []int32{1, 1}}
	loss, bins := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(nil))
	if err := metrics.NewPass(nil, loss, bins).Add(a); err != nil {
		log.Fatal(err)
	}
	other := metrics.Must(score.NewLoss(nil))
	if err := metrics.NewPass(nil, other).Add(b); err != nil {
		log.Fatal(err)
	}
	if err := loss.Merge(other); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Brier %.4f of %d rows, ECE %.4f of %d\n", loss.Brier(score.BrierDefault), loss.Len(), bins.ECE(), bins.Len())
	// Output:
	// Brier 0.1820 of 5 rows, ECE 0.3000 of 3
}
