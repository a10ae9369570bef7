package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// GroupTests tells which groups of rows are off.
type GroupTests struct {
	*grouped.Tests
	Columns []string      // that group the rows
	Metrics []eval.Metric // of the evaluation

	most int // number of groups that JSON has, the worst first; 0 for all
}

// WithGroups returns the tests with at most so many groups in their JSON, the worst first. What is said of all groups stays.
func (t *GroupTests) WithGroups(most int) *GroupTests {
	c := *t
	c.most = most
	return &c
}

// brief reports whether only sums of groups are kept.
func (t *GroupTests) brief() bool { return len(t.Groups) > grouped.MostWhole }

// name names a group: site=north.
func (t *GroupTests) name(values []string) string {
	return groupName(t.Columns, values)
}

// adjustments are the names of adjustments in a sentence.
var adjustments = map[grouped.Adjustment]string{grouped.Holm: "Holm's method", grouped.BH: "the method of Benjamini and Hochberg"}

// Sentence says which groups are off, or that none is shown to be. It is "" for forecasts, which are not tested.
func (t *GroupTests) Sentence() string {
	few := ""
	if t.Few > 0 {
		verb := "are"
		if t.Few == 1 {
			verb = "is"
		}
		few = fmt.Sprintf(" %s of fewer than %s %s not tested.", countOf(int64(t.Few), "group"), countOf(t.MinRows, "row"), verb)
	}
	if t.FewClusters > 0 {
		verb := "are"
		if t.FewClusters == 1 {
			verb = "is"
		}
		few += fmt.Sprintf(" %s of fewer than %s %s not tested.", countOf(int64(t.FewClusters), "group"), countOf(grouped.MinClusters, "cluster"), verb)
	}
	switch {
	case t.Reason != "" && t.Tested == 0 && t.Few == len(t.Groups) && t.Few > 0:
		return "Groups are not tested: " + strings.Replace(t.Reason, fmt.Sprintf("no group has %d rows", t.MinRows), "no group has "+countOf(t.MinRows, "row"), 1) + "."
	case t.Reason != "" && math.IsNaN(t.Groups[0].Gap):
		return ""
	case t.Reason != "":
		return "Groups are not tested: " + t.Reason + "."
	case t.Off == 0 && t.Tested == 1:
		return "The one group that is tested is not shown to be off." + few
	case t.Off == 0:
		return fmt.Sprintf("None of %s is shown to be off (%s over %s tests).", countOf(int64(t.Tested), "group"), adjustments[t.Adjust], Count(int64(t.Family))) + few
	}
	const most = 3
	var l []string
	for i := range t.Groups {
		if x := &t.Groups[i]; x.Off && len(l) < most {
			l = append(l, t.name(x.Values)+" ("+t.what(x)+")")
		}
	}
	more := ""
	if n := t.Off - len(l); n > 0 {
		more = fmt.Sprintf("; and %s more", Count(int64(n)))
	}
	return fmt.Sprintf("%s of %s %s off (%s over %s tests): %s%s.", Count(int64(t.Off)), countOf(int64(t.Tested), "group"), map[bool]string{true: "is", false: "are"}[t.Off == 1],
		adjustments[t.Adjust], Count(int64(t.Family)), strings.Join(l, "; "), more) + few
}

// what says how a group is off.
func (t *GroupTests) what(x *grouped.Tested) string {
	if x.Total.Adjusted < 1-t.Level {
		says, happens := x.Expected/float64(x.Rows), x.Observed/float64(x.Rows)
		words := [2]string{"confidence", "accuracy"}
		if t.Event == calib.Positive {
			words = [2]string{"mean prediction", "event rate"}
		}
		return fmt.Sprintf("%s %s, %s %s in %s", words[0], percent(says), words[1], percent(happens), countOf(x.Rows, "row"))
	}
	lower, upper := grouped.BinEdges(x.Bin)
	gap, rows := x.BinGap()
	side := "too high"
	if gap < 0 {
		side = "too low"
	}
	return fmt.Sprintf("%s by %s between %.2f and %.2f, %s", side, points(gap), lower, upper, countOf(rows, "row"))
}

const mostWorst = 20 // groups in a table on a terminal

