package parallel_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics/parallel"
)

func TestEach(t *testing.T) {
	for _, threads := range []int{0, 1, 3, 50} {
		for _, tasks := range []int{0, 1, 2, 20} {
			done := make([]int, tasks)
			var workers atomic.Int64
			parallel.Each(threads, tasks, func() func(int) {
				workers.Add(1)
				return func(i int) { done[i]++ }
			})
			for i, n := range done {
				if n != 1 {
					t.Errorf("task %d of %d was done %d times", i, tasks, n)
				}
			}
			if n := int(workers.Load()); n > tasks {
				t.Errorf("%d goroutines for %d tasks", n, tasks)
			}
		}
	}
}

// TestBins: what is said of each bin is what a loop over the scores finds between the edges.
func TestBins(t *testing.T) {
	r := check.Rand(5)
	x, hit := make([]float32, 1000), make([]uint8, 1000)
	for i := range x {
		x[i], hit[i] = float32(r.IntN(72)-4)/64, uint8(r.IntN(2))
	}
	b := parallel.EqualMassF32(x, hit, 7, 0, 2)
	edges := b.Edges()
	want := make([]parallel.Bin, 7)
	var below, outside int64
	for i, v := range x {
		switch {
		case v < 0 || v > 1:
			outside++
		case v == 0:
			below++
		default:
			at, found := slices.BinarySearch(edges, float64(v))
			for found && at < len(edges) && edges[at] == float64(v) {
				at++
			}
			w := &want[at]
			w.Count, w.Events, w.Scores = w.Count+1, w.Events+int64(hit[i]), w.Scores+float64(v)
		}
	}
	n := int64(0)
	for i, w := range want {
		if got := b.Bin(i); got != w {
			t.Errorf("bin %d: %+v, want %+v", i, got, w)
		}
		n += w.Count
	}
	if b.Len() != 7 || b.Count() != n || b.Below() != below || b.Outside() != outside || below*outside == 0 {
		t.Errorf("%d bins, %d in them, %d below, %d outside", b.Len(), b.Count(), b.Below(), b.Outside())
	}
	// A class's bins are those of its column.
	of := make([]parallel.Bins, 1)
	labels := make([]int32, len(x))
	for i, h := range hit {
		labels[i] = 1 - int32(h) // class 0 is the event
	}
	parallel.ClassEqualMassF32(of, x, len(x), 1, 1, labels, 7, 0, 1)
	if of[0].ECE() != b.ECE() || !slices.Equal(of[0].Edges(), edges) {
		t.Errorf("ECE %v of a class, %v of its column", of[0].ECE(), b.ECE())
	}
}
