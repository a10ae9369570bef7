package calib

import (
	"math"

	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// DefaultGroups is the number of groups of Hosmer and Lemeshow's test: deciles of risk.
const DefaultGroups = 10

// HosmerLemeshowOptions say which test is meant. The zero value is deciles of risk of held-out rows.
type HosmerLemeshowOptions struct {
	Groups int  // 0 means DefaultGroups
	Even   bool // groups of equal width, [a,b) and the last closed, in place of deciles
	Fitted bool // the rows are those that a logistic regression was fitted on: two degrees of freedom less
}

// HosmerLemeshow is a test of calibration by groups of rows: how far the numbers of events are from what the scores announce,
//
//	sum_g (O_g - E_g)^2 / (n_g p_g (1 - p_g)),  O_g = sum y,  E_g = sum p = n_g p_g
//
// Groups are deciles of risk, equally many rows each as far as ties go: group j of G ends with all rows of the score of rank
// floor((N-1) j/G) of the N sorted ones, from 0. So linear quantiles are edges of groups that are closed on the right, and equal
// scores are never divided.
//
// Under calibration it is, for many rows, chi-squared with as many degrees of freedom as there are groups; with two less on the
// rows that a logistic regression was fitted on. A group without rows does not count, nor one whose scores are all 0 or all 1,
// within 2^-52, and right: nothing is left to chance there. It sees no gaps of opposite signs within a group.
//
// Source: Hosmer and Lemeshow 1980.
type HosmerLemeshow struct {
	Statistic float64 // NaN where there is a reason; +Inf where a score of 0 or 1 is wrong in a group of such scores alone
	P         float64 // NaN where there are no degrees of freedom too
	Groups    int     // that count
	Degrees   int     // of freedom, which may be none or below 0
	// Few is how many of the groups expect fewer than 5 events, or fewer than 5 rows without: with any the law is rough.
	Few int

	// Bound is how far Statistic and P may be from those of the rows: 0 where cells are exact, or groups are unions of them; else NaN.
	Bound  float64
	Reason string // why there is no statistic: no rows, weights, or scores outside [0,1]; "" where there is one
}

// leastExpected is how many events a group has to expect, and rows without, for the law to be near.
const leastExpected = 5

// HosmerLemeshowOf returns the test over the rows that c has seen; o may be nil.
func HosmerLemeshowOf(c *cells.Cells, o *HosmerLemeshowOptions) HosmerLemeshow {
	var opt HosmerLemeshowOptions
	if o != nil {
		opt = *o
	}
	if opt.Groups == 0 {
		opt.Groups = DefaultGroups
	}
	none := func(reason string) HosmerLemeshow {
		return HosmerLemeshow{Statistic: math.NaN(), P: math.NaN(), Bound: math.NaN(), Reason: reason}
	}
	switch {
	case c.Outside() > 0:
		return none(reason.Outside)
	case c.Count() == 0:
		return none(reason.NoRows)
	case c.Weighted():
		return none(reasonWeights)
	}
	var h HosmerLemeshow
	var groups []tally.Cell
	var torn bool
	if opt.Even {
		p, bound := EvenOf(c, opt.Groups)
		groups, torn = p.cells, bound > 0
	} else {
		groups, torn = deciles(c, opt.Groups)
	}
	if torn {
		h.Bound = math.NaN()
	}
	for i := range groups {
		g := &groups[i]
		gap, n := g.Gap(), tally.Count(g.N)
		others := n.Clone()
		others.Sub(&g.P)
		yes, no := g.P.Float64(), others.Float64()
		if yes <= 0 || no <= 0 {
			if !gap.IsZero() {
				h.Groups++
				h.Statistic = math.Inf(1)
			}
			continue
		}
		h.Groups++
		if yes < leastExpected || no < leastExpected {
			h.Few++
		}
		d := gap.Float64()
		h.Statistic += float64(d*d) / (yes * (no / float64(g.N)))
	}
	if h.Degrees = h.Groups; opt.Fitted {
		h.Degrees -= 2
	}
	if h.P = math.NaN(); h.Degrees > 0 {
		h.P = tails.ChiSquare(h.Statistic, h.Degrees)
	}
	return h
}

const reasonWeights = "with weights the law of the statistic is not known"

// deciles returns sums of so many groups of equal mass of the rows that c has seen, without weights: group j = 1 .. groups-1 ends with
// all rows of the score of rank floor((N-1) j/groups), from 0. torn tells that a group ends inside a cell, and so with it.
func deciles(c *cells.Cells, groups int) (sums []tally.Cell, torn bool) {
	n := 0
	c.Each(func(x *cells.Cell) { n += int(x.N) })
	ends := func(group int) int { return int(uint64(n-1) * uint64(group+1) / uint64(groups)) }
	of := make([]cells.Sum, groups)
	group, seen := 0, 0
	c.Each(func(x *cells.Cell) {
		of[group].Add(x)
		for seen += int(x.N); group < groups-1 && ends(group) < seen; group++ {
			torn = torn || x.Low != x.High
		}
	})
	return tallies(of), torn
}
