package score_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/score"
)

func forecast() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{
			F64: []float64{
				0.5, 0.25, 0.25,
				0.1, 0.8, 0.1,
				0.25, 0.25, 0.5,
				0.9, 0.1, 0,
			},
			Rows: 4, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 2},
	}
}

// Each row's score is written where the caller wants it.
func ExampleNLL() {
	p := forecast()
	rows := make([]float64, p.Rows)
	nll, err := score.NLL(rows, p, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.3f: %.3f\n", nll, rows)
	// Output: +Inf: [0.693 0.223 1.386 +Inf]
}

func ExampleLoss() {
	l := score.NewLoss(&score.Options{TopK: 2})
	if err := metrics.NewPass(nil, l).Add(forecast()); err != nil {
		log.Fatal(err)
	}
	i := l.AccuracyInterval(0.95)
	fmt.Printf("accuracy %.2f [%.2f, %.2f], top-2 %.2f\n", l.Accuracy(), i.Low, i.High, l.TopK(2))
	fmt.Printf("nll %.3f: %d label got probability 0, the others' mean is %.3f\n", l.NLL(), l.InfiniteRows(), l.FiniteNLL())
	fmt.Printf("brier %.4f, as uncertainty_metrics has it %.4f\n", l.Brier(score.BrierDefault), l.Brier(score.BrierMinusOne))
	fmt.Printf("says %.3f, overconfident by %.3f\n", l.Confidence(), l.Overconfidence())
	// Output:
	// accuracy 0.50 [0.15, 0.85], top-2 0.75
	// nll +Inf: 1 label got probability 0, the others' mean is 0.768
	// brier 0.7825, as uncertainty_metrics has it -0.2175
	// says 0.675, overconfident by 0.175
}
