package cells

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Cell holds the rows of one score, or of one grid cell.
type Cell struct {
	P, Q      float64 // score and 1 - score, both precise near 0; means for a grid cell
	Low, High float64 // bounds of the rows' scores; both are P if cells are exact
	N         int64   // number of rows
	Weight    float64 // sum of weights; N without weights
	Events    float64 // sum of the weights of rows with the event

	q     float64 // P or Q, whichever is smaller
	upper bool    // q is Q
	exact bool
	rest  gridSum // outcome 0, without weights: number of rows; if not exact, also sums of q and q*q
	hits  gridSum // the same for outcome 1
	heavy *tally.Cell
}

// count makes c an exact cell with n rows and the given number of events.
func (c *Cell) count(n, hits int64) {
	c.N, c.Weight, c.Events = n, float64(n), float64(hits)
	c.rest.n, c.hits.n = uint64(n-hits), uint64(hits)
	c.turn()
	c.Low, c.High = c.P, c.P
}

func init() {
	tally.Of = func(x any) tally.Cell {
		if c, ok := x.(*Cell); ok {
			return c.tally()
		}
		return x.(*Sum).tally()
	}
}

// Sum holds the sums of several cells' rows.
type Sum struct {
	halves [2]struct{ rest, hits gridSum }
	heavy  *tally.Cell
}

// Add adds a cell's rows.
func (s *Sum) Add(c *Cell) {
	if c.heavy != nil {
		if s.heavy == nil {
			s.heavy = new(tally.Cell)
		}
		s.heavy.Merge(c.heavy)
		return
	}
	h := &s.halves[0]
	if c.upper {
		h = &s.halves[1]
	}
	if !c.exact {
		h.rest.merge(&c.rest)
		h.hits.merge(&c.hits)
		return
	}
	u, uu := tally.Units(c.q), tally.Units(float64(c.q*c.q))
	h.rest.addRows(c.rest.n, u, uu)
	h.hits.addRows(c.hits.n, u, uu)
}

func (s *gridSum) merge(o *gridSum) {
	s.n += o.n
	s.q.Merge(o.q)
	s.qq.Merge(o.qq)
}

// addRows adds n rows of the same score.
func (s *gridSum) addRows(n, u, uu uint64) {
	s.n += n
	s.q.AddProduct(n, u)
	s.qq.AddProduct(n, uu)
}

// tally returns the sums over the scores.
func (s *Sum) tally() tally.Cell {
	if s.heavy != nil {
		return *s.heavy
	}
	// In the upper half q is 1 - p, so the sums are those of the opposite outcome.
	t := tallyOf(&s.halves[0].rest, &s.halves[0].hits)
	upper := tallyOf(&s.halves[1].hits, &s.halves[1].rest)
	upper = upper.Turned(false)
	t.Merge(&upper)
	return t
}

// tallyOf returns the sums over q, for rows with outcome 0 (rest) and 1 (hits).
func tallyOf(rest, hits *gridSum) (t tally.Cell) {
	t.N = int64(rest.n + hits.n)
	t.Y = tally.Count(int64(hits.n))
	q, qq := rest.q, rest.qq
	q.Merge(hits.q)
	qq.Merge(hits.qq)
	q.AddTo(&t.P)
	qq.AddTo(&t.PP)
	hits.q.AddTo(&t.PY)
	return t
}

// tally returns the sums of the cell's rows.
func (c *Cell) tally() tally.Cell {
	var s Sum
	s.Add(c)
	return s.tally()
}

// Count returns the number of nonempty cells.
func (c *Cells) Count() int {
	c.settle()
	switch {
	case c.seen.Weighted:
		keys, _ := c.weightedScores()
		return len(keys)
	case c.grid == nil:
		n := 0
		c.eachScore(func(exactCell) { n++ })
		return n
	}
	n := 0
	for i := 0; i < len(c.grid.sums); i += 2 {
		if c.grid.sums[i].n+c.grid.sums[i+1].n > 0 {
			n++
		}
	}
	return n
}

// Each calls f for the nonempty cells in ascending order of scores. f receives the same Cell each time, updated.
func (c *Cells) Each(f func(*Cell)) {
	c.settle()
	switch {
	case c.seen.Weighted:
		c.eachWeighted(f)
	case c.grid != nil:
		c.grid.each(f)
	default:
		one := Cell{exact: true}
		c.eachScore(func(e exactCell) {
			one.q, one.upper = tally.Distance(e.key)
			one.count(e.n, e.y)
			f(&one)
		})
	}
}

// turn sets P and Q from q.
func (c *Cell) turn() {
	if c.P, c.Q = c.q, 1-c.q; c.upper {
		c.P, c.Q = c.Q, c.P
	}
}

// extent returns the smallest and the largest distance from 0 or 1 in the i-th grid cell, counted by ascending distance.
func extent(i int) (x, end float64) {
	places, rising := kernel.GridPlaces()
	x, end = places[rising[i]], 0.5
	if i+1 < len(rising) {
		end = math.Nextafter(places[rising[i+1]], 0)
	}
	return x, end
}

