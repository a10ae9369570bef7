package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/report"
)

// byGroup is the section of the differences of groups of rows.
func byGroup(s *sheet, d *report.Differences) {
	if d == nil || d.Groups == nil || len(d.Groups.Groups) == 0 {
		return
	}
	g := d.Groups
	names := make([]string, len(d.Names))
	for i, n := range d.Names {
		names[i] = short(n)
	}
	main := g.Metrics[g.Main].String()
	level := report.LevelText(d.Level)
	t := &table{name: "Differences by group", from: printed / 2, head: []safe{text(strings.Join(visible.Texts(g.Columns), ", ")), "rows", text(main), text(level), "adjusted p"}}
	metrics := d.GroupMetrics()[1:]
	for _, k := range metrics {
		t.head = append(t.head, keyOf(g.Metrics[k].String()))
	}
	t.head = append(t.head, "outcome")
	most := mostDifferences(d)
	for i := range g.Groups {
		x := &g.Groups[i]
		for j, p := range g.Pairs {
			if len(t.rows) >= most || j >= most {
				break
			}
			y := g.At(x, g.Main, j)
			in := safe("")
			if !math.IsNaN(y.Interval.Low) {
				in = join(number(y.Interval.Low), " to ", number(y.Interval.High))
			}
			name := text(short(strings.Join(x.Values, ", ")))
			if len(g.Pairs) > 1 {
				name = join(name, tag("small", "", text(names[p[1]]+" − "+names[p[0]])))
			}
			row := []safe{name, count(x.Rows), number(y.Value), in, pvalue(y.Adjusted)}
			for _, k := range metrics {
				row = append(row, number(g.At(x, k, j).Value))
			}
			t.rows = append(t.rows, append(row, text(string(y.Outcome))))
		}
	}
	var in []safe
	for i, l := range d.GroupSentences() {
		class := ""
		if i > 2 {
			class = `class="screen"`
		}
		words := strings.Split(l, " ")
		for k := range words {
			words[k] = short(words[k])
		}
		in = append(in, tag("p", class, text(minus(strings.Join(words, " ")))))
	}
	if f := d.GroupForest(mostIntervals); len(f.Panels[0].Rows) > 0 {
		in = append(in, forest("groups", f, strings.Join(d.GroupSentences(), " "), text(fmt.Sprintf("Differences of %s by group, the worst first, with %ss, each by itself; in brackets rows.", main, level))))
	}
	in = append(in, details("The groups as a table", t.html(), others(len(g.Groups)*len(g.Pairs)-len(t.rows), "row", "rows")))
	s.section("For whom?", in...)
}
