package calib

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ACE returns the adaptive calibration error, in [0,1], 0 is best: the mean over all classes of the class's ECE over the given
// number of equal-mass bins,
//
//	(1/N_j) * sum over bins of |sum (p - y)|
//
// N_j is the number of kept entries of class j, or the sum of the weights of their rows. A class without entries adds 0. With a
// threshold it is TACE. It returns NaN if no entry is kept or Err is not nil. It panics if bins is below 1.
//
// Bin b of the n sorted entries of a class begins at rank r_b = min(round(b*n/bins), n-1), with halves rounded to even. Equal
// entries are never split; they belong to the bin on their right. With weights, bin b begins at the first score at which the
// cumulative weight exceeds the fraction r_b/n of the total. Equal weights give the same bins as no weights.
//
// Source: Nixon, Dusenberry, Zhang, Jerfel and Tran 2019.
func (s *ClassScores) ACE(bins int) float64 {
	return s.mean(bins, (*Partition).ECE)
}

// RMS returns the root-mean-square form of ACE over the same bins: the square root of the mean over all classes of
//
//	sum over bins of (n_b/N_j) * gap_b^2
//
// It is at least ACE, and NaN if ACE is.
func (s *ClassScores) RMS(bins int) float64 { return math.Sqrt(s.mean(bins, squaredError)) }

// mean returns the mean of an error over the classes, in [0,1]. Classes without entries add 0.
func (s *ClassScores) mean(bins int, of func(p *Partition) float64) float64 {
	if bins < 1 {
		panic(errMassBins)
	}
	if s.rows == 0 || s.over() || s.Kept() == 0 {
		return math.NaN()
	}
	each := make([]float64, s.width)
	s.kept.each(bins, func(class int, b *order.Bins) {
		if b.N > 0 {
			each[class] = of(&Partition{cells: b.Cells, weighted: s.seen.Weighted})
		}
	})
	var sum exact.Sum
	for _, e := range each {
		sum.AddFloat(e)
	}
	return exact.Mean(&sum, int64(s.width))
}

const errMassBins = "calib: number of bins is not positive"

// squaredError returns sum (n_b/N) * gap_b^2, or NaN without rows.
func squaredError(b *Partition) float64 {
	s := 0.0
	b.each(func(_ int, c *tally.Cell) {
		g, w := c.Gap(), c.Total(b.weighted)
		d := g.Float64()
		s += float64(d*d) / w.Float64()
	})
	n := b.total()
	return s / n.Float64()
}

// Class returns equal-mass bins of a class in ascending order: the probability of the class over all rows, with the rows of
// that label as events. Bins are left-closed. The first begins at 0, the last ends at 1, and the edges between them are scores.
// The bins are empty if Err is not nil. It panics if there is no such class or bins is below 1. With a threshold, each call
// scans the entries of all classes.
func (s *ClassScores) Class(class, bins int) *Partition {
	switch {
	case class < 0 || class >= s.width:
		panic(errClass)
	case bins < 1:
		panic(errMassBins)
	}
	b := &order.Bins{Cells: make([]tally.Cell, bins)}
	if !s.over() {
		b = s.kept.class(class, bins)
	}
	p := &Partition{cells: b.Cells, weighted: s.seen.Weighted, chosen: true}
	p.lower, p.upper = make([]float64, bins), make([]float64, bins)
	for i := range bins {
		p.upper[i] = 1
		if i < len(b.Edges) {
			p.upper[i] = b.Edges[i]
		}
		if i > 0 {
			p.lower[i] = p.upper[i-1]
		}
	}
	return p
}

// massBinner computes equal-mass bins for one column after another.
type massBinner[K kernel.Key] struct {
	b     order.Bins
	keys  order.Binner[K]
	order ordering[K]
}

// bins returns the bins of a column. They are valid until the next call.
func (m *massBinner[K]) bins(c *keyColumn[K], bins int) *order.Bins {
	if c.weights == nil {
		m.keys.EqualMass(&m.b, c.keys, bins)
		return &m.b
	}
	m.order.sort(c)
	m.b = order.Bins{Edges: edgesOfWeight(c, bins), Cells: make([]tally.Cell, bins), N: int64(len(c.keys))}
	bin := 0
	for i, key := range c.keys {
		score, hit := kernel.HitScore(key)
		for bin < len(m.b.Edges) && m.b.Edges[bin] <= score {
			bin++
		}
		m.b.Cells[bin].AddWeighted(score, hit, c.weights[i])
	}
	return &m.b
}

// edgesOfWeight returns the edges of equal-weight bins of a sorted column.
func edgesOfWeight[K kernel.Key](c *keyColumn[K], bins int) []float64 {
	n := len(c.keys)
	if n == 0 {
		return nil
	}
	var all, sum exact.Sum
	for _, w := range c.weights {
		all.AddFloat(w)
	}
	each := exact.Rat(&all)
	each.Quo(each, new(big.Rat).SetInt64(int64(n)))
	edges := make([]float64, 0, bins-1)
	at := 0 // sum holds the weights before it
	for _, rank := range order.Ranks(n, bins) {
		share := new(big.Rat).Mul(each, new(big.Rat).SetInt64(int64(rank)))
		near, _ := share.Float64()
		// Rounding is monotonic, so the exact numbers are compared only if they round to the same value.
		for {
			next := sum.Clone()
			next.AddFloat(c.weights[at])
			if v := next.Float64(); v > near || v == near && exact.Rat(&next).Cmp(share) > 0 {
				break
			}
			sum = next
			at++
		}
		score, _ := kernel.HitScore(c.keys[at])
		edges = append(edges, score)
	}
	return edges
}

// ordering sorts columns.
type ordering[K kernel.Key] struct {
	index   []int32
	scores  []float64
	scratch []uint64
	keys    []K
	weights []float64
	run     []weightedKey[K]
}

type weightedKey[K kernel.Key] struct {
	key    K
	weight float64
}

// sort sorts a column by key, and equal keys by weight.
func (o *ordering[K]) sort(c *keyColumn[K]) {
	n := len(c.keys)
	if c.weights == nil {
		if need := kernel.SortScratch(n); len(o.keys) < need {
			o.keys = make([]K, need)
		}
		kernel.Sort(c.keys, o.keys)
		return
	}
	o.index, o.scores = slices.Grow(o.index[:0], n)[:n], slices.Grow(o.scores[:0], n)[:n]
	if need := kernel.OrderScratch(n); len(o.scratch) < need {
		o.scratch = make([]uint64, need)
	}
	for i, key := range c.keys {
		if o.scores[i], _ = kernel.HitScore(key); key == ^K(0) {
			o.scores[i] = 2 // after all other scores
		}
	}
	kernel.OrderF64(o.index, o.scores, o.scratch)
	o.keys, o.weights = append(o.keys[:0], c.keys...), append(o.weights[:0], c.weights...)
	for to, from := range o.index {
		c.keys[to], c.weights[to] = o.keys[from], o.weights[from]
	}
	for i, j := 0, 0; i < n; i = j {
		for j = i + 1; j < n && c.keys[j]|1 == c.keys[i]|1; {
			j++
		}
		if j == i+1 {
			continue
		}
		o.run = o.run[:0]
		for k := i; k < j; k++ {
			o.run = append(o.run, weightedKey[K]{c.keys[k], c.weights[k]})
		}
		slices.SortFunc(o.run, func(a, b weightedKey[K]) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.weight, b.weight))
		})
		for k, e := range o.run {
			c.keys[i+k], c.weights[i+k] = e.key, e.weight
		}
	}
}
