package binfree

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/reason"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Curve selects a smooth estimate of the frequency of the event at each score.
type Curve uint8

const (
	RisingCurve Curve = iota // isotonic regression with equal scores pooled, the fit of CORP
	LoessCurve               // Cleveland's lowess, without robustness iterations
)

// The defaults of LoessCurve, as in calzone, and the most rows that it accepts.
const (
	DefaultSpan  = 0.5
	DefaultDelta = 0.001
	MaxLoessRows = 10_000
)

// ICIOptions select the curve. The zero value is RisingCurve.
type ICIOptions struct {
	Curve Curve
	// For LoessCurve: Span is the share of the rows that each straight line is fitted to, above 0 and at most 1; 0 means
	// DefaultSpan. Scores within Delta of the last fitted one are interpolated; a negative value means DefaultDelta.
	Span, Delta float64
}

// ICI is the distance of scores from the frequencies c(p) of a curve fitted to the same rows: the integrated calibration
// index mean |p - c(p)|, and quantiles of |p - c(p)|. It is in [0,1], except where a loess curve leaves this range, and 0 is
// best. The curve adapts to noise, so a calibrated model is above 0: with RisingCurve by an amount that falls as N^(-1/3).
//
// Source: Austin and Steyerberg 2019.
type ICI struct {
	rows     []off // in rising order of distance
	total    exact.Sum
	n        int
	weighted bool
	exact    bool
	reason   string
}

// off holds the rows of a score or a grid cell, with their distance from the curve.
type off struct {
	by     float64
	n      int64
	weight *exact.Sum // nil without weights
}

// ICIOf returns the index of the rows in r; o may be nil. If r keeps scores on a grid, the index is that of the cell means;
// its distance from that of the rows themselves is not known.
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
		c.reason = "loess takes no weights here; smoother=rising does"
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
			t := tally.Of(x)
			f.weight = &t.W
			c.total.Merge(&t.W)
		}
		c.rows = append(c.rows, f)
	})
	slices.SortFunc(c.rows, func(a, b off) int { return cmp.Compare(a.by, b.by) })
	return c
}

// rising returns a function that gives the fitted frequency of a cell. Cells must be passed in order.
func rising(r cells.Rising) func(*cells.Cell) float64 {
	var fit cells.Pool
	r.Fit(&fit)
	steps := fit.Blocks()
	return func(x *cells.Cell) float64 {
		for steps[0].High < x.High {
			steps = steps[1:]
		}
		return steps[0].Y / steps[0].N
	}
}

// Reason says why there is no index: no rows, scores outside [0,1], or for a loess curve weights or too many rows. It is ""
// if there is one.
func (c *ICI) Reason() string { return c.reason }

// bound returns the most by which a value can differ from that of the rows themselves, NaN if unknown.
func (c *ICI) bound() float64 {
	if c.exact {
		return 0
	}
	return math.NaN()
}

// Mean returns the integrated calibration index. bound is 0 if cells are exact, else NaN (unknown).
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

// Quantile returns the quantile of |p - c(p)| at percent/100, for percent from 0 to 100; E50 and E90 are those at 50 and 90.
// For n rows it interpolates linearly between the values of ranks floor(h) and floor(h)+1, with h = percent (n-1)/100. With
// weights, the value of rank r is that at which the cumulative weight passes r times the mean weight. bound is as for Mean.
func (c *ICI) Quantile(percent int) (value, bound float64) {
	if percent < 0 || percent > 100 {
		panic("binfree: a percentage below 0 or above 100")
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
