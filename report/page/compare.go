package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/drift"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
)

// mostSets is the largest number of sets that a page shows and carries, and mostOfMany of differences of more than two sets.
const (
	mostSets   = 12
	mostOfMany = 25
)

// mostIntervals is the largest number of intervals in a picture.
const mostIntervals = 20

// mostDifferences is the largest number of rows of a table of differences.
func mostDifferences(d *report.Differences) int {
	if len(d.Names) > 2 {
		return mostOfMany
	}
	return Most
}

// forest is a picture of intervals with its key.
func forest(id string, f *picture.Forest, desc string, about ...safe) safe {
	g := *f
	g.Title, g.Subtitle = "", ""
	draw := func(id, class string) safe {
		drawn := g.Scene()
		drawn.Title, drawn.Desc = f.Title, desc
		return safe(drawn.Inline(id, class))
	}
	wide := draw(id, "wide")
	g.Narrow = true
	return tag("div", `class="strip"`, tag("figure", "", wide, draw(id+"-slim", "slim"), tag("figcaption", "", about...)))
}

// others says how many more of something the document of the command has.
func others(n int, one, many string) safe {
	switch {
	case n < 1:
		return ""
	case n == 1:
		many = one
	}
	return tag("p", `class="def"`, text(fmt.Sprintf("The JSON document of the command has %s more %s.", report.Count(int64(n)), many)))
}

// Compare returns the page of a comparison. Command is what makes the page again; it may be "".
func Compare(c *report.Comparison, command string) ([]byte, error) {
	head, but := sides(c)
	s := &sheet{title: head + " – candor", eyebrow: "candor · " + shapeOf(&c.Sets[0].Input) + ", " + report.Count(int64(len(c.Sets))) + " sets"}
	s.head = join(tag("h1", `class="long"`, text(minus(head))), but)
	brief := *c
	brief.Sets = c.Sets[:min(mostSets, len(c.Sets))]
	if d := c.Differences; d != nil {
		brief.Differences = d.Brief(mostDifferences(d))
	}
	differences(s, brief.Differences)
	byGroup(s, c.Differences)
	s.section("Set by set", sets(c), overlay(c))
	var warnings []safe
	for _, w := range c.SetNotes(func(d *report.Document) []string { return slices.Concat(d.Undefined(), d.Warnings) }) {
		warnings = append(warnings, tag("p", `class="warn"`, text(w)))
	}
	if d := c.Differences; d != nil {
		for _, w := range d.Notes() {
			warnings = append(warnings, tag("p", `class="warn"`, text(w)))
		}
		for _, w := range []string{d.Independent(), d.Simultaneous()} {
			if w != "" {
				warnings = append(warnings, tag("p", "", text(w)))
			}
		}
	}
	if c.Dropped != nil {
		warnings = append(warnings, tag("p", `class="warn"`, text(c.Dropped.Text())))
	}
	for _, w := range c.Warnings {
		warnings = append(warnings, tag("p", `class="warn"`, text(w)))
	}
	if len(warnings) > 0 {
		s.section("Notes", warnings...)
	}
	again(s, command)
	j, err := brief.JSON()
	return s.of(j, err)
}

// of returns the page with a document that is indented.
func (s *sheet) of(indented []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, indented); err != nil {
		return nil, err
	}
	s.json = b.Bytes()
	return s.html(), nil
}

// sides returns the heading, and what each set does.
func sides(c *report.Comparison) (head string, below safe) {
	head = fmt.Sprintf("%s sets beside each other", report.Count(int64(len(c.Sets))))
	if c.Differences != nil {
		head = c.Differences.Sentence()
	}
	if first, rest, ok := strings.Cut(head, "; "); ok {
		head, below = first+".", tag("p", `class="lead"`, text(minus(strings.ToUpper(rest[:1])+rest[1:])))
	}
	for i, n := range c.Sets {
		if n := len(c.Sets) - mostSets; i == mostSets {
			below = join(below, others(n, "set", "sets"))
			break
		}
		below = join(below, tag("p", `class="lead"`, tag("b", "", text(short(n.Name)+": ")), text(minus(n.Verdict()))))
	}
	return head, below
}

