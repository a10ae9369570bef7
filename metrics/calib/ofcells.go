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

// EvenOf returns equal-width bins of the rows in c: left-closed with edges i*(1/bins), the last one closed. bound is the most
// by which the ECE over them can differ from that of the rows themselves. It is 0 if cells are exact, or if bins are unions of
// cells; see kernel.GridBins. Otherwise, a cell that an edge divides counts in the bin of its mean score. Splitting its rows
// would change the ECE by at most twice sum |p - y| / N over these rows. bound is NaN if c lacks scores outside [0,1].
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
		t[i] = tally.Of(&sums[i])
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

// EqualMassOf returns equal-mass bins of the rows in c. Bin j = 1 .. bins-1 begins at the score of rank min(round(j*(N/bins)),
// N-1) among the N sorted rows. Equal scores are never split, so some bins may be empty. With weights, ranks are cumulative
// weights in units of the mean weight. bound is as for EvenOf: 0 if cells are exact; otherwise a bin that would begin inside a
// cell begins at the start of the cell.
func EqualMassOf(c *cells.Cells, bins int) (p *Partition, bound float64) {
	n := 0
	var total exact.Sum
	c.Each(func(x *cells.Cell) {
		n += int(x.N)
		if c.Weighted() {
			t := tally.Of(x)
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

// ranksOfCounts returns a function that gives the number of ranks in a cell. Cells must be passed in order.
func ranksOfCounts(ranks []int) func(*cells.Cell) int {
	seen, j := 0, 0
	return func(x *cells.Cell) (starts int) {
		for seen += int(x.N); j < len(ranks) && ranks[j] < seen; j++ {
			starts++
		}
		return starts
	}
}

// ranksOfWeights is ranksOfCounts with weights: rank r is in the cell at which the cumulative weight passes r times the mean
// weight. The comparison is exact, so equal weights give the same result as no weights.
func ranksOfWeights(ranks []int, n int, total *exact.Sum) func(*cells.Cell) int {
	var seen exact.Sum
	mean, j := total.Float64()/float64(n), 0
	return func(x *cells.Cell) (starts int) {
		t := tally.Of(x)
		seen.Merge(&t.W)
		for ; j < len(ranks) && tally.Passes(&seen, total, ranks[j], n, mean); j++ {
			starts++
		}
		return starts
	}
}

// SweepOf returns the equal-mass bins of an ECE sweep over the rows in c, as SweepECE does: the largest number of bins, from 2
// on and below the number of rows, before the frequency falls from one bin to the next. Empty bins are omitted, and equal
// scores are never split. bound is 0 if cells are exact. Otherwise it is NaN (unknown), because the number of bins may differ
// from that of the rows themselves.
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

// cellSweep holds the numbers of rows and of events before each cell, and in total. With weights it also holds the cumulative
// weights of both.
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
			t := tally.Of(x)
			w.Merge(&t.W)
			y.Merge(&t.Y)
			s.sums = append(s.sums, w.Clone())
			s.before, s.event = append(s.before, w.Float64()), append(s.event, y.Float64())
		}
		s.cells++
	})
	return s
}

// bins returns the largest number of bins such that the frequency does not fall for it or for any smaller number from 2 on.
func (s *cellSweep) bins() int {
	m := s.cells
	most := int(max(1, min(s.rows[m]-1, maxBins)))
	// Outcomes are all 0 before cell lo and all 1 from cell hi on, so the frequency can only fall in between.
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
		return most // no union of cells can fall
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

// falls reports whether the frequency of the cells [b, c) is below that of [a, b).
func (s *cellSweep) falls(a, b, c int) bool {
	if s.sums == nil {
		return productBelow(s.ones[c]-s.ones[b], s.rows[b]-s.rows[a], s.ones[b]-s.ones[a], s.rows[c]-s.rows[b])
	}
	lower := float64((s.event[b] - s.event[a]) * (s.before[c] - s.before[b]))
	upper := float64((s.event[c] - s.event[b]) * (s.before[b] - s.before[a]))
	return lower-upper > float64(1e-13*lower) // exceeds rounding errors
}

// each calls f for the nonempty bins, as ranges of cells, until f returns false. The first of them begins before cell lo.
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
			// Bins that end in the same cell are empty, and there may be very many of them.
			if from = to; to < s.cells {
				j = max(j, s.least(to, step)-1)
			}
		}
	}
}

// least returns a lower bound on the bins, counted from 1, that end after cell i.
func (s *cellSweep) least(i int, step float64) int {
	rank := float64(s.rows[i+1])
	if s.sums != nil {
		rank = float64(s.before[i+1] / s.before[s.cells] * float64(s.rows[s.cells]) * (1 - 1e-8))
	}
	return int((rank-0.5)/step) - 1
}

// withRank returns the cell that contains a rank.
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

// productBelow reports whether a*b < c*d, for nonnegative numbers.
func productBelow(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 < h2 || h1 == h2 && l1 < l2
}
