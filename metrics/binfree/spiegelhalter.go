package binfree

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// Spiegelhalter is a test of calibration by the Brier score: how far that is from what it would be on average if the scores were
// calibrated,
//
//	Z = sum (y-p)(1-2p) / sqrt(sum (1-2p)^2 p(1-p))
//
// in standard deviations. Above 0 the Brier score is worse than the scores announce, as those of overconfident models are, below 0 it
// is better. Gaps weigh by their distance from 1/2, and with opposite signs on either side of it, so that a model whose gaps are of
// one sign may pass.
//
// Source: Spiegelhalter 1986.
type Spiegelhalter struct {
	Z float64 // NaN where there is a reason; +Inf where all scores are 0, 1/2 or 1, and some of 0 or 1 is wrong
	P float64 // 0 where Z is infinite, and 1 where all scores are 0, 1/2 or 1 and none is wrong; else the two-sided p-value of Z by the normal law, which is its limit for many rows; KSP's warning of rare events holds

	// Bound and PBound are how far Z and P may be from those of the rows: 0 where cells are exact. Elsewhere the sum under the root is
	// known but for what the scores' third moments in each cell of the grid add to it. Bound is NaN where that may be all of the sum.
	Bound, PBound float64

	// Reason says why there is no Z: no rows, weights, scores outside [0,1], or none but 0, 1/2 and 1 of which none is wrong: then the
	// Brier score is what they announce, and cannot be another. It is "" where there is one.
	Reason string
}

// SpiegelhalterOf returns the test over the rows that r has seen.
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
			// Sums in whole units would lose 1-2p where it is small. The product is the same for q and the other outcome.
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
		s := x.Tally()
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
		// A wrong row of a score of 0 or 1 adds 1 above, others nothing.
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
		a, lost := math.Abs(above.Float64()), float64(rows*0x1p-49) // of each row at most 2.5 of the sums' units
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

// brierVariance returns (1-2q)^2 q(1-q), that of (y-p)^2 if y is 1 with probability p, q or 1 - q.
func brierVariance(q float64) float64 {
	t := 1 - 2*q
	return float64(float64(t*t) * float64(q*(1-q)))
}

// gridBrierVariance returns the mean of f = brierVariance over a cell of the grid, and how far that may be off. With q's mean m,
// variance v and central moments m3 and m4 it is f(m) + f2/2 v + f3/6 m3 - 4 m4, f2 and f3 being derivatives at m; and if no q is
// farther than d from m, |m3| <= d v and m4 <= d^2 v.
func gridBrierVariance(x *cells.Cell) (mean, off float64) {
	c := newGridCell(x)
	n := float64(c.sums.N)
	m := c.mean(c.sums.P.Float64(), n)
	d := math.Max(m-c.low, c.high-m) + c.doubt()
	most := c.spread(m) + c.doubt()
	v := c.sums.PP.Float64()/n - float64(m*m)
	v = math.Min(math.Max(v, 0), most)
	// What is lost of the sums: of each q and q*q half a unit, and the same again by rounding.
	lost := math.Min(2*sumUnit, most)
	mm := float64(m * m)
	f2 := -10 + float64(48*m) - float64(48*mm)
	f3 := math.Abs(48 - float64(96*m))
	up := v + lost
	off = float64(math.Abs(f2)/2*lost) + float64(f3/6*d*up) + float64(4*d*d*up) + c.doubt()
	return brierVariance(m) + float64(f2/2*v), off
}
