package binfree_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
)

// The smooth calibration error needs no bins: its bandwidth is the one at which the error equals the bandwidth.
func ExampleSmoothOf() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	s := binfree.SmoothOf(c)
	ece, bound := s.ECE()
	fmt.Printf("%.4f +- %v at the bandwidth %.4f\n", ece, bound, s.Bandwidth())
	for _, sigma := range []float64{1e-9, 0.01, 0.1, 1} {
		fmt.Printf("%.4f at %g\n", s.At(sigma), sigma)
	}
	// Output:
	// 0.0787 +- 0 at the bandwidth 0.0787
	// 0.1950 at 1e-09
	// 0.1931 at 0.01
	// 0.0660 at 0.1
	// 0.0450 at 1
}

// The smoothed residual gives a reliability diagram. Its curve may leave [0,1] near the ends.
func ExampleSmooth_Curve() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	var points []binfree.SmoothPoint = binfree.SmoothOf(c).Curve(5)
	for _, p := range points {
		fmt.Printf("says %.2f, happens %.2f; density %.2f\n", p.Score, p.Score+p.Residual, p.Density)
	}
	// Output:
	// says 0.00, happens -0.10; density 0.90
	// says 0.25, happens 0.49; density 0.81
	// says 0.50, happens 0.45; density 0.64
	// says 0.75, happens 0.89; density 0.50
	// says 1.00, happens 1.04; density 2.30
}
