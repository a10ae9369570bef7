package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// threadsOf returns the number of goroutines for this many tasks.
func threadsOf(threads, tasks int) int {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return max(1, min(threads, tasks))
}

// share runs the tasks 0..tasks-1 in rising order on several goroutines. Each calls newWorker once, with its number, and
// calls the result for each of its tasks.
func share(threads, tasks int, newWorker func(thread int) (do func(task int))) {
	if threads == 1 {
		do := newWorker(0)
		for i := range tasks {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	var fault atomic.Value
	for t := range threads {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// A panic on a goroutine of ours could not be recovered by the caller: it is carried over.
			defer func() {
				if r := recover(); r != nil {
					fault.CompareAndSwap(nil, panicked{r})
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
		}()
	}
	wg.Wait()
	if f := fault.Load(); f != nil {
		panic(f.(panicked).value)
	}
}

type panicked struct{ value any }
