package recal_test

import (
	"errors"
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// temperatureExample is a model of three classes that is sure of itself, and right in 7 of 10.
func temperatureExample() *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits}
	for i := range 10 {
		row := []float32{0, 0, 0}
		row[i%3] = 6
		p.F32 = append(p.F32, row...)
		label := int32(i % 3)
		if i >= 7 {
			label = (label + 1) % 3
		}
		p.Labels = append(p.Labels, label)
	}
	p.Rows, p.Classes = 10, 3
	return p
}

func ExampleTemperature() {
	held := temperatureExample()
	fitted, err := recal.Temperature{}.Fit(recal.InMemory(held), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := fitted.(*recal.TemperatureMap)
	ci := m.Interval(0.95)
	fmt.Printf("T = %.3f, from %.2f to %.2f; beta = %.3f\n", m.T(), ci.Low, ci.High, m.Beta())

	kind, classes, err := m.Out(held.Kind, held.Classes)
	if err != nil {
		fmt.Println(err)
		return
	}
	dst := metrics.Scores{F32: make([]float32, held.Rows*classes), Rows: held.Rows, Classes: classes}
	m.Apply(&dst, &held.Scores, held.Kind)
	fmt.Printf("%v %.3f\n", kind, dst.F32[:classes])
	fmt.Println(m.Method(), m.Fit().Rows, "rows")
	// Output:
	// T = 3.895, from 1.62 to 9.37; beta = 0.257
	// probs [0.700 0.150 0.150]
	// temperature 10 rows
}

// Rows that a model has all right tell no temperature.
func ExampleErrUnreachable() {
	p := temperatureExample()
	p.Rows, p.F32, p.Labels = 7, p.F32[:21], p.Labels[:7]
	_, err := recal.Temperature{}.Fit(recal.InMemory(p), nil)
	fmt.Println(errors.Is(err, recal.ErrUnreachable))
	// Output: true
}

func ExampleProfile() {
	temperatures := []float64{1, 2, 4, 8}
	nll, _, err := recal.Profile(recal.InMemory(temperatureExample()), nil, temperatures)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, t := range temperatures {
		fmt.Printf("T = %v: %.3f\n", t, nll[i])
	}
	// Output:
	// T = 1: 1.805
	// T = 2: 0.995
	// T = 4: 0.819
	// T = 8: 0.890
}

func ExampleNewTemperature() {
	m := recal.NewTemperature(2, 1)
	p := metrics.Scores{F64: []float64{0.9, 0.5, 0.2}, Rows: 3, Classes: 1}
	m.Apply(&p, &p, metrics.Probs)
	fmt.Printf("%.3f\n", p.F64)
	// Output: [0.750 0.500 0.333]
}

func ExampleETS() {
	fitted, err := recal.ETS{}.Fit(recal.InMemory(temperatureExample()), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := fitted.(*recal.ETSMap)
	w := m.Weights()
	fmt.Printf("T = %.3f, weights of the sum %.0f\n", m.T(), w[0]+w[1]+w[2])
	kind, classes, _ := m.Out(metrics.Logits, 3)
	dst := metrics.Scores{F64: make([]float64, classes), Rows: 1, Classes: classes}
	m.Apply(&dst, &metrics.Scores{F64: []float64{0, 6, 0}, Rows: 1, Classes: 3}, metrics.Logits)
	fmt.Printf("%v %.3f\n", kind, dst.F64)
	fmt.Println(m.Method(), m.Fit().Rows, "rows")
	// Output:
	// T = 3.895, weights of the sum 1
	// probs [0.150 0.700 0.150]
	// ets 10 rows
}
