package binfree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/pav"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Curve is a smooth estimate of the frequency of the event at each score.
type Curve uint8

const (
	RisingCurve Curve = iota // isotonic regression, equal scores pooled: the fit of CORP
	LoessCurve               // Cleveland's lowess, without robustness iterations
)

// The defaults of LoessCurve, which are calzone's, and the most rows that it is for.
const (
	DefaultSpan  = 0.5
	DefaultDelta = 0.001
	MaxLoessRows = 10_000
)

// ICIOptions say by which curve. The zero value is RisingCurve.
type ICIOptions struct {
	Curve Curve
	// Of LoessCurve: the share of the rows that each straight line is fitted to, above 0 and at most 1, and how near a score is to the
	// last one fitted to be interpolated. 0 means DefaultSpan; Delta below 0 means DefaultDelta.
	Span, Delta float64
}

// ICI is how far scores are from the frequencies c(p) of a curve, over the rows that it is fitted to: the integrated calibration index
// mean |p - c(p)|, and quantiles of |p - c(p)|. It is in [0,1] but for what a loess goes beyond, and 0 is best. It follows the rows, so
// that a calibrated model is above 0: with RisingCurve by an amount that falls as N^(-1/3).
//
// Source: Austin and Steyerberg 2019.
type ICI struct {
	rows     []off // by rising distance
	total    exact.Sum
	n        int
	weighted bool
	exact    bool
	reason   string
}

// off is the rows of a score, or of a cell of the grid: how far the curve is from it.
type off struct {
	by     float64
	n      int64
	weight *exact.Sum // nil without weights
}

// ICIOf returns the index over the rows that r has seen; o may be nil. Where r has a grid for its scores they are those of its cells'
// means, and how far they are from the rows' is not known.
func ICIOf(r cells.Rising, o *ICIOptions) *ICI {
	var opt ICIOptions
	if o != nil {
		opt = *o
	}
	c := &ICI{weighted: r.Weighted(), exact: r.Exact()}
	r.Each(func(x *cells.Cell) { c.n += int(x.N) })
	switch {
	case r.Outside() > 0:
		c.reason = reason.Outside
	case c.n == 0:
		c.reason = reason.NoRows
	case opt.Curve == LoessCurve && c.weighted:
		c.reason = "a loess takes no weights here; smoother=rising does"
	case opt.Curve == LoessCurve && c.n > MaxLoessRows:
		c.reason = fmt.Sprintf("a loess is for up to 10,000 rows here, and there are %d; smoother=rising has no limit", c.n)
	}
	if c.reason != "" {
		return c
	}
	var at func(x *cells.Cell) float64
	if opt.Curve == LoessCurve {
		at = loess(r, c.n, &opt)
	} else {
		at = rising(r)
	}
	c.rows = make([]off, 0, r.Count())
	r.Each(func(x *cells.Cell) {
		f := off{by: math.Abs(x.P - at(x)), n: x.N}
		if c.weighted {
			t := x.Tally()
			f.weight = &t.W
			c.total.Merge(&t.W)
		}
		c.rows = append(c.rows, f)
	})
	slices.SortFunc(c.rows, func(a, b off) int { return cmp.Compare(a.by, b.by) })
	return c
}

// rising returns the fitted frequency of cells that are asked for in their order.
func rising(r cells.Rising) func(*cells.Cell) float64 {
	var fit pav.Pool
	r.Fit(&fit)
	steps := fit.Blocks()
	return func(x *cells.Cell) float64 {
		for steps[0].High < x.High {
			steps = steps[1:]
		}
		return steps[0].Y / steps[0].N
	}
}

// Reason says why there is no index: no rows, scores outside [0,1], or of a loess weights or too many rows. "" where there is one.
func (c *ICI) Reason() string { return c.reason }

// bound is how far an answer may be from that of the rows.
func (c *ICI) bound() float64 {
	if c.exact {
		return 0
	}
	return math.NaN()
}

// Mean returns the integrated calibration index, and how far it may be from that of the rows: 0 where cells are exact, else NaN.
func (c *ICI) Mean() (value, bound float64) {
	if c.reason != "" {
		return math.NaN(), math.NaN()
	}
	var s exact.Sum
	for i := range c.rows {
		f := &c.rows[i]
		w := float64(f.n)
		if c.weighted {
			w = f.weight.Float64()
		}
		s.AddFloat(float64(w * f.by))
	}
	total := tally.Count(int64(c.n))
	if c.weighted {
		total = c.total.Clone()
	}
	return exact.Ratio(&s, &total), c.bound()
}

// Quantile returns the quantile of |p - c(p)| at percent/100, percent from 0 to 100: E50 and E90 are those of 50 and 90. Of n rows it
// lies between the values of ranks floor(h) and floor(h)+1, h = percent (n-1)/100, as linear interpolation has it. With weights the value
// of rank r is that at which the sum of weights passes r times their mean. The bound is as that of Mean.
func (c *ICI) Quantile(percent int) (value, bound float64) {
	if percent < 0 || percent > 100 {
		panic("calib: a percentage below 0 or above 100")
	}
	if c.reason != "" {
		return math.NaN(), math.NaN()
	}
	h := uint64(percent) * uint64(c.n-1)
	rank, rest := int(h/100), float64(h%100)/100
	low := c.ranked(rank)
	if rest > 0 {
		low += float64(rest * (c.ranked(rank+1) - low))
	}
	return low, c.bound()
}

// ranked returns the value of a rank.
func (c *ICI) ranked(rank int) float64 {
	if c.weighted {
		var sum exact.Sum
		mean := c.total.Float64() / float64(c.n)
		for i := range c.rows {
			if sum.Merge(c.rows[i].weight); tally.Passes(&sum, &c.total, rank, c.n, mean) {
				return c.rows[i].by
			}
		}
	} else {
		seen := 0
		for i := range c.rows {
			if seen += int(c.rows[i].n); rank < seen {
				return c.rows[i].by
			}
		}
	}
	return c.rows[len(c.rows)-1].by
}
