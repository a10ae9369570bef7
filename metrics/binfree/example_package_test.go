package binfree_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// Calibration of a binary classifier without bins, all from one state.
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
	ece, _ := binfree.SmoothOf(c).ECE() // the second value bounds the error of a grid of scores; it is 0 here
	slope, _ := binfree.CoxOf(c, nil).Slope()
	fmt.Printf("smooth ECE %.4f, calibration slope %.2f\n", ece, slope)
	// Output:
	// smooth ECE 0.0986, calibration slope 0.83
}
