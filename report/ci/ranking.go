package ci

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report"
)

// Ranking is a list of parts of the rows that are tested, the worst first.
type Ranking struct {
	What  string // that a part is: "slice" or "group"
	Says  string // which of them are off
	Of    string // what Value is of a part
	Level float64
	Parts []Ranked
	Left  int // parts that are not in the list
}

// Ranked is a part of a Ranking.
type Ranked struct {
	Name     string
	Rows     int64
	Value    float64
	Interval metrics.Interval // not adjusted
	Adjusted float64          // p-value, adjusted over all parts; NaN if it is not tested
	Outcome  string           // in words; "" if it is not tested
}

// mostRanked is the largest number of parts of a Ranking.
const mostRanked = 100

// ranking returns a Ranking of n parts.
func ranking(what, says, of string, level float64, n int, at func(i int) Ranked) Ranking {
	r := Ranking{What: what, Says: says, Of: of, Level: level, Left: max(0, n-mostRanked)}
	for i := range min(n, mostRanked) {
		r.Parts = append(r.Parts, at(i))
	}
	return r
}

// rankingsOf returns those of a document: its slices, and its groups where they are tested.
func rankingsOf(d *report.Document) (l []Ranking) {
	off := func(is bool, p float64) string {
		switch {
		case is:
			return "off"
		case p == p:
			return "not shown to be off"
		}
		return ""
	}
	if s := d.Slices; s != nil && len(s.List) > 0 {
		l = append(l, ranking("slice", s.Sentence(), "gap", s.Options.Level, len(s.List), func(i int) Ranked {
			x := &s.List[i]
			return Ranked{s.Name(i), x.Rows, x.Gap, x.Interval, x.Adjusted, off(x.Adjusted < 1-s.Options.Level, x.Adjusted)}
		}))
	}
	if t := d.Tests; t != nil && t.Tested > 0 {
		l = append(l, ranking("group", t.Sentence(), "gap", t.Level, len(t.Groups), func(i int) Ranked {
			x := &t.Groups[i]
			p := x.Total.Adjusted
			if !(p <= x.Bins.Adjusted) && x.Bins.Adjusted == x.Bins.Adjusted {
				p = x.Bins.Adjusted
			}
			return Ranked{report.GroupName(t.Columns, x.Values), x.Rows, x.Gap, x.Interval, p, off(x.Off, p)}
		}))
	}
	return l
}

// RankingsOf returns the groups of a comparison, for each pair of sets by the metric that puts them in order.
func RankingsOf(c *report.Comparison) (l []Ranking) {
	d := c.Differences
	if d == nil || d.Groups == nil || len(d.Groups.Groups) == 0 {
		return nil
	}
	g := d.Groups
	said := d.GroupSentences()
	for j, p := range g.Pairs {
		of := fmt.Sprintf("delta.%s", g.Metrics[g.Main])
		if len(g.Pairs) > 1 {
			of += fmt.Sprintf(" (%s minus %s)", d.Names[p[1]], d.Names[p[0]])
		}
		says := ""
		if j == 0 {
			for i, s := range said {
				if i > 0 {
					says += " "
				}
				says += s
			}
		}
		l = append(l, ranking("group", says, of, d.Level, len(g.Groups), func(i int) Ranked {
			x := &g.Groups[i]
			y := g.At(x, g.Main, j)
			return Ranked{report.GroupName(g.Columns, x.Values), x.Rows, y.Value, y.Interval, y.Adjusted, string(y.Outcome)}
		}))
	}
	return l
}

// ranking adds a table of a Ranking.
func (p *page) ranking(r *Ranking) {
	if r.Says != "" {
		p.add("\n%s\n", prose(r.Says))
	}
	p.add("\n| %s | rows | %s | %s%% interval | p adjusted | |\n| --- | ---: | ---: | --- | ---: | --- |\n", r.What, code(r.Of), exact(math.Round(1e8*r.Level)/1e6))
	for i := range r.Parts {
		x := &r.Parts[i]
		m := report.Metric{}
		m.Value.Value, m.Value.Interval = x.Value, x.Interval
		value, ends := m.Texts()
		chance := ""
		if x.Adjusted == x.Adjusted {
			chance = fmt.Sprintf("%.2g", x.Adjusted)
		}
		p.add("| %s | %s | %s | %s | %s | %s |\n", code(x.Name), report.Count(x.Rows), prose(value), prose(ends), chance, prose(x.Outcome))
	}
	if r.Left > 0 {
		p.add("\n%s more of them are left out.\n", report.Count(int64(r.Left)))
	}
}

// properties returns those of a Ranking.
func (r *Ranking) properties(before string) (l []property) {
	for i := range r.Parts {
		x := &r.Parts[i]
		name := before + r.What + " " + visible.Text(x.Name) + ": "
		l = append(l, property{name + "rows", exact(float64(x.Rows))})
		for _, v := range []struct {
			name  string
			value float64
		}{{r.Of, x.Value}, {r.Of + ".low", x.Interval.Low}, {r.Of + ".high", x.Interval.High}, {r.Of + ".p_adjusted", x.Adjusted}} {
			if v.value == v.value {
				l = append(l, property{name + visible.Text(v.name), exact(v.value)})
			}
		}
		if x.Outcome != "" {
			l = append(l, property{name + visible.Text(r.Of) + ".outcome", x.Outcome})
		}
	}
	if r.Left > 0 {
		l = append(l, property{before + r.What + "s left out", exact(float64(r.Left))})
	}
	return l
}
