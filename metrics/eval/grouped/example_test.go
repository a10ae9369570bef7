package grouped_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// The accuracy of each site, and of all rows.
func Example() {
	list, err := eval.ParseMetrics("accuracy", eval.Shape{Classes: 1})
	if err != nil {
		log.Fatal(err)
	}
	g, err := grouped.New(eval.Spec{Classes: 1, Metrics: list}, []string{"site"})
	if err != nil {
		log.Fatal(err)
	}
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.2, 0.4, 0.7}, Rows: 4, Classes: 1},
		Labels: []int32{0, 1, 0, 1},
	}
	sites := []string{"north", "south"}
	of := func(row int) int32 { return int32(row % 2) }
	values := func(group int32) []string { return sites[group : group+1] }
	if err := g.AddSource(&source{p: p, size: 4, group: of}, values, nil); err != nil {
		log.Fatal(err)
	}
	for _, e := range g.Each() {
		fmt.Println(e.Values[0], e.Value(list[0]).Value)
	}
	fmt.Println("all", g.Whole().Value(list[0]).Value)
	// Output:
	// north 1
	// south 0.5
	// all 0.75
}
