package cells

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/pav"
)

// Rising is scores and outcomes in rising order of the scores, as *Cells has them.
type Rising interface {
	Each(f func(*Cell)) // calls f for the cells that have rows, in rising order; the cell is the same one each time
	Count() int         // cells that have rows
	Exact() bool        // each distinct score has its own cell
	Weighted() bool     // rows have weights
	Outside() int64     // scores outside [0,1], which are in no cell
	Event() metrics.Event

	Gaps() Gaps       // of the partial sums
	Fit(p *pav.Pool)  // adds each cell to a pool
	Pairs() Pairs     // of rows with the event and rows without
	Squares() float64 // sum of w (p - y)^2
}

// Gaps is how far outcomes run ahead of scores: of the sums S_j = sum w (y - p) over the cells up to the j-th, from the lowest score,
// S_0 = 0 among them.
type Gaps struct {
	Low, High float64 // the least and the largest of them
	Last      float64 // over all cells
	// Inside is how far a sum that ends inside a cell of the grid may be beyond Low and High: 0 where cells are exact.
	Inside float64
	Total  float64 // sum w
	// Variance is sum p(1-p): that of Last if the scores are calibrated. NaN with weights.
	Variance float64
}

// Pairs is how the rows with the event compare with those without, by weight.
type Pairs struct {
	Above        float64 // pairs whose row with the event has the higher score
	Tied         float64 // pairs in one cell
	Events, Rest float64 // weights of the rows with the event and without
}

var _ Rising = (*Cells)(nil)

// Gaps returns the least and the largest partial sum.
func (c *Cells) Gaps() (g Gaps) {
	c.Each(func(x *Cell) {
		t := x.Tally()
		p, py := t.P.Float64(), t.PY.Float64()
		g.Last += x.Events - p
		g.Low, g.High = math.Min(g.Low, g.Last), math.Max(g.High, g.Last)
		if !c.Exact() {
			g.Inside = math.Max(g.Inside, math.Min(x.Events-py, p-py))
		}
		g.Total += x.Weight
		g.Variance += p - t.PP.Float64()
	})
	if c.weighted {
		g.Variance = math.NaN()
	}
	return g
}

// Fit adds the cells to a pool.
func (c *Cells) Fit(p *pav.Pool) {
	c.Each(func(x *Cell) {
		p.Add(pav.Block{Low: x.Low, High: x.High, N: x.Weight, Y: x.Events})
	})
}

// Pairs compares the rows with the event with those without.
func (c *Cells) Pairs() (r Pairs) {
	c.Each(func(x *Cell) {
		rest := x.Weight - x.Events
		r.Above += float64(x.Events * r.Rest)
		r.Tied += float64(x.Events * rest)
		r.Rest += rest
		r.Events += x.Events
	})
	return r
}

// Squares returns the sum of w (p - y)^2.
func (c *Cells) Squares() float64 {
	var s Sum
	c.Each(func(x *Cell) { s.Add(x) })
	t := s.Tally()
	return math.Max(0, t.PP.Float64()-2*t.PY.Float64()+t.Y.Float64())
}
