package clustered

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/shares"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Count returns the number of clusters.
func (s *Sums) Count() int { return len(s.all) }

// Largest returns the number of rows of the largest cluster.
func (s *Sums) Largest() (n int64) {
	for i := range s.all {
		n = max(n, s.all[i].n)
	}
	return n
}

// Weight returns the sum of the rows' weights, without weights their number.
func (s *Sums) Weight() float64 {
	if !s.seen.Weighted {
		return float64(s.rows)
	}
	var w exact.Sum
	for i := range s.all {
		w.Merge(&s.all[i].weight)
	}
	return w.Float64()
}

// DF returns the degrees of freedom of the variances of means over the rows: G - 1 for G clusters of one size, fewer where sizes differ.
// It is NaN for fewer than two clusters.
func (s *Sums) DF() float64 {
	o := s.shares()
	return o.DF
}

// shares returns what the sizes of the clusters say, in the order of their names.
func (s *Sums) shares() shares.Of {
	sizes := make([]float64, 0, len(s.all))
	s.eachByName(func(c *cluster) { sizes = append(sizes, s.size(c)) })
	return shares.New(sizes)
}

// Quantile returns Student's quantile of a two-sided interval at this level for this many degrees of freedom. It panics unless
// 0 < level < 1 and there are degrees of freedom.
func Quantile(level, df float64) float64 {
	if !(level > 0 && level < 1) || !(df > 0) {
		panic("clustered: an interval is at a level between 0 and 1, and has degrees of freedom")
	}
	return tails.StudentQuantile(1-level, df)
}

// P returns the two-sided p-value of a mean that is t standard errors from what it is compared with; NaN without degrees of freedom.
func P(t, df float64) float64 {
	if !(df > 0) || t != t {
		return math.NaN()
	}
	if math.IsInf(t, 0) {
		return 0
	}
	return tails.Student(math.Abs(t), df)
}

// loss returns the number of a loss, -1 if its sums are not kept.
func (s *Sums) loss(name string) int {
	for i := range s.opt.Losses {
		if s.opt.Losses[i].Name == name {
			return i
		}
	}
	return -1
}

// size returns the weight of a cluster's rows.
func (s *Sums) size(c *cluster) float64 {
	if s.seen.Weighted {
		return c.weight.Float64()
	}
	return float64(c.n)
}

// eachByName calls f for the clusters in the order of their names, so that rounded sums over them do not depend on the order of rows.
func (s *Sums) eachByName(f func(c *cluster)) {
	s.sort()
	for i := range s.all {
		f(&s.all[i])
	}
}

// Mean returns the mean of a loss, by its name, and its standard error, NaN for a single cluster. ok is false if the loss is not kept.
func (s *Sums) Mean(name string) (mean, se float64, ok bool) {
	l := s.loss(name)
	if l < 0 {
		return math.NaN(), math.NaN(), false
	}
	var sum, weight exact.Sum
	for i := range s.all {
		sum.Merge(&s.all[i].sums[l])
		if s.seen.Weighted {
			weight.Merge(&s.all[i].weight)
		} else {
			weight.AddShifted(s.all[i].n, 88)
		}
	}
	mean = exact.Ratio(&sum, &weight)
	moves := make([]float64, 0, len(s.all))
	s.eachByName(func(c *cluster) { moves = append(moves, c.sums[l].Float64()-float64(s.size(c)*mean)) })
	of := s.shares()
	return mean, spread(&of, moves, weight.Float64()), true
}

// Rarer returns the number of clusters that have the rarer of two outcomes, of which a loss is 1 or 0; NaN if the loss is not kept.
func (s *Sums) Rarer(name string) float64 {
	l := s.loss(name)
	if l < 0 {
		return math.NaN()
	}
	n := [2]float64{}
	s.eachByName(func(c *cluster) {
		y := c.sums[l].Float64()
		if y > 0 {
			n[1]++
		}
		if y < s.size(c) {
			n[0]++
		}
	})
	return math.Min(n[0], n[1])
}

// spread returns the standard error of a mean over clusters whose rows are above it by these sums, of rows of this weight. It is NaN for
// fewer than two clusters.
func spread(of *shares.Of, moves []float64, weight float64) float64 {
	g := float64(len(moves))
	if g < 2 {
		return math.NaN()
	}
	of.Even(moves)
	squares := 0.0
	for _, d := range moves {
		squares += float64(d * d)
	}
	return math.Sqrt(g/(g-1)*squares) / weight
}

// Effective returns the effective number of rows, (sum w)^2 / sum w^2 over clusters of rows of equal weight; without weights their
// number.
func (s *Sums) Effective() float64 {
	if !s.seen.Weighted {
		return float64(s.rows)
	}
	total, squares := 0.0, 0.0
	s.eachByName(func(c *cluster) {
		w := c.weight.Float64()
		total += w
		squares += float64(w*w) / float64(c.n)
	})
	return float64(total*total) / squares
}

// Bets returns the natural logarithm of the mean, over lambda = +-2^-1 to +-2^-8, of the product over clusters of 1 + lambda m, where m
// is the mean over a cluster's rows of minus a loss: of the outcome minus the score, for the loss score minus outcome. It is NaN with
// weights, without rows, or if the loss is not kept.
func (s *Sums) Bets(name string) float64 {
	l := s.loss(name)
	if l < 0 || s.seen.Weighted || s.rows == 0 {
		return math.NaN()
	}
	var logs [16]float64
	s.eachByName(func(c *cluster) {
		m := 0 - c.sums[l].Float64()/float64(c.n)
		for k := range logs {
			logs[k] += kernel.Log64(1 + float64(stake(k)*m))
		}
	})
	most := math.Inf(-1)
	for _, v := range logs {
		most = math.Max(most, v)
	}
	sum := 0.0
	for _, v := range logs {
		sum += kernel.Exp64(v - most)
	}
	return most + kernel.Log64(sum/float64(len(logs)))
}

// stake returns the k-th lambda.
func stake(k int) float64 {
	v := math.Ldexp(1, -1-k/2)
	if k%2 == 1 {
		return -v
	}
	return v
}

// Wilson returns the score interval of a share f with this standard error, for Student's quantile q: that of f (1-f)/se^2 rows, which is
// the number of rows over the design effect, but at most of n rows. Of a share of 0 or 1, which shows no spread, the clusters count as rows.
func (s *Sums) Wilson(f, se, n, q float64) metrics.Interval {
	of := f * (1 - f) / float64(se*se)
	switch {
	case se != se:
		return metrics.NoInterval()
	case f <= 0 || f >= 1:
		of = float64(len(s.all))
	}
	return wilson(f, math.Min(of, n), q)
}

// wilson is metrics.Wilson for a quantile.
func wilson(f, n, q float64) metrics.Interval {
	if !(n > 0) {
		return metrics.NoInterval()
	}
	q2 := float64(q * q)
	d := 1 + q2/n
	mid := (f + q2/(2*n)) / d
	half := float64(q / d * math.Sqrt(f*(1-f)/n+q2/(4*n*n)))
	return metrics.Interval{Low: math.Max(0, math.Min(f, mid-half)), High: math.Min(1, math.Max(f, mid+half))}
}
