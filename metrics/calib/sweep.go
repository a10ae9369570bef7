package calib

import (
	"math"
	"slices"
	"sort"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// sweeper tries numbers of bins over sorted scores. Outcomes are all 0 before lo and all 1 from hi on, so the frequency can
// only fall in between. Data that rise throughout cost one step for each number of bins.
type sweeper struct {
	*cutter
	ones   []int32 // number of events before each score, and in total
	start  []int32 // first of the scores equal to each, where a bin begins whose edge has this rank; nil if equal scores are split
	lo, hi int
	narrow bool // floor(B*p) is computed in float32

	// If weights differ: the sums of all weights and of the events' weights before each score, where equal scores have the sums
	// before the first of them. Otherwise nil. marks are the exact sums of all weights at every markEvery scores.
	before, event []float64
	marks         []exact.Sum
	total         exact.Sum
}

const markEvery = 1024

// sweep cuts the largest number of bins, from 2 on and below the number of scores, before the frequency falls from one bin to
// the next, and omits empty bins. With weights, frequencies and masses are weighted.
//
// Source: Roelofs, Cain, Shlens and Mozer 2022.
func (c *cutter) sweep(t metrics.DType) {
	n := len(c.p)
	s := &sweeper{cutter: c, ones: make([]int32, n+1), narrow: t != metrics.Float64}
	for i, y := range c.y {
		s.ones[i+1] = s.ones[i] + int32(y)
	}
	divides := c.o.Binning == SweepMass && c.o.EdgeRule != OrderStatistic
	s.lo, s.hi = n, 0
	for i, y := range c.y {
		if y == 1 {
			s.lo = min(s.lo, i)
		} else {
			s.hi = i + 1
		}
	}
	if !divides {
		s.start = make([]int32, n)
		for i := 1; i < n; i++ {
			if s.start[i] = int32(i); c.p[i] == c.p[i-1] {
				s.start[i] = s.start[i-1]
			}
		}
		if s.lo < n {
			s.lo = int(s.start[s.lo])
		}
		for s.hi > 0 && s.hi < n && c.p[s.hi] == c.p[s.hi-1] {
			s.hi++
		}
	}
	if c.w != nil && slices.Max(c.w) > slices.Min(c.w) {
		s.weigh()
	}
	most := max(1, min(n-1, maxBins))
	bins := most
	if s.lo < s.hi && !(s.start != nil && s.risesThroughout()) {
		for bins = 1; bins < most && s.rises(bins+1); bins++ {
		}
	}
	if c.o.EdgeRule == OrderStatisticClosed {
		s.between(bins)
		return
	}
	c.first = math.Min(0, c.p[0])
	s.each(bins, 0, func(_, to int, edge float64) bool {
		c.cut(to, edge)
		return true
	})
	c.edges[len(c.edges)-1] = math.Max(1, c.p[n-1])
}

// weigh computes the sums of weights. They are rounded from exact sums between distinct scores, so they do not depend on the
// order of equal scores.
func (s *sweeper) weigh() {
	n := len(s.p)
	s.before, s.event = make([]float64, n+1), make([]float64, n+1)
	var all, ones exact.Sum
	for i, w := range s.w {
		if i%markEvery == 0 {
			s.marks = append(s.marks, all.Clone())
		}
		if int(s.start[i]) == i {
			s.before[i], s.event[i] = all.Float64(), ones.Float64()
		} else {
			s.before[i], s.event[i] = s.before[i-1], s.event[i-1]
		}
		all.AddFloat(w)
		if s.y[i] == 1 {
			ones.AddFloat(w)
		}
	}
	s.before[n], s.event[n] = all.Float64(), ones.Float64()
	s.total = all
}

// withRank returns a score at which the cumulative weight passes r times the mean weight, as in cutter.ranks.
func (s *sweeper) withRank(r int) int {
	n := len(s.p)
	mean := s.before[n] / float64(n)
	at := float64(mean * float64(r))
	return max(0, sort.Search(n, func(i int) bool {
		if d := s.before[i] - at; math.Abs(d) > 1e-9*at {
			return d > 0
		}
		first := int(s.start[i])
		sum := s.marks[first/markEvery].Clone()
		for _, w := range s.w[first&^(markEvery-1) : first] {
			sum.AddFloat(w)
		}
		return tally.Passes(&sum, &s.total, r, n, mean)
	})-1)
}

// falls reports whether the frequency of the bin [b, c) is below that of [a, b).
func (s *sweeper) falls(a, b, c int) bool {
	if s.before == nil {
		return int64(s.ones[c]-s.ones[b])*int64(b-a) < int64(s.ones[b]-s.ones[a])*int64(c-b)
	}
	lower := float64((s.event[b] - s.event[a]) * (s.before[c] - s.before[b]))
	upper := float64((s.event[c] - s.event[b]) * (s.before[b] - s.before[a]))
	return lower-upper > float64(1e-13*lower) // exceeds rounding errors
}

// risesThroughout reports whether the frequency never falls from one distinct score to the next. Then it never falls between
// bins that do not split equal scores.
func (s *sweeper) risesThroughout() bool {
	n := len(s.p)
	last := -1
	for from := 0; from < n; {
		to := from + 1
		for to < n && int(s.start[to]) == from {
			to++
		}
		if last >= 0 && s.falls(last, from, to) {
			return false
		}
		last, from = from, to
	}
	return true
}

// rises reports whether the frequency never falls from one bin to the next.
func (s *sweeper) rises(bins int) bool {
	last, falls := -1, false
	s.each(bins, s.lo, func(from, to int, _ float64) bool {
		falls = last >= 0 && s.falls(last, from, to)
		last = from
		return !falls && from < s.hi
	})
	return !falls
}

// each calls f for the nonempty bins, with their upper edges, until f returns false. The first of them begins before score lo.
func (s *sweeper) each(bins, lo int, f func(from, to int, edge float64) bool) {
	n := len(s.p)
	if s.o.Binning == SweepEven {
		b := s.bin(s.p[min(lo, n-1)], bins)
		for from := s.end(b-1, bins); from < n; {
			b = s.bin(s.p[from], bins)
			to := n
			if b < bins-1 {
				to = s.end(b, bins)
			}
			if !f(from, to, s.edge(b+1, bins)) {
				return
			}
			from = to
		}
		return
	}
	step := float64(n) / float64(bins)
	end := func(j int) int { // end of bin j, counted from 1
		switch {
		case j == bins:
			return n
		case s.start == nil:
			return rankEnd(n, bins, j-1)
		}
		r := min(int(math.RoundToEven(float64(j)*step)), n-1)
		if s.before != nil {
			r = s.withRank(r)
		}
		return int(s.start[r])
	}
	j := int(float64(lo)/step) - 2 // of which a bin before lo is certain, whatever way ranks are rounded
	if s.before != nil {
		j = int(s.before[lo]/s.before[n]*float64(bins)) - 2
	}
	j = max(0, j)
	from := 0
	if j > 0 {
		from = end(j)
	}
	for j++; j <= bins; j++ {
		to := end(j)
		if to == from {
			continue
		}
		if !f(from, to, s.p[min(to, n-1)]) {
			return
		}
		from = to
	}
}

// bin returns the equal-width bin of a score.
func (s *sweeper) bin(v float64, bins int) int {
	if s.o.Index == FloorMul {
		f := v * float64(bins)
		if s.narrow {
			f = float64(float32(v) * float32(bins))
		}
		return int(math.Floor(math.Min(math.Max(f, 0), float64(bins-1))))
	}
	b := int(math.Min(math.Max(v*float64(bins), 0), float64(bins-1)))
	for b > 0 && s.edge(b, bins) > v {
		b--
	}
	for b < bins-1 && s.edge(b+1, bins) <= v {
		b++
	}
	return b
}

func (s *sweeper) edge(i, bins int) float64 {
	if s.o.Index == EdgeDiv {
		return float64(i) / float64(bins)
	}
	return float64(i) * (1 / float64(bins))
}

// end returns the end of an equal-width bin.
func (s *sweeper) end(b, bins int) int {
	if b < 0 {
		return 0
	}
	lo, hi := 0, len(s.p)
	for lo < hi {
		if m := int(uint(lo+hi) / 2); s.bin(s.p[m], bins) > b {
			hi = m
		} else {
			lo = m + 1
		}
	}
	return lo
}

// between cuts at the midpoints between bins and at the largest score, as robustness_metrics does.
func (s *sweeper) between(bins int) {
	c, n := s.cutter, len(s.p)
	c.first = math.Min(0, c.p[0])
	s.each(bins, 0, func(_, to int, _ float64) bool {
		if to < n {
			edge := float64(c.p[to-1]+c.p[to]) / 2
			c.cut(c.from(edge), edge)
		}
		return true
	})
	c.cut(c.from(c.p[n-1]), c.p[n-1])
	c.cut(n, c.p[n-1])
	c.apart = 1
}
