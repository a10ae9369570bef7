package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Scores and calibration of forecasts that state means and standard deviations.
func Example() {
	observed := []float64{1.2, 0.4, 2.9, 3.1, 5.5}
	mean, sd := []float64{1, 1, 2, 3, 4}, []float64{0.5, 0.5, 1, 1, 1}
	p, err := regress.NormalPredictions(observed, mean, sd)
	if err != nil {
		log.Fatal(err)
	}
	normal, curve := metrics.Must(regress.NewNormal(nil)), metrics.Must(regress.NewCalibration(nil))
	if err := metrics.NewPass(nil, normal, curve).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NLL %.3f, CRPS %.3f, miscalibration area %.3f\n",
		normal.Value(regress.NLL), normal.Value(regress.CRPS), curve.Curve().Area(regress.AreaCrossing))
	// Output:
	// NLL 1.109, CRPS 0.458, miscalibration area 0.122
}