// Table writes a row for each group, the worst first, in the format Plain or Markdown. Plain has the first 20, and a last line that says how
// many are left out; so has Markdown of more than grouped.MostWhole groups. Of forecasts it writes the metrics of so many groups, and nothing
// of fewer.
func (t *GroupTests) Table(w io.Writer, f Format, width int) error {
	if len(t.Groups) == 0 || math.IsNaN(t.Groups[0].Gap) && math.IsNaN(t.Groups[len(t.Groups)-1].Gap) {
		return t.metricsTable(w, f, width)
	}
	shown := t.Groups
	if (f == Plain || t.brief()) && len(shown) > mostWorst {
		shown = shown[:mostWorst]
	}
	says, happens := "expected", "observed"
	var head []string
	for _, c := range t.Columns {
		head = append(head, valueName(c, f))
	}
	columns := len(t.Columns)
	head = append(head, "rows", says, happens, "gap", percentOf(t.Level)+" interval", "p adjusted", "ece", "floor", "shrunk gap")
	at := func(i int) int { return columns + i }
	out := narrow{head: head, numbers: columns, drop: []int{at(8), at(7), at(6), at(2), at(1), at(4)}}
	for i := range shown {
		x := &shown[i]
		var r []string
		for _, v := range x.Values {
			r = append(r, valueName(v, f))
		}
		ends, p := "", "-"
		if !math.IsNaN(x.Interval.Low) {
			ends = "[" + short(x.Interval.Low) + ", " + short(x.Interval.High) + "]"
		}
		if x.Total.P == x.Total.P {
			p = pText(x.Least())
		}
		out.rows = append(out.rows, append(r, Count(x.Rows), counted(x.Expected), counted(x.Observed), short(x.Gap), ends, p, short(x.ECE), short(x.Floor), short(x.Shrunk)))
	}
	if t.Tested == 0 {
		out.without(at(5))
	}
	left, err := out.render(w, f, width)
	if err != nil {
		return err
	}
	return t.rest(w, len(shown), left, width)
}

// rest says how many groups and which columns a table leaves out.
func (t *GroupTests) rest(w io.Writer, shown int, columns []string, width int) error {
	said := rest(len(t.Groups)-shown, "group", columns, "csv or json")
	if said == "" {
		return nil
	}
	if width <= 0 {
		width = DefaultWidth
	}
	_, err := io.WriteString(w, Wrap(said, width)+"\n")
	return err
}

// metricsTable writes the first metrics of the first groups, if only sums of groups are kept.
func (t *GroupTests) metricsTable(w io.Writer, f Format, width int) error {
	if !t.brief() {
		return nil
	}
	const most = 6
	shown := t.Groups[:mostWorst]
	out := narrow{numbers: len(t.Columns)}
	for _, c := range t.Columns {
		out.head = append(out.head, valueName(c, f))
	}
	out.head = append(out.head, "rows")
	var list []eval.Metric
	for i, v := range shown[0].Answers(t.Metrics, t.Level) {
		if v.Reason != grouped.NotOfSums && len(list) < most {
			list = append(list, t.Metrics[i])
			out.head = append(out.head, t.Metrics[i].String())
			if len(list) > 1 {
				out.drop = append([]int{len(out.head) - 1}, out.drop...)
			}
		}
	}
	for i := range shown {
		var r []string
		for _, v := range shown[i].Values {
			r = append(r, valueName(v, f))
		}
		r = append(r, Count(shown[i].Rows))
		for _, v := range shown[i].Answers(list, t.Level) {
			r = append(r, short(v.Value))
		}
		out.rows = append(out.rows, r)
	}
	left, err := out.render(w, f, width)
	if err != nil {
		return err
	}
	return t.rest(w, len(shown), left, width)
}

// counted formats a number of events, whole or not.
func counted(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return Count(int64(v))
	}
	return short(v)
}

