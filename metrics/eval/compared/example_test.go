package compared_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// Two models of the same rows: which one is better?
func Example() {
	labels := []int32{1, 0, 1, 1, 0, 0, 1, 0, 1, 0}
	of := func(p ...float64) metrics.Source {
		return metrics.InMemory(&metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: labels})
	}
	old := of(0.6, 0.4, 0.7, 0.5, 0.5, 0.3, 0.6, 0.5, 0.7, 0.4)
	fresh := of(0.8, 0.3, 0.8, 0.7, 0.3, 0.2, 0.7, 0.3, 0.9, 0.3)

	list, err := eval.ParseMetrics("nll,accuracy", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	c, err := compared.New(eval.Spec{Classes: 1, Metrics: list}, []string{"old", "new"}, "")
	if err != nil {
		log.Fatal(err)
	}
	if err := c.AddSources([]metrics.Source{old, fresh}, nil); err != nil {
		log.Fatal(err)
	}
	for _, d := range c.Differences(nil) {
		fmt.Printf("%s: %.3f [%.3f, %.3f], p = %.2g: %s\n", d.Metric, d.Value, d.Interval.Low, d.Interval.High, d.P, d.Outcome)
	}
	// Output:
	// nll: -0.228 [-0.292, -0.163], p = 2.3e-05: better
	// accuracy: 0.100 [-0.205, 0.404], p = 0.5: undecided
}
