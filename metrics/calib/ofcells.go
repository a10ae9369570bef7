package calib

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// EvenOf returns so many bins of equal width, left-closed with the edges i*(1/bins) and the last one closed, of the rows that c has
// seen, and how far the ECE over them may be from that over the rows. bound is 0 where cells are exact and where kernel.GridBins
// says that bins are unions of cells: then the two are equal. Otherwise a cell on both sides of an edge is in the bin of its mean
// score; had its rows been parted, no more than twice sum |p - y| / N of these would have changed. It is NaN where scores outside
// [0,1] are missing.
func EvenOf(c *cells.Cells, bins int) (p *Partition, bound float64) {
	edges := kernel.Edges(bins)
	sums := make([]cells.Sum, bins)
	p = &Partition{lower: edges[:bins], upper: edges[1:], weighted: c.Weighted()}
	torn := 0.0
	at := 0
	c.Each(func(x *cells.Cell) {
		for at < bins-1 && edges[at+1] <= x.Low {
			at++
		}
		to := at
		if x.High >= edges[at+1] && at < bins-1 {
			for to < bins-1 && edges[to+1] <= x.P {
				to++
			}
			torn += x.Apart()
		}
		sums[to].Add(x)
	})
	p.cells = tallies(sums)
	return p, p.bound(c, torn)
}

func tallies(sums []cells.Sum) []tally.Cell {
	t := make([]tally.Cell, len(sums))
	for i := range sums {
		t[i] = sums[i].Tally()
	}
	return t
}

func (b *Partition) bound(c *cells.Cells, torn float64) float64 {
	if c.Outside() > 0 {
		return math.NaN()
	}
	if torn == 0 {
		return 0
	}
	n := b.total()
	return 2 * torn / n.Float64()
}

// EqualMassOf returns bins of equal mass of the rows that c has seen: bin j = 1 .. bins-1 begins at the score of rank
// min(round(j*(N/bins)), N-1) among the N sorted ones, and equal scores are never divided, so that some bins may be empty. With
// weights the ranks are those of the sum of weights, in units of their mean. bound is as for EvenOf: 0 where cells are exact;
// otherwise a bin that begins inside a cell begins with it.
func EqualMassOf(c *cells.Cells, bins int) (p *Partition, bound float64) {
	n := 0
	var total exact.Sum
	c.Each(func(x *cells.Cell) {
		n += int(x.N)
		if c.Weighted() {
			t := x.Tally()
			total.Merge(&t.W)
		}
	})
	sums := make([]cells.Sum, bins)
	p = &Partition{lower: make([]float64, bins), upper: make([]float64, bins),
		weighted: c.Weighted(), chosen: true}
	ranks := order.Ranks(n, bins)
	passed := ranksOfCounts(ranks)
	if c.Weighted() {
		passed = ranksOfWeights(ranks, n, &total)
	}
	torn, bin, last := 0.0, 0, 0.0
	first := true
	c.Each(func(x *cells.Cell) {
		starts := passed(x)
		if first {
			p.lower[0], first = x.Low, false
		}
		for range starts {
			p.upper[bin] = x.Low
			bin++
			p.lower[bin] = x.Low
		}
		if starts > 0 && x.Low != x.High {
			torn += x.Apart()
		}
		last = x.High
		sums[bin].Add(x)
	})
	p.cells = tallies(sums)
	for i := bin; i < bins; i++ {
		p.upper[i] = last
		if i > bin {
			p.lower[i] = last
		}
	}
	return p, p.bound(c, torn)
}

// ranksOfCounts returns a function that tells, of one cell after another, how many of the ranks are in it.
func ranksOfCounts(ranks []int) func(*cells.Cell) int {
	seen, j := 0, 0
	return func(x *cells.Cell) (starts int) {
		for seen += int(x.N); j < len(ranks) && ranks[j] < seen; j++ {
			starts++
		}
		return starts
	}
}

// ranksOfWeights does the same where a row counts by its weight: a rank r is in the cell at which the sum of weights passes r times
// their mean. Equal weights are as none, for the comparison is exact.
func ranksOfWeights(ranks []int, n int, total *exact.Sum) func(*cells.Cell) int {
	var seen exact.Sum
	mean, j := total.Float64()/float64(n), 0
	return func(x *cells.Cell) (starts int) {
		t := x.Tally()
		seen.Merge(&t.W)
		for ; j < len(ranks) && tally.Passes(&seen, total, ranks[j], n, mean); j++ {
			starts++
		}
		return starts
	}
}

// SweepOf returns the bins of equal mass of an ECE-sweep over the rows that c has seen, as SweepECE does: as many as there can be,
// from 2 on and below the number of rows, before the frequency falls from one bin to the next; those without rows are left out. Equal
// scores are never divided. bound is 0 where cells are exact; otherwise the number of bins may be another than the rows', and as no
// bound is known it is NaN.
//
// Source: Roelofs, Cain, Shlens and Mozer 2022.
func SweepOf(c *cells.Cells) (p *Partition, bound float64) {
	if !c.Exact() || c.Outside() > 0 {
		bound = math.NaN()
	}
	s := newCellSweep(c)
	p = &Partition{chosen: true, weighted: c.Weighted()}
	if s.rows[s.cells] == 0 {
		return p, bound
	}
	ends := []int{}
	s.each(s.bins(), 0, func(_, to int) bool {
		ends = append(ends, to)
		return true
	})
	sums := make([]cells.Sum, len(ends))
	p.lower, p.upper = make([]float64, len(ends)), make([]float64, len(ends))
	at, bin := 0, 0
	c.Each(func(x *cells.Cell) {
		if at == ends[bin] {
			p.upper[bin] = x.Low
			bin++
			p.lower[bin] = x.Low
		}
		sums[bin].Add(x)
		at++
	})
	p.cells = tallies(sums)
	p.upper[bin] = 1
	return p, bound
}

