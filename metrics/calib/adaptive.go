package calib

import (
	"errors"
	"math"
	"sort"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/tally"
)

var (
	errWeightless = errors.New("calib: this rule of edges does not support weights; OrderStatistic does")
	errTooMany    = errors.New("calib: more than 2^31-1 scores to sort")
)

// newBins returns empty bins of equal width, or between the given edges.
func (o *GeneralOptions) newBins() *Bins {
	opt := o.even()
	edges := o.Edges
	if edges == nil {
		edges = opt.edges()
	}
	b := newBins(opt, edges)
	b.given = o.Edges != nil
	b.together = o.Event == AllClasses && !o.ClassConditional
	return b
}

// fill adds scores to bins of equal width.
func (o *GeneralOptions) fill(b *Bins, s scores, t metrics.DType) {
	kept, lost := o.above(s)
	b.weighted = s.w != nil
	b.lost.Merge(&lost)
	b.add(o.Event, kept.p, kept.p, kept.y, kept.w, t)
}

// count returns the number of equal-mass bins for n scores from the given number of rows.
func (o *GeneralOptions) count(n, rows int) int {
	switch {
	case o.Binning == CubeRoot:
		return cubeRoot(n)
	case o.PointsPerBin > 0:
		return max(1, rows/o.PointsPerBin)
	}
	opt := o.even()
	return opt.bins()
}

// cubeRoot returns the smallest positive integer whose cube is at least n.
func cubeRoot(n int) int {
	b := max(1, int(math.Cbrt(float64(n))))
	for b > 1 && (b-1)*(b-1)*(b-1) >= n {
		b--
	}
	for b*b*b < n {
		b++
	}
	return b
}

// partition returns the bins of one group of scores. rows is the number of rows of the whole set.
func (o *GeneralOptions) partition(s scores, rows int, t metrics.DType) (*Partition, error) {
	if o.Binning == Even {
		b := o.newBins()
		o.fill(b, s, t)
		return &b.Partition, nil
	}
	if s.w != nil && (o.EdgeRule > OrderStatisticClosed || o.EdgeRule != OrderStatistic && o.Binning >= SweepMass) {
		return nil, errWeightless
	}
	if len(s.p) > math.MaxInt32 {
		return nil, errTooMany
	}
	weighted := s.w != nil
	s, lost := o.above(s)
	n := len(s.p)
	count := o.count(n, rows)
	if n == 0 {
		if o.Binning >= SweepMass {
			count = 1
		}
		e := kernel.Edges(count)
		return &Partition{cells: make([]tally.Cell, count), lower: e[:count], upper: e[1:], lost: lost, weighted: weighted,
			together: o.Event == AllClasses && !o.ClassConditional, chosen: true}, nil
	}
	// A selection of the edges gives the same bins as sorting.
	if !weighted && o.Binning < SweepMass && o.EdgeRule == OrderStatistic && o.Side == kernel.LeftClosed {
		if b := order.EqualMassF64(s.p, s.y, count, -1, o.Data.Threads); b.Out == 0 {
			p := o.adopt(b)
			p.lost = lost
			return p, nil
		}
	}
	c := cutter{scores: sorted(s), o: o}
	switch {
	case o.Binning >= SweepMass:
		c.sweep(t)
	default:
		c.mass(count)
	}
	p := c.partition()
	p.lost.Merge(&lost)
	return p, nil
}

// sorted returns the scores in ascending order. Equal scores stay in row order.
func sorted(s scores) scores {
	n := len(s.p)
	index := make([]int32, n)
	kernel.OrderF64(index, s.p, make([]uint64, kernel.OrderScratch(n)))
	r := scores{p: make([]float64, n), y: make([]uint8, n)}
	if s.w != nil {
		r.w = make([]float64, n)
	}
	for to, from := range index {
		r.p[to], r.y[to] = s.p[from], s.y[from]
		if s.w != nil {
			r.w[to] = s.w[from]
		}
	}
	return r
}

// cutter divides sorted scores into bins.
type cutter struct {
	scores
	o     *GeneralOptions
	ends  []int     // end of each bin
	edges []float64 // upper edge of each bin
	apart int       // number of bins at the end that are set apart
	first float64   // lower edge of the first bin
	lost  [2]int    // scores before lost[0] and from lost[1] on are in no bin; 0, 0 if every score has a bin
}

// from returns the number of scores below v; through returns the number of scores at or below v.
func (c *cutter) from(v float64) int { return sort.SearchFloat64s(c.p, v) }
func (c *cutter) through(v float64) int {
	return sort.Search(len(c.p), func(i int) bool { return c.p[i] > v })
}

// cut ends a bin.
func (c *cutter) cut(end int, edge float64) {
	c.ends, c.edges = append(c.ends, end), append(c.edges, edge)
}

