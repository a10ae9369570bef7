package parallel

import (
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// Sort sorts keys in rising order. scratch has kernel.SortScratch(len(x)) keys; if it is shorter, or nil, the memory is
// allocated. Each thread also allocates about four times a 64th of the keys.
func Sort[K kernel.Key](x, scratch []K, threads int) { order.Sort(x, scratch, threads) }

// SortFrom sorts into dst the keys that read produces; see kernel.SortFrom for read and done. With several threads,
// goroutines call them concurrently, and read in any order. Memory is that of Sort.
func SortFrom[K kernel.Key](dst, scratch []K, threads int, read func(dst []K, first int), done func(first, end int)) {
	order.SortFrom(dst, scratch, threads, read, done)
}

// SortF32 sorts values in rising order, as kernel.SortF32 does: -0 becomes +0, and NaN is at the ends by sign. Memory is
// that of Sort.
func SortF32(x []float32, scratch []uint32, threads int) { order.SortF32(x, scratch, threads) }

// SortF64 is SortF32 for float64.
func SortF64(x []float64, scratch []uint64, threads int) { order.SortF64(x, scratch, threads) }

// Each runs the tasks 0..tasks-1 in rising order on this many goroutines, at most one per task; 0 means GOMAXPROCS. Each
// goroutine calls newWorker once, and calls the result for each of its tasks. A panic of a task is passed on by Each.
func Each(threads, tasks int, newWorker func() (do func(task int))) {
	pool.Each(threads, tasks, newWorker)
}
