package binfree

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// sumUnit bounds the error of a mean of scores, from the unit of its sum and from rounding.
const sumUnit = 0x1p-51

// gridCell is a grid cell without weights, in terms of the distance q from the nearer end of [0,1]: p or 1 - p.
type gridCell struct {
	low, high float64 // range of q
	upper     bool    // q is 1 - p
	sums      tally.Cell
}

func newGridCell(x *cells.Cell) gridCell {
	c := gridCell{upper: x.Q < x.P, sums: tally.Of(x)}
	c.low, c.high = extremes(x)
	if c.upper {
		c.sums = c.sums.Turned(false)
	}
	return c
}

// extremes returns the smallest and the largest distance of a grid cell's scores from the nearer end of [0,1].
func extremes(x *cells.Cell) (near, far float64) {
	places, rising := kernel.GridPlaces()
	at := kernel.GridRank(math.Min(x.P, x.Q))
	near, far = places[rising[at]], 0.5
	if at+1 < len(rising) {
		far = math.Nextafter(places[rising[at+1]], 0)
	}
	return near, far
}

// mean returns s/n, clamped to the cell.
func (c *gridCell) mean(s, n float64) float64 { return math.Min(math.Max(s/n, c.low), c.high) }

// doubt returns the largest error of a mean of q: that of the sums' unit, but at most the width of the cell.
func (c *gridCell) doubt() float64 { return math.Min(sumUnit, c.high-c.low) }

// spread returns the largest possible variance about the mean m of numbers in the cell.
func (c *gridCell) spread(m float64) float64 {
	return float64((m - c.low) * (c.high - m))
}

// outcome holds the rows of a cell with one outcome.
type outcome struct{ n, mean float64 } // number of rows and their mean q

// outcomes returns the rows without and with the event.
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
