package conformal

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// rowScorer scores rows. Each goroutine needs its own.
//
// Classes count from the top, and from the lower class number among equals. The sum of APS up to a class depends only on the values up to it
// in this order, so they are sorted without their classes.
type rowScorer struct {
	m       *Method
	p       []float64
	top     []float64 // values in rising order
	scratch []uint64
	order   []int32
}

// row returns the probabilities of row i of a block.
func (s *rowScorer) row(b *metrics.Block, i int) []float64 {
	if cap(s.p) < b.Probs.Width {
		s.p = make([]float64, b.Probs.Width)
	}
	return b.Probs.Row(s.p[:b.Probs.Width], i)
}

// A climb is the score of the classes of a row, from the top.
type climb struct {
	rank  int     // of the last class, from 1
	sum   float64 // of the probabilities up to it
	score float64 // largest so far; a score below an earlier one would be due to rounding
}

func newClimb() climb { return climb{score: math.Inf(-1)} }

// next goes on to the next class, of the probability v. u is the random number of the row.
func (c *climb) next(m *Method, v, u float64) {
	c.rank++
	c.sum += v
	c.score = math.Max(c.score, c.sum-float64(u*v)+m.Penalty(c.rank))
}

// room returns an empty list for the values of a row.
func (s *rowScorer) room(n int) []float64 {
	if cap(s.top) < n {
		s.top, s.scratch = make([]float64, n), make([]uint64, kernel.OrderScratch(n))
	}
	return s.top[:n]
}

// fewValues are sorted by insertion, which a call of the kernel would take longer for.
const fewValues = 24

// sort sorts values of a row in rising order.
func (s *rowScorer) sort(l []float64) {
	if len(l) > fewValues {
		kernel.SortF64(l, s.scratch[:kernel.SortScratch(len(l))])
		return
	}
	for i := 1; i < len(l); i++ {
		v, j := l[i], i
		for ; j > 0 && l[j-1] > v; j-- {
			l[j] = l[j-1]
		}
		l[j] = v
	}
}

// class returns the score of class y of a row with the random number u, 0 if nothing is random.
func (s *rowScorer) class(p []float64, y int, u float64) float64 {
	if s.m.Score == LAC {
		return 1 - p[y]
	}
	before, n, own := s.room(len(p)), 0, p[y]
	for _, v := range p[:y] {
		before[n] = v
		if v >= own {
			n++
		}
	}
	for _, v := range p[y+1:] {
		before[n] = v
		if v > own {
			n++
		}
	}
	s.sort(before[:n])
	c := newClimb()
	for i := n - 1; i >= 0; i-- {
		c.next(s.m, before[i], u)
	}
	c.next(s.m, own, u)
	return c.score
}

// number returns the score of the observed number of row i of a block.
func (s *rowScorer) number(b *metrics.Block, i int) float64 {
	t := &b.Probs
	if s.m.Score == CQR {
		y, low, high := b.Observed[i], t.At(i, 0), t.At(i, t.Width-1)
		return math.Max(low-y, y-high)
	}
	if b.Kind == metrics.Quantiles { // Split
		return math.Abs(b.Observed[i] - t.At(i, 0))
	}
	e, sd := t.At(i, 0), t.At(i, 1)
	if t.Width == 3 {
		e = t.At(i, 2) - e
	}
	if s.m.Score == Normalized {
		return math.Abs(e) / sd
	}
	return math.Abs(e)
}

// fill sets dst to whether each class of a row is in its set.
func (s *rowScorer) fill(dst []bool, p []float64, u float64, thresholds []float64) {
	switch {
	case s.m.Score == LAC:
		for c, v := range p {
			dst[c] = 1-v <= thresholds[min(c, len(thresholds)-1)]
		}
	case len(thresholds) == 1:
		n, last := s.size(p, u, thresholds[0])
		best(dst, p, n, last)
	default:
		s.each(dst, p, u, thresholds)
	}
	if s.m.NonEmpty && !slices.Contains(dst, true) {
		best(dst, p, 1, slices.Max(p))
	}
}

// size returns how many classes, from the top, have scores that are not above the threshold, and the probability of the last of them.
func (s *rowScorer) size(p []float64, u, threshold float64) (size int, last float64) {
	// The classes below a K-th of what the threshold leaves of 1 have less than this together, so that the others pass it.
	cut := (1 - threshold) / float64(len(p))
	for {
		top, n := s.room(len(p)), 0
		for _, v := range p {
			top[n] = v
			if v >= cut {
				n++
			}
		}
		top = top[:n]
		s.sort(top)
		c := newClimb()
		for i := n - 1; i >= 0; i-- {
			if s.m.KeepLast && c.score >= threshold { // the class that passes the threshold is the last
				return c.rank, last
			}
			if c.next(s.m, top[i], u); !s.m.KeepLast && c.score > threshold {
				return c.rank - 1, last
			}
			last = top[i]
		}
		if n == len(p) {
			return n, last
		}
		cut = math.Inf(-1) // rounding, or rows that do not sum to 1
	}
}

// best puts the n top classes into a set; last is the probability of the last of them.
func best(dst []bool, p []float64, n int, last float64) {
	clear(dst)
	if n == 0 {
		return
	}
	for c, v := range p {
		if dst[c] = v > last; dst[c] {
			n--
		}
	}
	for c := 0; n > 0; c++ { // of equals those with the lower number
		if p[c] == last {
			dst[c] = true
			n--
		}
	}
}

// each finds the sets of a threshold for each class.
func (s *rowScorer) each(dst []bool, p []float64, u float64, thresholds []float64) {
	clear(dst)
	most := slices.Max(thresholds)
	falling := s.room(len(p))
	for i, v := range p {
		falling[i] = -v
	}
	if cap(s.order) < len(p) {
		s.order = make([]int32, len(p))
	}
	s.order = s.order[:len(p)]
	kernel.OrderF64(s.order, falling, s.scratch[:kernel.OrderScratch(len(p))])
	c := newClimb()
	for _, class := range s.order {
		if s.m.KeepLast {
			if c.score >= most {
				return
			}
			dst[class] = c.score < thresholds[class]
			c.next(s.m, p[class], u)
			continue
		}
		if c.next(s.m, p[class], u); c.score > most {
			return
		}
		dst[class] = c.score <= thresholds[class]
	}
}
