package rank

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Saving returns what calibration would save: the mean cost at Outcomes.Threshold above the least one of any threshold on these rows; see
// LeastCost. It is not negative, and of a finite sample it is too high on average, as a minimum over thresholds is too low. It panics as Threshold does, and
// returns NaN without rows. bound is the most by which that of the rows themselves can differ: 0 if cells are exact.
//
// Source: Elkan 2001; Ehm et al. 2016.
func (r *Ranking) Saving(o Outcomes) (saving, bound float64) {
	at, bound := r.MeanOutcome(o.Threshold(), o)
	least, _, loose := r.LeastCost(o)
	return math.Max(0, at-least), bound + loose
}

// SavingInterval returns a confidence interval of what calibration would save on all rows of the kind that were sampled, independently. With
// D(t), what the threshold t saves, that is max D(t), and with alpha = 1 - level
//
//	low  = max(0, max over t of D(t) - b s(t)),   high = max over t of D(t) + z s(t)
//
// D(t) and its standard error s(t) are those after z^2/4 rows are added to each of the four outcomes, as in OutcomeInterval, and z is the
// quantile of the normal distribution. The upper end needs no more, as the best threshold of all rows is one of these, or changes no row of the sample. The lower end has to hold at the threshold
// that chance favours most. From the threshold of the costs on, upwards and downwards, n D(t) is a random walk, so b is where
//
//	sum over both sides of 1 - Phi(b) + b phi(b) ln(v2/v1)/2 = alpha/2
//
// v1 and v2 are the variances at the nearest and the farthest threshold that may be the best one, by a first bound of the same kind: far from
// it b has no need to hold. docs/coverage.md reports how often the interval contains the true value, also of calibrated scores, of which it is 0.
// On a grid it is extended by the bound of Saving. There is none with weights or without rows. It takes at most five walks through the cells.
//
// Sources: Miller and Siegmund 1982 for maximally selected statistics; Chernozhukov, Lee and Rosen 2013 for bounds of maxima.
func (r *Ranking) SavingInterval(o Outcomes, level float64) metrics.Interval {
	n := r.total()
	if !(n > 0) || r.rows.Weighted() {
		o.Threshold()
		return metrics.NoInterval()
	}
	_, bound := r.Saving(o)
	if bound != bound {
		return metrics.NoInterval()
	}
	z := metrics.Z(level)
	s := &savings{r: r, gain: o.FalseNegative - o.TruePositive, loss: o.FalsePositive - o.TrueNegative, rows: n, add: float64(float64(z*z) / 4)}
	s.from, _ = r.at(o.Threshold())
	any := func(*saved) bool { return true }
	high := 0.0
	upper := func(c *saved) { high = math.Max(high, math.Max(c.value, c.mean+float64(z*c.se))) }
	upper(s.of(0, 0, 0))
	upper(s.of(0, 0, 1))
	s.each(upper)
	first := s.critical(any, 0.1/math.Max(1, kernel.Log64(n)))
	least := s.low(any, first)
	near := func(c *saved) bool { return c.value+float64(2*first*c.se) >= least }
	low := s.low(near, s.critical(near, (1-level)/2))
	return metrics.Interval{Low: math.Max(0, low-bound), High: math.Min(math.Max(s.gain, s.loss), high+bound)}
}

// saved is what another threshold saves, with its standard error and the variance of a row.
type saved struct {
	value, mean, se, variance float64 // mean and se are with the rows that are added
	side                      int     // 0 for lower thresholds, 1 for higher ones
}

// savings are what all thresholds save.
type savings struct {
	r                     *Ranking
	from                  decided
	gain, loss, rows, add float64
	last                  saved
}

// of returns what a threshold saves that decides otherwise for rows with and without the event.
func (s *savings) of(events, rest float64, side int) *saved {
	gain, loss := s.gain, -s.loss
	if side == 1 {
		gain, loss = -s.gain, s.loss
	}
	c := &s.last
	c.side = side
	c.value = (float64(events*gain) + float64(rest*loss)) / s.rows
	events, rest = events+s.add, rest+s.add
	n := s.rows + float64(4*s.add)
	c.mean = (float64(events*gain) + float64(rest*loss)) / n
	c.variance = (float64(events*float64(gain*gain)) + float64(rest*float64(loss*loss))) / n
	c.se = math.Sqrt(math.Max(0, c.variance-float64(c.mean*c.mean)) / n)
	return c
}

// each calls f for each threshold that decides otherwise, with the same saved, updated.
func (s *savings) each(f func(*saved)) {
	at := func(tp, fp float64) {
		switch events, rest := tp-s.from.tp, fp-s.from.fp; {
		case events > 0 || rest > 0:
			f(s.of(events, rest, 0))
		case events < 0 || rest < 0:
			f(s.of(-events, -rest, 1))
		}
	}
	s.r.steps(func(x *step) { at(x.tp+x.events, x.fp+x.rest) })
	at(0, 0)
}

// low returns the greatest lower end of the thresholds in a set, at least 0.
func (s *savings) low(in func(*saved) bool, b float64) float64 {
	low := 0.0
	s.each(func(c *saved) {
		if in(c) {
			low = math.Max(low, math.Min(c.value, c.mean-float64(b*c.se)))
		}
	})
	return low
}

// critical returns b for the thresholds in a set and the probability tail.
func (s *savings) critical(in func(*saved) bool, tail float64) float64 {
	var least, most [2]float64
	s.each(func(c *saved) {
		if in(c) {
			if least[c.side] == 0 || c.variance < least[c.side] {
				least[c.side] = c.variance
			}
			most[c.side] = math.Max(most[c.side], c.variance)
		}
	})
	sides, wide := 0.0, 0.0
	for i, v := range least {
		if v > 0 {
			sides++
			wide += kernel.Log64(most[i] / v)
		}
	}
	if sides == 0 {
		return 0
	}
	const root = 2.5066282746310002 // of 2 pi
	return tails.Root(func(b float64) float64 {
		density := kernel.Exp64(-float64(float64(b*b)/2)) / root
		return tail - float64(sides*kernel.NormCDF64(-b)) - float64(float64(float64(b*density)/2)*wide)
	}, 1, 12, 1e-12)
}