// sets is the table of the metrics of each set.
func sets(c *report.Comparison) safe {
	t := &table{name: "Metrics of each set", head: []safe{"metric"}}
	l := c.Sets[:min(mostSets, len(c.Sets))]
	for _, n := range l {
		t.head = append(t.head, tag("span", `class="n"`, text(short(n.Name))))
	}
	for i := range c.Sets[0].Metrics {
		m := &c.Sets[0].Metrics[i]
		row := []safe{join(keyOf(m.Key), tag("small", "", text(m.Short)))}
		best := c.Best(i)
		for k, n := range l {
			m := n.Find(m.Key)
			if m == nil {
				row = append(row, "–")
				continue
			}
			v := number(m.Value.Value)
			if best[k] {
				v = join(v, tag("b", "", " best"))
			}
			row = append(row, join(v, tag("small", "", interval(m))))
		}
		t.rows = append(t.rows, row)
	}
	note := safe("")
	if c.Differences != nil {
		note = tag("p", `class="def"`, "Best: shown to be better than every other set, after adjustment for the number of pairs.")
	}
	return join(t.html(), note)
}

// mostOverlaid is the largest number of sets in one picture.
const mostOverlaid = 7

// overlay is the reliability of the sets in one picture.
func overlay(c *report.Comparison) safe {
	o := &picture.Overlay{}
	var names []string
	left := 0
	for _, n := range c.Sets {
		if len(n.Bins) == 0 { // forecasts, and sets of which only losses by row are known
			continue
		}
		if len(o.Sets) == mostOverlaid {
			left++
			continue
		}
		names = append(names, short(n.Name))
		o.Event = calib.TopLabel
		if m := n.Find("ece"); m != nil {
			o.Event = m.Event
		} else if n.Input.Binary {
			o.Event = calib.Positive
		}
		o.Sets = append(o.Sets, picture.Set{Bins: n.Bins})
	}
	if len(o.Sets) == 0 {
		return ""
	}
	for i, n := range picture.Short(names) {
		o.Sets[i].Name = n
	}
	more := ""
	if left > 0 {
		more = fmt.Sprintf(" Drawn are the first %d of %d sets.", len(o.Sets), len(o.Sets)+left)
	}
	return tag("div", `class="strip"`, figure("overlay", o.Scene(), tag("b", "", "Reliability of each set."), " Dots are bins; on the dashed line a set means what it says.", text(more)))
}

// differences is the section of paired differences.
func differences(s *sheet, d *report.Differences) {
	if d == nil || len(d.List) == 0 {
		return
	}
	names := make([]string, len(d.Names))
	for i, n := range d.Names {
		names[i] = short(n)
	}
	pair := func(x *compared.Difference) string { return names[x.B] + " − " + names[x.A] }
	level := report.LevelText(d.Level)
	head := []safe{"metric", "difference", text(level), "adjusted p", "outcome"}
	t := &table{name: "Differences", head: head, from: printed / 2}
	for i := range d.List {
		x := &d.List[i]
		if i == mostDifferences(d) {
			break
		}
		in := safe("")
		if !math.IsNaN(x.Interval.Low) {
			in = join(number(x.Interval.Low), " to ", number(x.Interval.High))
		}
		outcome := text(string(x.Outcome))
		if x.RowsToDecide > 0 {
			outcome = join(outcome, tag("small", "", "needs about ", count(x.RowsToDecide), " rows"))
		}
		if x.Margin != nil {
			outcome = join(outcome, tag("small", "", text(fmt.Sprintf("margin %v: %s", x.Margin.Size, strings.ReplaceAll(string(x.Margin.Outcome), "_", " ")))))
		}
		name := keyOf(x.Metric.String())
		if len(d.Names) > 2 {
			name = join(name, tag("small", "", text(pair(x))))
		}
		row := []safe{name, number(x.Value), in, pvalue(x.Adjusted), outcome}
		t.rows = append(t.rows, row)
	}
	var in []safe
	if len(d.Names) == 2 {
		in = append(in, tag("p", "", text("Differences are "+pair(&d.List[0])+". Intervals hold for one metric at a time.")))
	}
	if f := d.Forest(mostIntervals); len(f.Panels) > 0 {
		in = append(in, forest("differences", f, d.Sentence(), text("Differences with "+level+"s around a line at 0, each metric on an axis of its own.")))
	}
	in = append(in, details("The differences as a table", t.html(), others(len(d.List)-len(t.rows), "difference", "differences")))
	if l := d.FlipsText(); l != "" {
		in = append(in, tag("p", "", text(l)))
	}
	s.section("Is the difference sure?", in...)
}

