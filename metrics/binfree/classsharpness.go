package binfree

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// ClassSharpness is the mean probability that the rows of each class of a binary task gave to their own class. Both values
// are in [0,1], and 1 is best.
type ClassSharpness struct {
	Class0 float64 // mean of 1 - p over the rows with y = 0
	Class1 float64 // mean of p over the rows with y = 1

	// Reason0 and Reason1 say why a value is NaN: there are no rows of the class, or scores outside [0,1]. They are ""
	// otherwise.
	Reason0, Reason1 string

	se0, se1 float64
}

const reasonNoClass = "no rows of this class"

// SharpnessOf returns the sharpness by class of the rows in r. It panics unless the event of r is the positive class. Scores
// count in units of 2^-51; the sums are exact, even on a grid of cells.
//
// Source: LaplaceRedux, sharpness_classification.
func SharpnessOf(r cells.Rising) ClassSharpness {
	nan := math.NaN()
	s := ClassSharpness{Class0: nan, Class1: nan, se0: nan, se1: nan}
	switch {
	case r.Outside() > 0:
		s.Reason0, s.Reason1 = reason.Outside, reason.Outside
		return s
	case r.Count() == 0:
		s.Reason0, s.Reason1 = reason.NoRows, reason.NoRows
		return s
	case r.Event() != metrics.Positive:
		panic("binfree: sharpness by classes is of the positive class")
	}
	var sum cells.Sum
	var zero, one classMoments
	r.Each(func(x *cells.Cell) {
		sum.Add(x)
		one.add(x.Events, x.P)
		zero.add(x.Weight-x.Events, x.Q)
	})
	t := tally.Of(&sum)
	turned := t.Turned(r.Weighted())
	s.Class0, s.Class1 = exact.Ratio(&turned.PY, &turned.Y), exact.Ratio(&t.PY, &t.Y)
	if s.Class0 != s.Class0 {
		s.Reason0 = reasonNoClass
	}
	if s.Class1 != s.Class1 {
		s.Reason1 = reasonNoClass
	}
	if !r.Weighted() {
		s.se0, s.se1 = zero.stdErr(), one.stdErr()
	}
	return s
}

// classMoments holds the sums over the scores of a class.
type classMoments struct {
	n      int64
	s1, s2 exact.Sum
}

// add adds n rows of equal score.
func (m *classMoments) add(n, p float64) {
	if n > 0 {
		m.n += int64(n)
		m.s1.AddFloat(float64(n * p))
		m.s2.AddFloat(float64(n * float64(p*p)))
	}
}

func (m *classMoments) stdErr() float64 {
	return math.Sqrt(exact.Variance(m.n, &m.s1, &m.s2) / float64(m.n))
}

// Interval0 returns the confidence interval of Class0: mean +- z*s/sqrt(n) over the rows of the class, cut to [0,1]. There
// is none with fewer than two rows of the class, or with weights, whose squares are not summed by class. If cells are not
// exact, s is that of the cell means.
func (s ClassSharpness) Interval0(level float64) metrics.Interval {
	return inUnit(metrics.Normal(s.Class0, s.se0, level))
}

// Interval1 returns the confidence interval of Class1, as Interval0 does for Class0.
func (s ClassSharpness) Interval1(level float64) metrics.Interval {
	return inUnit(metrics.Normal(s.Class1, s.se1, level))
}

// inUnit cuts an interval to [0,1].
func inUnit(i metrics.Interval) metrics.Interval {
	return metrics.Interval{Low: math.Max(0, i.Low), High: math.Min(1, i.High)}
}
