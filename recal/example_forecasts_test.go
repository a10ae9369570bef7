package recal_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/recal"
)

// Forecasts whose standard deviations are too small get greater ones.
func ExampleSigma() {
	observed := []float64{23, 17, 21, 24, 19, 27}
	mean, sd := []float64{20, 18, 25, 22, 19, 23}, []float64{2, 1, 3, 2, 1, 2}
	m, err := recal.Sigma{}.Fit(recal.InMemory(metrics.Must(regress.NormalPredictions(observed, mean, sd))), nil)
	if err != nil {
		log.Fatal(err)
	}
	s := m.(*recal.SigmaMap)
	fmt.Printf("%s of %d rows: %.3f in %.3f\n", s.Method(), s.Fit().Rows, s.Scale(), s.Interval(metrics.DefaultLevel))

	// The mean, the standard deviation and, if it is known, what was observed: in place.
	kind, numbers, err := s.Out(metrics.Normals, 3)
	if err != nil {
		log.Fatal(err)
	}
	rows := metrics.Scores{F64: []float64{20, 2, 0, 30, 1, 0}, Rows: 2, Classes: 3}
	s.Apply(&rows, &rows, metrics.Normals)
	fmt.Printf("%v of %d numbers: %.3f\n", kind, numbers, rows.F64)

	// What LaplaceRedux's code computes.
	coded := recal.Sigma{AsCoded: true}
	if m, err = coded.Fit(recal.InMemory(metrics.Must(regress.NormalPredictions(observed, mean, sd))), nil); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %.3f\n", coded, m.(*recal.SigmaMap).Scale())

	_, err = recal.Sigma{}.Fit(recal.InMemory(metrics.Must(regress.NormalPredictions(mean, mean, sd))), nil)
	fmt.Println(errors.Is(err, recal.ErrUnreachable))
	// Output:
	// sigma of 6 rows: 1.293 in {0.755 1.665}
	// normal of 3 numbers: [20.000 2.586 0.000 30.000 1.293 0.000]
	// sigma(as_coded): 0.785
	// true
}

// Quantiles of normal forecasts that are too narrow and too low.
func ExampleQuantile() {
	observed := []float64{23, 19, 27, 26, 20, 31, 24, 22, 29, 25}
	mean, sd := []float64{20, 18, 25, 22, 19, 23, 25, 21, 25, 25}, []float64{2, 1, 3, 2, 1, 2, 1, 1, 2, 1}
	m, err := recal.Quantile{Levels: []float64{0.1, 0.5, 0.9}}.Fit(recal.InMemory(metrics.Must(regress.NormalPredictions(observed, mean, sd))), nil)
	if err != nil {
		log.Fatal(err)
	}
	q := m.(*recal.QuantileMap)
	fmt.Printf("%s of %d rows: %v are the forecasts' %.3f\n", q.Method(), q.Fit().Rows, q.Levels(), q.Predicted())

	forecast := metrics.Scores{F64: []float64{20, 2, 0}, Rows: 1, Classes: 3}
	kind, numbers, err := q.Out(metrics.Normals, forecast.Classes)
	if err != nil {
		log.Fatal(err)
	}
	dst := metrics.Scores{F64: make([]float64, numbers), Rows: 1, Classes: numbers}
	q.Apply(&dst, &forecast, metrics.Normals)
	fmt.Printf("%v: %.3f\n", kind, dst.F64)

	_, err = recal.Parse("quantile(levels=0.9 0.1)")
	fmt.Println(err)
	// Output:
	// quantile(levels=0.1 0.5 0.9) of 10 rows: [0.1 0.5 0.9] are the forecasts' [0.309 0.841 0.999]
	// quantiles: [19.000 22.000 26.000]
	// method quantile: levels is "0.9 0.1"; they rise between 0 and 1, with spaces between them: 0.1 0.5 0.9
}
