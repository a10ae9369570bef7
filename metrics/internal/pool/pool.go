// Package pool runs numbered tasks on several goroutines. A panic of a task reaches the caller.
package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Threads returns the number of goroutines for a number of tasks: threads, or GOMAXPROCS if that is 0 or less, and at most one a task.
func Threads(threads, tasks int) int {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return max(1, min(threads, tasks))
}

// Do calls f for the tasks 0 to tasks-1, in rising order on so many goroutines at most, which have numbers from 0.
func Do(threads, tasks int, f func(thread, task int)) {
	Share(Threads(threads, tasks), tasks, func(t int) func(int) { return func(i int) { f(t, i) } })
}

// Share gives out the tasks 0 to tasks-1 in rising order to exactly so many goroutines. Each calls newWorker once, with its number, and the
// result for each of its tasks.
func Share(threads, tasks int, newWorker func(thread int) (do func(task int))) {
	if threads == 1 {
		do := newWorker(0)
		for i := range tasks {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	var fault atomic.Pointer[any]
	for t := range threads {
		wg.Go(func() {
			// The caller cannot recover a panic on another goroutine, so it is passed on.
			defer func() {
				if r := recover(); r != nil {
					fault.CompareAndSwap(nil, &r)
				}
			}()
			do := newWorker(t)
			for fault.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= tasks {
					return
				}
				do(i)
			}
		})
	}
	wg.Wait()
	if r := fault.Load(); r != nil {
		panic(*r)
	}
}

// Each runs the tasks 0..tasks-1 in rising order on this many goroutines, at most one per task; 0 means GOMAXPROCS. Each
// goroutine calls newWorker once, and calls the result for each of its tasks. A panic of a task is passed on by Each.
func Each(threads, tasks int, newWorker func() (do func(task int))) {
	if tasks > 0 {
		Share(Threads(threads, tasks), tasks, func(int) func(int) { return newWorker() })
	}
}
