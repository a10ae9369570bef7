package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/report/picture"
)

// Forest returns the picture of the differences with their intervals. If there are more than most, metrics by which a set is better come first,
// then those by which one can be. Of a metric with more pairs than there is room for, they are those with the set that is better than all
// others, or else the clearest ones.
func (d *Differences) Forest(most int) *picture.Forest {
	names := picture.Short(visible.Texts(d.Names))
	f := &picture.Forest{Title: "Differences", First: "the set named first is better", Other: "the set named last is better", Undecided: "not decided"}
	f.Subtitle = d.Sentence() + "\n" + percentOf(d.Level) + " intervals"
	if s := d.Simultaneous(); s != "" {
		f.Subtitle = d.Sentence() + "\n" + s
	}
	if len(names) == 2 && len(d.List) > 0 {
		a, b := names[d.List[0].A], names[d.List[0].B]
		f.Title, f.First, f.Other = fmt.Sprintf("Differences, %s minus %s", b, a), b+" better", a+" better"
	}
	all := [][]compared.Difference{d.List}
	if len(d.List) > most {
		all = d.led()
	}
	var metrics [][]*compared.Difference
	shown, left := 0, 0
	for _, of := range all {
		best := -1
		if len(d.List) > most {
			best = d.winner(of)
		}
		for i := range of {
			x := &of[i]
			if math.IsNaN(x.Interval.Low) {
				continue
			}
			if best >= 0 && x.A != best && x.B != best {
				left++
				continue
			}
			if n := len(metrics) - 1; n < 0 || metrics[n][0].Metric.String() != x.Metric.String() {
				metrics = append(metrics, nil)
			}
			metrics[len(metrics)-1] = append(metrics[len(metrics)-1], x)
		}
	}
	directed := true
	for _, l := range metrics {
		if room := most - shown; len(l) > room {
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
		directed = directed && (l[0].Better == eval.Lower || l[0].Better == eval.Higher)
		for _, x := range l {
			r := picture.ForestRow{Name: minusOf(names, x.A, x.B), Value: x.Value, Interval: x.Interval, Verdict: verdictOf(x.Outcome)}
			p.Rows = append(p.Rows, r)
		}
		f.Panels = append(f.Panels, p)
	}
	if !directed {
		f.Undecided += ", or neither way is better"
	}
	if left > 0 {
		f.Subtitle += more(left)
	}
	return f
}

// GroupForest returns the picture of the differences by group, the worst first, at most so many.
func (d *Differences) GroupForest(most int) *picture.Forest {
	g := d.Groups
	names := picture.Short(visible.Texts(d.Names))
	f := &picture.Forest{Title: strings.TrimSuffix(d.GroupsTitle(), ":"), First: "the set named first is better", Other: "the set named last is better", Undecided: "not decided"}
	if len(g.Pairs) == 1 {
		f.First, f.Other = names[g.Pairs[0][1]]+" better", names[g.Pairs[0][0]]+" better"
	}
	f.Subtitle = strings.Join(d.GroupSentences(), "\n") + "\n" + percentOf(d.Level) + " intervals, each by itself; in brackets rows."
	p := picture.ForestPanel{Name: g.Metrics[g.Main].String()}
	left := 0
	for i := range g.Groups {
		for j, pair := range g.Pairs {
			x := g.At(&g.Groups[i], g.Main, j)
			if math.IsNaN(x.P) || math.IsNaN(x.Interval.Low) {
				continue
			}
			if len(p.Rows) == most {
				left++
				continue
			}
			name := strings.Join(visible.Texts(g.Groups[i].Values), ", ")
			if len(g.Pairs) > 1 {
				name += ": " + minusOf(names, pair[0], pair[1])
			}
			p.Rows = append(p.Rows, picture.ForestRow{Name: withRows(name, g.Groups[i].Rows), Value: x.Value, Interval: x.Interval, Rows: g.Groups[i].Rows, Verdict: verdictOf(x.Outcome)})
		}
	}
	if left > 0 {
		f.Subtitle += more(left)
	}
	f.Panels = []picture.ForestPanel{p}
	return f
}

// Forest returns the picture of how metrics have changed, with their intervals, at most so many.
func (d *Drift) Forest(most int) *picture.Forest {
	f := &picture.Forest{Title: fmt.Sprintf("Change, %s minus %s", visible.Text(d.Names[1]), visible.Text(d.Names[0])), First: "lower", Other: "higher", Undecided: "no change seen"}
	f.Subtitle = d.Verdict() + "\n" + percentOf(d.Level) + " intervals, each by itself; colour where the adjusted p-value is small"
	left := 0
	for i := range d.Metrics {
		x := &d.Metrics[i]
		if math.IsNaN(x.Interval.Low) {
			continue
		}
		if len(f.Panels) == most {
			left++
			continue
		}
		r := picture.ForestRow{Name: x.Key, Value: x.Value, Interval: x.Interval, Verdict: side(x.Value, x.Adjusted, d.Level)}
		f.Panels = append(f.Panels, picture.ForestPanel{Name: x.Key, Rows: []picture.ForestRow{r}})
	}
	if left > 0 {
		f.Subtitle += more(left)
	}
	return f
}

// Forest returns the picture of the gaps of groups, the worst first, at most so many.
func (t *GroupTests) Forest(most int) *picture.Forest {
	f := &picture.Forest{Title: "Groups by " + strings.Join(visible.Texts(t.Columns), ", "), First: "too low", Other: "too high", Undecided: "not shown to be off on average", Sides: true}
	p := picture.ForestPanel{Name: "overconfidence: mean confidence minus accuracy, points", Points: true}
	if t.Event == calib.Positive {
		p.Name = "bias: mean probability minus base rate, points"
	}
	left := 0
	for i := range t.Groups {
		g := &t.Groups[i]
		if math.IsNaN(g.Gap) || math.IsNaN(g.Interval.Low) || g.Rows < t.MinRows {
			continue
		}
		if len(p.Rows) == most {
			left++
			continue
		}
		p.Rows = append(p.Rows, picture.ForestRow{Name: withRows(strings.Join(visible.Texts(g.Values), ", "), g.Rows), Value: g.Gap, Interval: g.Interval, Rows: g.Rows, Verdict: side(g.Gap, g.Total.Adjusted, t.Level)})
	}
	f.Subtitle = t.Sentence()
	f.Panels = []picture.ForestPanel{p}
	if len(p.Rows) == 0 {
		return f
	}
	f.Subtitle += "\nThe worst first. " + percentOf(t.Level) + " intervals, each by itself; colour where the adjusted p-value is small; in brackets rows."
	if left > 0 {
		f.Subtitle += fmt.Sprintf("\n%s more groups are less far off.", Count(int64(left)))
	}
	return f
}

// Forest returns the picture of the gaps of at most so many slices, the worst first.
func (s *Slices) Forest(most int) *picture.Forest {
	f := &picture.Forest{Title: "The worst slices", Subtitle: s.Sentence(), First: "too low", Other: "too high", Undecided: "not shown to be off on average", Sides: true}
	p := picture.ForestPanel{Name: "gap: mean score minus share of events, points", Points: true}
	for i := range s.List {
		x := &s.List[i]
		if math.IsNaN(x.Gap) || math.IsNaN(x.Interval.Low) {
			continue
		}
		if len(p.Rows) == most {
			break
		}
		p.Rows = append(p.Rows, picture.ForestRow{Name: withRows(s.Name(i), x.Rows), Value: x.Gap, Interval: x.Interval, Rows: x.Rows, Verdict: side(x.Gap, x.Adjusted, s.Options.Level)})
	}
	f.Panels = []picture.ForestPanel{p}
	return f
}

// side is the verdict of a value that is tested against 0.
func side(value, adjusted, level float64) picture.Verdict {
	switch {
	case adjusted < 1-level && value < 0:
		return picture.First
	case adjusted < 1-level && value > 0:
		return picture.Other
	}
	return picture.Open
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

// more says that a picture leaves intervals out.
func more(left int) string { return fmt.Sprintf("\nThe document has %s more.", Count(int64(left))) }

// withRows is a name with the number of rows behind it.
func withRows(name string, rows int64) string { return name + " (" + Count(rows) + ")" }

// minusOf names the difference of two sets, without the middle of long names, so that both fit beside its interval.
func minusOf(names []string, a, b int) string {
	const head, tail = 9, 9
	cut := func(name string) string {
		if r := []rune(name); len(r) > head+tail+3 {
			return string(r[:head]) + "..." + string(r[len(r)-tail:])
		}
		return name
	}
	return cut(names[b]) + " − " + cut(names[a])
}
