package binfree

import (
	"errors"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/pav"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
)

// ProperScore is a score of probabilities that none but the event's own probability makes least on average.
type ProperScore uint8

const (
	Squared     ProperScore = iota // (p - y)^2, the Brier score of an event
	Logarithmic                    // -ln of the probability that was given to what happened, in nats
	Spherical                      // 1 - v/sqrt(v^2 + (1-v)^2), v being the probability that was given to what happened
)

// loss returns the score of a row that gave v to what happened; rest is 1 - v.
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

// entropy returns the sum of the scores of n rows, y of them with the event, that all give it y/n.
func (s ProperScore) entropy(n, y float64) float64 {
	switch {
	case s == Squared:
		return float64(y * ((n - y) / n))
	case s == Spherical:
		// n (1 - norm), where the square of the norm is 1 - 2q(1-q)
		q, rest := y/n, (n-y)/n
		return 2 * float64(y*rest) / (1 + math.Sqrt(float64(q*q)+float64(rest*rest)))
	case y <= 0 || y >= n:
		return 0
	}
	return -float64(y*kernel.Log64(y/n)) - float64((n-y)*kernel.Log64((n-y)/n))
}

// left returns the sum of the scores of the fitted frequencies.
func (s ProperScore) left(p *pav.Pool) float64 {
	sum := 0.0
	for _, b := range p.Blocks() {
		sum += s.entropy(b.N, b.Y)
	}
	return sum
}

// CORPOptions say what is decomposed. The zero value is the default.
type CORPOptions struct {
	Score ProperScore
}

// CORP is the decomposition of a mean score into miscalibration, discrimination and uncertainty by the frequency that rises
// with the score and fits best. With S the mean score, S_C that of the probabilities recalibrated by that fit, and S_R that
// of the base rate,
//
//	S = MCB - DSC + UNC,  MCB = S - S_C,  DSC = S_R - S_C,  UNC = S_R.
//
// There are no bins to choose. The fit is isotonic regression by pooling adjacent violators, equal scores being one; it is
// the best for every proper score at once. It follows the rows it is made of: MCB and DSC of the same rows are larger than
// those of the law they come from, by an amount that falls as N^(-2/3), or as 1/N where there are few different scores; MCB
// of a calibrated model is above 0.
//
// Answers are NaN without rows, and their bounds too where scores outside [0,1] are missing.
//
// Source: Dimitriadis, Gneiting and Jordan 2021.
type CORP struct {
	rows     cells.Rising
	proper   ProperScore
	steps    []Step
	total    float64 // weight
	score    float64 // means: of the score, of the recalibrated one, of the base rate's
	left     float64
	base     float64
	loose    float64 // how much above score that of the rows may be
	finer    float64 // how much below left that of the rows may be
	infinite float64
}

// Step is a piece of the fitted curve: between two scores that were seen the recalibrated probability is the same.
type Step struct {
	Low, High float64 // the lowest score and the highest one
	Frequency float64 // of the event
	Weight    float64 // of the rows; their number without weights
}

