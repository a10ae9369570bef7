package regress_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func ExamplePIT() {
	// Rows are mean, standard deviation and observed value. The forecasts are too narrow.
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64, p.Rows, p.Classes = []float64{
		10, 1, 12.5,
		10, 1, 8,
		20, 2, 20.1,
		20, 2, 23,
		30, 1, 27.5,
		30, 1, 29,
	}, 6, 3
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 4}))
	if err := metrics.NewPass(nil, pit).Add(p); err != nil {
		panic(err)
	}
	for _, b := range pit.Histogram(0.95) {
		fmt.Printf("(%.2f, %.2f] %d rows, density %.2f; a calibrated forecast has up to %.2f\n",
			b.Lower, b.Upper, b.Count, b.Density, b.BandHigh)
	}
	fmt.Printf("mean %.2f, variance %.3f (1/12 = %.3f)\n", pit.Mean(), pit.Variance(), 1.0/12)
	fmt.Println(pit.Reason())
	// Output:
	// (0.00, 0.25] 3 rows, density 2.00; a calibrated forecast has up to 2.39
	// (0.25, 0.50] 0 rows, density 0.00; a calibrated forecast has up to 2.39
	// (0.50, 0.75] 1 rows, density 0.67; a calibrated forecast has up to 2.39
	// (0.75, 1.00] 2 rows, density 1.33; a calibrated forecast has up to 2.39
	// mean 0.46, variance 0.123 (1/12 = 0.083)
	// fewer than 5 rows a bin: take fewer bins, or more rows
}

func ExampleRandomizedPIT() {
	// A forecast of a count: 0 with probability 0.5, 1 with 0.3, 2 with 0.2.
	at := []float64{0.5, 0.8, 1}
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 2}))
	for row, y := range []int{0, 1, 0, 2, 1, 0, 0, 1, 2, 0} {
		below := 0.0
		if y > 0 {
			below = at[y-1]
		}
		u := regress.RandomizedPIT(below, at[y], 1, int64(row))
		if err := pit.AddValues([]float64{u}, nil); err != nil {
			panic(err)
		}
	}
	fmt.Printf("p = %.2f\n", pit.P())
	// Output: p = 1.00
}

func ExampleRanks() {
	// Three samples per row.
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{2.5, 9, 3, 0, 7, 4.5, 1, 8}}
	p.F64, p.Rows, p.Classes = []float64{
		1, 2, 3,
		4, 5, 6,
		1, 2, 2,
		1, 4, 2,
		8, 6, 5,
		4, 3, 6,
		2, 3, 2,
		5, 6, 7,
	}, 8, 3
	ranks := metrics.Must(regress.NewRanks(&regress.RankOptions{Bins: 2}))
	if err := metrics.NewPass(nil, ranks).Add(p); err != nil {
		panic(err)
	}
	for _, b := range ranks.Histogram(0.95) {
		fmt.Printf("ranks %d to %d of %d samples: %d rows, density %.2f\n", b.First, b.Last, ranks.Samples(), b.Count, b.Density)
	}
	s := ranks.Shape()
	fmt.Printf("slope %.2f, p = %.2f\n", s.Slope, s.SlopeP)
	// Output:
	// ranks 0 to 1 of 3 samples: 2 rows, density 0.50
	// ranks 2 to 3 of 3 samples: 6 rows, density 1.50
	// slope 1.41, p = 0.16
}
