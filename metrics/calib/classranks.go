package calib

import (
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// EachClass calls use for each class with its entries against the rest: all rows in ascending order of the probability of the
// class, each score in its own cell, with the rows of that label as events. Calls run on several goroutines, in any order. The
// entries are valid until use returns. There are no calls without rows or if Err is not nil. It panics if there is a threshold,
// because rows below it have no rank.
func (s *ClassScores) EachClass(use func(class int, o cells.Ordered)) {
	if s.opt.Above != nil {
		panic("calib: entries above a threshold are no order of the rows")
	}
	if s.rows > 0 && !s.over() {
		s.kept.eachSorted(use)
	}
}

func (k *keptKeys[K]) eachSorted(use func(class int, o cells.Ordered)) {
	lists := k.byClass()
	n := k.columns().together()
	pool.Each(0, (k.width+n-1)/n, func() func(int) {
		c := k.columns()
		var order ordering[K]
		return func(task int) {
			first := task * n
			for i, col := range c.of(first, min(n, k.width-first), lists) {
				order.sort(&col)
				use(first+i, cells.OrderedOf(col.keys, col.weights, int64(c.rows-len(col.keys))))
			}
		}
	})
}
