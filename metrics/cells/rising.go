package cells

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Ordered gives scores and outcomes in the order of ranks.
type Ordered interface {
	Each(f func(*Cell)) // calls f for the nonempty cells in ascending order, with the same Cell each time, updated
	Count() int         // number of nonempty cells
	Exact() bool        // whether each distinct score has its own cell
	Weighted() bool     // whether rows have weights
	Outside() int64     // number of scores outside [0,1], which are in no cell
	Pairs() Pairs       // comparison of rows with and without the event
}

// Ranked returns o.Ranked() for *Cells and *Sorted, otherwise o itself.
func Ranked(o Ordered) Ordered {
	if r, ok := o.(interface{ Ranked() Ordered }); ok {
		return r.Ranked()
	}
	return o
}

// Rising gives scores and outcomes in ascending order of scores. *Cells has them for any number of rows, on a grid if there are
// many distinct scores. *Sorted has them for rows in memory, with a cell for each score. If cells are exact, both give
// bit-identical answers. Sums are exact and rounded once, except where noted.
type Rising interface {
	Ordered
	Event() metrics.Event

	Gaps() Gaps       // extremes of the partial sums
	Fit(p *Pool)      // adds each cell to a pool
	Squares() float64 // sum of w (p - y)^2
}

// Gaps describes the partial sums S_j = sum w (y - p) over the cells up to the j-th, from the lowest score on, with S_0 = 0.
// They show how far outcomes run ahead of scores. Scores count in integer units of 2^-51. With weights, the products count in
// units of 2^-88.
type Gaps struct {
	Low, High float64 // smallest and largest S_j
	Last      float64 // sum over all cells
	// Inside is the most by which a partial sum that ends inside a grid cell can exceed Low or High: 0 if cells are exact.
	Inside float64
	Total  float64 // sum w
	// Variance is sum p(1-p), the variance of Last if the scores are calibrated. It is NaN with weights.
	Variance float64
}

// Pairs compares rows with the event to rows without it, by weight. Without weights, pairs are counted exactly in 128 bits.
// With weights, they are float64 sums.
type Pairs struct {
	Above        float64 // pairs in which the row with the event has the higher score
	Tied         float64 // pairs within one cell
	Events, Rest float64 // weights of the rows with and without the event
}

var _, _ Rising = (*Cells)(nil), (*Sorted)(nil)

// one is 1 in units of 2^-51.
const one = 1 << 51

// path holds the extremes of partial sums, in units of 2^-51.
type path struct {
	sum, low, high wide
	under, over    wide // extremes of sums that end inside a cell
}

// step adds a cell: up is the contribution of its events, down that of its other rows.
func (p *path) step(up, down wide, exact bool) {
	if !exact {
		p.over = most(p.over, p.sum.plus(up))
		p.under = least(p.under, p.sum.minus(down))
	}
	p.sum = p.sum.plus(up).minus(down)
	p.low, p.high = least(p.low, p.sum), most(p.high, p.sum)
}

func (p *path) gaps(exact bool) Gaps {
	g := Gaps{Low: p.low.units(), High: p.high.units(), Last: p.sum.units()}
	if !exact {
		g.Inside = math.Max(0, math.Max(p.over.minus(p.high).units(), p.low.minus(p.under).units()))
	}
	return g
}

// sums returns the increase of the partial sum by the events of a cell, its decrease by the other rows, and the sum of p(1-p).
func (c *Cell) sums() (up, down, variance wide) {
	rest, hits := &c.rest, &c.hits
	if c.exact {
		u, uu := tally.Units(c.q), tally.Units(float64(c.q*c.q))
		up, down, variance = product(hits.n, u), product(rest.n, u), product(uint64(c.N), u-uu)
	} else {
		up, down = of(hits.q), of(rest.q)
		variance = up.plus(down).minus(of(hits.qq)).minus(of(rest.qq))
	}
	// So far these are sums of q, which is 1 - p in the upper half and p in the lower half.
	if c.upper {
		down = product(rest.n, one).minus(down)
	} else {
		up = product(hits.n, one).minus(up)
	}
	return up, down, variance
}

func of(w tally.Wide) wide { return wide{w.Hi, w.Lo} }

