package survival

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
)

// Brier returns the Brier score at a horizon, of predictions P(T <= horizon): the mean of w (p-y)^2, where y says whether the event happened by
// then. Rows with the event have the weight w = 1/G(T-), rows known to be without it 1/G(horizon-), and rows censored before 0; G is
// the curve of censoring. 0 is best. The standard error is that of the rows' influence on the mean and on G.
//
// Source: Graf et al. 1999.
func Brier(r *Rows, horizon float64) (Estimate, error) {
	if err := r.Validate(true); err != nil {
		return Estimate{}, err
	}
	if !(horizon > 0 && horizon <= math.MaxFloat64) {
		return Estimate{}, errHorizon
	}
	order := r.byTime()
	terms := r.briers(r.curve(order, false), horizon, r.Risks)
	return r.meanOf(terms, r.throughCurve(order, terms, horizon), horizon), nil
}

// briers are w (p-y)^2, with the rows' own weights.
func (r *Rows) briers(g *Curve, horizon float64, risks []float64) []float64 {
	known := r.inverse(g, horizon)
	terms := make([]float64, len(risks))
	for i, p := range risks {
		if known.happens[i] {
			p = 1 - p
		}
		terms[i] = float64(known.weights[i] * float64(p*p))
	}
	return terms
}

// throughCurve returns, for each row, its influence on the sum of terms by way of the curve of censoring up to the horizon, by which they are
// divided: a row that is censored makes the terms of all later rows larger, and one that is not censored, smaller.
func (r *Rows) throughCurve(order []int32, terms []float64, horizon float64) []float64 {
	under, rest := 0.0, 0.0 // rows under observation, and the sum of their terms
	for i, v := range terms {
		under += r.weight(i)
		rest += v
	}
	out := make([]float64, len(terms))
	pull := 0.0
	for from := 0; from < len(order); {
		t, to := r.Times[order[from]], from
		var happened, gone float64
		for ; to < len(order) && r.Times[order[to]] == t; to++ {
			w := r.weight(int(order[to]))
			rest -= terms[order[to]]
			if r.Events[order[to]] {
				happened += w
				out[order[to]] = -pull
			} else {
				gone += w
			}
		}
		y, jump := under-happened, 0.0
		if t < horizon && gone > 0 && gone < y {
			jump = math.Max(rest, 0) / (y - gone)
			pull += float64(jump * (gone / y))
		}
		for _, i := range order[from:to] {
			if !r.Events[i] {
				out[i] = jump - pull
			}
		}
		under -= happened + gone
		from = to
	}
	return out
}

// meanOf returns the mean of terms that include the rows' weights. more is what each row adds to its influence on their sum, without its weight. Both
// are overwritten.
func (r *Rows) meanOf(terms, more []float64, horizon float64) Estimate {
	sum, rows := 0.0, 0.0
	for i, v := range terms {
		sum += v
		rows += r.weight(i)
	}
	value := sum / rows
	for i, v := range terms {
		terms[i] = v + float64(r.weight(i)*(more[i]-value))
	}
	return r.estimate(value, terms, rows, horizon)
}

// Curves are predicted survival curves.
type Curves struct {
	Times []float64   // rising, above 0
	Risks [][]float64 // for each of Times, P(T <= time) of each row
}

var errHorizons = errors.New("survival: the times of curves have to rise, from above 0, and there have to be two or more")

// Shares returns the shares of times in a mean over time by the trapezoidal rule. The times rise, and there are at least two.
func Shares(times []float64) []float64 {
	last := len(times) - 1
	span := times[last] - times[0]
	l := make([]float64, len(times))
	for i, t := range times {
		width := 0.0
		if i > 0 {
			width += t - times[i-1]
		}
		if i < last {
			width += times[i+1] - t
		}
		l[i] = width / 2 / span
	}
	return l
}

// IntegratedBrier returns the mean of the Brier score over the times of predicted curves, by the trapezoidal rule.
// Its error is that of Brier, and one for curves that fall, or have another number of rows.
func IntegratedBrier(r *Rows, c *Curves) (Estimate, error) {
	own := *r
	own.Risks = make([]float64, len(r.Times))
	if err := own.Validate(false); err != nil {
		return Estimate{}, err
	}
	k := len(c.Times)
	if k < 2 || len(c.Risks) != k {
		return Estimate{}, errHorizons
	}
	for i, t := range c.Times {
		switch {
		case !(t > 0 && t <= math.MaxFloat64) || i > 0 && t <= c.Times[i-1]:
			return Estimate{}, errHorizons
		case len(c.Risks[i]) != len(r.Times):
			return Estimate{}, fmt.Errorf("%w: %d risks at time %v for %d rows", metrics.ErrMismatch, len(c.Risks[i]), t, len(r.Times))
		}
		for j, p := range c.Risks[i] {
			if !(p >= 0 && p <= 1) {
				return Estimate{}, fmt.Errorf("survival: row %d: the probability of the event by %v is %v, outside [0,1]", j, t, p)
			}
			if i > 0 && p < c.Risks[i-1][j] {
				return Estimate{}, fmt.Errorf("survival: row %d: the probability of the event falls from %v at time %v to %v at %v; survival curves do not rise",
					j, c.Risks[i-1][j], c.Times[i-1], p, t)
			}
		}
	}
	order := r.byTime()
	g := r.curve(order, false)
	sums, more := make([]float64, len(r.Times)), make([]float64, len(r.Times))
	shares := Shares(c.Times)
	for i, t := range c.Times {
		share := shares[i]
		terms := r.briers(g, t, c.Risks[i])
		for j, v := range r.throughCurve(order, terms, t) {
			sums[j] += float64(share * terms[j])
			more[j] += float64(share * v)
		}
	}
	return r.meanOf(sums, more, c.Times[k-1]), nil
}