// cellSweep is the numbers of rows, and of those with the event, before each cell and in all; with weights also their sums.
type cellSweep struct {
	cells      int
	rows, ones []int64

	sums          []exact.Sum // nil without weights
	before, event []float64
}

func newCellSweep(c *cells.Cells) *cellSweep {
	s := &cellSweep{rows: []int64{0}, ones: []int64{0}}
	var w, y exact.Sum
	if c.Weighted() {
		s.sums, s.before, s.event = []exact.Sum{{}}, []float64{0}, []float64{0}
	}
	c.Each(func(x *cells.Cell) {
		s.rows = append(s.rows, s.rows[s.cells]+x.N)
		s.ones = append(s.ones, s.ones[s.cells]+int64(x.Events))
		if c.Weighted() {
			t := x.Tally()
			w.Merge(&t.W)
			y.Merge(&t.Y)
			s.sums = append(s.sums, w.Clone())
			s.before, s.event = append(s.before, w.Float64()), append(s.event, y.Float64())
		}
		s.cells++
	})
	return s
}

// bins returns the largest number of bins such that no smaller one from 2 on has a frequency that falls.
func (s *cellSweep) bins() int {
	m := s.cells
	most := int(max(1, min(s.rows[m]-1, maxBins)))
	// Outcomes are all 0 before cell lo and all 1 from hi on: only bins between can fall.
	none := func(i int) bool { return s.ones[i+1] == s.ones[i] }
	all := func(i int) bool { return s.ones[i+1]-s.ones[i] == s.rows[i+1]-s.rows[i] }
	if s.sums != nil {
		none = func(i int) bool { return s.event[i+1] == 0 }
		all = func(i int) bool { return s.event[m]-s.event[i] == s.before[m]-s.before[i] }
	}
	lo, hi := 0, m
	for lo < m && none(lo) {
		lo++
	}
	for hi > 0 && all(hi-1) {
		hi--
	}
	rises := lo
	for rises+2 <= hi && !s.falls(rises, rises+1, rises+2) {
		rises++
	}
	if rises+2 > hi {
		return most // whatever cells are put together
	}
	bins := 1
	for ; bins < most; bins++ {
		last, falls := -1, false
		s.each(bins+1, lo, func(from, to int) bool {
			falls = last >= 0 && s.falls(last, from, to)
			last = from
			return !falls && from < hi
		})
		if falls {
			break
		}
	}
	return bins
}

// falls tells whether the frequency of the cells [b, c) is below that of [a, b).
func (s *cellSweep) falls(a, b, c int) bool {
	if s.sums == nil {
		return productBelow(s.ones[c]-s.ones[b], s.rows[b]-s.rows[a], s.ones[b]-s.ones[a], s.rows[c]-s.rows[b])
	}
	lower := float64((s.event[b] - s.event[a]) * (s.before[c] - s.before[b]))
	upper := float64((s.event[c] - s.event[b]) * (s.before[b] - s.before[a]))
	return lower-upper > float64(1e-13*lower) // more than rounding
}

// each calls f for the bins that have rows, as ranges of cells, from one on that begins before cell lo; until f is false.
func (s *cellSweep) each(bins, lo int, f func(from, to int) bool) {
	n := s.rows[s.cells]
	step := float64(n) / float64(bins)
	end := func(j int) int {
		if j == bins {
			return s.cells
		}
		return s.withRank(int(min(math.RoundToEven(float64(j)*step), float64(n-1))))
	}
	j := 0
	if s.sums == nil {
		j = max(0, int(float64(s.rows[min(lo, s.cells)])/step)-2)
	}
	from := 0
	if j > 0 {
		from = end(j)
	}
	for j++; j <= bins; j++ {
		if to := end(j); to > from {
			if !f(from, to) {
				return
			}
			// Bins that end in the same cell have no rows, and there may be a great many of them.
			if from = to; to < s.cells {
				j = max(j, s.least(to, step)-1)
			}
		}
	}
}

// least returns a bin, counted from 1, before which none that is not before cell i ends behind it.
func (s *cellSweep) least(i int, step float64) int {
	rank := float64(s.rows[i+1])
	if s.sums != nil {
		rank = float64(s.before[i+1] / s.before[s.cells] * float64(s.rows[s.cells]) * (1 - 1e-8))
	}
	return int((rank-0.5)/step) - 1
}

// withRank returns the cell with a rank.
func (s *cellSweep) withRank(rank int) int {
	if s.sums == nil {
		at, found := slices.BinarySearch(s.rows, int64(rank))
		if !found {
			at--
		}
		return at
	}
	n := int(s.rows[s.cells])
	total := &s.sums[s.cells]
	return sort.Search(s.cells-1, func(i int) bool { return tally.Passes(&s.sums[i+1], total, rank, n, total.Float64()/float64(n)) })
}

// productBelow tells whether a*b < c*d, of numbers that are not below 0.
func productBelow(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 < h2 || h1 == h2 && l1 < l2
}
