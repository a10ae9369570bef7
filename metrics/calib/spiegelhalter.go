package calib

import (
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
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
	Z float64 // NaN where there is a reason
	P float64 // the two-sided p-value of Z by the normal law, which is its limit for many rows; KSP's warning of rare events holds

	// Bound and PBound are how far Z and P may be from those of the rows: 0 where cells are exact. Elsewhere the sum under the root is
	// known but for what the scores' third moments in each cell of the grid add to it.
	Bound, PBound float64

	// Reason says why there is no Z: no rows, weights, scores outside [0,1], or none but 0, 1/2 and 1, of which the score is the same
	// whatever happens, or certain. It is "" where there is one.
	Reason string
}

// SpiegelhalterOf returns the test over the rows that r has seen.
func SpiegelhalterOf(r cells.Rising) Spiegelhalter {
	nan := math.NaN()
	none := func(reason string) Spiegelhalter { return Spiegelhalter{nan, nan, nan, nan, reason} }
	switch {
	case r.Outside() > 0:
		return none(reasonOutside)
	case r.Count() == 0:
		return none(reasonNothing)
	case r.Weighted():
		return none(reasonWeighted)
	}
	var all cells.Sum
	var under, off exact.Sum
	fine := r.Exact()
	r.Each(func(x *cells.Cell) {
		all.Add(x)
		if fine {
			q := math.Min(x.P, x.Q)
			under.AddExact(float64(x.N) * brierVariance(q))
			return
		}
		v, e := gridBrierVariance(x)
		under.AddExact(float64(x.N) * v)
		off.AddExact(float64(x.N) * e)
	})
	t := all.Tally()
	// (y-p)(1-2p) = y - 2py - p + 2pp
	above := t.Squares()
	above.Merge(&t.PP)
	above.Sub(&t.P)
	d, e := under.Float64(), off.Float64()
	if !(d > 0) {
		return none(reasonSame)
	}
	s := Spiegelhalter{Z: above.Float64() / math.Sqrt(d)}
	s.P = normalTail(s.Z)
	if e > 0 {
		e = float64(e*(1+1e-9)) + float64(1e-12*d)
		most := math.Inf(1)
		if e < d {
			most = math.Abs(above.Float64()) / math.Sqrt(d-e)
		}
		s.Bound = most - math.Abs(s.Z)
		least := math.Abs(above.Float64()) / math.Sqrt(d+e)
		s.PBound = math.Max(s.P-normalTail(most), normalTail(least)-s.P)
		if math.IsInf(most, 1) {
			s.Bound = nan
		}
	}
	return s
}

const reasonSame = "all scores are 0, 1/2 or 1: whatever happens, the Brier score is what they announce"

// normalTail returns P(|normal| >= z).
func normalTail(z float64) float64 { return math.Erfc(math.Abs(z) * rootHalf) }

// brierVariance returns (1-2q)^2 q(1-q), that of (y-p)^2 if y is 1 with probability p, q or 1 - q.
func brierVariance(q float64) float64 {
	t := 1 - 2*q
	return float64(t*t) * float64(q*(1-q))
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
