package report

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/metrics/parallel"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Group is the document of the rows with the same values in the columns that group rows.
type Group struct {
	Columns, Values []string
	*Document
}

// OfGroups returns the document of all rows, with tests of their groups, and with documents of these unless there are more than
// grouped.MostWhole. The verdict of a group allows for the number of tests.
func OfGroups(g *grouped.Evaluation, o grouped.TestOptions) *Document {
	d := New(g.Whole())
	d.Tests = &GroupTests{Tests: g.Tests(o), Columns: g.Columns, Metrics: g.Spec.Metrics}
	if g.Len() > grouped.MostWhole {
		return d
	}
	tested := map[string]*grouped.Tested{}
	for i := range d.Tests.Groups {
		x := &d.Tests.Groups[i]
		tested[strings.Join(x.Values, "\x00")] = x
	}
	each := g.Each()
	groups := len(each)
	d.Groups = make([]Group, groups)
	threads := g.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	parallel.Each(min(threads, answering), groups, func() func(int) {
		return func(i int) {
			e := &each[i]
			of := Brief(e.Evaluation)
			of.judgeAmong(tested[strings.Join(e.Values, "\x00")], groups)
			d.Groups[i] = Group{g.Columns, e.Values, of}
			*e = grouped.Group{} // frees what it cached
		}
	})
	return d
}

// answering is the largest number of groups that are answered at the same time, which bounds the memory of what their answers compute.
const answering = 4

// judgeAmong makes the verdict of a group one among many: it is off only if its adjusted tests say so, or where there are none, if its own
// would at a level divided by the number of groups.
func (d *Document) judgeAmong(x *grouped.Tested, groups int) {
	if d.judged == nil {
		return
	}
	j := *d.judged
	d.judged = &j
	j.Off = nil
	switch {
	case x.Clusters > 0 && x.Clusters < grouped.MinClusters:
		j.Side = 0
	case x.Total.Adjusted != x.Total.Adjusted:
		if !(j.P*float64(groups) < 0.04) {
			j.Side = 0
		}
	case !x.Off:
		j.Side = 0
	default:
		if j.Side = 0; x.Total.Adjusted < 1-d.level {
			j.Side = -1
			if x.Gap > 0 {
				j.Side = 1
			}
		}
		if x.Bins.Adjusted < 1-d.level {
			lower, upper := grouped.BinEdges(x.Bin)
			gap, rows := x.BinGap()
			j.Off = []eval.Run{{Lower: lower, Upper: upper, Rows: rows, Gap: gap}}
		}
	}
}

func (g *Group) object() object {
	by := object{}
	for i, c := range g.Columns {
		by = append(by, field{c, g.Values[i]})
	}
	return append(object{{"group", by}}, g.Document.object()...)
}

const (
	mostGroups = 40 // in a table on a terminal
	mostValue  = 32 // columns for a group's value on a terminal
)

// valueName returns a group's value as tables show it. It is quoted if it could not be seen as it is: a line end, or characters that a
// terminal acts on. So is what GitHub and Azure would obey at the beginning of a line of a job's log.
func valueName(v string, f Format) string {
	if v == "" || strings.TrimSpace(v) != v || visible.Text(v) != v || f == Plain && (strings.HasPrefix(v, "::") || strings.HasPrefix(v, "##[")) {
		v = strconv.Quote(v)
	}
	if f == Plain && text.StringWidthWithoutEscSequences(v) > mostValue {
		v = text.Snip(v, mostValue, "...")
	}
	return v
}

// GroupsTable writes a row of metrics for each group, in the format Plain or Markdown. Plain has as many metrics as fit in width, and
// at most the first 40 groups. A last line says how many are left out.
func (d *Document) GroupsTable(w io.Writer, f Format, width int) error {
	t := table.NewWriter()
	const padding = 2
	columns := d.Groups[0].Columns
	shown := slices.Clone(d.Groups)
	if f == Plain && len(shown) > mostGroups {
		shown = shown[:mostGroups]
	}
	head, used := table.Row{}, 0
	for i, c := range columns {
		c = valueName(c, f)
		head = append(head, c)
		n := text.StringWidthWithoutEscSequences(c)
		for _, g := range shown {
			n = max(n, text.StringWidthWithoutEscSequences(valueName(g.Values[i], f)))
		}
		used += n + padding
	}
	head, used = append(head, "rows"), used+len(Count(d.Input.Rows))+padding
	if width <= 0 {
		width = DefaultWidth
	}
	metrics := 0
	for k := range d.Metrics {
		n := len(d.Metrics[k].Key)
		for i := range shown {
			n = max(n, len(d.valueText(&shown[i].Metrics[k])))
		}
		if used += n + padding; f == Plain && used > width && metrics > 0 {
			break
		}
		head = append(head, d.Metrics[k].Key)
		metrics++
	}
	t.AppendHeader(head)
	for _, g := range shown {
		r := table.Row{}
		for _, v := range g.Values {
			r = append(r, valueName(v, f))
		}
		r = append(r, Count(g.Input.Rows))
		for k := range metrics {
			r = append(r, d.valueText(&g.Metrics[k]))
		}
		t.AppendRow(r)
	}
	if err := render(w, t, f, len(columns)+1, len(columns)+1+metrics); err != nil || f == Markdown {
		return err
	}
	left := ""
	if n := len(d.Groups) - len(shown); n > 0 {
		left = countOf(int64(n), "more group")
	}
	if n := len(d.Metrics) - metrics; n > 0 {
		if left != "" {
			left += " and "
		}
		left += countOf(int64(n), "more metric")
	}
	if left == "" {
		return nil
	}
	_, err := io.WriteString(w, Wrap(fmt.Sprintf("(%s: %v csv, markdown or json has all)", left, setting.Format), width)+"\n")
	return err
}
