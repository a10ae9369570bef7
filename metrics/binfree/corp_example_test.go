package binfree_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// rain returns forecasts of rain, and whether it rained.
func rain() *cells.Cells {
	p := &metrics.Predictions{Labels: []int32{0, 0, 1, 0, 1, 0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 8, 1, []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.8, 0.8, 0.9}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	return c
}

// The mean score is miscalibration minus discrimination plus uncertainty. The bounds are 0 if cells are exact.
func ExampleCORPOf() {
	c := metrics.Must(binfree.CORPOf(rain(), nil))
	score, bound := c.Score()
	mcb, _ := c.MCB()
	dsc, _ := c.DSC()
	unc, _ := c.UNC()
	fmt.Printf("%.4f = %.4f - %.4f + %.4f, off by %v at most\n", score, mcb, dsc, unc, bound)
	for _, s := range c.Steps() {
		fmt.Printf("from %.1f to %.1f: %.3f of %v rows\n", s.Low, s.High, s.Frequency, s.Weight)
	}
	// Output:
	// 0.2125 = 0.0458 - 0.0833 + 0.2500, off by 0 at most
	// from 0.1 to 0.1: 0.000 of 1 rows
	// from 0.2 to 0.4: 0.333 of 3 rows
	// from 0.6 to 0.8: 0.667 of 3 rows
	// from 0.9 to 0.9: 1.000 of 1 rows
}

// The same fit decomposes any proper score.
func ExampleCORPOptions() {
	for _, s := range []binfree.ProperScore{binfree.Squared, binfree.Logarithmic, binfree.Spherical} {
		c := metrics.Must(binfree.CORPOf(rain(), &binfree.CORPOptions{Score: s}))
		mcb, _ := c.MCB()
		fmt.Printf("%d: %.4f, %v rows make it infinite\n", c.Options().Score, mcb, c.Infinite())
	}
	// Output:
	// 0: 0.0458, 0 rows make it infinite
	// 1: 0.1348, 0 rows make it infinite
	// 2: 0.0494, 0 rows make it infinite
}

// With so few rows, all miscalibration may be chance: calibrated scores would have more on average.
func ExampleCORP_Intervals() {
	c := metrics.Must(binfree.CORPOf(rain(), nil))
	if reason := c.IntervalReason(); reason != "" {
		log.Fatal(reason)
	}
	var i binfree.CORPIntervals = c.Intervals(metrics.DefaultLevel, &metrics.Resampling{Seed: 1, Replicates: 500})
	fmt.Printf("MCB %.2f to %.2f, %.2f by chance\n", i.MCB.Low, i.MCB.High, i.Floor)
	fmt.Printf("DSC %.2f to %.2f, UNC %.2f to %.2f\n", i.DSC.Low, i.DSC.High, i.UNC.Low, i.UNC.High)
	// Output:
	// MCB 0.00 to 0.11, 0.08 by chance
	// DSC 0.00 to 0.19, UNC 0.20 to 0.25
}

// Where the fitted curve of calibrated scores would be.
func ExampleCORP_Band() {
	for _, b := range metrics.Must(binfree.CORPOf(rain(), nil)).Band(0.9, &metrics.Resampling{Seed: 1, Replicates: 1000}) {
		fmt.Printf("at %.1f from %.2f to %.2f\n", b.Score, b.Low, b.High)
	}
	// Output:
	// at 0.1 from 0.00 to 0.33
	// at 0.2 from 0.00 to 0.50
	// at 0.4 from 0.00 to 1.00
	// at 0.6 from 0.00 to 1.00
	// at 0.8 from 0.50 to 1.00
	// at 0.9 from 0.67 to 1.00
}
