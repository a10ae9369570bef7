package binfree

import (
	"errors"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ProperScore is a strictly proper score: only the true probability of the event minimizes its mean.
type ProperScore uint8

const (
	Squared     ProperScore = iota // (p - y)^2, the Brier score of an event
	Logarithmic                    // -ln v, with v the probability given to the outcome, in nats
	Spherical                      // 1 - v/sqrt(v^2 + (1-v)^2), with v the probability given to the outcome
)

// loss returns the score of a row that gave probability v to its outcome; rest is 1 - v.
func (s ProperScore) loss(v, rest float64) float64 {
	switch {
	case s == Squared:
		return float64(rest * rest)
	case s == Spherical:
		square := float64(rest * rest)
		norm := math.Sqrt(float64(v*v) + square)
		return square / (norm * (norm + v))
	case v < 0.5:
		return -kernel.Log64(v)
	}
	return -kernel.Log1p64(-rest)
}

// entropy returns the total score of n rows, y of them with the event, if all are given y/n.
func (s ProperScore) entropy(n, y float64) float64 {
	switch {
	case s == Squared:
		return float64(y * ((n - y) / n))
	case s == Spherical:
		// This is n (1 - norm), with norm^2 = 1 - 2q(1-q), without cancellation.
		q, rest := y/n, (n-y)/n
		return 2 * float64(y*rest) / (1 + math.Sqrt(float64(q*q)+float64(rest*rest)))
	case y <= 0 || y >= n:
		return 0
	}
	return -float64(y*kernel.Log64(y/n)) - float64((n-y)*kernel.Log64((n-y)/n))
}

// left returns the total score of the fitted frequencies.
func (s ProperScore) left(p *cells.Pool) float64 {
	sum := 0.0
	for _, b := range p.Blocks() {
		sum += s.entropy(b.N, b.Y)
	}
	return sum
}

// CORPOptions select the score that is decomposed. The zero value is the default.
type CORPOptions struct {
	Score ProperScore
}

// CORP is the decomposition of a mean score into miscalibration, discrimination and uncertainty, by isotonic regression of
// outcomes on scores. With S the mean score, S_C that of the recalibrated probabilities, and S_R that of the base rate,
//
//	S = MCB - DSC + UNC,  MCB = S - S_C,  DSC = S_R - S_C,  UNC = S_R.
//
// There are no bins to choose. The isotonic fit pools adjacent violators, with equal scores as one; it is the best fit for
// every proper score at once. It follows the data, so MCB and DSC of a sample exceed those of the distribution. The excess
// falls as N^(-2/3), or as 1/N if there are few distinct scores; MCB of a calibrated model is above 0.
//
// Values are NaN without rows. Bounds are also NaN if scores outside [0,1] are missing.
//
// Source: Dimitriadis, Gneiting and Jordan 2021.
type CORP struct {
	rows     cells.Rising
	proper   ProperScore
	steps    []Step
	total    float64 // total weight
	score    float64 // mean scores: as given, recalibrated, of the base rate
	left     float64
	base     float64
	loose    float64 // how much the mean score of the rows themselves may exceed score
	finer    float64 // how much the left score of the rows themselves may be below left
	infinite float64
}

// Step is a piece of the fitted curve: between its two observed scores the recalibrated probability is constant.
type Step struct {
	Low, High float64 // lowest and highest score
	Frequency float64 // of the event
	Weight    float64 // of the rows; their number without weights
}

// CORPOf decomposes the mean score of the rows in r. o may be nil; a wrong option is an error. Intervals and bands read r
// again, so r must not receive further rows before.
//
// If r keeps its scores on a grid, MCB and DSC have a bound: the values of the rows themselves are at least the returned
// value, and exceed it by at most the bound.
func CORPOf(r cells.Rising, o *CORPOptions) (*CORP, error) {
	c := &CORP{rows: r}
	if o != nil {
		c.proper = o.Score
	}
	if c.proper > Spherical {
		return nil, errors.New("binfree: there is no such score")
	}
	var fit cells.Pool
	r.Fit(&fit)
	events := 0.0
	for _, b := range fit.Blocks() {
		c.steps = append(c.steps, Step{b.Low, b.High, b.Y / b.N, b.N})
		c.total += b.N
		events += b.Y
	}
	left := c.proper.left(&fit)
	c.left = left / c.total
	c.base = c.proper.entropy(c.total, events) / c.total
	if !r.Exact() {
		c.finer = math.Max(0, left-c.proper.left(parted(r))) / c.total
	}
	if c.proper == Squared {
		c.score = r.Squares() / c.total
	} else {
		c.takeLosses()
	}
	if r.Outside() > 0 {
		c.loose, c.finer = math.NaN(), math.NaN()
	}
	return c, nil
}

// Options returns the options of the decomposition.
func (c *CORP) Options() CORPOptions { return CORPOptions{c.proper} }

// parted returns the isotonic fit where, in each cell, the rows without the event come before those with it. Its remaining
// score is at most that of the fit g of the rows themselves. Proof: within a cell, g takes rising values. Of all ways to
// assign these values to the cell's rows, giving the lowest to the rows without the event and the highest to those with it
// minimizes the sum of any proper score, since that sum is
//
//	sum s(g,0) + sum over rows with the event of (s(g,1) - s(g,0)).
//
// The first term is constant, and the second falls as g rises at these rows. The assigned values rise through the rows in
// the order used here, so the best fit in this order leaves no more. The fit of whole cells, in turn, is one of the
// candidates among which g is the best, so it leaves at least as much as g. Hence what g leaves lies between the two.
func parted(r cells.Rising) *cells.Pool {
	var p cells.Pool
	r.Each(func(x *cells.Cell) {
		if rest := x.Weight - x.Events; rest > 0 {
			p.Add(cells.Block{N: rest})
		}
		if x.Events > 0 {
			p.Add(cells.Block{N: x.Events, Y: x.Events})
		}
	})
	return &p
}

// side holds the rows of a cell with one outcome.
type side struct {
	hit     bool    // the outcome is the event
	weight  float64 // above 0
	v, rest float64 // mean probability that the rows gave to their outcome, and 1 minus it
}

// sidesOf returns the rows with the event and then those without it, as far as there are any.
func sidesOf(x *cells.Cell, r cells.Rising) (s [2]side, n int) {
	hits := side{true, x.Events, x.P, x.Q}
	rest := side{false, x.Weight - x.Events, x.Q, x.P}
	if !r.Exact() {
		// Sums of distances from the near end are sums of the probability of the outcome that is less likely in this half.
		t, unlikely, likely := tally.Of(x), &hits, &rest
		if x.Low >= 0.5 {
			t, unlikely, likely = t.Turned(r.Weighted()), likely, unlikely
		}
		others := t.P.Clone()
		others.Sub(&t.PY)
		near, far := extremes(x)
		mean := func(s *exact.Sum, weight float64) float64 {
			return math.Min(math.Max(s.Float64()/weight, near), far)
		}
		unlikely.v = mean(&t.PY, unlikely.weight)
		unlikely.rest = 1 - unlikely.v
		likely.rest = mean(&others, likely.weight)
		likely.v = 1 - likely.rest
	}
	for _, one := range [...]side{hits, rest} {
		if one.weight > 0 {
			s[n] = one
			n++
		}
	}
	return s, n
}

// inflection is the probability (7 - sqrt(17))/8. The spherical score is concave below it and convex above.
const inflection = 0.35961179679779245

// takeLosses sums the scores of the rows. In a grid cell where the score is convex, the mean loss is at least the loss of
// the mean and at most the chord over the cell; where it is concave, the reverse holds. The spherical score is both in one
// cell, where the bounds are the losses at the ends of the cell. The same bounds hold where the sums of a cell have lost
// digits. Scores in the first cell of the grid, below 2^-64, cannot be told from 0.
func (c *CORP) takeLosses() {
	const digits = 0x1p-30 // above it, a sum has 21 bits of a score
	least, most := 0.0, 0.0
	whole := c.rows.Exact()
	c.rows.Each(func(x *cells.Cell) {
		sides, n := sidesOf(x, c.rows)
		for _, s := range sides[:n] {
			unlikely, q := s.v < 0.5, math.Min(s.v, s.rest)
			near, far := q, q
			if !whole {
				near, far = extremes(x)
			}
			if c.proper == Logarithmic && unlikely && near <= 0 {
				c.infinite += s.weight
				continue
			}
			at := func(q float64) float64 {
				if unlikely {
					return c.proper.loss(q, 1-q)
				}
				return c.proper.loss(1-q, q)
			}
			low := at(q)
			high := low
			bends := c.proper == Spherical && unlikely && near < inflection && far > inflection
			if a, b := at(near), at(far); unlikely && far < digits || bends {
				low, high = b, a
			} else if near < far {
				chord := a + float64((b-a)*((q-near)/(far-near)))
				if concave := c.proper == Spherical && unlikely && far <= inflection; concave {
					low = math.Min(low, chord)
				} else {
					high = math.Max(low, chord)
				}
			}
			least += float64(s.weight * low)
			most += float64(s.weight * high)
		}
	})
	if c.score, c.loose = least/c.total, (most-least)/c.total; c.infinite > 0 {
		if c.score = math.Inf(1); !whole {
			c.loose = math.NaN()
		}
	}
}

// Score returns the mean score S, and the most by which that of the rows themselves may exceed it.
func (c *CORP) Score() (value, bound float64) { return c.score, c.loose }

// MCB returns the miscalibration S - S_C: the improvement that recalibration would give. It is at least 0, the value for
// calibrated scores. It is +Inf for the logarithmic score if a row gave 0 to its outcome; see Infinite.
func (c *CORP) MCB() (value, bound float64) {
	return math.Max(0, c.score-c.left), c.loose + c.finer
}

// DSC returns the discrimination S_R - S_C: what the scores know beyond the base rate. It is between 0 and UNC, which it
// reaches if scores separate the outcomes perfectly. It depends only on the order of the scores.
func (c *CORP) DSC() (value, bound float64) {
	return math.Max(0, c.base-c.left), c.finer
}

// UNC returns the uncertainty S_R, the mean score of the base rate: how hard the event is to predict without scores. It is
// exact. Its maximum is 1/4 for the squared score, ln 2 for the logarithmic and 1 - sqrt(1/2) for the spherical one.
func (c *CORP) UNC() (value, bound float64) {
	if c.rows.Outside() > 0 {
		bound = math.NaN()
	}
	return c.base, bound
}

// Infinite returns the weight, or without weights the number, of rows that gave 0 to their outcome. With any of them the
// logarithmic score is +Inf. On a grid, scores below 2^-64 cannot be told from 0 and count as 0; the bounds of S and MCB are
// NaN then. For the other scores it is 0.
func (c *CORP) Infinite() float64 { return c.infinite }

// Steps returns the fitted curve, the recalibrated probabilities, in rising order of scores and frequencies. Between two
// steps the curve is undefined.
func (c *CORP) Steps() []Step { return c.steps }
