package cells_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// For each score, the cells keep the number of rows and the number of events.
func ExampleCells() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.2, 0.9, 0.2, 0.5, 0.9, 0.2}, Rows: 6, Classes: 1},
		Labels: []int32{0, 1, 1, 1, 0, 0},
	}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	rows := int64(0)
	c.Each(func(x *cells.Cell) {
		fmt.Printf("p = %.1f: %d rows, %v with the event\n", x.P, x.N, x.Events)
		rows += x.N
	})
	fmt.Println(c.Count(), "cells of", rows, "rows; exact:", c.Exact(), "weighted:", c.Weighted(), "outside [0,1]:", c.Outside())
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
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.Positive}))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	c.TopLabel().Each(func(x *cells.Cell) { fmt.Printf("%.2f: %v of %d right\n", x.P, x.Events, x.N) })
	// Output:
	// 0.50: 0 of 1 right
	// 0.75: 1 of 2 right
}

// With more distinct scores than MaxExact, or MaxExactWeighted with weights, cells are those of a grid.
func ExampleCells_Exact() {
	p := &metrics.Predictions{Labels: make([]int32, cells.MaxExact+1)}
	p.Rows, p.Classes = len(p.Labels), 1
	for i := range p.Rows {
		p.F64 = append(p.F64, float64(i)/cells.MaxExact)
	}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Exact(), c.Count() < 10000, cells.MaxExactWeighted)
	// Output: false true 32768
}

// Rows in memory are sorted. Each distinct score has its own cell, whatever their number.
func ExampleSort() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F32: []float32{0.25, 0.875, 0.25, 0.5, 0.875, 0.75}, Rows: 6, Classes: 1},
		Labels: []int32{0, 1, 1, 1, 0, 1},
	}
	s, err := cells.Sort(p, &cells.SortOptions{Event: metrics.Positive, Data: metrics.Options{Threads: 1}})
	if err != nil {
		log.Fatal(err)
	}
	s.Each(func(x *cells.Cell) { fmt.Printf("p = %.3f: %d rows, %v with the event\n", x.P, x.N, x.Events) })
	audit := s.Audit()
	fmt.Println(s.Count(), "cells of", s.Len(), "rows;", s.Outside(), "outside [0,1], rows read as", audit.DType)
	fmt.Println(s.Event() == metrics.Positive, s.Exact(), s.Weighted())
	// Output:
	// p = 0.250: 2 rows, 1 with the event
	// p = 0.500: 1 rows, 1 with the event
	// p = 0.750: 1 rows, 1 with the event
	// p = 0.875: 2 rows, 1 with the event
	// 4 cells of 6 rows; 0 outside [0,1], rows read as float32
	// true true false
}

// Several sets are sorted in the same memory.
func ExampleSortOptions() {
	var s cells.Sorted
	for _, scores := range [][]float32{{0.25, 0.75, 0.5}, {0.5, 0.5, 0.5}} {
		p := &metrics.Predictions{Scores: metrics.Scores{F32: scores, Rows: 3, Classes: 1}, Labels: []int32{0, 1, 1}}
		if _, err := cells.Sort(p, &cells.SortOptions{Into: &s}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.Count(), "distinct scores")
	}
	// Output:
	// 3 distinct scores
	// 1 distinct scores
}

// How far outcomes run ahead of scores. The largest distance, as a share of the rows, is the Kolmogorov-Smirnov calibration
// error.
func ExampleSorted_Gaps() {
	s, err := cells.Sort(four(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var g cells.Gaps = s.Gaps()
	fmt.Printf("from %v to %v, at last %v; within a cell %v more\n", g.Low, g.High, g.Last, g.Inside)
	fmt.Printf("KS error %v, variance %v\n", max(-g.Low, g.High)/g.Total, g.Variance)
	// Output:
	// from 0 to 1, at last 1; within a cell 0 more
	// KS error 0.25, variance 0.875
}

// The area under the receiver operating characteristic is the share of pairs in the right order.
func ExampleSorted_Pairs() {
	s, err := cells.Sort(four(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var d cells.Pairs = s.Pairs()
	fmt.Printf("%v of %v pairs are in order, %v are ties\n", d.Above, d.Events*d.Rest, d.Tied)
	// Output: 1 of 3 pairs are in order, 1 are ties
}

// The Brier score of a binary task, from sorted rows and from an accumulator's cells.
func ExampleRising() {
	s, err := cells.Sort(four(), nil)
	if err != nil {
		log.Fatal(err)
	}
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(four()); err != nil {
		log.Fatal(err)
	}
	for _, r := range []cells.Rising{s, c} {
		fmt.Println(r.Squares() / r.Gaps().Total)
	}
	// Output:
	// 0.28125
	// 0.28125
}

// The fit of frequencies that rise with the score.
func ExampleSorted_Fit() {
	s, err := cells.Sort(four(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var p cells.Pool
	s.Fit(&p)
	for _, b := range p.Blocks() {
		fmt.Printf("from %v to %v: %v of %v rows\n", b.Low, b.High, b.Y, b.N)
	}
	// Output:
	// from 0.25 to 0.5: 2 of 3 rows
	// from 0.75 to 0.75: 1 of 1 rows
}

func four() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{F32: []float32{0.75, 0.25, 0.5, 0.5}, Rows: 4, Classes: 1},
		Labels: []int32{1, 1, 0, 1},
	}
}

// Sorted keys of scores and outcomes serve as cells without further memory.
func ExampleOrderedOf() {
	keys := make([]uint64, 4)
	kernel.HitKeysF64(keys, []float64{0.5, 0.25, 0.5, 0.75}, []uint8{1, 0, 0, 1})
	kernel.Sort(keys, make([]uint64, kernel.SortScratch(len(keys))))
	var o cells.Ordered = cells.OrderedOf(keys, nil, 0)
	o.Each(func(x *cells.Cell) { fmt.Printf("%.2f: %v of %d\n", x.P, x.Events, x.N) })
	fmt.Printf("%+v\n", o.Pairs())
	// Output:
	// 0.25: 0 of 1
	// 0.50: 1 of 2
	// 0.75: 1 of 1
	// {Above:3 Tied:1 Events:2 Rest:2}
}
