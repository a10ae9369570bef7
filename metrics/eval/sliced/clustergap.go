package sliced

import (
	"math"

	"github.com/candor-go/candor/metrics/internal/draw"
)

// flips are the finest cells of clusters, by which draws of the largest gap are made: each draw gives a cluster a sign, by which all its sums
// of outcomes less scores are multiplied. This keeps how much the rows of a cluster have in common, in and between cells.
type flips struct {
	cell   []int32   // of each sum, the finest cell
	sum    []float64 // of outcomes less scores, scaled to the variance of their cell
	ends   []int32   // of each cluster: one after its last sum
	design float64   // variance by clusters over that of independent calibrated rows, in all finest cells together; at least 1
}

// flips returns the finest cells of clusters, in the bins of a view of the score.
func (c *clusterCells) flips(by view, f *finest) *flips {
	l := &flips{design: 1}
	squares, clusters := make([]float64, len(f.v)), make([]float64, len(f.v))
	now, met := make([]float64, len(f.v)), []int32(nil)
	seen := make([]bool, len(f.v))
	cluster := int32(0)
	end := func() {
		for _, k := range met {
			l.cell, l.sum = append(l.cell, k), append(l.sum, now[k])
			squares[k] += float64(now[k] * now[k])
			clusters[k]++
			now[k], seen[k] = 0, false
		}
		met = met[:0]
		l.ends = append(l.ends, int32(len(l.cell)))
	}
	for _, i := range c.inOrder() {
		x := &c.table.list[i]
		for c.cluster[x.group] != cluster {
			end()
			cluster++
		}
		p := c.table.score(x.key)
		k := c.group[x.group]*int32(f.bins) + int32(bin(by.edges, p))
		if !seen[k] {
			seen[k], met = true, append(met, k)
		}
		now[k] += float64(x.y) - float64(p*float64(x.n))
	}
	end()
	all, own := 0.0, 0.0
	for k, s := range squares {
		all += s
		own += f.v[k]
	}
	if all > own {
		l.design = all / own
	}
	// What a cell's few clusters show is mostly chance, and they may hardly have moved: the fewer they are the more counts what all cells show.
	scale := make([]float64, len(squares))
	for k, s := range squares {
		if scale[k] = 1; s > 0 {
			scale[k] = math.Sqrt((clusters[k] + float64(MinClusters*float64(l.design*f.v[k]))/s) / (clusters[k] + MinClusters))
		}
	}
	for i, k := range l.cell {
		l.sum[i] *= scale[k]
	}
	return l
}

// variances returns of each slice of c in each bin the sum of squares of clusters, and the number of clusters.
func (l *flips) variances(c *compared) (squares []float64, clusters []int32) {
	squares, clusters = make([]float64, len(c.sd)), make([]int32, len(c.sd))
	now, seen, met := make([]float64, len(c.sd)), make([]bool, len(c.sd)), []int32(nil)
	wide, from := c.bins+1, int32(0)
	for _, to := range l.ends {
		for i := from; i < to; i++ {
			cell := int(l.cell[i])
			at := int(c.first[cell/c.bins]) * wide
			for _, k := range [2]int{at + cell%c.bins, at + c.bins} {
				if !seen[k] {
					seen[k], met = true, append(met, int32(k))
				}
				now[k] += l.sum[i]
			}
		}
		for _, k := range met {
			squares[k] += float64(now[k] * now[k])
			clusters[k]++
			now[k], seen[k] = 0, false
		}
		met, from = met[:0], to
	}
	return squares, clusters
}

// draw sets the sums of the finest cells to those of a draw.
func (l *flips) draw(src *draw.Source, x []float64) {
	clear(x)
	from := int32(0)
	for _, to := range l.ends {
		sign := 1.0
		if src.Uint64()&1 == 1 {
			sign = -1
		}
		for i := from; i < to; i++ {
			x[l.cell[i]] += float64(sign * l.sum[i])
		}
		from = to
	}
}
