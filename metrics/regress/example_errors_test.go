package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Normal forecasts: the mean, the standard deviation and the observed value of each row.
func ExampleErrors() {
	p := &metrics.Predictions{Kind: metrics.Normals}
	p.F64 = []float64{
		20, 2, 23,
		18, 1, 17,
		25, 3, 21,
		22, 2, 24,
	}
	p.Rows, p.Classes = 4, 3
	e := metrics.Must(regress.NewErrors(nil))
	if err := metrics.NewPass(nil, e).Add(p); err != nil {
		log.Fatal(err)
	}
	for _, s := range []regress.ErrorStat{regress.RMSE, regress.MAE, regress.Bias} {
		i := e.Interval(s, metrics.DefaultLevel)
		fmt.Printf("%-5v %.3f, 95%% interval from %.3f to %.3f\n", s, e.Value(s), i.Low, i.High)
	}
	// Output:
	// rmse  2.739, 95% interval from 0.318 to 3.860
	// mae   2.500, 95% interval from 1.235 to 3.765
	// bias  0.000, 95% interval from -3.099 to 3.099
}

// Quantiles have a median if 0.5 is one of their levels, but no mean.
func ExampleErrorOptions() {
	p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{21, 18}}
	p.F64 = []float64{
		18, 20, 24,
		15, 16, 19,
	}
	p.Rows, p.Classes = 2, 3
	e := metrics.Must(regress.NewErrors(&regress.ErrorOptions{Levels: []float64{0.1, 0.5, 0.9}}))
	if err := metrics.NewPass(nil, e).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Println(regress.AEMedian, e.Value(regress.AEMedian))
	fmt.Println(regress.RMSE, e.Value(regress.RMSE), "as", e.Reason(regress.RMSE))
	// Output:
	// ae_median 1.5
	// rmse NaN as quantiles do not tell the mean of the forecast
}
