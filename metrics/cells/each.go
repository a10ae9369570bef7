package cells

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Cell is the rows of one score, or of one cell of the grid.
type Cell struct {
	P, Q      float64 // the score and what it is less than 1, which has its digits near 1 too; of a grid cell their means
	Low, High float64 // no row's score is beyond these: P twice, where cells are exact
	N         int64   // rows
	Weight    float64 // sum of their weights; N without any
	Events    float64 // that of the rows with the event

	rest  gridSum // of outcome 0, in whole sums of q and of q*q
	hits  gridSum // of outcome 1
	upper bool    // q is Q, not P
	heavy *tally.Cell
}

// AddTo adds the rows to a tally.
func (c *Cell) AddTo(t *tally.Cell) {
	if c.heavy != nil {
		t.Merge(c.heavy)
		return
	}
	// Of q, and in the upper half, where q is 1 - p, of the other outcome.
	far, near := &c.rest, &c.hits
	if c.upper {
		far, near = near, far
	}
	var s tally.Cell
	s.N = c.N
	s.Y = tally.Count(int64(near.n))
	q, qq := far.q, far.qq
	q.Merge(near.q)
	qq.Merge(near.qq)
	q.AddTo(&s.P)
	qq.AddTo(&s.PP)
	near.q.AddTo(&s.PY)
	if c.upper {
		s = s.Turned(false)
	}
	t.Merge(&s)
}

// Each calls f for the cells that have rows, in rising order of their scores. The cell is the same one each time.
func (c *Cells) Each(f func(*Cell)) {
	c.settle()
	switch {
	case c.weighted:
		c.eachWeighted(f)
	case c.grid != nil:
		c.grid.each(f)
	default:
		for i := range c.exact {
			e := &c.exact[i]
			q, upper := distance(e.key)
			u, uu := tally.Units(q), tally.Units(float64(q*q))
			one := Cell{Q: q, N: e.n, Weight: float64(e.n), Events: float64(e.y), upper: upper}
			one.rest, one.hits = whole(uint64(e.n-e.y), u, uu), whole(uint64(e.y), u, uu)
			one.turn()
			one.Low, one.High = one.P, one.P
			f(&one)
		}
	}
}

// whole returns the sums of n equal scores.
func whole(n, u, uu uint64) (s gridSum) {
	s.n = n
	s.q.AddProduct(n, u)
	s.qq.AddProduct(n, uu)
	return s
}

// turn sets P and Q by the distance that Q is.
func (c *Cell) turn() {
	if q := c.Q; c.upper {
		c.P = 1 - q
	} else {
		c.P, c.Q = q, 1-q
	}
}

func (g *grid) each(f func(*Cell)) {
	places, rising := kernel.GridPlaces()
	half := func(i int, upper bool) {
		cell := int(rising[i])
		k := cell << 2
		if upper {
			k |= 2
		}
		rest, hits := &g.sums[k], &g.sums[k|1]
		n := rest.n + hits.n
		if n == 0 {
			return
		}
		x := places[cell]
		end := 0.5
		if i+1 < len(rising) {
			end = math.Nextafter(places[rising[i+1]], 0)
		}
		u, uu := tally.Units(x), tally.Units(float64(x*x))
		one := Cell{N: int64(n), Weight: float64(n), Events: float64(hits.n), upper: upper}
		one.rest, one.hits = rest.on(u, uu), hits.on(u, uu)
		q := one.rest.q
		q.Merge(one.hits.q)
		one.Q = q.Float64() / float64(n)
		// Below the sums' unit the cell's place says more than they do.
		one.Q = math.Min(math.Max(one.Q, x), end)
		one.turn()
		if one.Low, one.High = x, end; upper {
			one.Low, one.High = 1-end, 1-x
		}
		f(&one)
	}
	for i := range rising {
		half(i, false)
	}
	for i := len(rising) - 1; i >= 0; i-- {
		half(i, true)
	}
}

// on returns the whole sums of a cell whose place and its square are u and uu.
func (s *gridSum) on(u, uu uint64) gridSum {
	t := *s
	t.q.AddProduct(s.n, u)
	t.qq.AddProduct(s.n, uu)
	return t
}

func (c *Cells) eachWeighted(f func(*Cell)) {
	places, rising := kernel.GridPlaces()
	for _, k := range c.keys() {
		h := c.heavy[k]
		w := h.Total(true)
		one := Cell{N: h.N, Weight: w.Float64(), Events: h.Y.Float64(), heavy: h}
		if !c.thick {
			one.Q, one.upper = distance(k)
			one.turn()
			one.Low, one.High = one.P, one.P
			f(&one)
			continue
		}
		at := int(k)
		upper := at >= len(rising)
		if upper {
			at = 2*len(rising) - 1 - at
		}
		x, end := places[rising[at]], 0.5
		if at+1 < len(rising) {
			end = math.Nextafter(places[rising[at+1]], 0)
		}
		if one.Low, one.High = x, end; upper {
			one.Low, one.High = 1-end, 1-x
		}
		one.P = math.Min(math.Max(h.Score(true), one.Low), one.High)
		one.Q = 1 - one.P
		f(&one)
	}
}

// TopLabel returns the cells of the event that the more probable class is the true one, made of those of the positive class of a
// binary task: a score of exactly 1/2 predicts class 1, and the caller's decisions are not known. It panics if the cells are of something else.
func (c *Cells) TopLabel() *Cells {
	if c.classes > 1 || c.classes == 1 && c.Event() != metrics.Positive {
		panic("cells: not those of the positive class of a binary task")
	}
	c.settle()
	t := New(&Options{Event: metrics.TopLabel})
	t.classes, t.weighted, t.outside = c.classes, c.weighted, c.outside
	if c.weighted {
		c.turnWeighted(t)
		return t
	}
	if c.grid != nil {
		t.grid = newGrid()
		for i := range c.grid.sums {
			k := i | 2
			if i&2 == 0 {
				k ^= 1 // class 0 is the more probable one, and the event its outcome
			}
			s, f := &t.grid.sums[k], &c.grid.sums[i]
			s.n += f.n
			s.q.Merge(f.q)
			s.qq.Merge(f.qq)
		}
		return t
	}
	lower := 0
	for lower < len(c.exact) && c.exact[lower].key < half {
		lower++
	}
	turned := make([]exactCell, lower)
	for i := range turned {
		e := c.exact[lower-1-i]
		turned[i] = exactCell{2*half - e.key, e.n, e.n - e.y}
	}
	t.exact = append(t.exact, c.exact[lower:]...)
	t.merge(turned)
	return t
}

func (c *Cells) turnWeighted(t *Cells) {
	t.heavy, t.thick = map[uint64]*tally.Cell{}, c.thick
	_, rising := kernel.GridPlaces()
	for k, h := range c.heavy {
		switch {
		case !c.thick && k < half:
			k = 2*half - k
		case c.thick && k < uint64(len(rising)):
			k = 2*uint64(len(rising)) - 1 - k
		default:
			t.numbered(k).Merge(h)
			continue
		}
		turned := h.Turned(true)
		t.numbered(k).Merge(&turned)
	}
}
