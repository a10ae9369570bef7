package recal_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// Of eight forecasts the model is too sure. Bins have the frequency of what came true, and the empty one stays as it is.
func ExampleHistogram() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.05, 0.1, 0.15, 0.2, 0.8, 0.9, 0.95, 1}, Rows: 8, Classes: 1},
		Labels: []int32{0, 0, 1, 0, 1, 1, 0, 1},
	}
	m, err := recal.Histogram{Bins: 4, Empty: recal.Identity}.Fit(recal.InMemory(p), nil)
	if err != nil {
		log.Fatal(err)
	}
	test := metrics.Scores{F64: []float64{0.01, 0.3, 0.99}, Rows: 3, Classes: 1}
	m.Apply(&test, &test, metrics.Probs) // in place
	fmt.Println(m.Method(), test.F64)

	steps := m.(*recal.CurveMap).Steps(0)
	fmt.Println(steps.Cuts, steps.Values) // NaN leaves scores as they are

	for _, e := range []recal.Empty{recal.Centre, recal.Zero} {
		m, err := recal.Histogram{Bins: 4, Empty: e}.Fit(recal.InMemory(p), nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e, m.(*recal.CurveMap).Curve(0)(0.3))
	}
	_, err = recal.Parse("histogram(bins=100000)")
	fmt.Println(err)
	// Output:
	// histogram(bins=4,empty=identity) [0.25 0.3 0.75]
	// [0.25 0.5 0.75] [0.25 NaN NaN 0.75]
	// centre 0.375
	// zero 0
	// method histogram: bins is "100000"; it is a whole number from 1 to 65536
}

// Scores of equal frequency are pooled until frequencies rise: steps, or straight lines between their ends.
func ExampleIsotonic() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.3, 0.4, 0.8, 0.9}, Rows: 6, Classes: 1},
		Labels: []int32{0, 1, 0, 0, 1, 1},
	}
	for _, method := range []recal.Isotonic{{}, {Interpolate: true}} {
		m, err := method.Fit(recal.InMemory(p), nil)
		if err != nil {
			log.Fatal(err)
		}
		f := m.(*recal.CurveMap).Curve(0)
		x, y := m.(*recal.CurveMap).Points(0)
		fmt.Printf("%s: %.3f %.3f %.3f %.3f; points %.1f %.3f\n", method, f(0.05), f(0.25), f(0.6), f(1), x, y)
	}
	// Output:
	// isotonic: 0.000 0.333 0.333 1.000; points [0.1 0.2 0.8] [0.000 0.333 1.000]
	// isotonic(interpolate): 0.000 0.333 0.667 1.000; points [0.1 0.2 0.4 0.8 0.9] [0.000 0.333 0.333 1.000 1.000]
}

// Three classes have three curves, whose results are divided by their sum: that is 0 here, of a row on no step. The top label has one.
func ExampleCurveMap() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{
			0.7, 0.2, 0.1,
			0.6, 0.3, 0.1,
			0.2, 0.7, 0.1,
			0.1, 0.2, 0.7,
		}, Rows: 4, Classes: 3},
		Labels: []int32{0, 1, 1, 2},
	}
	for _, method := range []recal.Isotonic{{}, {TopLabel: true}} {
		fitted, err := method.Fit(recal.InMemory(p), nil)
		if err != nil {
			log.Fatal(err)
		}
		m := fitted.(*recal.CurveMap)
		if _, _, err := m.Out(metrics.Logits, 3); err != nil {
			log.Fatal(err)
		}
		dst := metrics.Scores{F64: make([]float64, 3), Rows: 1, Classes: 3}
		m.Apply(&dst, &metrics.Scores{F64: []float64{0.65, 0.25, 0.1}, Rows: 1, Classes: 3}, metrics.Probs)
		fmt.Printf("%s: %d curves of %d rows, %.3f\n", m.Method(), m.Curves(), m.Fit().Rows, dst.F64)
	}
	// Output:
	// isotonic: 3 curves of 4 rows, [0.333 0.333 0.333]
	// isotonic(top_label): 1 curves of 4 rows, [0.000 0.714 0.286]
}
