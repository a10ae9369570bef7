package binfree

import (
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/draw"
)

// manyRows is how many rows of one outcome a cell has at most for each to be dealt by itself.
const manyRows = 64

// deal deals the rows of cells to folds, as a shuffled deck would be dealt: those of outcome 1 one to each fold in turn, then those of
// outcome 0 from the next fold on. Of the rows of a cell only their number counts, so none is named: from fold to fold, as many as
// are still to come are the odds. What a cell of many rows gives to the folds is multinomial instead, and takes no part in the deal.
func deal(r cells.Rising, folds int, seed uint64) *folded {
	var single [2]int64
	r.Each(func(x *cells.Cell) {
		for y, n := range outcomes(x) {
			if n <= manyRows {
				single[y] += n
			}
		}
	})
	var left [2][]int64 // rows of each outcome that a fold is still to get
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

// outcomes returns how many rows of a cell have outcome 0 and 1.
func outcomes(x *cells.Cell) [2]int64 {
	ones := min(int64(x.Events), x.N) // beyond 2^53 it is rounded
	return [2]int64{x.N - ones, ones}
}
