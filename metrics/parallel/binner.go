package parallel

import "github.com/candor-go/candor/kernel"

// Each hands out the tasks 0..tasks-1 in rising order to so many goroutines, at most one a task; 0 means GOMAXPROCS. Each
// of them calls newWorker once, and what that returned for each of its tasks. A panic of a task is one of Each.
func Each(threads, tasks int, newWorker func() (do func(task int))) {
	if tasks > 0 {
		share(threadsOf(threads, tasks), tasks, func(int) func(int) { return newWorker() })
	}
}

// A Binner finds the bins of equal mass of one set of keys after another, in the same memory: that of as many keys as the
// largest set has. The zero value is ready for use.
type Binner[K kernel.Key] struct{ w worker[K] }

// EqualMass writes to dst the bins of keys that kernel.HitKeysF32 or HitKeysF64 has made of scores in [0,1], as the
// function EqualMass does without a threshold; it moves the keys about. The slices of dst are used again where they are
// large enough.
func (b *Binner[K]) EqualMass(dst *Bins, keys []K, bins int) {
	b.w.equalMass(dst, keyed[K](keys), bins, below[K]{}, kept, 1)
}
