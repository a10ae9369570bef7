package cells_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// What is left of rows: each score with how many rows had it, and how many of them the event.
func ExampleCells() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.2, 0.9, 0.2, 0.5, 0.9, 0.2}, Rows: 6, Classes: 1},
		Labels: []int32{0, 1, 1, 1, 0, 0},
	}
	c := cells.New(nil)
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	var all cells.Sum
	c.Each(func(x *cells.Cell) {
		fmt.Printf("p = %.1f: %d rows, %v with the event\n", x.P, x.N, x.Events)
		all.Add(x)
	})
	sums := all.Tally()
	fmt.Println(c.Count(), "cells of", sums.N, "rows; exact:", c.Exact(), "weighted:", c.Weighted(), "outside [0,1]:", c.Outside())
	// Output:
	// p = 0.2: 3 rows, 1 with the event
	// p = 0.5: 1 rows, 1 with the event
	// p = 0.9: 2 rows, 1 with the event
	// 3 cells of 6 rows; exact: true weighted: false outside [0,1]: 0
}

// In a binary task the cells of the positive class give those of the top label.
func ExampleCells_TopLabel() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.25, 0.75, 0.5}, Rows: 3, Classes: 1},
		Labels: []int32{0, 0, 1},
	}
	c := cells.New(&cells.Options{Event: metrics.Positive})
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	c.TopLabel().Each(func(x *cells.Cell) { fmt.Printf("%.2f: %v of %d right\n", x.P, x.Events, x.N) })
	// Output:
	// 0.50: 1 of 1 right
	// 0.75: 1 of 2 right
}

// More distinct scores than MaxExact, or MaxExactWeighted with weights, are kept by the cells of a grid.
func ExampleCells_Exact() {
	p := &metrics.Predictions{Labels: make([]int32, cells.MaxExact+1)}
	p.Rows, p.Classes = len(p.Labels), 1
	for i := range p.Rows {
		p.F64 = append(p.F64, float64(i)/cells.MaxExact)
	}
	c := cells.New(nil)
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Exact(), c.Count() < 10000, cells.MaxExactWeighted)
	// Output: false true 32768
}
