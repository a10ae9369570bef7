package regress

import (
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// AreaForm selects how the area between a Curve and the diagonal is computed.
type AreaForm uint8

const (
	// AreaCrossing is the area between the diagonal and the straight lines that join the curve's points, as in
	// uncertainty-toolbox. If a line crosses the diagonal, the triangles on both sides are summed.
	AreaCrossing AreaForm = iota
	// AreaPlain is the trapezoid rule over |frequency - level|, as in TaijaPlotting. It differs only if a line crosses the
	// diagonal, and is then larger: AreaPlain/2 <= AreaCrossing <= AreaPlain.
	AreaPlain
	areaForms
)

// Curve is the calibration curve of regression forecasts: how often the observed value was at or below the quantile of each
// level, or within the central interval of each level. For a calibrated forecast, frequencies equal the levels except for
// chance.
type Curve struct {
	Levels      []float64 // rising, in [0,1]
	Frequencies []float64 // one per level; NaN without rows
	N           float64   // number of rows; with weights (sum w)^2 / sum w^2
}

// Levels returns the bins+1 levels j/bins: 0, 1/bins, ..., 1. It panics if bins < 1.
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

// Interval returns the Wilson interval of the frequency at Levels[i]. It holds for that level alone, not for all levels at
// once.
func (c Curve) Interval(i int, level float64) metrics.Interval {
	return metrics.Wilson(c.Frequencies[i], c.N, level)
}

// Area returns the miscalibration area between the curve and the diagonal, in [0, 1/2] (AreaPlain up to 1). 0 is best. It
// covers all levels from 0 to 1: a curve that begins above level 0 is joined to (0,0), and one that ends below level 1 to
// (1,1). It returns NaN without rows.
//
// Chance alone makes it positive; see Floor. For an interval, resample rows.
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

// Floor returns the mean area of a calibrated forecast with the same number of rows. For AreaCrossing with many levels it is
//
//	integral over p in [0,1] of sqrt(2 p (1-p) / (pi N)) = 0.3133 / sqrt(N)
//
// With the curve's own levels, it is the same integral for the straight lines between them. This is the limit for many rows,
// where frequency - level is a Brownian bridge over sqrt(N). An area near Floor is no evidence against a forecast. If a row
// has fewer samples than the curve has levels, frequencies are interpolated and the mean area is somewhat less. It returns
// NaN without rows.
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

// bridgeBetween takes a Brownian bridge and the straight line between its values at p and q. It returns the integral over
// [p,q] of the line's standard deviation; for AreaPlain, it integrates the standard deviations at the ends by the trapezoid
// rule.
//
// With h = q-p and a = h(1-h), the variance at p + t*h is a*t^2 - 2*p*h*t + p(1-p). Its square root has a closed integral.
func bridgeBetween(p, q float64, f AreaForm) float64 {
	h := q - p
	s, t := math.Sqrt(p*(1-p)), math.Sqrt(q*(1-q))
	if f == AreaPlain || p == 0 || q == 1 { // from an end, where it is 0, the deviation rises in a straight line
		return h * (s + t) / 2
	}
	a := float64(h * (1 - h))
	low, high := float64(p*h), float64(h*(1-q))
	d := low * (1 - q)
	r := math.Sqrt(a)
	l := kernel.Log64((float64(r*t) + high) * (float64(r*s) + low) / d)
	return h * (float64(high*t) + float64(low*s) + float64(d/r*l)) / (2 * a)
}

// SquaredError returns sum_j w_j * (p_j - f_j)^2 over the levels p_j and their frequencies f_j: the calibration error of
// Kuleshov, Fenner and Ermon (2018). Lower is better. weights has one w_j per level; nil means 1 for each. It returns NaN
// without rows.
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

// MeanSquaredError returns the mean of (p_j - f_j)^2 over the levels p_j above 0 and below 1. Lower is better. Levels 0 and
// 1 are left out because a normal forecast cannot be off there, so the mean is the same whether or not a curve has them. A
// calibrated forecast has the mean of p_j*(1-p_j)/N on average. It returns NaN without rows or such levels.
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

// RootMeanSquare returns the square root of the mean of (p_j - f_j)^2 over all levels p_j of the curve, including 0 and 1.
// Lower is better. For central intervals it is the default of uncertainty-toolbox's root mean squared calibration error. It
// returns NaN without rows.
func (c Curve) RootMeanSquare() float64 {
	return math.Sqrt(c.SquaredError(nil) / float64(len(c.Levels)))
}

// RootMeanSquareFloor returns the square root of the mean of p_j*(1-p_j)/N. Its square is the mean of RootMeanSquare^2 for a
// calibrated forecast. With few samples per row, frequencies are interpolated and the mean is somewhat less. It returns NaN
// without rows.
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
