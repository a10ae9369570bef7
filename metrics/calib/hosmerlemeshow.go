package calib

import (
	"math"

	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tails"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// DefaultGroups is the default number of groups of the Hosmer-Lemeshow test: deciles of risk.
const DefaultGroups = 10

// HosmerLemeshowOptions select the test. The zero value is deciles of risk of held-out rows.
type HosmerLemeshowOptions struct {
	Groups int  // number of groups; 0 means DefaultGroups
	Even   bool // groups of equal width in place of deciles: [a,b), with the last one closed
	Fitted bool // the rows are those that a logistic regression was fitted on: two degrees of freedom fewer
}

// HosmerLemeshow is a test of calibration by groups of rows. It compares the observed number of events in each group with the
// number that the scores predict:
//
//	sum_g (O_g - E_g)^2 / (n_g p_g (1 - p_g)),  O_g = sum y,  E_g = sum p = n_g p_g
//
// Groups are deciles of risk with equal numbers of rows, up to ties. Group j of G ends after all rows with the score of rank
// floor((N-1) j/G) among the N sorted rows, counted from 0. The groups are therefore right-closed between linear quantiles, and
// equal scores are never split.
//
// For many calibrated rows, the statistic is chi-squared with as many degrees of freedom as groups, or two fewer on the rows
// that a logistic regression was fitted on. Groups without rows do not count. Groups whose scores are all 0 or all 1, within
// 2^-52, do not count either if the outcomes agree, since nothing in them is random. Gaps of opposite sign within a group
// cancel.
//
// Source: Hosmer and Lemeshow 1980.
type HosmerLemeshow struct {
	Statistic float64 // NaN if there is a reason; +Inf if a group has only scores of 0, or only scores of 1, and one of them is wrong
	P         float64 // p-value; NaN as for Statistic, or without degrees of freedom
	Groups    int     // number of groups that count
	Degrees   int     // degrees of freedom, which may be 0 or negative
	// Few is the number of groups that expect fewer than 5 events or fewer than 5 rows without the event. If there are any, the
	// chi-squared distribution is a rough approximation.
	Few int

	// Bound is the most by which Statistic and P can differ from those of the rows themselves: 0 if cells are exact or groups
	// are unions of cells, otherwise NaN (unknown).
	Bound  float64
	Reason string // why there is no statistic: no rows, weights, or scores outside [0,1]; "" if there is one
}

// leastExpected is the smallest expected number of either outcome in a group for which the chi-squared distribution is a good
// approximation.
const leastExpected = 5

// HosmerLemeshowOf returns the test for the rows in c; o may be nil.
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

const reasonWeights = "with weights the distribution of the statistic is not known"

// deciles returns the sums of equal-mass groups of the unweighted rows in c. Group j = 1 .. groups-1 ends after all rows with
// the score of rank floor((N-1) j/groups), counted from 0. torn reports whether a group would end inside a cell; it then ends
// after the cell.
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
