package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"gonum.org/v1/gonum/stat/distuv"
)

// narrowForecasts returns eight normal forecasts with mean 0 and standard deviation 1, too narrow for the observed values.
func narrowForecasts() *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals}
	for _, y := range []float64{-2.5, -1.9, -1.4, -0.3, 0.2, 1.6, 2.1, 2.8} {
		p.F64 = append(p.F64, 0, 1, y)
		p.Rows++
	}
	p.Classes = 3
	return p
}

func ExampleCalibration() {
	c := metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Bins: 4}))
	if err := metrics.NewPass(nil, c).Add(narrowForecasts()); err != nil {
		log.Fatal(err)
	}
	k := c.Curve()
	for j := 1; j < 4; j++ {
		i := k.Interval(j, metrics.DefaultLevel)
		fmt.Printf("at or below the quantile at %.2f: %.3f [%.2f, %.2f]\n", k.Levels[j], k.Frequencies[j], i.Low, i.High)
	}
	m := c.Central()
	fmt.Printf("within the central %.0f%%: %.1f%%\n", 100*m.Levels[2], 100*m.Frequencies[2])
	area, floor := k.Area(regress.AreaCrossing), k.Floor(regress.AreaCrossing)
	fmt.Printf("area %.4f, a calibrated forecast of %d rows has %.4f\n", area, c.Len(), floor)
	fmt.Printf("as TaijaPlotting has it %.4f, as uncertainty-toolbox %.4f\n", k.Area(regress.AreaPlain), m.Area(regress.AreaCrossing))
	fmt.Printf("squared error %.4f, mean %.4f\n", k.SquaredError(nil), k.MeanSquaredError())
	fmt.Printf("root mean square %.4f, by chance %.4f\n", k.RootMeanSquare(), k.RootMeanSquareFloor())
	// Output:
	// at or below the quantile at 0.25: 0.375 [0.14, 0.69]
	// at or below the quantile at 0.50: 0.500 [0.22, 0.78]
	// at or below the quantile at 0.75: 0.625 [0.31, 0.86]
	// within the central 50%: 25.0%
	// area 0.0625, a calibrated forecast of 8 rows has 0.0915
	// as TaijaPlotting has it 0.0625, as uncertainty-toolbox 0.1875
	// squared error 0.0312, mean 0.0104
	// root mean square 0.0791, by chance 0.1250
}

// Quantiles use their own levels.
func ExampleCalibration_quantiles() {
	p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{11, 9, 30, 3}}
	p.F64 = []float64{
		8, 10, 12,
		5, 10, 15,
		7, 14, 28,
		1, 2, 3,
	}
	p.Rows, p.Classes = 4, 3
	c := metrics.Must(regress.NewCalibration(&regress.CalibrationOptions{Levels: []float64{0.1, 0.5, 0.9}}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	k, m := c.Curve(), c.Central()
	fmt.Println(k.Levels, k.Frequencies)
	fmt.Printf("within the central %.0f%%: %.0f%%\n", 100*m.Levels[1], 100*m.Frequencies[1])
	// Output:
	// [0.1 0.5 0.9] [0 0.25 0.75]
	// within the central 80%: 75%
}

// Forecasts of any form, which may differ between rows.
func ExampleFrequency() {
	observed := []float64{0.2, 1.7, 3.5, -0.9, 6}
	dists := []regress.Distribution{
		distuv.Gamma{Alpha: 1, Beta: 1},
		distuv.Gamma{Alpha: 2, Beta: 1},
		distuv.LogNormal{Mu: 1, Sigma: 0.5},
		distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 3},
		distuv.Normal{Mu: 4, Sigma: 2},
	}
	c, err := regress.Frequency(observed, dists, regress.Levels(4), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Levels)
	fmt.Println(c.Frequencies)
	// Output:
	// [0 0.25 0.5 0.75 1]
	// [0 0.4 0.4 0.8 1]
}

// Normal forecasts in one call.
func ExampleEmpiricalFrequency() {
	observed := []float64{0.5, 1.5, 2.5, 3.5, 4.5}
	mean := []float64{1, 1, 1, 1, 1}
	sd := []float64{1, 1, 1, 1, 1}
	c, err := regress.EmpiricalFrequency(observed, mean, sd, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Frequencies)
	fmt.Printf("%.2f of %v rows\n", c.Area(regress.AreaPlain), c.N)
	// Output:
	// [0 0 0 0 0.2 0.2 0.2 0.4 0.4 0.4 1]
	// 0.27 of 5 rows
}

// Levels are the default levels of a curve. Weights can leave the tails out.
func ExampleLevels() {
	p := regress.Levels(regress.DefaultCalibrationBins)
	fmt.Println(len(p), p[:4])
	c := regress.Curve{Levels: p, N: 100}
	inner := make([]float64, len(p))
	for j, l := range p {
		c.Frequencies = append(c.Frequencies, l*l)
		if l >= 0.1 && l <= 0.9 {
			inner[j] = 1
		}
	}
	fmt.Printf("%.3f, without tails %.3f\n", c.SquaredError(nil), c.SquaredError(inner))
	// Output:
	// 21 [0 0.05 0.1 0.15]
	// 0.667, without tails 0.662
}