// CORPOf decomposes the mean score of the rows that r has seen; o may be nil; a wrong option is an error. Intervals and
// bands read r again, so it is not to see more rows before.
//
// Where r has a grid for its scores MCB and DSC come with a bound: those of the rows are not below the value, nor above
// it by more than the bound.
func CORPOf(r cells.Rising, o *CORPOptions) (*CORP, error) {
	c := &CORP{rows: r}
	if o != nil {
		c.proper = o.Score
	}
	if c.proper > Spherical {
		return nil, errors.New("binfree: there is no such score")
	}
	var fit pav.Pool
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

// Options returns what the decomposition was made with.
func (c *CORP) Options() CORPOptions { return CORPOptions{c.proper} }

// parted returns the fit where each cell's rows without the event come before those with it. What it leaves is not more than
// what the fit g of the rows themselves leaves: in a cell g takes rising values, and to give the lowest of them to the rows
// without the event and the highest to those with it makes, of all ways to hand out these values, the sum of any proper
// score least, for that is
//
//	sum s(g,0) + sum over rows with the event of (s(g,1) - s(g,0)),
//
// of which the first sum does not change and the second falls as g rises at these rows. What this hands out rises through
// the rows of the cells in that order, so it leaves no less than the best that does. And the fit of whole cells is one of
// those that g is the best of, so it leaves no less than g. So what is left by g lies between the two.
func parted(r cells.Rising) *pav.Pool {
	var p pav.Pool
	r.Each(func(x *cells.Cell) {
		if rest := x.Weight - x.Events; rest > 0 {
			p.Add(pav.Block{N: rest})
		}
		if x.Events > 0 {
			p.Add(pav.Block{N: x.Events, Y: x.Events})
		}
	})
	return &p
}

// side is the rows of a cell that have one outcome.
type side struct {
	hit     bool    // it is the event
	weight  float64 // above 0
	v, rest float64 // mean of the probabilities that the rows gave to what happened, and what it is less than 1
}

// sidesOf returns the rows with the event and then those without, where there are any.
func sidesOf(x *cells.Cell, r cells.Rising) (s [2]side, n int) {
	hits := side{true, x.Events, x.P, x.Q}
	rest := side{false, x.Weight - x.Events, x.Q, x.P}
	if !r.Exact() {
		// Sums of distances from the near end are those of the probabilities of what is less probable in this half.
		t, unlikely, likely := x.Tally(), &hits, &rest
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

// inflection is the probability above which the spherical score is convex, and below which it is concave: (7 - sqrt(17))/8.
const inflection = 0.35961179679779245

// takeLosses sums the scores of the rows. Where the score is convex those of a grid cell are not below the one of their mean,
// nor above the chord over the cell, and where it is concave the other way round; the spherical score is both in one cell,
// where they are between those of its ends, as they are where the sums of a cell have lost digits. What is in the grid's first
// cell, below 2^-64, cannot be told from 0.
func (c *CORP) takeLosses() {
	const digits = 0x1p-30 // above it a sum has 21 bits of a score
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

// Score returns S, the mean score, and how much more that of the rows may be.
func (c *CORP) Score() (value, bound float64) { return c.score, c.loose }

// MCB returns the miscalibration S - S_C, at least 0, the value of calibrated scores: what recalibration would gain. It is
// +Inf for the logarithmic score where a row gave 0 to what happened; see Infinite.
func (c *CORP) MCB() (value, bound float64) {
	return math.Max(0, c.score-c.left), c.loose + c.finer
}

// DSC returns the discrimination S_R - S_C, from 0 to UNC, the value where scores part the rows with the event from those
// without: what the scores know beyond the base rate. It depends on the order of the scores alone, and not on their values.
func (c *CORP) DSC() (value, bound float64) {
	return math.Max(0, c.base-c.left), c.finer
}

// UNC returns the uncertainty S_R, the mean score of the base rate: how hard the event is to foretell without scores. It is
// at most 1/4, ln 2 for the logarithmic score, and 1 - sqrt(1/2) for the spherical one. It is exact.
func (c *CORP) UNC() (value, bound float64) {
	if c.rows.Outside() > 0 {
		bound = math.NaN()
	}
	return c.base, bound
}

// Infinite returns the weight of the rows, or their number without weights, that gave 0 to what happened: with any, the
// logarithmic score is +Inf. On a grid what is below 2^-64 counts as 0, for it cannot be told from it, and the bounds of S
// and MCB are NaN then. It is 0 for the other scores.
func (c *CORP) Infinite() float64 { return c.infinite }

// Steps returns the fitted curve, in rising order of scores and frequencies: the recalibrated probabilities. Between two
// steps it is not known.
func (c *CORP) Steps() []Step { return c.steps }
