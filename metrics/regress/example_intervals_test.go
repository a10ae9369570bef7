package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Normal forecasts whose standard deviations are too small. The interval of 0.5 should contain half of the observed values,
// and that of 0.9 nine tenths.
func ExampleIntervals() {
	p := &metrics.Predictions{
		Kind: metrics.Normals,
		Scores: metrics.Scores{
			F64: []float64{ // mean, standard deviation, observed
				10, 1, 11.9,
				12, 1, 11.5,
				9, 2, 4,
				20, 3, 27,
				15, 2, 15.2,
			},
			Rows: 5, Classes: 3,
		},
	}
	s := metrics.Must(regress.NewIntervals(nil))
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	for _, level := range s.Levels() {
		fmt.Printf("%v of %d rows: %.2f within, %.2f below, %.2f above; width %.3f, score %.3f\n",
			level, s.Len(), s.Coverage(level), s.Below(level), s.Above(level), s.Width(level), s.Score(level))
	}
	coverage, width, score := s.CoverageInterval(0.5, 0.95), s.WidthInterval(0.5, 0.95), s.ScoreInterval(0.5, 0.95)
	fmt.Printf("coverage %.2f to %.2f\n", coverage.Low, coverage.High)
	fmt.Printf("width %.2f to %.2f, score %.2f to %.2f\n", width.Low, width.High, score.Low, score.High)
	// Output:
	// 0.5 of 5 rows: 0.40 within, 0.20 below, 0.40 above; width 2.428, score 10.311
	// 0.9 of 5 rows: 0.40 within, 0.20 below, 0.40 above; width 5.921, score 22.045
	// coverage 0.12 to 0.77
	// width 1.44 to 3.42, score 1.66 to 18.96
}

// Quantiles have the intervals whose ends are among them.
func ExampleIntervals_Table() {
	p := &metrics.Predictions{
		Kind:     metrics.Quantiles,
		Observed: []float64{4, 9, 2},
		Scores: metrics.Scores{
			F64: []float64{
				1, 3, 5, 8,
				2, 4, 5, 7,
				1, 2, 3, 9,
			},
			Rows: 3, Classes: 4,
		},
	}
	o := &regress.IntervalOptions{Levels: []float64{0.5, 0.8, 0.9}, Quantiles: []float64{0.05, 0.25, 0.75, 0.95}}
	s := metrics.Must(regress.NewIntervals(o))
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	for _, c := range s.Table(0.95) {
		if c.Reason != "" {
			fmt.Printf("%v %s\n", c.Level, s.Reason(c.Level))
			continue
		}
		fmt.Printf("%v %.2f [%.2f, %.2f] %.2f %.2f %.2f %.2f\n", c.Level, c.Coverage, c.Low, c.High, c.Width, c.Score, c.Below, c.Above)
	}
	// Output:
	// 0.5 0.67 [0.21, 0.94] 1.33 6.67 0.00 0.33
	// 0.8 the interval takes the quantiles of the levels 0.1 and 0.9, and not both are given
	// 0.9 0.67 [0.21, 0.94] 6.67 20.00 0.00 0.33
}

// States of parts of the rows merge into the state of all rows.
func ExampleIntervals_Merge() {
	state := func(x []float64) []byte {
		s := metrics.Must(regress.NewIntervals(nil))
		p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: x, Rows: len(x) / 2, Classes: 2}}
		if err := metrics.NewPass(nil, s).Add(p); err != nil {
			log.Fatal(err)
		}
		b, err := s.AppendBinary(nil)
		if err != nil {
			log.Fatal(err)
		}
		return b
	}
	var all, part regress.Intervals
	if err := all.UnmarshalBinary(state([]float64{0.1, 1, -2, 1})); err != nil { // observed - mean, standard deviation
		log.Fatal(err)
	}
	if err := part.UnmarshalBinary(state([]float64{0.5, 1, 0.2, 2})); err != nil {
		log.Fatal(err)
	}
	if err := all.Merge(&part); err != nil {
		log.Fatal(err)
	}
	fmt.Println(all.Len(), all.Coverage(0.5), all.Needs() == metrics.NeedRows, all.Empty().Len())
	// Output: 4 0.75 true 0
}