// Gaps returns the extremes of the partial sums.
func (c *Cells) Gaps() Gaps {
	if c.seen.Weighted {
		return c.gapsWeighted()
	}
	var p path
	var variance wide
	n, exact := int64(0), c.Exact()
	c.Each(func(x *Cell) {
		up, down, v := x.sums()
		p.step(up, down, exact)
		variance = variance.plus(v)
		n += x.N
	})
	g := p.gaps(exact)
	g.Total, g.Variance = float64(n), variance.units()
	return g
}

func (c *Cells) gapsWeighted() Gaps {
	g := Gaps{Variance: math.NaN()}
	var sum, total exact.Sum
	over, under := 0.0, 0.0
	c.Each(func(x *Cell) {
		h := x.heavy
		up, down := sum.Clone(), sum.Clone()
		up.Merge(&h.Y)
		up.Sub(&h.PY)
		down.Merge(&h.PY)
		down.Sub(&h.P)
		over, under = math.Max(over, up.Float64()), math.Min(under, down.Float64())
		sum.Merge(&h.Y)
		sum.Sub(&h.P)
		g.Last = sum.Float64()
		g.Low, g.High = math.Min(g.Low, g.Last), math.Max(g.High, g.Last)
		w := h.Total(true)
		total.Merge(&w)
	})
	if g.Total = total.Float64(); c.weightedGrid {
		g.Inside = math.Max(0, math.Max(over-g.High, g.Low-under))
	}
	return g
}

// Fit adds the cells to a pool.
func (c *Cells) Fit(p *Pool) {
	c.Each(func(x *Cell) {
		p.Add(Block{Low: x.Low, High: x.High, N: x.Weight, Y: x.Events})
	})
}

// duels counts pairs of unweighted rows.
type duels struct {
	above, tied  wide
	events, rest uint64
}

// add adds a cell with the given numbers of rows without and with the event.
func (d *duels) add(rest, events uint64) {
	d.above = d.above.plus(product(events, d.rest))
	d.tied = d.tied.plus(product(events, rest))
	d.rest += rest
	d.events += events
}

// add adds a cell with the given weights of rows without and with the event.
func (p *Pairs) add(rest, events float64) {
	p.Above += float64(events * p.Rest)
	p.Tied += float64(events * rest)
	p.Rest += rest
	p.Events += events
}

func (d *duels) pairs() Pairs {
	return Pairs{Above: d.above.float(), Tied: d.tied.float(), Events: float64(d.events), Rest: float64(d.rest)}
}

// Pairs compares rows with the event to rows without it, in the order of Ranked.
func (c *Cells) Pairs() Pairs {
	if r := c.Ranked(); r != Ordered(c) {
		return r.Pairs()
	}
	return pairsOf(c, c.seen.Weighted)
}

func pairsOf(o interface{ Each(func(*Cell)) }, weighted bool) (r Pairs) {
	if weighted {
		o.Each(func(x *Cell) { r.add(x.Weight-x.Events, x.Events) })
		return r
	}
	var d duels
	o.Each(func(x *Cell) { d.add(x.rest.n, x.hits.n) })
	return d.pairs()
}

// Squares returns the sum of w (p - y)^2. For exact cells without weights, each square is rounded to an integer multiple of
// 2^-50.
func (c *Cells) Squares() float64 {
	if c.Exact() && !c.seen.Weighted {
		var s wide
		c.Each(func(x *Cell) {
			near, far := squares(x.q)
			if !x.upper {
				near, far = far, near
			}
			s = s.plus(product(x.hits.n, near)).plus(product(x.rest.n, far))
		})
		return 2 * s.units()
	}
	var all Sum
	c.Each(func(x *Cell) { all.Add(x) })
	t := all.tally()
	sum := t.PP.Clone()
	sum.Sub(&t.PY)
	sum.Sub(&t.PY)
	sum.Merge(&t.Y)
	return math.Max(0, sum.Float64())
}

// squares returns the squares of a score's distances from the nearer and the farther of 0 and 1, in units of 2^-50.
func squares(q float64) (near, far uint64) {
	const magic = 6 // numbers from 4 to 8 have a last place of 2^-50
	unit := func(v float64) uint64 { return math.Float64bits(v+magic) - math.Float64bits(magic) }
	d := 1 - q
	return unit(float64(q * q)), unit(float64(d * d))
}
