package binfree

import (
	"math"

	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
)

// PartialSums says how far outcomes run ahead of scores, or lag behind, over the rows in rising order of their scores:
//
//	S_j = sum over the first j of w (y - p) / sum w, S_0 = 0
//
// at the ends of groups of equal scores, which no order of rows can change. There are no bins. If frequencies are above the scores in
// a stretch of them S rises there, by the stretch's share of the rows times the gap, and it falls where they are below.
//
// KS and Kuiper are the two usual measures of it. Each has a p-value from its limit for many rows: if scores are calibrated, S over
// its standard deviation at the last row, sqrt(sum p(1-p)) / N, becomes a Brownian motion B on [0,1]. It is no bridge: nothing holds S
// at 0 at the end. See KSP for how good the limit is.
//
// Sources: Gupta et al. 2021 (KS); Arrieta-Ibarra, Gujral, Tannen, Tygert and Xu 2022 (ECCE-MAD and ECCE-R, the same two, and their
// limits).
type PartialSums struct {
	gaps              cells.Gaps
	weighted, outside bool
}

// PartialSumsOf returns the partial sums of the rows that r has seen.
func PartialSumsOf(r cells.Rising) *PartialSums {
	return &PartialSums{gaps: r.Gaps(), weighted: r.Weighted(), outside: r.Outside() > 0}
}

// KS returns the largest |S_j|, in [0,1]: the largest error, by share of all rows, of the number of events that the scores up to any
// one announce. (Of the other event, with the scores 1 - p, it is another one, since sums begin at the other end; Kuiper is the same.)
// bound is how far that of the rows may be above it: 0 where cells are exact, and NaN where scores outside [0,1] are missing. Without
// rows it is NaN.
func (s *PartialSums) KS() (value, bound float64) {
	return math.Max(s.gaps.High, -s.gaps.Low) / s.gaps.Total, s.bound(1)
}

// Kuiper returns the largest S_j less the smallest, 0 among them, in [0,1]: the largest such error over any interval of scores. It is
// from KS to twice that, and more than it only where outcomes are both ahead and behind. bound is as for KS, of two ends.
func (s *PartialSums) Kuiper() (value, bound float64) {
	return (s.gaps.High - s.gaps.Low) / s.gaps.Total, s.bound(2)
}

// bound returns the bound of a value with so many ends. A little is for what rounding the sums may add.
func (s *PartialSums) bound(ends float64) float64 {
	switch {
	case s.outside:
		return math.NaN()
	case s.gaps.Inside == 0:
		return 0
	}
	return ends*s.gaps.Inside/s.gaps.Total + 1e-12
}

// KSP returns the p-value of KS: the probability that sup |B| is at least KS * N / sqrt(sum p(1-p)). For that law it is right to
// about 1e-13, and in the tail, down to 1e-300, to 1e-12 of itself.
//
// The law is a limit for many rows. B is seen everywhere, but S only at the ends of groups. So where rows are few or ties many,
// calibrated predictions reach p-values of 5% in fewer cases than that: with uniform scores in 3.3% of 10 rows and 4.6% of 200
// (Kuiper's in 1.9 and 4.1), with one score for all rows in half as many. Small p-values come too often where the event, or its
// opposite, is rare and expected less than some ten times (sum p(1-p) < 10), as one event more is a jump that B has not: 0.001 in
// 0.5% of cases where one event is expected, in 0.2% where ten are.
//
// Where cells are not exact it is the p-value of the KS that they have. That of the rows is not above it, and at most KSPBound below.
// Where all scores are 0 or 1 (to 2^-52) nothing is left to chance: it is 0 if some are wrong, and 1 if none is. It is NaN where
// Reason has a reason.
func (s *PartialSums) KSP() float64 { return s.tail(supTail, math.Max(s.gaps.High, -s.gaps.Low)) }

// KuiperP returns the p-value of Kuiper: the probability that max B - min B is at least Kuiper * N / sqrt(sum p(1-p)). Of it the same
// is to be said as of KSP.
func (s *PartialSums) KuiperP() float64 { return s.tail(rangeTail, s.gaps.High-s.gaps.Low) }

// KSPBound returns how far below KSP the p-value of the rows may be: 0 where cells are exact. NaN where Reason has a reason.
func (s *PartialSums) KSPBound() float64 {
	return s.tailBound(supTail, math.Max(s.gaps.High, -s.gaps.Low), 1)
}

// KuiperPBound returns how far below KuiperP the p-value of the rows may be: 0 where cells are exact. NaN where Reason has a reason.
func (s *PartialSums) KuiperPBound() float64 {
	return s.tailBound(rangeTail, s.gaps.High-s.gaps.Low, 2)
}

func (s *PartialSums) tail(law func(float64) float64, most float64) float64 {
	if s.Reason() != "" {
		return math.NaN()
	}
	if !(s.gaps.Variance > 0) {
		// A wrong score of 0 or 1 is a row's step up or down, and the first of them has none of the other direction before it.
		if most > 0.5 {
			return 0
		}
		return 1
	}
	return law(most / math.Sqrt(s.gaps.Variance))
}

func (s *PartialSums) tailBound(law func(float64) float64, most, ends float64) float64 {
	if s.gaps.Inside == 0 && s.Reason() == "" {
		return 0
	}
	return s.tail(law, most) - s.tail(law, most+float64(s.bound(ends)*s.gaps.Total))
}

// Reason says why KSP and KuiperP are NaN: no rows, weights, or scores outside [0,1]. It is "" where they are not.
func (s *PartialSums) Reason() string {
	switch {
	case s.outside:
		return reason.Outside
	case !(s.gaps.Total > 0):
		return reason.NoRows
	case s.weighted:
		return reason.Weighted
	}
	return ""
}
