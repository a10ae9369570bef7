package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// The calibration error of a binary classifier, and its bins.
func Example() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9}, Rows: 8, Classes: 1}, // P(y = 1)
		Labels: []int32{0, 0, 1, 0, 1, 0, 1, 1},
	}
	bins, err := calib.BinsOf(p, &calib.Options{Bins: 2})
	if err != nil {
		log.Fatal(err)
	}
	interval := bins.Interval(0.95)
	fmt.Printf("ECE %.4f [%.4f, %.4f]\n", bins.ECE(), interval.Low, interval.High)
	for _, b := range bins.Bins(0.95) {
		fmt.Printf("%.1f to %.1f: mean prediction %.4f, frequency %.2f, %d rows\n", b.Lower, b.Upper, b.Confidence, b.Frequency, b.Count)
	}
	// Output:
	// ECE 0.0125 [0.0000, 0.3174]
	// 0.0 to 0.5: mean prediction 0.2250, frequency 0.25, 4 rows
	// 0.5 to 1.0: mean prediction 0.7500, frequency 0.75, 4 rows
}
