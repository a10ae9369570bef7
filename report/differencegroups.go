package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// groupName names a group: site=north.
func groupName(columns, values []string) string {
	l := make([]string, len(values))
	for i, v := range values {
		l[i] = visible.Text(columns[i]) + "=" + visible.Text(v)
	}
	return strings.Join(l, ", ")
}

// GroupName names a group: site=north.
func GroupName(columns, values []string) string { return groupName(columns, values) }

// adjustment names how the p-values of groups are adjusted.
func adjustment(a compared.Adjust) string {
	if a == compared.BH {
		return "the method of Benjamini and Hochberg"
	}
	return "Holm's method"
}

// GroupSentences say for which groups which model is better: a sentence for each pair by the loss that puts groups in order, one
// by accuracy where that decides any, and one of groups that are not tested. There are none if rows are not grouped.
func (d *Differences) GroupSentences() (l []string) {
	g := d.Groups
	if g == nil || len(g.Groups) == 0 {
		return nil
	}
	const most = 5 // pairs
	for j := range g.Pairs {
		if j == most {
			l = append(l, fmt.Sprintf("The document has %s more.", countOf(int64(len(g.Pairs)-most), "pair")))
			break
		}
		l = append(l, d.groupSentence(g.Main, j))
		for k := range g.Metrics {
			if k != g.Main && g.Metrics[k].Name == "accuracy" && g.Count(k, j, compared.Better)+g.Count(k, j, compared.Worse) > 0 {
				l = append(l, d.groupSentence(k, j))
			}
		}
	}
	if g.Few > 0 {
		verb := "are"
		if g.Few == 1 {
			verb = "is"
		}
		l = append(l, fmt.Sprintf("%s of fewer than %s %s not tested.", capital(countOf(int64(g.Few), "group")), countOf(g.MinRows, "row"), verb))
	}
	return l
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// groupSentence says for which groups which of a pair is better by a metric.
func (d *Differences) groupSentence(metric, pair int) string {
	g := d.Groups
	names := visible.Texts(d.Names)
	a, b := names[g.Pairs[pair][0]], names[g.Pairs[pair][1]]
	m := &g.Metrics[metric]
	tested := 0
	var found [2][]string // groups for which B is better, and A
	for i := range g.Groups {
		x := g.At(&g.Groups[i], metric, pair)
		if x.P == x.P {
			tested++
		}
		switch x.Outcome {
		case compared.Better:
			found[0] = append(found[0], groupName(g.Columns, g.Groups[i].Values))
		case compared.Worse:
			found[1] = append(found[1], groupName(g.Columns, g.Groups[i].Values))
		}
	}
	by := "By " + say(m.String()) + ", "
	of := countOf(int64(tested), "group")
	how := fmt.Sprintf(" (%s over %s)", adjustment(g.Adjust), countOf(int64(m.Family), "test"))
	switch {
	case tested == 0:
		return fmt.Sprintf("%s%s and %s are not compared by group: %s.", by, a, b, d.untested(metric, pair))
	case m.Better != eval.Lower && m.Better != eval.Higher:
		return fmt.Sprintf("%sneither more nor less is better, so no group has a verdict.", by)
	case len(found[0])+len(found[1]) == 0:
		return fmt.Sprintf("%sneither of %s and %s is shown to be better for any of %s%s.", by, a, b, of, how)
	}
	none := func(n int) string {
		if n == 0 {
			return "none"
		}
		return Count(int64(n))
	}
	first, last := 0, 1
	if len(found[0]) == 0 {
		first, last = 1, 0
	}
	who := [2]string{b, a}
	return fmt.Sprintf("%s%s is better than %s for %s of %s%s: %s; %s is better for %s%s.", by, who[first], who[last], none(len(found[first])), of, how,
		fewGroups(found[first]), who[last], none(len(found[last])), listOf(found[last]))
}

// untested says why no group is tested.
func (d *Differences) untested(metric, pair int) string {
	g := d.Groups
	for i := range g.Groups {
		if x := g.At(&g.Groups[i], metric, pair); g.Groups[i].Rows >= g.MinRows && x.Reason != "" {
			return strings.TrimSuffix(x.Reason, ".")
		}
	}
	return "no group has " + countOf(g.MinRows, "row")
}

// listOf is fewGroups behind a colon; "" of none.
func listOf(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return ": " + fewGroups(l)
}

// fewGroups spells the first groups of a list.
func fewGroups(l []string) string {
	const most = 3
	if len(l) > most {
		return fmt.Sprintf("%s and %s more", strings.Join(l[:most], "; "), Count(int64(len(l)-most)))
	}
	return strings.Join(l, "; ")
}

// GroupsTable writes a row for each group and pair, first those where the second model is worse, as Plain or Markdown: the difference by
// the loss that puts groups in order, and values of the others. Plain has the first 20 rows, as has Markdown of more than 1,000 groups, and a
// last line that says how many are left out.
func (d *Differences) GroupsTable(w io.Writer, f Format, width int) error {
	g := d.Groups
	names := visible.Texts(d.Names)
	if f == Plain {
		names = briefNames(names)
	}
	var out narrow
	for _, c := range g.Columns {
		out.head = append(out.head, valueName(c, f))
	}
	if out.numbers = len(g.Columns); len(g.Pairs) > 1 {
		out.head = append(out.head, "Difference")
		out.numbers++
	}
	at := len(out.head)
	out.head = append(out.head, "rows", g.Metrics[g.Main].String(), percentOf(d.Level)+" interval", "p adjusted")
	out.drop = []int{at + 2, at + 3}
	for k := range g.Metrics {
		if k != g.Main {
			out.drop = append([]int{len(out.head)}, out.drop...)
			out.head = append(out.head, g.Metrics[k].String())
		}
	}
	out.head = append(out.head, "Outcome")
	out.texts = 1
	rows := len(g.Groups) * len(g.Pairs)
	most := rows
	if f == Plain || len(g.Groups) > compared.MostWhole {
		most = min(mostWorst, rows)
	}
	for i := range g.Groups {
		x := &g.Groups[i]
		for j, p := range g.Pairs {
			if len(out.rows) == most {
				break
			}
			var r []string
			for _, v := range x.Values {
				r = append(r, valueName(v, f))
			}
			if len(g.Pairs) > 1 {
				r = append(r, names[p[1]]+" - "+names[p[0]])
			}
			y := g.At(x, g.Main, j)
			ends := ""
			if !math.IsNaN(y.Interval.Low) {
				ends = "[" + short(y.Interval.Low) + ", " + short(y.Interval.High) + "]"
			}
			r = append(r, Count(x.Rows), short(y.Value), ends, pText(y.Adjusted))
			for k := range g.Metrics {
				if k != g.Main {
					r = append(r, short(g.At(x, k, j).Value))
				}
			}
			said := ""
			switch y.Outcome {
			case compared.Better:
				said = names[p[1]] + " better"
			case compared.Worse:
				said = names[p[0]] + " better"
			case compared.Undecided:
				said = "not decided"
			}
			if said == "" {
				said = "not tested"
			}
			out.rows = append(out.rows, append(r, said))
		}
	}
	left, err := out.render(w, f, width)
	if err != nil {
		return err
	}
	what := "group"
	if len(g.Pairs) > 1 {
		what = "difference"
	}
	said := rest(rows-len(out.rows), what, left, "csv or json")
	if said == "" {
		return nil
	}
	if width <= 0 {
		width = DefaultWidth
	}
	_, err = io.WriteString(w, Wrap(said, width)+"\n")
	return err
}

// GroupsTitle is the heading of GroupsTable.
func (d *Differences) GroupsTitle() string {
	if g := d.Groups; len(g.Pairs) == 1 {
		names := visible.Texts(d.Names)
		return fmt.Sprintf("Differences by %s, %s minus %s:", strings.Join(visible.Texts(g.Columns), ", "), names[g.Pairs[0][1]], names[g.Pairs[0][0]])
	}
	return fmt.Sprintf("Differences by %s:", strings.Join(visible.Texts(d.Groups.Columns), ", "))
}

// groupsObject returns the differences by group for a document.
func (d *Differences) groupsObject() object {
	g := d.Groups
	metrics := make([]object, len(g.Metrics))
	for k := range g.Metrics {
		m := &g.Metrics[k]
		better := m.Better
		if better == "" {
			better = eval.Neither
		}
		metrics[k] = object{{"metric", m.String()}, {"better", string(better)}, {"method", m.Method}, {"family", m.Family}}
	}
	n, pairs := len(g.Groups), g.Pairs
	of := make([]int, len(g.Metrics))
	for k := range of {
		of[k] = k
	}
	if d.most > 0 {
		of, pairs = d.GroupMetrics(), pairs[:min(len(pairs), d.most)]
		slices.Sort(of)
		n = min(n, (d.most+len(pairs)-1)/len(pairs)) // the last of them not with all pairs
	}
	groups := func(i int) object {
		x := &g.Groups[i]
		by := object{}
		for k, c := range g.Columns {
			by = append(by, field{c, x.Values[k]})
		}
		o := object{{"group", by}, {"rows", x.Rows}}
		if d.Clusters != nil {
			o = append(o, field{"clusters", x.Clusters})
		}
		list := make([]object, 0, len(x.Differences))
		for _, k := range of {
			for j, p := range pairs {
				if d.most > 0 && i*len(pairs)+j >= d.most {
					break
				}
				y := g.At(x, k, j)
				one := object{{"a", d.Names[p[0]]}, {"b", d.Names[p[1]]}, {"metric", g.Metrics[k].String()}, {"value", number(y.Value)}, {"low", number(y.Interval.Low)},
					{"high", number(y.Interval.High)}, {"p", number(y.P)}, {"p_adjusted", number(y.Adjusted)}}
				if y.Reason != "" {
					one = append(one, field{"reason", y.Reason})
				}
				outcome := any(string(y.Outcome))
				if y.Outcome == compared.NoOutcome {
					outcome = nil
				}
				list = append(list, append(one, field{"outcome", outcome}))
			}
		}
		return append(o, field{"differences", list})
	}
	adjust := compared.Holm
	if g.Adjust == compared.BH {
		adjust = compared.BH
	}
	says := d.GroupSentences()
	if says == nil {
		says = []string{}
	}
	return object{{"columns", g.Columns}, {"says", says}, {"level", number(d.Level)}, {"min_rows", g.MinRows}, {"adjust", adjust.String()},
		{"number_of_groups", len(g.Groups)}, {"too_few_rows", g.Few}, {"ordered_by", g.Metrics[g.Main].String()}, {"metrics", metrics}, {"groups", many{n, groups}}}
}

// csvGroups returns the rows of groups in a comparison's CSV: for each group and metric, the cells of the pairs after those of so many sets.
func (d *Differences) csvGroups(sets int) (rows [][]string) {
	g := d.Groups
	pairs := d.pairs()
	for i := range g.Groups {
		x := &g.Groups[i]
		for k := range g.Metrics {
			m := &g.Metrics[k]
			row := append(visible.Texts(x.Values), strconv.FormatInt(x.Rows, 10), m.String(), full(d.Level), string(m.Better))
			row = append(row, make([]string, 3*sets)...)
			for _, p := range pairs {
				for j, of := range g.Pairs {
					if of == p {
						y := g.At(x, k, j)
						row = append(row, full(y.Value), full(y.Interval.Low), full(y.Interval.High), full(y.Adjusted), string(y.Outcome))
					}
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
