package ensemble_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// evidence returns three forecasts: two with the same mean, from much and from little evidence, and a confident one.
func evidence() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{
			F64: []float64{
				100, 100, 100,
				1, 1, 1,
				98, 1, 1,
			},
			Rows: 3, Classes: 3,
		},
		Kind:   metrics.Dirichlet,
		Labels: []int32{0, 1, 0},
	}
}

func ExampleKnowledge() {
	a := ensemble.NewKnowledge()
	if err := metrics.NewPass(nil, a).Add(evidence()); err != nil {
		log.Fatal(err)
	}
	t, d, k := a.TotalInterval(0.95), a.DataInterval(0.95), a.KnowledgeInterval(0.95)
	fmt.Printf("total     %.3f [%.2f, %.2f]\n", a.Total(), t.Low, t.High)
	fmt.Printf("data      %.3f [%.2f, %.2f]\n", a.Data(), d.Low, d.High)
	fmt.Printf("knowledge %.3f [%.2f, %.2f]\n", a.Knowledge(), k.Low, k.High)
	fmt.Println(a.Len(), "rows")
	// Output:
	// total     0.770 [0.13, 1.41]
	// data      0.677 [0.10, 1.26]
	// knowledge 0.092 [-0.08, 0.26]
	// 3 rows
}

func ExampleKnowledgeRows() {
	total, data, knowledge, err := ensemble.KnowledgeRows(evidence(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("total     %.3f\ndata      %.3f\nknowledge %.3f\n", total, data, knowledge)
	// Output:
	// total     [1.099 1.099 0.112]
	// data      [1.095 0.833 0.103]
	// knowledge [0.003 0.265 0.008]
}
