package binfree

import (
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
)

// manyRows is the largest number of rows of one outcome in a cell that are dealt to folds one by one.
const manyRows = 64

// deal deals the rows of cells to folds like a shuffled deck of cards: rows with outcome 1 one to each fold in turn, then
// rows with outcome 0, starting from the next fold. Only the number of rows in a cell matters, so no individual rows are
// drawn: the odds of a fold are the number of rows it is still to receive. A cell with many rows is distributed by a
// multinomial draw instead, and takes no part in the deal.
func deal(r cells.Rising, folds int, seed uint64) *folded {
	var single [2]int64
	r.Each(func(x *cells.Cell) {
		for y, n := range outcomes(x) {
			if n <= manyRows {
				single[y] += n
			}
		}
	})
	var left [2][]int64 // rows of each outcome that each fold is still to receive
	next := 0
	for y := 1; y >= 0; y-- {
		left[y] = make([]int64, folds)
		for f := range folds {
			left[y][f] = single[y] / int64(folds)
		}
		for range single[y] % int64(folds) {
			left[y][next]++
			next = (next + 1) % folds
		}
	}
	source := draw.New(seed, 0)
	d := &folded{}
	got := [2][]int64{make([]int64, folds), make([]int64, folds)}
	r.Each(func(x *cells.Cell) {
		for y, n := range outcomes(x) {
			clear(got[y])
			if n > manyRows {
				for f := range folds {
					k := n
					if f < folds-1 {
						k = source.Binomial(n, 1/float64(folds-f))
					}
					got[y][f] = k
					n -= k
				}
				continue
			}
			for range n {
				at := int64(source.Below(uint64(single[y])))
				f := 0
				for ; at >= left[y][f]; f++ {
					at -= left[y][f]
				}
				left[y][f]--
				single[y]--
				got[y][f]++
			}
		}
		for f := range folds {
			if n := got[0][f] + got[1][f]; n > 0 {
				ones := float64(got[1][f])
				d.add(x.P, part{fold: int32(f), n: float64(n), y: ones, yy: ones})
			}
		}
	})
	return d
}

// outcomes returns the number of rows of a cell with outcome 0 and with outcome 1.
func outcomes(x *cells.Cell) [2]int64 {
	ones := min(int64(x.Events), x.N) // rounded above 2^53
	return [2]int64{x.N - ones, ones}
}
