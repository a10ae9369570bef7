package regress

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// AreaForm says how the area between a Curve and the diagonal is taken.
type AreaForm uint8

const (
	// AreaCrossing is the area between the diagonal and the straight lines that join the curve's points: uncertainty-toolbox.
	// Where a line crosses the diagonal the triangles on both sides of it are summed.
	AreaCrossing AreaForm = iota
	// AreaPlain is the trapezoid rule over |frequency - level|: TaijaPlotting. It differs only where a line crosses the
	// diagonal, and there it is larger, by up to a factor of 2: AreaPlain/2 <= AreaCrossing <= AreaPlain.
	AreaPlain
	areaForms
)

// Curve is the calibration curve of regression forecasts: how often what was observed was at or below the quantile of each
// level, or within the central interval of each level. A calibrated forecast has frequencies equal to the levels but for chance.
type Curve struct {
	Levels      []float64 // rising, in [0,1]
	Frequencies []float64 // one a level; NaN without rows
	N           float64   // rows that they are of: with weights (sum w)^2 / sum w^2
}

// Levels returns the bins+1 levels j/bins: 0, 1/bins, ..., 1. It panics for bins < 1.
func Levels(bins int) []float64 {
	if bins < 1 {
		panic("regress: a calibration curve has one bin or more")
	}
	l := make([]float64, bins+1)
	for j := range l {
		l[j] = float64(j) / float64(bins)
	}
	return l
}

// Interval returns the Wilson interval of the frequency at Levels[i]; it is of that level alone, not of all at once.
func (c Curve) Interval(i int, level float64) metrics.Interval {
	return metrics.Wilson(c.Frequencies[i], c.N, level)
}

// Area returns the miscalibration area, the one between the curve and the diagonal, in [0, 1/2] (AreaPlain up to 1): lower is
// better, and 0 is best. It is taken over all levels from 0 to 1: where the curve does not begin at level 0 it is joined to
// (0,0), and where it does not end at level 1 to (1,1). NaN without rows.
//
// It is above 0 by chance alone, see Floor; there is no interval of it but by resampling rows.
func (c Curve) Area(f AreaForm) float64 {
	c.check()
	if f >= areaForms {
		panic("regress: no such form of the area")
	}
	if len(c.Levels) == 0 {
		return math.NaN()
	}
	sum, p, u := 0.0, 0.0, 0.0
	add := func(q, v float64) {
		a, b := math.Abs(u), math.Abs(v)
		h := q - p
		if f == AreaCrossing && (u < 0) != (v < 0) {
			sum += float64(h * ((float64(a*a) + float64(b*b)) / (2 * (a + b))))
		} else {
			sum += float64(h * ((a + b) / 2))
		}
		p, u = q, v
	}
	for i, q := range c.Levels {
		add(q, c.Frequencies[i]-q)
	}
	if p < 1 {
		add(1, 0)
	}
	return sum
}

// Floor returns the area that a calibrated forecast of as many rows shows on average: of AreaCrossing with many levels
//
//	integral over p in [0,1] of sqrt(2 p (1-p) / (pi N)) = 0.3133 / sqrt(N)
//
// and with the levels that there are the same of what lies on straight lines between them. That is the limit for many rows, in
// which frequency - level is a Brownian bridge over sqrt(N); an area near it says nothing against a forecast. Forecasts of fewer
// samples a row than the curve has levels, whose frequencies are interpolated, show somewhat less. NaN without rows.
func (c Curve) Floor(f AreaForm) float64 {
	c.check()
	if f >= areaForms {
		panic("regress: no such form of the area")
	}
	if len(c.Levels) == 0 || !(c.N > 0) {
		return math.NaN()
	}
	sum, p := 0.0, 0.0
	for i := range len(c.Levels) + 1 {
		q := 1.0
		if i < len(c.Levels) {
			q = c.Levels[i]
		}
		sum += bridgeBetween(p, q, f)
		p = q
	}
	return sum * math.Sqrt(2/(math.Pi*c.N))
}

// bridgeBetween returns the integral over [p,q] of the standard deviation of the straight line between the values at p and q of
// a Brownian bridge, or of that at the ends by the trapezoid rule.
//
// With h = q-p and a = h(1-h), the variance at p + t*h is a*t^2 - 2*p*h*t + p(1-p): its root has a closed integral.
func bridgeBetween(p, q float64, f AreaForm) float64 {
	h := q - p
	s, t := math.Sqrt(p*(1-p)), math.Sqrt(q*(1-q))
	if f == AreaPlain || p == 0 || q == 1 { // from an end, where it is 0, the deviation rises straight
		return h * (s + t) / 2
	}
	a := float64(h * (1 - h))
	low, high := float64(p*h), float64(h*(1-q))
	d := low * (1 - q)
	r := math.Sqrt(a)
	l := kernel.Log64((float64(r*t) + high) * (float64(r*s) + low) / d)
	return h * (float64(high*t) + float64(low*s) + float64(d/r*l)) / (2 * a)
}

// SquaredError returns sum_j w_j * (p_j - f_j)^2 over the levels p_j and their frequencies f_j: the calibration error of Kuleshov,
// Fenner and Ermon (2018). weights has one w_j a level, 1 each where it is nil. Lower is better; NaN without rows.
func (c Curve) SquaredError(weights []float64) float64 {
	c.check()
	if weights != nil && len(weights) != len(c.Levels) {
		panic("regress: weights and levels differ in number")
	}
	if len(c.Levels) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for i, p := range c.Levels {
		d := p - c.Frequencies[i]
		e := float64(d * d)
		if weights != nil {
			e *= weights[i]
		}
		sum += e
	}
	return sum
}

// MeanSquaredError returns the mean of (p_j - f_j)^2 over the levels p_j between 0 and 1. Those two, where a normal forecast
// cannot be off, are left out, so that the mean does not depend on whether a curve has them. Lower is better; a calibrated
// forecast shows the mean of p_j*(1-p_j)/N on average. NaN without rows or such levels.
func (c Curve) MeanSquaredError() float64 {
	c.check()
	sum, n := 0.0, 0
	for i, p := range c.Levels {
		if p > 0 && p < 1 {
			d := p - c.Frequencies[i]
			sum += float64(d * d)
			n++
		}
	}
	return sum / float64(n)
}

// RootMeanSquare returns the root of the mean of (p_j - f_j)^2 over all levels p_j, 0 and 1 among them where the curve has these:
// uncertainty-toolbox's root mean squared calibration error, of central intervals by default. Lower is better; NaN without rows.
func (c Curve) RootMeanSquare() float64 {
	return math.Sqrt(c.SquaredError(nil) / float64(len(c.Levels)))
}

// RootMeanSquareFloor returns the root of the mean of p_j*(1-p_j)/N: that of RootMeanSquare's square is what a calibrated forecast
// shows on average. Forecasts of few samples a row, whose frequencies are interpolated, show somewhat less. NaN without rows.
func (c Curve) RootMeanSquareFloor() float64 {
	c.check()
	if len(c.Levels) == 0 || !(c.N > 0) {
		return math.NaN()
	}
	sum := 0.0
	for _, p := range c.Levels {
		sum += float64(p * (1 - p))
	}
	return math.Sqrt(sum / (float64(len(c.Levels)) * c.N))
}

func (c Curve) check() {
	if len(c.Levels) != len(c.Frequencies) {
		panic("regress: levels and frequencies differ in number")
	}
}
