package binfree

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Spiegelhalter is a test of calibration based on the Brier score. Z is the difference of the score from its mean for
// calibrated scores, in standard deviations:
//
//	Z = sum (y-p)(1-2p) / sqrt(sum (1-2p)^2 p(1-p))
//
// If Z is above 0, the Brier score is worse than the scores claim, as for overconfident models; below 0 it is better. Gaps
// are weighted by their distance from 1/2, with opposite signs on its two sides, so a model whose gaps all have the same
// sign may pass.
//
// Source: Spiegelhalter 1986.
type Spiegelhalter struct {
	Z float64 // NaN if there is a reason; +Inf if all scores are 0, 1/2 or 1 and some score of 0 or 1 is wrong
	P float64 // two-sided, from the normal limit (see KSP on rare events); 0 for infinite Z, 1 if all scores are 0, 1/2 or 1 and none is wrong

	// Bound and PBound are the most by which Z and P can differ from those of the rows themselves: 0 if cells are exact. On
	// a grid the variance under the root is known except for the third moments of the scores in each cell. Bound is NaN if
	// this may be all of the variance.
	Bound, PBound float64

	// Reason says why there is no Z: no rows, weights, scores outside [0,1], or only scores of 0, 1/2 and 1 that are all
	// right. In the last case the Brier score equals its mean by necessity. Reason is "" if there is a Z.
	Reason string
}

// SpiegelhalterOf returns the test for the rows in r.
func SpiegelhalterOf(r cells.Rising) Spiegelhalter {
	nan := math.NaN()
	none := func(reason string) Spiegelhalter { return Spiegelhalter{nan, nan, nan, nan, reason} }
	switch {
	case r.Outside() > 0:
		return none(reason.Outside)
	case r.Count() == 0:
		return none(reason.NoRows)
	case r.Weighted():
		return none(reason.Weighted)
	}
	var above, under, off exact.Sum
	fine, rows := r.Exact(), 0.0
	r.Each(func(x *cells.Cell) {
		if fine {
			// Sums in whole units would lose digits of 1-2p where it is small. The product is the same for q and the
			// opposite outcome.
			q, hits, rest := x.P, x.Events, x.Weight-x.Events
			if x.Q < x.P {
				q, hits, rest = x.Q, rest, hits
			}
			t := 1 - float64(2*q)
			above.AddExact(float64(hits * float64((1-q)*t)))
			above.AddExact(-float64(rest * float64(q*t)))
			under.AddExact(float64(x.N) * brierVariance(q))
			return
		}
		// (y-p)(1-2p) = y - 2py - p + 2pp
		s := tally.Of(x)
		a := s.Squares()
		a.Merge(&s.PP)
		a.Sub(&s.P)
		above.Merge(&a)
		v, e := gridBrierVariance(x)
		rows += x.Weight
		under.AddExact(float64(x.N) * v)
		off.AddExact(float64(x.N) * e)
	})
	d, e := under.Float64(), off.Float64()
	if !(d > 0) {
		// A wrong row with a score of 0 or 1 adds 1 to above, other rows add nothing.
		if above.Float64() > 0.5 {
			return Spiegelhalter{Z: math.Inf(1)}
		}
		s := none(reasonSame)
		s.P, s.PBound = 1, 0
		return s
	}
	s := Spiegelhalter{Z: above.Float64() / math.Sqrt(d)}
	s.P = normalTail(s.Z)
	if !fine {
		e = float64(e*(1+1e-9)) + float64(1e-12*d)
		a, lost := math.Abs(above.Float64()), float64(rows*0x1p-49) // each row contributes at most 2.5 units of the sums
		most, least := math.Inf(1), math.Max(0, a-lost)/math.Sqrt(d+e)
		if e < d {
			most = (a + lost) / math.Sqrt(d-e)
		}
		s.Bound = most - math.Abs(s.Z)
		s.PBound = math.Max(s.P-normalTail(most), normalTail(least)-s.P)
		if math.IsInf(most, 1) {
			s.Bound = nan
		}
	}
	return s
}

const reasonSame = "all scores are 0, 1/2 or 1, and none is wrong: the Brier score is what they announce, and nothing is left to chance"

// normalTail returns P(|normal| >= z).
func normalTail(z float64) float64 { return 2 * kernel.NormCDF64(-math.Abs(z)) }

// brierVariance returns (1-2q)^2 q(1-q): the variance of (y-p)^2 if y is 1 with probability p, for p = q or p = 1 - q.
func brierVariance(q float64) float64 {
	t := 1 - 2*q
	return float64(float64(t*t) * float64(q*(1-q)))
}

// gridBrierVariance returns the mean of f = brierVariance over a grid cell, and a bound on its error. With mean m, variance
// v and central moments m3 and m4 of q, it is f(m) + f2/2 v + f3/6 m3 - 4 m4, where f2 and f3 are derivatives at m. If every
// q is within d of m, then |m3| <= d v and m4 <= d^2 v.
func gridBrierVariance(x *cells.Cell) (mean, off float64) {
	c := newGridCell(x)
	n := float64(c.sums.N)
	m := c.mean(c.sums.P.Float64(), n)
	d := math.Max(m-c.low, c.high-m) + c.doubt()
	most := c.spread(m) + c.doubt()
	v := c.sums.PP.Float64()/n - float64(m*m)
	v = math.Min(math.Max(v, 0), most)
	// Error of the sums: half a unit for each q and q*q, and the same again from rounding.
	lost := math.Min(2*sumUnit, most)
	mm := float64(m * m)
	f2 := -10 + float64(48*m) - float64(48*mm)
	f3 := math.Abs(48 - float64(96*m))
	up := v + lost
	off = float64(math.Abs(f2)/2*lost) + float64(f3/6*d*up) + float64(4*d*d*up) + c.doubt()
	return brierVariance(m) + float64(f2/2*v), off
}
