package conformal

import (
	"math"

	"github.com/candor-go/candor/metrics"
)

// A ranking goes through a row's classes from the top, and from the lower class number among equals.
type ranking struct {
	p     []float64
	heap  []int32
	left  int
	rank  int     // of the last class, from 1
	sum   float64 // of the probabilities up to it
	score float64 // largest so far; a score below an earlier one would be due to rounding
}

// before reports whether class a comes before class b.
func (r *ranking) before(a, b int32) bool { return r.p[a] > r.p[b] || r.p[a] == r.p[b] && a < b }

func (r *ranking) down(i int) {
	for {
		c := 2*i + 1
		if c >= r.left {
			return
		}
		if c+1 < r.left && r.before(r.heap[c+1], r.heap[c]) {
			c++
		}
		if !r.before(r.heap[c], r.heap[i]) {
			return
		}
		r.heap[i], r.heap[c] = r.heap[c], r.heap[i]
		i = c
	}
}

// start begins with a row.
func (r *ranking) start(p []float64) {
	if cap(r.heap) < len(p) {
		r.heap = make([]int32, len(p))
	}
	r.p, r.heap, r.left = p, r.heap[:len(p)], len(p)
	r.rank, r.sum, r.score = 0, 0, math.Inf(-1)
	for i := range r.heap {
		r.heap[i] = int32(i)
	}
	for i := len(p)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
}

// next returns the next class, and sets its score for the random number u of the row.
func (r *ranking) next(m *Method, u float64) int {
	c := r.heap[0]
	r.left--
	r.heap[0] = r.heap[r.left]
	r.down(0)
	r.rank++
	r.sum += r.p[c]
	r.score = math.Max(r.score, r.sum-float64(u*r.p[c])+m.Penalty(r.rank))
	return int(c)
}

// rowScorer scores rows. Each goroutine needs its own.
type rowScorer struct {
	m *Method
	p []float64
	r ranking
}

// row returns the probabilities of row i of a block.
func (s *rowScorer) row(b *metrics.Block, i int) []float64 {
	if cap(s.p) < b.Probs.Width {
		s.p = make([]float64, b.Probs.Width)
	}
	return b.Probs.Row(s.p[:b.Probs.Width], i)
}

// class returns the score of class y of a row with the random number u, 0 if nothing is random.
func (s *rowScorer) class(p []float64, y int, u float64) float64 {
	if s.m.Score == LAC {
		return 1 - p[y]
	}
	s.r.start(p)
	for s.r.next(s.m, u) != y {
	}
	return s.r.score
}

// number returns the score of the observed number of row i of a block.
func (s *rowScorer) number(b *metrics.Block, i int) float64 {
	t := &b.Probs
	if s.m.Score == CQR {
		y, low, high := b.Observed[i], t.At(i, 0), t.At(i, t.Width-1)
		return math.Max(low-y, y-high)
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
	at := func(c int) float64 {
		if len(thresholds) == 1 {
			return thresholds[0]
		}
		return thresholds[c]
	}
	top, some := 0, false
	if s.m.Score == LAC {
		for c, v := range p {
			dst[c] = 1-v <= at(c)
			some = some || dst[c]
			if v > p[top] {
				top = c
			}
		}
	} else {
		clear(dst)
		most := thresholds[0]
		for _, t := range thresholds[1:] {
			most = math.Max(most, t)
		}
		s.r.start(p)
		for s.r.left > 0 {
			before := s.r.score
			c := s.r.next(s.m, u)
			if s.r.rank == 1 {
				top = c
			}
			if s.m.KeepLast { // the class that passes the threshold is the last
				if before >= most {
					break
				}
				dst[c] = before < at(c)
			} else {
				if s.r.score > most {
					break
				}
				dst[c] = s.r.score <= at(c)
			}
			some = some || dst[c]
		}
	}
	if s.m.NonEmpty && !some {
		dst[top] = true
	}
}
