package regress

import (
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// calibrationSteps are numbers of rows, or sums of their weights, in consecutive groups.
type calibrationSteps struct {
	n []int64
	w []exact.Sum
}

func newCalibrationSteps(groups int, weighted bool) (s calibrationSteps) {
	if weighted {
		s.w = make([]exact.Sum, groups)
	} else {
		s.n = make([]int64, groups)
	}
	return s
}

func (s *calibrationSteps) len() int { return len(s.n) + len(s.w) }

// countUpTo adds numbers to the groups between rising edges; counts is scratch. With many edges, a search takes less time
// than comparing with all of them.
func (s *calibrationSteps) countUpTo(v, edges []float64, counts *[]int64) {
	if len(edges) > 128 {
		for _, x := range v {
			s.n[calibrationBelow(edges, x)]++
		}
		return
	}
	if cap(*counts) < len(edges) {
		*counts = make([]int64, len(edges))
	}
	c := (*counts)[:len(edges)]
	clear(c)
	kernel.CountUpTo(c, v, edges)
	last := int64(0)
	for j, n := range c {
		s.n[j] += n - last
		last = n
	}
	s.n[len(edges)] += int64(len(v)) - last
}

func (s *calibrationSteps) merge(o *calibrationSteps) {
	for j, n := range o.n {
		s.n[j] += n
	}
	for j := range o.w {
		s.w[j].Merge(&o.w[j])
	}
}

// frequencies returns, for each k from 0 to the number of groups, the share of the rows in the first k groups.
func (s *calibrationSteps) frequencies(all *tally.Weight) []float64 {
	f := make([]float64, s.len()+1)
	upTo := int64(0)
	for j, n := range s.n {
		upTo += n
		f[j+1] = float64(upTo) / float64(all.N)
	}
	var sum exact.Sum
	for j := range s.w {
		sum.Merge(&s.w[j])
		f[j+1] = exact.Ratio(&sum, &all.W)
	}
	return f
}

// sums reports whether no group is negative and their sum is the total.
func (s *calibrationSteps) sums(total *exact.Sum) bool {
	var sum exact.Sum
	for _, n := range s.n {
		if n < 0 {
			return false
		}
		sum.AddShifted(n, 88)
	}
	for j := range s.w {
		if s.w[j].Sign() < 0 {
			return false
		}
		sum.Merge(&s.w[j])
	}
	return sum.Equal(total)
}

// leads reports whether, for each k, the first k groups hold at least as much as those of o.
func (s *calibrationSteps) leads(o *calibrationSteps) bool {
	ahead := int64(0)
	for j, n := range s.n {
		if ahead += n - o.n[j]; ahead < 0 {
			return false
		}
	}
	var lead exact.Sum
	for j := range s.w {
		lead.Merge(&s.w[j])
		lead.Sub(&o.w[j])
		if lead.Sign() < 0 {
			return false
		}
	}
	return true
}

func (s *calibrationSteps) fields(f *exact.Fields, weighted bool) {
	if weighted {
		exact.Slice(f, &s.w, 25, f.Sum)
	} else {
		exact.Slice(f, &s.n, 8, f.I64)
	}
}
