package parallel_test

import (
	"fmt"
	"sync/atomic"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/parallel"
)

func ExampleSortF32() {
	x := []float32{0.5, 0.1, 0.9, 0.3}
	parallel.SortF32(x, nil, 0)
	fmt.Println(x)
	// Output: [0.1 0.3 0.5 0.9]
}

// Scores with outcomes, and how many of each part have the outcome 1, counted while the part is in a cache.
func ExampleSortFrom() {
	scores := []float32{0.75, 0.25, 0.75, 0.5}
	hits := []uint8{1, 0, 0, 1}
	keys := make([]uint32, len(scores))
	var events atomic.Int64
	parallel.SortFrom(keys, nil, 0, func(dst []uint32, first int) {
		kernel.HitKeysF32(dst, scores[first:first+len(dst)], hits[first:first+len(dst)])
	}, func(first, end int) {
		for _, k := range keys[first:end] {
			events.Add(int64(k & 1))
		}
	})
	lowest, _ := kernel.HitScore(keys[0])
	fmt.Println(lowest, events.Load())
	// Output: 0.25 2
}

// Bins of two or three scores each, and how far the scores in them are from the outcomes. The two of 0.5 stay together.
func ExampleEqualMass() {
	scores := []float32{0.125, 0.25, 0.5, 0.5, 0.75, 0.875, 1}
	hits := []uint8{0, 0, 1, 0, 1, 1, 1}
	keys := make([]uint32, len(scores))
	kernel.HitKeysF32(keys, scores, hits)
	b := parallel.EqualMass(keys, 3, 0, 0)
	for i := range b.Len() {
		c := b.Bin(i)
		n := float64(c.Count)
		fmt.Printf("%d scores, mean %.3f, %.3f of them hits\n", c.Count, c.Scores/n, float64(c.Events)/n)
	}
	fmt.Printf("edges %v, ECE %.4f\n", b.Edges(), b.ECE())
	// Output:
	// 2 scores, mean 0.188, 0.000 of them hits
	// 3 scores, mean 0.583, 0.667 of them hits
	// 2 scores, mean 0.938, 1.000 of them hits
	// edges [0.5 0.875], ECE 0.1071
}

// The adaptive calibration error (ACE): the mean of the classes' ECE. With a threshold it is TACE.
func ExampleClassEqualMassF32() {
	const rows, classes, bins = 4, 3, 2
	probs := []float32{
		0.7, 0.2, 0.1,
		0.1, 0.8, 0.1,
		0.3, 0.3, 0.4,
		0.6, 0.3, 0.1,
	}
	labels := []int32{0, 1, 0, 0}
	columns := make([]parallel.Bins, classes)
	parallel.ClassEqualMassF32(columns, probs, rows, classes, classes, labels, bins, 0, 0)
	ace := 0.0
	for i := range columns {
		ace += columns[i].ECE() / classes
	}
	fmt.Printf("%.4f\n", ace)
	// Output: 0.2167
}
