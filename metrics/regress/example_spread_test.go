package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Twelve forecasts, each with an error and the stated standard deviation. For large standard deviations, errors have the
// stated size; for small ones, they are twice as large.
func ExampleSpread() {
	var rows []float64
	for _, sd := range []float64{0.5, 0.5, 1, 1, 4, 4} {
		size := sd
		if sd < 4 {
			size = 2 * sd
		}
		rows = append(rows, 1.4*size, sd, -0.2*size, sd)
	}
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: rows, Rows: len(rows) / 2, Classes: 2}}

	s := regress.NewSpread()
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	for _, b := range s.Bins(3) {
		fmt.Printf("sd %.1f to %.1f: %d rows, RMV %.2f, RMSE %.2f %.2f\n", b.Lower, b.Upper, b.Count, b.RMV, b.RMSE, b.Interval(0.95))
	}
	fmt.Printf("ENCE %.3f, UCE %.3f\n", s.ENCE(3), s.UCE(3))
	fmt.Printf("%d rows of %d standard deviations, exact %v, grid step %g\n", s.Len(), s.Cells(), s.Exact(), s.GridStep())
	fmt.Printf("%d bins unless asked otherwise, %d standard deviations apart\n", regress.SpreadBins, regress.MaxExactSpreads)
	// Output:
	// sd 0.5 to 0.5: 4 rows, RMV 0.50, RMSE 1.00 {0.00 1.44}
	// sd 1.0 to 1.0: 4 rows, RMV 1.00, RMSE 2.00 {0.00 2.89}
	// sd 4.0 to 4.0: 4 rows, RMV 4.00, RMSE 4.00 {0.00 5.78}
	// ENCE 0.667, UCE 1.250
	// 12 rows of 3 standard deviations, exact true, grid step 0
	// 15 bins unless asked otherwise, 262144 standard deviations apart
}

// States of shards merge like those of any accumulator.
func ExampleSpread_Merge() {
	shard := func(rows ...float64) *regress.Spread {
		s := regress.NewSpread()
		p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: rows, Rows: len(rows) / 2, Classes: 2}}
		if err := metrics.NewPass(nil, s).Add(p); err != nil {
			log.Fatal(err)
		}
		return s
	}
	state, err := shard(1, 2, -6, 4).AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	other := regress.NewSpread()
	if err := other.UnmarshalBinary(state); err != nil {
		log.Fatal(err)
	}
	s := shard(3, 2, 2, 4)
	if err := s.Merge(other); err != nil {
		log.Fatal(err)
	}
	for _, b := range s.Bins(2) {
		fmt.Printf("weight %g: RMV %.3f, RMSE %.3f\n", b.Weight, b.RMV, b.RMSE)
	}
	// Output:
	// weight 2: RMV 2.000, RMSE 2.236
	// weight 2: RMV 4.000, RMSE 4.472
}
