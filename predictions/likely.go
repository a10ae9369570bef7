package predictions

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// likelyRows is the number of first rows that the checks look at.
const likelyRows = 1000

// probable reports whether logits are probably probabilities: the first rows, at least two, lie in [0,1] and sum to 1. Logits hardly
// ever look so.
func probable(c *metrics.Chunk) bool {
	if c.Kind != metrics.Logits || c.Classes < 2 || c.Rows < 2 {
		return false
	}
	row := make([]float64, c.Classes)
	for i := range min(c.Rows, likelyRows) {
		sum := 0.0
		c.Widen(row, i, i+1)
		for _, v := range row {
			if !(v >= 0 && v <= 1) {
				return false
			}
			sum += v
		}
		if math.Abs(sum-1) > 0.01 {
			return false
		}
	}
	return true
}

// likelyVariances returns a note if the standard deviations of normal forecasts look like variances, else "". In the first rows, the
// errors must agree with the square roots of these values and not with the values themselves. The smaller and the larger half of the
// values must agree on that, and differ so much that a wrong scale cannot explain it.
func likelyVariances(c *metrics.Chunk) string {
	const few, apart, near = 100, 3, 1.5
	type row struct{ sd, square float64 }
	var rows []row
	values := make([]float64, c.Classes)
	for i := range min(c.Rows, likelyRows) {
		c.Widen(values, i, i+1)
		e := values[0]
		if c.Classes == 3 {
			e -= values[2]
		}
		if s := values[1]; s > 0 && s < math.MaxFloat32 && math.Abs(e) < math.MaxFloat32 {
			rows = append(rows, row{s, float64(e * e)})
		}
	}
	if len(rows) < few {
		return ""
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.sd, b.sd) })
	var sd, byRoot [2]float64 // of the two halves
	stated := 0.0
	for i, r := range rows {
		half := 2 * i / len(rows)
		all := float64(len(rows))
		n := float64(all / 2)
		sd[half] += float64(r.sd / n)
		byRoot[half] += float64(r.square / r.sd / n)
		stated += float64(r.square / float64(r.sd*r.sd) / all)
	}
	for _, z := range byRoot {
		if !(z > 1/near && z < near) {
			return ""
		}
	}
	if sd[1] < apart*sd[0] || stated > 0.5 && stated < 2 {
		return ""
	}
	return fmt.Sprintf("are the standard deviations variances? In the first %d rows the mean of (error/sd)^2 is %.3g, and with their square roots %.3g: if they are, write the roots",
		len(rows), stated, (byRoot[0]+byRoot[1])/2)
}
