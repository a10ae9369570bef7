package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// sumUnit is how much a mean of scores may be off by the unit of its sum, and by rounding.
const sumUnit = 0x1p-51

// gridCell is a cell of the grid without weights in terms of the distance q from the end near to its scores, p or 1 - p.
type gridCell struct {
	low, high float64 // no q is beyond these
	upper     bool    // q is 1 - p
	sums      tally.Cell
}

func newGridCell(x *cells.Cell) gridCell {
	c := gridCell{upper: x.Q < x.P, sums: x.Tally()}
	c.low, c.high = extremes(x)
	if c.upper {
		c.sums = c.sums.Turned(false)
	}
	return c
}

// extremes returns the least and the largest distance of the scores of a grid cell from the end near to it.
func extremes(x *cells.Cell) (near, far float64) {
	places, rising := kernel.GridPlaces()
	at := kernel.GridRank(math.Min(x.P, x.Q))
	near, far = places[rising[at]], 0.5
	if at+1 < len(rising) {
		far = math.Nextafter(places[rising[at+1]], 0)
	}
	return near, far
}

// mean returns s/n within the cell.
func (c *gridCell) mean(s, n float64) float64 { return math.Min(math.Max(s/n, c.low), c.high) }

// doubt is how much a mean of q may be off: by what the sums' unit takes away, and no more than the cell is wide.
func (c *gridCell) doubt() float64 { return math.Min(sumUnit, c.high-c.low) }

// spread returns the largest variance that numbers of the cell have around the mean m.
func (c *gridCell) spread(m float64) float64 {
	return float64((m - c.low) * (c.high - m))
}

// outcome is the rows of a cell that have one outcome.
type outcome struct{ n, mean float64 } // how many, and their mean q; none if n is 0

// outcomes returns the rows without the event and those with it.
func (c *gridCell) outcomes() (rest, hits outcome) {
	p := c.sums.P.Clone()
	p.Sub(&c.sums.PY)
	hits.n = c.sums.Y.Float64()
	rest.n = float64(c.sums.N) - hits.n
	rest.mean, hits.mean = c.mean(p.Float64(), rest.n), c.mean(c.sums.PY.Float64(), hits.n)
	if c.upper {
		return hits, rest // the sums are those of 1 - y
	}
	return rest, hits
}
