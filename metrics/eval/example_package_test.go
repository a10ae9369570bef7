package eval_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// Metrics by name, from one read.
func Example() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9}, Rows: 8, Classes: 1}, // P(y = 1)
		Labels: []int32{0, 0, 1, 0, 1, 0, 1, 1},
	}
	list, err := eval.ParseMetrics("accuracy,brier,ece(bins=4),auroc", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
	if err != nil {
		log.Fatal(err)
	}
	if err := e.Add(p, nil); err != nil {
		log.Fatal(err)
	}
	for _, m := range list {
		v := e.Value(m)
		fmt.Printf("%s %.4f [%.4f, %.4f]\n", m, v.Value, v.Interval.Low, v.Interval.High)
	}
	// Output:
	// accuracy 0.7500 [0.4093, 0.9285]
	// brier 0.1938 [0.0273, 0.4464]
	// ece(bins=4) 0.1875 [0.0000, 0.5151]
	// auroc 0.7812 [0.3728, 0.9513]
}
