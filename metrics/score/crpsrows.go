package score

import (
	"math"

	"github.com/candor-go/candor/metrics/internal/tally"
)

// The functions of this file return the mean score of many forecasts, one for each element of y. If dst is not nil, they
// also write each forecast's score to dst. weights are nil or as in metrics.Predictions; a weight of 0 leaves a row out of
// the mean, but not out of dst. The sum is exact, so the order of the rows has no effect. The mean is NaN without rows, if
// the score of a row with a weight above 0 is NaN, and if a weight is neither 0 nor from 2^-32 to 2^32. It is +Inf if a
// score is. They panic if slices differ in length.

// Normals returns the mean of NormalCRPS.
func Normals(dst, y, mean, sd, weights []float64) float64 {
	return meanScore(dst, y, weights, func(i int) float64 { return NormalCRPS(y[i], mean[i], sd[i]) }, mean, sd)
}

// Logistics returns the mean of LogisticCRPS.
func Logistics(dst, y, location, scale, weights []float64) float64 {
	return meanScore(dst, y, weights, func(i int) float64 { return LogisticCRPS(y[i], location[i], scale[i]) }, location, scale)
}

// Laplaces returns the mean of LaplaceCRPS.
func Laplaces(dst, y, location, scale, weights []float64) float64 {
	return meanScore(dst, y, weights, func(i int) float64 { return LaplaceCRPS(y[i], location[i], scale[i]) }, location, scale)
}

// StudentTs returns the mean of StudentTCRPS.
func StudentTs(dst, y, df, location, scale, weights []float64) float64 {
	f := func(i int) float64 { return StudentTCRPS(y[i], df[i], location[i], scale[i]) }
	return meanScore(dst, y, weights, f, df, location, scale)
}

// NormalMixtures returns the mean of NormalMixtureCRPS over mixtures of k components each. The components of row i are
// elements i*k to (i+1)*k of means, sds and, if not nil, of shares, which are the components' weights.
func NormalMixtures(dst, y []float64, k int, shares, means, sds, weights []float64) float64 {
	if k < 1 || len(means) != k*len(y) || len(sds) != len(means) || shares != nil && len(shares) != len(means) {
		panic("score: components and rows do not fit each other")
	}
	return meanScore(dst, y, weights, func(i int) float64 {
		var s []float64
		if shares != nil {
			s = shares[i*k : (i+1)*k]
		}
		return NormalMixtureCRPS(y[i], s, means[i*k:(i+1)*k], sds[i*k:(i+1)*k])
	})
}

// meanScore returns the mean of f over the rows of y. columns must be as long as y.
func meanScore(dst, y, weights []float64, f func(i int) float64, columns ...[]float64) float64 {
	for _, c := range columns {
		if len(c) != len(y) {
			panic("score: the columns of a forecast differ in length")
		}
	}
	if dst != nil && len(dst) != len(y) {
		panic("score: dst and rows differ in number")
	}
	if weights != nil && len(weights) != len(y) {
		panic("score: weights and rows differ in number")
	}
	var m tally.Mean
	var count tally.Weight
	worst := 0.0 // an infinite or NaN score, if there is one
	for i := range y {
		v := f(i)
		if dst != nil {
			dst[i] = v
		}
		var w []float64
		if weights != nil {
			if w = weights[i : i+1]; w[0] == 0 {
				continue
			}
			if !(w[0] >= 0x1p-32 && w[0] <= 0x1p32) {
				worst = math.NaN()
				continue
			}
		}
		if v-v != 0 {
			worst += v
			continue
		}
		m.AddUnits([]float64{v}, w)
		count.Add(1, w)
	}
	if worst != 0 {
		return worst
	}
	return m.Value(&count, weights != nil)
}
