package regress_test

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Two forecasts of the wind: one is better on usual days, the other above 25 m/s.
func ExampleWeightedCRPS() {
	observed := []float64{4, 9, 12, 28}
	careful := []float64{5, 2, 9, 2, 13, 2, 22, 5} // means and standard deviations
	late := []float64{4, 2, 9, 2, 12, 2, 17, 3}
	for _, forecast := range [][]float64{careful, late} {
		p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: 4, Classes: 3}}
		for i, y := range observed {
			p.F64 = append(p.F64, forecast[2*i], forecast[2*i+1], y)
		}
		strong := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: 25, To: math.Inf(1)}))
		tails := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{Emphasis: regress.Tails}))
		misses := metrics.Must(regress.NewPenalties(&regress.PenaltyOptions{Level: 0.9}))
		if err := metrics.NewPass(nil, strong, tails, misses).Add(p); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("above 25: %.3f, tails: %.3f, misses of 90%% intervals: %.2f above, %.2f below\n", strong.Value(), tails.Value(), misses.Underprediction(), misses.Overprediction())
	}
	// Output:
	// above 25: 0.501, tails: 0.282, misses of 90% intervals: 0.00 above, 0.00 below
	// above 25: 0.748, tails: 0.756, misses of 90% intervals: 30.33 above, 0.00 below
}
