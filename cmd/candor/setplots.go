package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
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
		return true, usage("--plot-kind %s is of one set; of several there are reliability, differences, groups, gaps and flips", kind)
	}
	return false, nil
}

// differencesPicture returns the intervals of differences.
func differencesPicture(d *report.Differences) picture.Drawing {
	names := picture.Short(visible.Texts(d.Names))
	f := &picture.Forest{Title: "Differences", First: "the set named first is better", Other: "the set named last is better", Undecided: "not decided"}
	f.Subtitle = d.Sentence() + "\n" + percent(d.Level) + " intervals"
	if s := d.Simultaneous(); s != "" {
		f.Subtitle = d.Sentence() + "\n" + s
	}
	if len(names) == 2 && len(d.List) > 0 {
		a, b := names[d.List[0].A], names[d.List[0].B]
		f.Title, f.First, f.Other = fmt.Sprintf("Differences, %s minus %s", b, a), b+" better", a+" better"
	}
	var metrics [][]*compared.Difference
	shown, left := 0, 0
	for from := 0; from < len(d.List); {
		to := from
		var l []*compared.Difference
		for ; to < len(d.List) && d.List[to].Metric.String() == d.List[from].Metric.String(); to++ {
			if x := &d.List[to]; !math.IsNaN(x.Interval.Low) {
				l = append(l, x)
			}
		}
		from = to
		if len(l) > 0 {
			metrics = append(metrics, l)
			shown += len(l)
		}
	}
	if shown > mostIntervals { // those first by which a set is better
		slices.SortStableFunc(metrics, func(a, b []*compared.Difference) int { return cmp.Compare(undirected(a[0]), undirected(b[0])) })
	}
	shown = 0
	for _, l := range metrics {
		if room := mostIntervals - shown; len(l) > room {
			if shown > 0 {
				left += len(l)
				continue
			}
			// The clearest ones, in the order of the pairs.
			by := slices.Clone(l)
			slices.SortStableFunc(by, func(a, b *compared.Difference) int { return cmp.Compare(a.Adjusted, b.Adjusted) })
			left += len(l) - room
			l = slices.DeleteFunc(l, func(x *compared.Difference) bool { return slices.Index(by, x) >= room })
		}
		shown += len(l)
		p := picture.ForestPanel{Name: l[0].Metric.String()}
		if l[0].Margin != nil {
			p.Margin = l[0].Margin.Size
		}
		for _, x := range l {
			r := picture.ForestRow{Name: withoutMiddle(names[x.B]) + " − " + withoutMiddle(names[x.A]), Value: x.Value, Interval: x.Interval, Verdict: verdictOf(x.Outcome)}
			p.Rows = append(p.Rows, r)
		}
		f.Panels = append(f.Panels, p)
	}
	if left > 0 {
		f.Subtitle += fmt.Sprintf("\nThe document has %s more.", report.Count(int64(left)))
	}
	return f
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

// flipsPicture returns which rows two models have right. There are no counts of them with weights, or without accuracy.
func flipsPicture(d *report.Differences, c *compared.Comparison) (picture.Drawing, error) {
	switch {
	case len(d.Flips) != 1:
		return nil, usage("--plot-kind flips draws whose decisions are right, and accuracy is not among the metrics; evaluate with --metrics default,accuracy")
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

// undirected is 1 if neither lower nor higher values of a difference's metric are better, else 0.
func undirected(d *compared.Difference) int {
	if d.Better == eval.Lower || d.Better == eval.Higher {
		return 0
	}
	return 1
}

// withoutMiddle leaves out the middle of a long name, so that two of them fit beside a difference.
func withoutMiddle(name string) string {
	const head, tail = 9, 9
	if r := []rune(name); len(r) > head+tail+3 {
		return string(r[:head]) + "..." + string(r[len(r)-tail:])
	}
	return name
}

// groupsMetric returns the metric by which a picture of groups shows how far each is off.
func groupsMetric(of eval.Shape) string {
	if of.Classes == 1 {
		return "bias"
	}
	return "overconfidence"
}

// groupsPicture returns how far groups are off, the worst first: those whose interval, for all groups together, is farthest from 0.
func groupsPicture(g *grouped.Evaluation, minRows int64) (picture.Drawing, error) {
	m, err := eval.ParseMetric(groupsMetric(g.Spec.Shape()))
	if err != nil {
		return nil, err
	}
	all := g.Each()
	each := slices.DeleteFunc(slices.Clone(all), func(o grouped.Group) bool { return o.Audit.Rows < minRows })
	level := 1 - (1-g.Spec.Level)/float64(max(1, len(each)))
	f := &picture.Forest{Title: "Groups by " + strings.Join(visible.Texts(g.Columns), ", "), First: "too low", Other: "too high", Undecided: "no overall miscalibration seen", Sides: true}
	name := "bias: mean probability minus base rate"
	if m.Name == "overconfidence" {
		name = "overconfidence: mean confidence minus accuracy"
	}
	type row struct {
		picture.ForestRow
		beyond float64 // of 0
	}
	var rows []row
	for _, o := range each {
		v := o.AtLevel(level).Value(m)
		if math.IsNaN(v.Value) {
			continue
		}
		r := row{ForestRow: picture.ForestRow{Name: fmt.Sprintf("%s (%s)", strings.Join(visible.Texts(o.Values), ", "), report.Count(o.Audit.Rows)), Value: v.Value, Interval: v.Interval, Rows: o.Audit.Rows}}
		switch {
		case v.Interval.Low > 0:
			r.Verdict, r.beyond = picture.Other, v.Interval.Low
		case v.Interval.High < 0:
			r.Verdict, r.beyond = picture.First, -v.Interval.High
		default:
			r.beyond = -math.Min(-v.Interval.Low, v.Interval.High)
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := cmp.Compare(b.beyond, a.beyond); c != 0 {
			return c
		}
		return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
	})
	f.Subtitle = fmt.Sprintf("The worst first: the interval farthest from 0. %s intervals for all %s groups together; in brackets their rows.", percent(g.Spec.Level), report.Count(int64(len(each))))
	if len(each) == 0 {
		f.Subtitle = fmt.Sprintf("No group has %s rows; --min-rows says how many it takes.", report.Count(minRows))
	}
	if n := len(rows) - mostIntervals; n > 0 {
		f.Subtitle += fmt.Sprintf("\n%s more groups are less far off.", report.Count(int64(n)))
		rows = rows[:mostIntervals]
	}
	if n := len(all) - len(each); n > 0 {
		f.Subtitle += fmt.Sprintf("\nGroups of fewer than %s rows are left out: %s.", report.Count(minRows), report.Count(int64(n)))
	}
	p := picture.ForestPanel{Name: name + ", points", Points: true}
	for _, r := range rows {
		p.Rows = append(p.Rows, r.ForestRow)
	}
	f.Panels = []picture.ForestPanel{p}
	return f, nil
}

// groupDifferencesPicture returns the intervals of differences by group, the worst first.
func groupDifferencesPicture(d *report.Differences) picture.Drawing {
	g := d.Groups
	names := picture.Short(visible.Texts(d.Names))
	f := &picture.Forest{Title: d.GroupsTitle(), First: "the set named first is better", Other: "the set named last is better", Undecided: "not decided"}
	f.Title = strings.TrimSuffix(f.Title, ":")
	if len(g.Pairs) == 1 {
		f.First, f.Other = names[g.Pairs[0][1]]+" better", names[g.Pairs[0][0]]+" better"
	}
	f.Subtitle = strings.Join(d.GroupSentences(), "\n") + "\n" + percent(d.Level) + " intervals, each by itself; in brackets rows."
	p := picture.ForestPanel{Name: g.Metrics[g.Main].String()}
	left := 0
	for i := range g.Groups {
		for j, pair := range g.Pairs {
			x := g.At(&g.Groups[i], g.Main, j)
			if math.IsNaN(x.P) || math.IsNaN(x.Interval.Low) {
				continue
			}
			if len(p.Rows) == mostIntervals {
				left++
				continue
			}
			name := strings.Join(visible.Texts(g.Groups[i].Values), ", ")
			if len(g.Pairs) > 1 {
				name += ": " + withoutMiddle(names[pair[1]]) + " − " + withoutMiddle(names[pair[0]])
			}
			r := picture.ForestRow{Name: fmt.Sprintf("%s (%s)", name, report.Count(g.Groups[i].Rows)), Value: x.Value, Interval: x.Interval, Rows: g.Groups[i].Rows, Verdict: verdictOf(x.Outcome)}
			p.Rows = append(p.Rows, r)
		}
	}
	if left > 0 {
		f.Subtitle += fmt.Sprintf("\nThe document has %s more.", report.Count(int64(left)))
	}
	f.Panels = []picture.ForestPanel{p}
	return f
}

// driftPicture returns the intervals of how metrics have changed.
func driftPicture(d *report.Drift) picture.Drawing {
	f := &picture.Forest{Title: fmt.Sprintf("Change, %s minus %s", visible.Text(d.Names[1]), visible.Text(d.Names[0])), First: "lower", Other: "higher", Undecided: "no change seen"}
	f.Subtitle = d.Verdict() + "\n" + percent(d.Level) + " intervals"
	for i := range d.Metrics {
		x := &d.Metrics[i]
		if math.IsNaN(x.Interval.Low) || len(f.Panels) == mostIntervals {
			continue
		}
		r := picture.ForestRow{Name: x.Key, Value: x.Value, Interval: x.Interval}
		switch {
		case x.Adjusted < 1-d.Level && x.Value > 0:
			r.Verdict = picture.Other
		case x.Adjusted < 1-d.Level && x.Value < 0:
			r.Verdict = picture.First
		}
		f.Panels = append(f.Panels, picture.ForestPanel{Name: x.Key, Rows: []picture.ForestRow{r}})
	}
	return f
}

// verdictOf returns what a forest plot shows of an outcome: the second set is better, or the first one.
func verdictOf(o compared.Outcome) picture.Verdict {
	switch o {
	case compared.Better:
		return picture.First
	case compared.Worse:
		return picture.Other
	}
	return picture.Open
}