func (g *grid) each(f func(*Cell)) {
	_, rising := kernel.GridPlaces()
	var one Cell
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
		x, end := extent(i)
		u, uu := tally.Units(x), tally.Units(float64(x*x))
		one = Cell{N: int64(n), Weight: float64(n), Events: float64(hits.n), upper: upper}
		one.rest, one.hits = rest.on(u, uu), hits.on(u, uu)
		q := one.rest.q
		q.Merge(one.hits.q)
		// Below the unit of the sums, the cell's limits are more precise.
		one.q = math.Min(math.Max(q.Float64()/float64(n), x), end)
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

// on returns the full sums of a cell. u and uu are its place and the square of its place.
func (s *gridSum) on(u, uu uint64) gridSum {
	t := *s
	t.q.AddProduct(s.n, u)
	t.qq.AddProduct(s.n, uu)
	return t
}

// heavyCell returns an exact weighted cell.
func heavyCell(h *tally.Cell, key uint64) Cell {
	w := h.Total(true)
	one := Cell{N: h.N, Weight: w.Float64(), Events: h.Y.Float64(), heavy: h}
	one.q, one.upper = tally.Distance(key)
	one.turn()
	one.Low, one.High = one.P, one.P
	return one
}

func (c *Cells) eachWeighted(f func(*Cell)) {
	_, rising := kernel.GridPlaces()
	keys, cells := c.weightedScores()
	for _, k := range keys {
		one := heavyCell(cells[k], k)
		if !c.weightedGrid {
			f(&one)
			continue
		}
		h := cells[k]
		at := int(k)
		upper := at >= len(rising)
		if upper {
			at = 2*len(rising) - 1 - at
		}
		x, end := extent(at)
		if one.Low, one.High = x, end; upper {
			one.Low, one.High = 1-end, 1-x
		}
		one.P = math.Min(math.Max(h.Score(true), one.Low), one.High)
		one.Q = 1 - one.P
		f(&one)
	}
}

// TopLabel converts the cells of the positive class of a binary task to those of the top label: the event is that the more
// probable class is the true one. A score of exactly 1/2 predicts class 0. The caller's decisions are not known. It panics if
// the cells are of another kind.
func (c *Cells) TopLabel() *Cells {
	if c.seen.Classes > 1 || c.seen.Classes == 1 && c.Event() != metrics.Positive {
		panic("cells: not those of the positive class of a binary task")
	}
	c.settle()
	t := metrics.Must(New(&Options{Event: metrics.TopLabel}))
	t.seen, t.outside, t.digits = c.seen, c.outside, c.digits
	if c.seen.Weighted {
		c.turnWeighted(t)
		return t
	}
	if c.grid != nil {
		c.turning(t)
		t.grid = newGrid()
		_, rising := kernel.GridPlaces()
		middle := int(rising[len(rising)-1]) // cell of 1/2 alone
		for i := range c.grid.sums {
			k := i | 2
			if i&2 == 0 || i>>2 == middle {
				k ^= 1 // class 0 is more probable, and the event is outcome 0
			}
			s, f := &t.grid.sums[k], &c.grid.sums[i]
			s.n += f.n
			s.q.Merge(f.q)
			s.qq.Merge(f.qq)
		}
		return t
	}
	turn, middle := c.turning(t)
	each := c.eachScore
	if t.origin != ofScores {
		each = c.eachExact
	}
	var turned []exactCell // in descending order
	each(func(e exactCell) {
		if e.key <= middle {
			k := turn(e.key)
			if n := len(turned) - 1; n >= 0 && turned[n].key == k {
				turned[n].n, turned[n].y = turned[n].n+e.n, turned[n].y+e.n-e.y
			} else {
				turned = append(turned, exactCell{k, e.n, e.n - e.y})
			}
		} else {
			t.exact = append(t.exact, e)
		}
	})
	slices.Reverse(turned)
	t.merge(turned, false)
	return t
}

// turning returns the function from a key of the positive class to the key of the top label, for keys up to middle, which
// predict class 0. It also sets the origin of t.
func (c *Cells) turning(t *Cells) (turn func(uint64) uint64, middle uint64) {
	if t.origin = ofScores; c.origin.logits() {
		t.origin = c.origin
		return mirrored, zeroKey
	}
	return func(key uint64) uint64 {
		return 2*half - math.Float64bits(fold(math.Float64frombits(key), c.digits))
	}, half
}

func (c *Cells) turnWeighted(t *Cells) {
	t.heavy, t.weightedGrid = map[uint64]*tally.Cell{}, c.weightedGrid
	turn, middle := c.turning(t)
	cells := c.heavy
	if t.origin == ofScores {
		_, cells = c.weightedScores()
	}
	_, rising := kernel.GridPlaces()
	for k, h := range cells {
		switch {
		case !c.weightedGrid && k <= middle:
			k = turn(k)
		case c.weightedGrid && k < uint64(len(rising)):
			k = 2*uint64(len(rising)) - 1 - k
		case c.weightedGrid && k == uint64(len(rising)): // cell of 1/2 alone
		default:
			t.numbered(k).Merge(h)
			continue
		}
		turned := h.Turned(true)
		t.numbered(k).Merge(&turned)
	}
}

// Apart returns the sum of |p - y| over the rows, rounded up.
func (x *Cell) Apart() float64 {
	t := x.tally()
	// It is p for outcome 0 and 1 - p for outcome 1.
	s := t.P
	s.Sub(&t.PY)
	s.Sub(&t.PY)
	s.Merge(&t.Y)
	return float64(s.Float64() * (1 + 1e-12))
}
