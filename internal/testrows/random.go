package testrows

import (
	"math"
	"math/rand/v2"

	"github.com/candor-go/candor/metrics"
)

// Random returns random probabilities of n rows of classes, one score a row for 1, with labels and perhaps weights.
func Random(seed uint64, n, classes int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 9))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: classes}}
	for range n {
		row, sum := make([]float64, classes), 0.0
		for j := range row {
			row[j] = math.Exp(2 * r.NormFloat64())
			sum += row[j]
		}
		if classes == 1 {
			row[0], sum = r.Float64(), 1
		}
		for _, v := range row {
			p.F64 = append(p.F64, v/sum)
		}
		p.Labels = append(p.Labels, int32(r.IntN(max(2, classes))))
		if weighted {
			p.Weights = append(p.Weights, r.Float64()+0.1)
		}
	}
	return p
}

// Normals returns n rows of mean, standard deviation and observation, with perhaps weights of 0, 1 or 2.
func Normals(seed uint64, n int, weighted bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 4))
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 3}}
	for range n {
		m, sd := 10*r.NormFloat64(), math.Exp(r.NormFloat64())
		p.F64 = append(p.F64, m, sd, m+1.3*sd*r.NormFloat64())
		if weighted {
			p.Weights = append(p.Weights, float64(r.IntN(3)))
		}
	}
	return p
}
