package page

import (
	"math"
	"strings"

	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
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
	f := &picture.Forest{First: "better", Other: "worse", Undecided: "not decided"}
	panel := picture.ForestPanel{Name: main}
	t := &table{name: "Differences by group", from: 3 * printed}
	for _, c := range g.Columns {
		t.head = append(t.head, text(c))
	}
	if len(g.Pairs) > 1 {
		t.head = append(t.head, "pair")
	}
	t.head = append(t.head, "rows", text(main), text(level), "adjusted p")
	for k := range g.Metrics {
		if k != g.Main {
			t.head = append(t.head, text(g.Metrics[k].String()))
		}
	}
	t.head = append(t.head, "outcome")
	for i := range g.Groups {
		x := &g.Groups[i]
		for j, p := range g.Pairs {
			y := g.At(x, g.Main, j)
			pair := names[p[1]] + " − " + names[p[0]]
			in := safe("")
			if !math.IsNaN(y.Interval.Low) {
				in = join(number(y.Interval.Low), " to ", number(y.Interval.High))
			}
			if y.P == y.P && in != "" && len(panel.Rows) < mostIntervals {
				name := strings.Join(x.Values, ", ")
				if len(g.Pairs) > 1 {
					name += ": " + pair
				}
				r := picture.ForestRow{Name: short(name), Value: y.Value, Interval: y.Interval, Rows: x.Rows}
				switch y.Outcome {
				case compared.Better:
					r.Verdict = picture.First
				case compared.Worse:
					r.Verdict = picture.Other
				}
				panel.Rows = append(panel.Rows, r)
			}
			if len(t.rows) >= 3*Most {
				continue
			}
			var row []safe
			for _, v := range x.Values {
				row = append(row, text(short(v)))
			}
			if len(g.Pairs) > 1 {
				row = append(row, text(pair))
			}
			row = append(row, count(x.Rows), number(y.Value), in, pvalue(y.Adjusted))
			for k := range g.Metrics {
				if k != g.Main {
					row = append(row, number(g.At(x, k, j).Value))
				}
			}
			t.rows = append(t.rows, append(row, text(string(y.Outcome))))
		}
	}
	var in []safe
	for _, l := range d.GroupSentences() {
		in = append(in, tag("p", "", text(minus(l))))
	}
	if len(panel.Rows) > 0 {
		if len(g.Pairs) == 1 {
			b := names[g.Pairs[0][1]]
			f.First, f.Other = b+" is better", b+" is worse"
		}
		f.Panels = []picture.ForestPanel{panel}
		drawn := f.Panel()
		drawn.Title, drawn.Desc = "Differences by group", strings.Join(d.GroupSentences(), " ")
		in = append(in, tag("div", `class="strip"`, figure("groups", drawn, text("Differences of "+main+" by group, with "+level+"s, each by itself."))))
	}
	in = append(in, details("The groups as a table", t.html()))
	s.section("For whom?", in...)
}
