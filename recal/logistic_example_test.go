package recal_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// Of ten forecasts the model is too sure: a is below 1. So few rows say little of how much.
func ExamplePlatt() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.01, 0.05, 0.1, 0.1, 0.2, 0.8, 0.9, 0.95, 0.95, 0.99}, Rows: 10, Classes: 1},
		Labels: []int32{0, 0, 1, 0, 0, 1, 1, 0, 1, 1},
	}
	for _, method := range []recal.Platt{{}, {Smoothed: true}} {
		m, err := method.Fit(recal.InMemory(p), nil)
		if err != nil {
			log.Fatal(err)
		}
		c := m.(*recal.CurveMap).Platt(0)
		a, b := c.Intervals(0.95)
		fmt.Printf("%s: a %.3f (%.2f to %.2f), b %.3f (%.2f to %.2f)\n", m.Method(), c.A, a.Low, a.High, c.B, b.Low, b.High)
		test := metrics.Scores{F64: []float64{0, 0.3, 0.99}, Rows: 3, Classes: 1}
		m.Apply(&test, &test, metrics.Probs) // in place
		fmt.Printf("%.3f\n", test.F64)
	}
	// Without the two rows that the model is wrong about, the scores separate the labels.
	p.Labels[2], p.Labels[7] = 0, 1
	_, err := recal.Platt{}.Fit(recal.InMemory(p), nil)
	fmt.Println(err)
	// Output:
	// platt: a 0.493 (-0.09 to 1.08), b -0.038 (-1.57 to 1.49)
	// [0.000 0.388 0.903]
	// platt(smoothed): a 0.312 (-0.18 to 0.80), b -0.024 (-1.39 to 1.34)
	// [0.000 0.428 0.804]
	// the likelihood has no maximum: the scores separate the labels perfectly, so the slope would grow without end; fit to more rows
}

// The model knows what is likely, and not what is unlikely. Beta calibration bends the one end of the curve more than the other one: a is
// 0, and so all small scores become about 0.3. Only 0 itself stays.
func ExampleBeta() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.6, 0.7, 0.8, 0.9, 0.95}, Rows: 10, Classes: 1},
		Labels: []int32{0, 1, 0, 0, 1, 0, 1, 1, 1, 1},
	}
	m, err := recal.Beta{}.Fit(recal.InMemory(p), nil)
	if err != nil {
		log.Fatal(err)
	}
	c := m.(*recal.CurveMap).Beta(0)
	fmt.Printf("a %.3f, b %.3f, c %.3f\n", c.A, c.B, c.C)
	f := m.(*recal.CurveMap).Curve(0)
	for _, p := range []float64{0, 0.01, 0.5, 0.95, 1} {
		fmt.Printf("%.3f ", f(p))
	}
	fmt.Println()
	// Output:
	// a 0.000, b 1.808, c -0.840
	// 0.000 0.305 0.602 0.990 1.000
}
