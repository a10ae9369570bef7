package recal_test

import (
	"errors"
	"fmt"
	"io"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
)

// A map is fitted to rows that were held out, saved, read again, and applied to others.
func Example() {
	held := temperatureExample()
	m, err := recal.Temperature{}.Fit(recal.InMemory(held), nil)
	if errors.Is(err, recal.ErrUnreachable) {
		fmt.Println("these rows tell no temperature:", err)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := recal.Marshal(m)
	if err != nil {
		fmt.Println(err)
		return
	}

	m, err = recal.Unmarshal(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	others := metrics.Scores{F32: []float32{0, 6, 0, 3, 0, 6}, Rows: 2, Classes: 3}
	kind, classes, err := m.Out(metrics.Logits, others.Classes)
	if err != nil { // the map is of other rows
		fmt.Println(err)
		return
	}
	dst := metrics.Scores{F32: make([]float32, others.Rows*classes), Rows: others.Rows, Classes: classes}
	m.Apply(&dst, &others, metrics.Logits)
	fmt.Printf("%s: %s %.3f\n", m.Method(), kind, dst.F32)
	// Output: temperature: probs [0.150 0.700 0.150 0.276 0.128 0.596]
}

// Each row is recalibrated by a map that was fitted to others, and the NLL is that of rows that no map has seen.
func ExampleCrossFit() {
	few, p := temperatureExample(), &metrics.Predictions{Kind: metrics.Logits}
	for range 10 {
		p.F32, p.Labels = append(p.F32, few.F32...), append(p.Labels, few.Labels...)
	}
	p.Rows, p.Classes = 10*few.Rows, few.Classes

	after := metrics.Must(score.NewLoss(nil))
	maps, err := recal.CrossFit(recal.Temperature{}, recal.InMemory(p), recal.Folds{K: 2}, nil, after)
	if err != nil {
		fmt.Println(err)
		return
	}
	before, err := score.LossOf(p, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d maps; NLL %.2f, and before %.2f\n", len(maps), after.NLL(), before.NLL())
	// Output: 2 maps; NLL 0.82, and before 1.80
}

func ExampleParse() {
	m, err := recal.Parse("histogram(bins=10, equal_mass)")
	fmt.Println(m, err)
	_, err = recal.Parse("platt(bins=10)")
	fmt.Println(err)
	for _, d := range recal.Descriptors()[:2] {
		fmt.Printf("%s: %s\n", d.Name, d.Formula)
	}
	// Output:
	// histogram(bins=10,equal_mass) <nil>
	// method platt: there is no option "bins"; there are smoothed, top_label
	// temperature: softmax(z/T); binary: sigmoid(z/T)
	// ets: w1 softmax(z/T) + w2 softmax(z) + w3/K
}

// Rows of a source are recalibrated while they are read, with all their digits: a temperature's are logits.
func ExampleApplied() {
	p := &metrics.Predictions{Kind: metrics.Logits}
	p.F64, p.Rows, p.Classes = []float64{0, 2, 4, 0}, 2, 2
	src, err := recal.InMemory(p).Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	rows := recal.Applied(recal.NewTemperature(2, 2), src)
	for {
		c, err := rows.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d rows of %s: %.3f\n", c.Rows, c.Kind, c.F64)
	}
	// Output: 2 rows of logits: [0.000 1.000 2.000 0.000]
}
