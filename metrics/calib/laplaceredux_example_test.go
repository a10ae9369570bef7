package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// The probability that rows of each class give to their class.
func ExampleSharpnessOf() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.7, 0.7, 0.3, 0.5, 0.9}, Rows: 5, Classes: 1},
		Labels: []int32{0, 1, 0, 1, 1},
	}
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	var s binfree.ClassSharpness = binfree.SharpnessOf(c)
	if s.Reason0 == "" && s.Reason1 == "" {
		fmt.Printf("y = 0: %.2f in %.2f\n", s.Class0, s.Interval0(0.95))
		fmt.Printf("y = 1: %.2f in %.2f\n", s.Class1, s.Interval1(0.95))
	}
	// Output:
	// y = 0: 0.50 in {0.11 0.89}
	// y = 1: 0.70 in {0.47 0.93}
}

// The diagram of LaplaceRedux next to candor's, which has the mean score, and no frequency in bins without rows.
func ExampleBinaryFrequency() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0, 0.2, 0.25, 0.7, 0.9}, Rows: 5, Classes: 1},
		Labels: []int32{0, 0, 1, 1, 1},
	}
	count, frequency, centre, err := calib.BinaryFrequency(p, 4, nil)
	if err != nil {
		log.Fatal(err)
	}
	b, err := calib.BinsOf(p, &calib.Options{Bins: 4})
	if err != nil {
		log.Fatal(err)
	}
	for i, bar := range b.Bins(0.95) {
		fmt.Printf("%d rows at %.3f: %.2f    %d rows at %.3f: %.2f\n", count[i], centre[i], frequency[i], bar.Count, bar.Confidence, bar.Frequency)
	}
	// Output:
	// 2 rows at 0.125: 0.50    2 rows at 0.100: 0.00
	// 0 rows at 0.375: 0.00    1 rows at 0.250: 1.00
	// 1 rows at 0.625: 1.00    1 rows at 0.700: 1.00
	// 1 rows at 0.875: 1.00    1 rows at 0.900: 1.00
}
