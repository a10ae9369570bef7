package predictions

import (
	"math"

	"github.com/candor-go/candor/metrics"
)

// likelyRows is how many of the first rows are asked what they look like.
const likelyRows = 1000

// probable tells whether logits are probabilities: the first rows, which are several, lie in [0,1] and sum to 1. A softmax of logits
// never looks so.
func probable(c *metrics.Chunk) bool {
	if c.Kind != metrics.Logits || c.Classes < 2 || c.Rows < 2 {
		return false
	}
	row := make([]float64, c.Classes)
	for i := range min(c.Rows, likelyRows) {
		sum := 0.0
		c.Scores.Row(row, i)
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