// mass divides the scores into bins of equal mass.
func (c *cutter) mass(bins int) {
	n := len(c.p)
	c.first = math.Min(0, c.p[0])
	top := math.Max(1, c.p[n-1])
	switch c.o.EdgeRule {
	case OrderStatistic, OrderStatisticClosed:
		for _, r := range c.ranks(bins) {
			if e := c.p[r]; c.o.Side == kernel.LeftClosed {
				c.cut(c.from(e), e)
			} else {
				c.cut(c.through(e), e)
			}
		}
		if c.o.EdgeRule == OrderStatistic {
			break
		}
		end := 0
		if len(c.ends) > 0 {
			end = c.ends[len(c.ends)-1]
		}
		c.cut(max(end, c.from(1)), 1)
		c.apart = 1
	case Rank:
		for _, end := range rankEnds(n, bins) {
			c.cut(end, c.p[min(end, n-1)])
		}
	case RankOutcome:
		for i := 0; i < n; {
			j, ones := i, 0
			for ; j < n && c.p[j] == c.p[i]; j++ {
				ones += int(c.y[j])
			}
			for k := range c.y[i:j] {
				c.y[i+k] = 0
				if k >= j-i-ones {
					c.y[i+k] = 1
				}
			}
			i = j
		}
		bins = min(bins, n)
		for i, end := 0, 0; i < bins-1; i++ {
			end += n / bins
			if i < n%bins {
				end++
			}
			c.cut(end, c.p[end])
		}
	case QuantileLinear:
		c.first = c.p[0]
		last := c.p[n-1]
		for j := 0; j <= bins; j++ {
			if e := c.quantile(j, bins); j == 0 || e > c.edges[len(c.edges)-1] {
				last = e
				c.cut(c.through(e), e)
			}
		}
		// The last edge is the largest score; the cut below ends its bin.
		c.ends, c.edges = c.ends[:len(c.ends)-1], c.edges[:len(c.edges)-1]
		top = last
	case QuantileNearest:
		for j := 1; j < bins; j++ {
			e := c.p[int(math.RoundToEven(float64(j)*float64(n-1)/float64(bins)))]
			c.cut(c.from(e), e)
		}
	case Strides:
		c.strides(bins)
		return
	}
	c.cut(n, top)
}

// ranks returns the ranks of the scores that are edges. With weights, the rank r becomes the score at which the cumulative
// weight passes r times the mean weight.
func (c *cutter) ranks(bins int) []int {
	n := len(c.p)
	ranks := order.Ranks(n, bins)
	if c.w == nil {
		return ranks
	}
	var total, sum exact.Sum
	for _, w := range c.w {
		total.AddFloat(w)
	}
	mean := total.Float64() / float64(n)
	at := 0
	for j, r := range ranks {
		for ; at < n-1; at++ {
			next := sum.Clone()
			next.AddFloat(c.w[at])
			if tally.Passes(&next, &total, r, n, mean) {
				break
			}
			sum = next
		}
		ranks[j] = at
	}
	return ranks
}

// rankEnds returns the ends of all bins but the last, where rank r belongs to bin min(floor(r/n*B), B-1).
func rankEnds(n, bins int) []int {
	ends := make([]int, bins-1)
	for b := range ends {
		ends[b] = rankEnd(n, bins, b)
	}
	return ends
}

// rankEnd returns the end of bin b.
func rankEnd(n, bins, b int) int {
	in := func(r int) bool { return float64(r)/float64(n)*float64(bins) < float64(b+1) }
	r := min(n, int(float64(b+1)*float64(n)/float64(bins)))
	for r > 0 && !in(r-1) {
		r--
	}
	for r < n && in(r) {
		r++
	}
	return r
}

// quantile returns the quantile j/bins with linear interpolation, with numpy's rounding.
func (c *cutter) quantile(j, bins int) float64 {
	q := float64(j) * (1 / float64(bins))
	if j == bins {
		q = 1
	}
	at := float64(q * float64(len(c.p)-1))
	i := int(at)
	if i >= len(c.p)-1 {
		return c.p[len(c.p)-1]
	}
	a, b, t := c.p[i], c.p[i+1], at-float64(i)
	if t >= 0.5 {
		return b - float64((b-a)*(1-t))
	}
	return a + float64((b-a)*t)
}

// strides divides the scores into the bins of uncertainty_metrics before August 2020.
func (c *cutter) strides(bins int) {
	n := len(c.p)
	each := float64(n) / float64(bins)
	// Same rounding as in that code.
	switching := int(math.Floor(math.Mod(each, 1) * float64(bins)))
	c.first = c.p[0]
	c.lost[0], c.lost[1] = c.through(c.p[0]), n
	for i := 0; i < n && len(c.ends) < bins; {
		if i < switching {
			i += int(math.Ceil(each))
		} else {
			i += max(1, int(math.Floor(each)))
		}
		if i >= n {
			c.cut(n, math.Max(1, c.p[n-1]))
			break
		}
		c.cut(c.through(c.p[i]), c.p[i])
	}
	c.lost[1] = c.ends[len(c.ends)-1]
}

// partition sums the scores of each bin.
func (c *cutter) partition() *Partition {
	p := &Partition{cells: make([]tally.Cell, len(c.ends)), lower: make([]float64, len(c.ends)), upper: c.edges, apart: c.apart,
		weighted: c.w != nil, together: c.o.Event == AllClasses && !c.o.ClassConditional, chosen: true}
	weights := func(from, to int) []float64 {
		if c.w == nil {
			return nil
		}
		return c.w[from:to]
	}
	start, edge := c.lost[0], c.first
	if start > 0 {
		p.lost.Add(start, nil)
		p.lost.Add(len(c.p)-c.lost[1], nil)
	}
	for i, end := range c.ends {
		p.cells[i].AddAll(c.p[start:max(start, end)], c.y[start:max(start, end)], weights(start, max(start, end)))
		p.lower[i] = edge
		start, edge = max(start, end), c.edges[i]
	}
	if c.apart > 0 { // bin of the scores at or beyond the last edge
		i := len(c.ends) - 1
		p.upper[i] = p.lower[i]
	}
	return p
}
