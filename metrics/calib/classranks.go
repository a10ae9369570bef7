package calib

import (
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// EachClass calls use for each class, on any number of goroutines and in any order, with its entries against all others': over the
// rows in rising order of its probability, each score for itself, with the rows whose label it is as the event. They are there
// until use returns. It is not called if there are no rows, or where Err is not nil. It panics with a threshold: rows below it have
// no place in an order.
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
