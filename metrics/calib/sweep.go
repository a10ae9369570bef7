package calib

import (
	"math"
	"slices"
	"sort"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// A sweeper tries numbers of bins over sorted scores. Outcomes are all 0 before lo and all 1 from hi on, so that only bins
// between can fall: data that rise throughout cost one step a number of bins.
type sweeper struct {
	*cutter
	ones   []int32 // before each score and in all
	start  []int32 // of the scores equal to each: where a bin begins that has its rank as an edge; nil where they are divided
	lo, hi int
	narrow bool // floor(B*p) is computed in float32

	// With weights that differ, their sum before each score, for those that are equal before the first, and that of the weights
	// whose outcome is 1; nil otherwise. marks are the exact sums before every so many scores.
	before, event []float64
	marks         []exact.Sum
	total         exact.Sum
}

const markEvery = 1024

// sweep cuts as many bins as there can be, from 2 on and below the number of scores, before the frequency falls from one bin
// to the next, and leaves out those without scores. Frequencies and masses are weighted if there are weights.
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

// weigh makes the sums of weights. They are rounded from exact ones where scores differ, so the order of equal scores is none
// of theirs.
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

// withRank returns a score at which the sum of weights passes that of so many rows of the mean weight, as cutter.ranks does.
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

// falls tells whether the frequency of the bin [b, c) is below that of [a, b).
func (s *sweeper) falls(a, b, c int) bool {
	if s.before == nil {
		return int64(s.ones[c]-s.ones[b])*int64(b-a) < int64(s.ones[b]-s.ones[a])*int64(c-b)
	}
	lower := float64((s.event[b] - s.event[a]) * (s.before[c] - s.before[b]))
	upper := float64((s.event[c] - s.event[b]) * (s.before[b] - s.before[a]))
	return lower-upper > float64(1e-13*lower) // more than rounding
}

// risesThroughout tells whether the frequency never falls from one score to the next: then it falls over no bins that do not divide
// scores.
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

// rises tells whether the frequency never falls from one of so many bins to the next.
func (s *sweeper) rises(bins int) bool {
	last, falls := -1, false
	s.each(bins, s.lo, func(from, to int, _ float64) bool {
		falls = last >= 0 && s.falls(last, from, to)
		last = from
		return !falls && from < s.hi
	})
	return !falls
}

// each calls f for the bins that have scores, with the upper edge, from one on that begins before score lo; until f is false.
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
	end := func(j int) int { // of bin j, counted from 1
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
	j := int(float64(lo)/step) - 2
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

// bin returns the bin of a score among so many equal-width ones.
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

// end returns where an equal-width bin ends.
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

// between cuts in the middle between so many bins, and at the largest score, as robustness_metrics does.
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