func (t *GroupTests) object() object {
	event := "top_label"
	if t.Event == calib.Positive {
		event = "positive"
	}
	o := object{{"event", event}, {"level", number(t.Level)}, {"min_rows", t.MinRows}, {"adjust", string(t.Adjust)}, {"number_of_groups", len(t.Groups)},
		{"tested", t.Tested}, {"too_few_rows", t.Few}, {"family", t.Family}, {"off", t.Off}, {"gap_mean", number(t.Mean)}, {"gap_sd", number(t.SD)}}
	if t.Reason != "" {
		o = append(o, field{"reason", t.Reason})
	}
	if t.Clustered {
		o = append(o, field{"too_few_clusters", t.FewClusters})
	}
	var have []int // metrics that sums give
	if t.brief() {
		missing := []string{}
		for i, v := range t.Groups[0].Answers(t.Metrics, t.Level) {
			if v.Reason == grouped.NotOfSums {
				missing = append(missing, t.Metrics[i].String())
			} else {
				have = append(have, i)
			}
		}
		o = append(o, field{"not_kept", missing}, field{"not_kept_reason", grouped.NotOfSums})
	}
	groups := t.Groups
	if t.most > 0 {
		groups = groups[:min(t.most, len(groups))]
	}
	metrics := make([]eval.Metric, len(have))
	for k, i := range have {
		metrics[k] = t.Metrics[i]
	}
	return append(o, field{"groups", many{len(groups), func(i int) object {
		x := &groups[i]
		by := object{}
		for k, c := range t.Columns {
			by = append(by, field{c, x.Values[k]})
		}
		g := object{{"group", by}, {"rows", x.Rows}, {"off", x.Off}, {"expected", number(x.Expected)}, {"observed", number(x.Observed)}, {"gap", number(x.Gap)},
			{"low", number(x.Interval.Low)}, {"high", number(x.Interval.High)}}
		if x.Clusters > 0 {
			g = append(g, field{"clusters", x.Clusters})
		}
		for k, p := range []grouped.Test{x.Total, x.Bins} {
			name := []string{"total", "bins"}[k]
			if p.P != p.P {
				g = append(g, field{name, nil})
				continue
			}
			one := object{{"p", number(p.P)}, {"p_adjusted", number(p.Adjusted)}, {"method", p.Method}}
			if k == 1 {
				lower, upper := grouped.BinEdges(x.Bin)
				one = append(one, field{"lower", number(lower)}, field{"upper", number(upper)})
			}
			g = append(g, field{name, one})
		}
		g = append(g, field{"ece", number(x.ECE)}, field{"ece_floor", number(x.Floor)}, field{"shrunk", number(x.Shrunk)},
			field{"shrunk_low", number(x.ShrunkInterval.Low)}, field{"shrunk_high", number(x.ShrunkInterval.High)})
		if t.brief() {
			l := object{}
			for k, v := range x.Answers(metrics, t.Level) {
				l = append(l, field{metrics[k].String(), object{{"value", number(v.Value)}, {"low", number(v.Interval.Low)}, {"high", number(v.Interval.High)}}})
			}
			g = append(g, field{"metrics", l})
		}
		return g
	}}})
}

// csvRows returns the rows of all groups that have no documents of their own, each after the cells of the group.
func (t *GroupTests) csvRows() (rows [][]string) {
	if !t.brief() {
		return nil
	}
	for i := range t.Groups {
		x := &t.Groups[i]
		before := append(visible.Texts(x.Values), fmt.Sprint(x.Rows))
		for k, v := range x.Answers(t.Metrics, t.Level) {
			if v.Reason == grouped.NotOfSums {
				continue
			}
			d := eval.Describe(t.Metrics[k].Name)
			rows = append(rows, slices.Concat(before, []string{t.Metrics[k].String(), full(v.Value), full(v.Interval.Low), full(v.Interval.High), full(t.Level), string(d.Better), d.Short}))
		}
	}
	return rows
}

// testRows returns the rows of the tests of all groups.
func (t *GroupTests) testRows() (rows [][]string) {
	for i := range t.Groups {
		x := &t.Groups[i]
		if math.IsNaN(x.Gap) {
			continue
		}
		before := append(visible.Texts(x.Values), fmt.Sprint(x.Rows))
		row := func(name string, value, low, high float64, meaning string) {
			level := full(t.Level)
			if math.IsNaN(low) {
				level = ""
			}
			rows = append(rows, slices.Concat(before, []string{name, full(value), full(low), full(high), level, "", meaning}))
		}
		nan := math.NaN()
		row("group_gap", x.Gap, x.Interval.Low, x.Interval.High, "mean score minus share of rows with the event")
		row("group_gap_shrunk", x.Shrunk, x.ShrunkInterval.Low, x.ShrunkInterval.High, "the same by empirical Bayes")
		row("group_total_p_adjusted", x.Total.Adjusted, nan, nan, "test of the number of events")
		row("group_bins_p_adjusted", x.Bins.Adjusted, nan, nan, "test of the bin that differs most")
	}
	return rows
}