// Drift returns the page of a comparison of two independent sets. Command is what makes the page again; it may be "".
func Drift(d *report.Drift, command string) ([]byte, error) {
	head := d.Verdict()
	s := &sheet{eyebrow: "candor · " + shapeOf(&d.Old) + " before, " + report.Count(d.New.Rows) + " rows after"}
	below := safe("")
	if first, rest, ok := strings.Cut(head, ": "); ok {
		head, below = first, tag("p", `class="lead"`, text(minus(strings.ToUpper(rest[:1])+rest[1:])))
	}
	s.title = head + " – candor"
	s.head = join(tag("h1", `class="long"`, text(minus(head))), below)
	level := report.LevelText(d.Level)
	t := &table{name: "Metrics before and after", head: []safe{"metric", "before", "after", "difference", text(level), "adjusted p"}}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		in := safe("")
		if !math.IsNaN(m.Interval.Low) {
			in = join(number(m.Interval.Low), " to ", number(m.Interval.High))
		}
		t.rows = append(t.rows, []safe{keyOf(m.Key), number(m.Old.Value), number(m.New.Value), number(m.Value), in, pvalue(m.Adjusted)})
	}
	var in []safe
	if f := d.Forest(mostIntervals); len(f.Panels) > 0 {
		in = append(in, forest("differences", f, d.Verdict(), text("After minus before, with "+level+"s around a line at 0. Colour marks what is clear after adjustment for the number of tests.")))
	}
	s.section("Before and after", append(in, t.html())...)
	if d.Classes {
		driftBins(s, d)
	}
	var notes []safe
	for _, w := range slices.Concat(d.Undefined(), d.Warnings) {
		notes = append(notes, tag("p", `class="warn"`, text(w)))
	}
	notes = append(notes, tag("p", `class="def"`, text("Before: state "+d.States[0]+". After: state "+d.States[1]+".")))
	s.section("Notes", notes...)
	again(s, command)
	j, err := d.JSON()
	return s.of(j, err)
}

// driftBins compares the bins of two sets.
func driftBins(s *sheet, d *report.Drift) {
	o := &picture.Overlay{Event: d.Event}
	sides := [2]struct {
		name string
		of   func(b *drift.Bin) *drift.Side
	}{{"before", func(b *drift.Bin) *drift.Side { return &b.Old }}, {"after", func(b *drift.Bin) *drift.Side { return &b.New }}}
	for k, e := range []*eval.Evaluation{d.Result.Old, d.Result.New} {
		g := e.Diagram()
		o.Event = g.Event
		o.Sets = append(o.Sets, picture.Set{Name: sides[k].name, Bins: g.Bins(d.Level)})
	}
	happens := "right"
	if d.Event == calib.Positive {
		happens = "class 1"
	}
	t := &table{name: "Bins before and after", head: []safe{"scores", "rows before", "rows after", "share before", "share after", "adjusted p", text(happens + " before"), text(happens + " after"), "adjusted p"}}
	for i := range d.Bins {
		b := &d.Bins[i]
		if b.Old.Count+b.New.Count == 0 {
			continue
		}
		t.rows = append(t.rows, []safe{join(edge(b.Lower), " to ", edge(b.Upper)), count(b.Old.Count), count(b.New.Count), percent(b.Old.Share), percent(b.New.Share), pvalue(b.ShareAdjusted),
			percent(b.Old.Frequency), percent(b.New.Frequency), pvalue(b.FrequencyAdjusted)})
	}
	s.section("Where", tag("div", `class="strip"`, figure("overlay", o.Scene(), tag("b", "", "Reliability before and after."), " Dots are bins; on the dashed line scores mean what they say.")), details("The bins as a table", t.html()))
}

