// Package shares allows for clusters of unequal sizes in the error of a mean over their rows.
//
// The mean of n rows is off by the sum of R_g / n over clusters, where R_g = T_g - n_g d is by how much the rows of cluster g are above
// the mean. R_g is smaller than what it stands for, since the cluster is part of the mean, and by more the larger the cluster is. With
// s_g = n_g/n the variance is
//
//	V = sum_g R_g^2 / (1 - s_g) / n^2,
//
// which is right on average if rows are alike and independent, and G/(G-1) sum R_g^2 / n^2 for G clusters of one size. Large clusters make
// up most of V, so that it is as uncertain as that of fewer clusters. Its degrees of freedom f are those of the chi-square law with its first
// two moments. They depend on what rows have in common. Where the rows of a cluster are independent,
//
//	f = 1 / (sum s_g^2 + (sum s_g^2/(1-s_g))^2 - sum s_g^4/(1-s_g)^2).
//
// Where they are all alike, large clusters count more, and f is smaller: with b_g = s_g^2/(1-s_g) and c = sum s_g^2,
//
//	f = (sum b_g (1 - 2 s_g + c))^2 / (sum b_g^2 ((1 + e_g)^2 - e_g^2) + sum_gh b_g b_h (c - s_g - s_h)^2),   e_g = c - 2 s_g.
//
// Both are G - 1 for clusters of one size, and near 1 where one cluster has nearly all rows. How much rows have in common is not known:
// DF is the geometric mean of both. Intervals by it hold best in simulations.
//
// Source: Bell and McCaffrey 2002 (CR2 and Satterthwaite's approximation, for a regression on a constant); Imbens and Kolesar 2016 (of rows
// that are alike).
package shares

import "math"

// Of is what the sizes of clusters say.
type Of struct {
	// DF is the number of degrees of freedom of the variance; NaN for fewer than two clusters.
	DF float64
	// Number is that of clusters of one size that count as much, 1/sum s_g^2; 0 for fewer than two clusters.
	Number float64
	// scale is sqrt((G-1)/G / (1-s_g)) for each cluster; nil if all are of one size.
	scale []float64
}

// New returns what clusters of these sizes say, which are above 0: numbers of rows, or their weights. The error is unknown if a cluster
// has so nearly all rows that the rest is lost in rounding.
func New(sizes []float64) Of {
	g := float64(len(sizes))
	if !(g > 1) {
		return Of{DF: math.NaN()}
	}
	total, even := 0.0, true
	for _, n := range sizes {
		total += n
		even = even && n == sizes[0]
	}
	if even {
		return Of{DF: g - 1, Number: g}
	}
	o := Of{scale: make([]float64, len(sizes))}
	squares, apart, both := 0.0, 0.0, 0.0
	for i, n := range sizes {
		s, rest := n/total, (total-n)/total
		x := float64(s*s) / rest
		squares += float64(s * s)
		apart += x
		both += float64(x * x)
		o.scale[i] = math.Sqrt((g - 1) / g / rest)
	}
	o.Number = 1 / squares
	independent := 1 / (squares + (float64(apart*apart) - both))
	trace, own, first, second := 0.0, 0.0, 0.0, 0.0
	for _, n := range sizes {
		s := n / total
		b, e := float64(s*s)/((total-n)/total), squares-float64(2*s)
		trace += float64(b * (1 + e))
		own += float64(float64(b*b) * (1 + float64(2*e)))
		first += float64(b * s)
		second += float64(float64(b*s) * s)
	}
	// The sum over pairs, multiplied out.
	pairs := float64(float64(squares*apart)*float64(squares*apart)) + float64(2*float64(second*apart)) - float64(4*float64(float64(squares*apart)*first)) + float64(2*float64(first*first))
	alike := float64(trace*trace) / (own + pairs)
	if o.DF = math.Sqrt(float64(independent * alike)); o.DF == o.DF {
		o.DF = math.Max(1, math.Min(g-1, o.DF))
	}
	return o
}

// Even scales R_g of each cluster so that the variance is G/(G-1) sum R_g^2 / n^2, whatever the sizes are.
func (o *Of) Even(moves []float64) {
	for i, f := range o.scale {
		moves[i] *= f
	}
}

// Scale returns the factor of a cluster by which Even scales.
func (o *Of) Scale(i int) float64 {
	if o.scale == nil {
		return 1
	}
	return o.scale[i]
}

// Skew returns the skewness of a mean that clusters move by these amounts, sum T_g^3 / (sum T_g^2)^(3/2); 0 if none moves it, or an amount is not finite.
func Skew(moves []float64) float64 {
	most := 0.0
	for _, t := range moves {
		most = math.Max(most, math.Abs(t))
	}
	if !(most > 0) || math.IsInf(most, 1) {
		return 0
	}
	squares, cubes := 0.0, 0.0
	for _, t := range moves {
		x := t / most
		squares += float64(x * x)
		cubes += float64(x * float64(x*x))
	}
	return cubes / float64(squares*math.Sqrt(squares))
}
