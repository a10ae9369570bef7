package regress_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Intervals of eight days rise with what was observed, but are too low by 2.
func ExampleIntervalCORP() {
	p := &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: 8, Classes: 2}}
	for i := range 8 {
		y := float64(i)
		p.F64, p.Observed = append(p.F64, y-3, y-1), append(p.Observed, y)
	}
	parts := metrics.Must(regress.NewIntervalCORP(&regress.PenaltyOptions{Level: 0.5, Quantiles: []float64{0.25, 0.75}}))
	if err := metrics.NewPass(nil, parts).Add(p); err != nil {
		panic(err)
	}
	both, _, _ := parts.Decompose()
	fmt.Printf("%.1f = %.1f - %.1f + %.1f\n", both.Score, both.MCB, both.DSC, both.UNC)
	// Output:
	// 6.0 = 6.0 - 6.0 + 6.0
}
