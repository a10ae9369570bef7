package pool

import (
	"sync/atomic"
	"testing"
)

// TestDo: every task is done once, by as many goroutines as there may be at most.
func TestDo(t *testing.T) {
	for _, c := range [][3]int{{1, 5, 1}, {3, 5, 3}, {7, 5, 5}, {2, 1000, 2}, {4, 0, 1}} {
		if n := Threads(c[0], c[1]); n != c[2] {
			t.Errorf("%d goroutines for %v", n, c)
		}
		done := make([]atomic.Int32, c[1])
		Do(c[0], c[1], func(thread, i int) {
			if thread < 0 || thread >= c[2] {
				t.Errorf("goroutine %d of %d", thread, c[2])
			}
			done[i].Add(1)
		})
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("%v: task %d was done %d times", c, i, n)
			}
		}
	}
}

// TestPanic: a panic reaches the caller, from a task and from the making of a worker.
func TestPanic(t *testing.T) {
	caught := func(f func()) (r any) {
		defer func() { r = recover() }()
		f()
		return nil
	}
	for _, threads := range []int{1, 3} {
		if r := caught(func() {
			Do(threads, 9, func(_, i int) {
				if i == 4 {
					panic("four")
				}
			})
		}); r != "four" {
			t.Errorf("%d goroutines: %v", threads, r)
		}
		if r := caught(func() { Share(threads, 9, func(int) func(int) { panic("new") }) }); r != "new" {
			t.Errorf("%d goroutines: %v", threads, r)
		}
	}
}
