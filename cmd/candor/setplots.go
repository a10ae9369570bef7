package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
)

// Pictures of several sets of rows, by --plot-kind.
const (
	plotDifferences = "differences"
	plotGaps        = "gaps"
	plotFlips       = "flips"
	plotGroups      = "groups"
)

// mostIntervals is the largest number of intervals that a picture shows.
const mostIntervals = 40

// setFlags adds the flag of pictures of several sets.
func (p *plot) setFlags(c *cobra.Command) {
	c.Flags().StringVar(&p.kind, "plot-kind", plotKinds[0].name, "`KIND` of picture that --plot draws: reliability, differences (their intervals), groups (those by --group, the worst first), gaps (how the reliability of two sets differs, with a band), or flips (who of two is right)")
}

// ofRows reports whether the picture is of several sets, or of groups of rows, and returns, before rows are read, why it could not be drawn.
func (p *plot) ofRows(of eval.Shape) (bool, error) {
	kind := p.kind
	if !p.said {
		kind = ""
	}
	switch {
	case (kind == plotDifferences || kind == plotGaps || kind == plotFlips) && !p.sets:
		return true, usage("--plot-kind %s draws how sets differ; candor compare and the merge of its states have it", kind)
	case (kind == plotGaps || kind == plotFlips) && !of.HasClasses():
		return true, usage("--plot-kind %s is for classes; draw another kind", kind)
	case kind == plotGroups && !p.grouped:
		return true, usage("--plot-kind groups draws groups of rows, and there are none; pass --group COLUMN to candor eval or candor compare")
	case kind == plotGroups && !p.sets && !of.HasClasses():
		return true, usage("--plot-kind groups is for classes; draw another kind")
	case kind == plotDifferences, kind == plotGaps, kind == plotFlips, kind == plotGroups:
		return true, nil
	case p.sets && !slices.Contains([]string{"", "reliability", "calibration"}, kind):
		return true, usage("--plot-kind %s is for one set; for several sets there are reliability, differences, groups, gaps and flips", kind)
	}
	return false, nil
}

// gapsPicture returns how the reliability of the two models of a comparison differs.
func gapsPicture(c *compared.Comparison) picture.Drawing {
	m := c.Models()
	short := picture.Short(visible.Texts([]string{m[0].Name, m[1].Name}))
	a, b := short[0], short[1]
	if c.Baseline == 1 {
		a, b = b, a
	}
	d := &picture.Gaps{Title: fmt.Sprintf("Difference of the gaps, %s minus %s", b, a), X: "confidence", Y: "difference of accuracy − confidence, points"}
	if c.Spec.Classes == 1 {
		d.X, d.Y = "probability of y = 1", "difference of share of y = 1 − probability, points"
	}
	gaps, n := c.Gaps(0), 0
	for _, g := range gaps {
		if !math.IsNaN(g.Error.SE) {
			n++
		}
	}
	level := paired.SidakLevel(c.Spec.Level, max(1, n))
	for _, g := range gaps {
		v := g.B - g.A
		d.Bins = append(d.Bins, picture.GapBin{Lower: g.Lower, Upper: g.Upper, Difference: v, Interval: g.Error.Interval(v, 0, level), Rows: math.Min(g.RowsA, g.RowsB)})
	}
	d.Subtitle = fmt.Sprintf("Gap: frequency minus mean score of the rows that a set has in a bin; %d bins of equal width. %s rows, taken as independent.", len(gaps), report.Count(c.Rows()))
	d.Band = fmt.Sprintf("%s interval for all bins together", percent(c.Spec.Level))
	return d
}

// flipsPicture returns which rows two models have right. There are no counts of them with weights, or in states of earlier versions without accuracy.
func flipsPicture(d *report.Differences, c *compared.Comparison) (picture.Drawing, error) {
	switch {
	case len(d.Flips) != 1:
		return nil, usage("--plot-kind flips draws whose decisions are right, and states of earlier versions have no count of them without accuracy; make the states again, or draw another kind")
	case slices.ContainsFunc(c.Models(), func(m compared.Model) bool { return m.Audit.Weighted }):
		return nil, usage("--plot-kind flips counts rows, and they have weights; draw another kind")
	}
	f := d.Flips[0]
	names := picture.Short(visible.Texts(d.Names))
	right := int64(math.Round(c.Value(f.A, eval.Metric{Name: "accuracy"}).Value * float64(f.Rows)))
	p := &picture.Flips{Title: "Who is right", Subtitle: d.FlipsText(), A: names[f.A], B: names[f.B], Both: right - f.OnlyA, OnlyA: f.OnlyA, OnlyB: f.OnlyB}
	p.Neither = f.Rows - p.Both - p.OnlyA - p.OnlyB
	return p, nil
}
