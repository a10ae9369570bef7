package drift_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/drift"
)

// Last month's rows against this month's.
func ExampleOf() {
	list := metrics.Must(eval.ParseMetrics("base_rate,brier", eval.Shape{Classes: 1}))
	months := make([]*eval.Evaluation, 2)
	for i := range months {
		months[i] = metrics.Must(eval.New(eval.Spec{Classes: 1, Metrics: list}))
		if err := months[i].Add(testrows.Random(uint64(i), 500, 1, false), nil); err != nil {
			log.Fatal(err)
		}
	}
	r, err := drift.Of(months[0], months[1], &drift.Options{Level: 0.95, Adjust: drift.Holm})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("scores, outcomes, calibration, metrics:", r.Scores.Drift, r.Outcomes.Drift, r.Calibration.Drift, r.Values.Drift)
	for _, d := range r.Metrics {
		fmt.Printf("%s %+.3f [%.3f, %.3f], p %.2f, adjusted %.2f\n", d.Key, d.Value, d.Interval.Low, d.Interval.High, d.P, d.Adjusted)
	}
	fmt.Printf("PSI %.3f, by chance about %.3f; KS %.3f, p %.2f\n", r.PSI.Value, r.PSI.Chance, r.KS.Value, r.KS.P)
	// Output:
	// scores, outcomes, calibration, metrics: false false false false
	// base_rate +0.022 [-0.040, 0.084], p 0.49, adjusted 0.97
	// brier -0.001 [-0.038, 0.036], p 0.96, adjusted 0.97
	// PSI 0.063, by chance about 0.056; KS 0.036, p 0.90
}
