package regress_test

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// The losses of two forecasts of the same ten days, in order. Forecasts look two days ahead, so the losses of neighboring
// days depend on each other.
func ExampleDieboldMariano() {
	a := []float64{1.2, 0.8, 2.1, 1.9, 0.7, 1.4, 2.2, 1.8, 1.1, 1.6}
	b := []float64{0.9, 0.4, 1.9, 2.0, 0.9, 1.3, 1.9, 1.3, 1.0, 1.7}
	r := metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: 2}))
	fmt.Printf("%d rows, the second is better by %.2f [%.2f, %.2f]\n", r.Rows, r.Mean, r.Interval.Low, r.Interval.High)
	fmt.Printf("DM %.2f, p %.4f, Bartlett %v\n", r.Statistic, r.P, r.Bartlett)

	r = metrics.Must(regress.DieboldMariano(a, b, &regress.DMOptions{Horizon: 2, Asymptotic: true, Level: 0.9}))
	fmt.Printf("without the correction DM %.2f\n", r.Statistic)
	fmt.Println(metrics.Must(regress.DieboldMariano(a[:1], b[:1], nil)).Reason)
	// Output:
	// 10 rows, the second is better by 0.15 [-0.10, 0.40]
	// DM 1.38, p 0.2007, Bartlett false
	// without the correction DM 1.63
	// there is one row only
}