// Recalibration returns the page of a fitted map, with its effect on rows that it was not fitted to. Command is what makes the page
// again; it may be "".
func Recalibration(r *report.Recalibration, command string) ([]byte, error) {
	head := "What " + r.Method + " changes is not known"
	if r.After != nil {
		head = r.Effect()
	}
	if head == "" {
		head = "Before and after " + r.Method
	}
	s := &sheet{title: head + " – candor", eyebrow: "candor · recalibration by " + r.Method + " · " + shapeOf(&r.Before.Input)}
	below := tag("p", `class="lead"`, text(upper(r.Says)))
	if r.After == nil {
		below = join(below, tag("p", `class="lead but"`, text(upper(r.Reason)+".")))
	} else {
		below = join(below, tag("p", `class="lead"`, tag("b", "", "Before: "), text(minus(r.Before.Verdict()))), tag("p", `class="lead"`, tag("b", "", "After: "), text(minus(r.After.Verdict()))),
			tag("p", "", text(fmt.Sprintf("After is what maps fitted to the other rows make of each row, in %d folds.", r.Folds))))
	}
	s.head = join(tag("h1", `class="long"`, text(minus(head))), below)
	c := r.Comparison()
	differences(s, c.Differences)
	s.section("Before and after", sets(c), overlay(c))
	again(s, command)
	j, err := r.JSON()
	return s.of(j, err)
}

// upper returns a sentence with its first letter in upper case.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Multilabel returns the page of an evaluation of several labels: the averages, and the labels that are farthest off. Command is
// what makes the page again; it may be "".
func Multilabel(m *report.Multilabel, command string) ([]byte, error) {
	head := m.Verdict()
	s := &sheet{eyebrow: fmt.Sprintf("candor · %s rows, %s labels", report.Count(m.Input.Rows), report.Count(int64(m.Labels)))}
	s.title = "Multilabel – candor"
	s.head = tag("h1", `class="long"`, text(minus(head)))
	t := &table{name: "Averages over labels", head: []safe{"metric", "mean over labels"}}
	for i := range m.Metrics {
		x := &m.Metrics[i]
		t.rows = append(t.rows, []safe{join(keyOf(x.Key), tag("small", "", text(x.Short))), number(x.Value.Value)})
	}
	s.section("Averages over labels", t.html())
	l := m.WorstLabels(Most)
	lt := &table{name: "Labels", from: printed, head: []safe{"label", "base rate", "bias, points", "p"}}
	for i := range m.Metrics {
		if i < 4 {
			lt.head = append(lt.head, text(m.Metrics[i].Key))
		}
	}
	for _, x := range l {
		row := []safe{text(short(x.Name)), percent(x.Rate), points(x.Bias), pvalue(x.P)}
		for i := range m.Metrics {
			if i < 4 {
				row = append(row, number(x.Values[i]))
			}
		}
		lt.rows = append(lt.rows, row)
	}
	said := "The labels whose probabilities are farthest from right on average come first."
	if n := m.Labels - len(l); n > 0 {
		said += fmt.Sprintf(" The JSON document of the command has %s more.", report.Count(int64(n)))
	}
	s.section("Label by label", tag("p", "", text(said)), lt.html())
	var notes []safe
	for _, w := range m.Warnings {
		notes = append(notes, tag("p", `class="warn"`, text(w)))
	}
	if notes != nil {
		s.section("Notes", notes...)
	}
	again(s, command)
	var b bytes.Buffer
	err := m.WriteBriefJSON(&b, Most)
	return s.of(b.Bytes(), err)
}
