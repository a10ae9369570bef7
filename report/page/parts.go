package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
	"github.com/candor-go/candor/report/scene"
)

// classes is the section of how often each class is given and occurs.
func classes(s *sheet, d *report.Document) {
	const title = "Class by class"
	if d.Detail == nil || d.Detail.Classes == nil {
		if k := int64(d.Input.Classes); k > 2 && d.Detail != nil && d.Input.Choices == eval.NoChoices && d.Input.Rows < 30*k {
			s.section(title, tag("p", "", text(fmt.Sprintf("%s rows are too few for %s classes.%s", report.Count(d.Input.Rows), report.Count(k), missing(d)))))
		}
		return
	}
	x := d.Detail.Classes
	l := x.Evidence()
	all := report.Count(int64(len(l)))
	if x.Tested == 0 {
		most := 0.0
		for _, c := range l {
			most = math.Max(most, c.Rows)
		}
		said := fmt.Sprintf("%s rows are too few for %s classes: the one with the most has %s. ", report.Count(d.Input.Rows), all, report.Count(int64(most)))
		if d.Input.Weighted || d.Clusters != nil {
			said = ""
		}
		s.section(title, tag("p", "", text(said+upper(x.Reason)+"."+missing(d))))
		return
	}
	said := "No class is given clearly more or less often than it occurs."
	switch {
	case x.Off == 1:
		said = "1 class is given clearly more or less often than it occurs."
	case x.Off > 1:
		said = fmt.Sprintf("%s classes are given clearly more or less often than they occur.", report.Count(int64(x.Off)))
	}
	said += fmt.Sprintf(" %s of %s classes have rows enough for a test; p-values are adjusted for their number.", report.Count(int64(x.Tested)), all)
	said += missing(d)
	small := smallClasses(d)
	if len(l) > mostClasses {
		said += fmt.Sprintf(" Shown are the %d with the clearest gaps; the JSON document of the command has all.", mostClasses)
		l = l[:mostClasses]
	}
	far := 0.0
	for _, c := range l {
		far = math.Max(far, math.Abs(c.All.Confidence-c.All.Frequency))
	}
	t := &table{name: "Classes", from: printed, head: []safe{"class", "rows", "mean probability", "occurs", "gap, points", tag("span", `class="sr"`, "picture"), "adjusted p", "chosen", "confidence then", "right then"}}
	for _, c := range l {
		gap := c.All.Confidence - c.All.Frequency
		p := picture.NewCell(gap, metrics.NoInterval())
		p.Ideal = 0
		p.Range.Low, p.Range.High = -1.1*far, 1.1*far
		if c.Off && gap > 0 {
			p.Role = scene.Over
		} else if c.Off {
			p.Role = scene.Under
		}
		says, right := percent(c.Chosen.Confidence), percent(c.Chosen.Frequency)
		if c.Chosen.Count == 0 {
			says, right = "–", "–"
		}
		rows := count(int64(c.Rows))
		if d.Input.Weighted {
			rows = number(c.Rows)
		}
		t.rows = append(t.rows, []safe{text(short(className(d, c.Class))), rows, percent(c.All.Confidence), percent(c.All.Frequency), text(minus(fmt.Sprintf("%+.2f", 100*gap))), cell(p), pvalue(c.Adjusted),
			count(c.Chosen.Count), says, right})
	}
	s.section(title, tag("p", "", text(said)), small, t.html(), tag("p", `class="def"`, text("The last columns are of the rows in which the class was chosen: how many, their mean confidence, and how many of them are right.")))
}

// smallClasses are small pictures of the reliability of classes, those first for which the evidence of a gap is strongest.
func smallClasses(d *report.Document) safe {
	p := &picture.Classes{Level: d.Level(), Most: mostPanels}
	for i := range d.Detail.Classes.Classes {
		c := &d.Detail.Classes.Classes[i]
		p.Classes = append(p.Classes, picture.Class{Name: visible.Text(className(d, c.Class)), Bins: c.EvenBins(d.Level())})
	}
	l := p.Each()
	if len(l) == 0 {
		return ""
	}
	var in []safe
	for i, s := range l {
		class := ""
		if i >= 4 {
			class = `class="screen"`
		}
		in = append(in, tag("div", class, safe(s.Inline(fmt.Sprintf("class-%d", i), ""))))
	}
	said := " To the right its probability, upwards how often the class is the true one. Colour marks what is beyond chance among all points."
	if len(l) < len(p.Classes) {
		said = fmt.Sprintf(" The %d with the clearest evidence of a gap.", len(l)) + said
	}
	return tag("figure", "", tag("div", `class="small"`, in...), tag("figcaption", "", tag("b", "", "Class by class, where it is off."), text(said)))
}

// missing says which classes never occur: " Class 3 never occurs."
func missing(d *report.Document) string {
	r := d.Detail.Rarest
	switch {
	case r == nil || r.Missing == 0:
		return ""
	case r.Missing == 1 && d.Detail.Classes != nil:
		for i := range d.Detail.Classes.Classes {
			if c := &d.Detail.Classes.Classes[i]; c.Rows == 0 {
				return " " + upper(short(className(d, c.Class))) + " never occurs."
			}
		}
	case r.Missing == 1:
		return " 1 class never occurs."
	}
	return fmt.Sprintf(" %s classes never occur.", report.Count(int64(r.Missing)))
}

// short cuts the middle of a long name.
func short(name string) string {
	const most = 60
	name = visible.Text(name)
	if r := []rune(name); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2+1:])
	}
	return name
}

// pvalue is a p-value.
func pvalue(p float64) safe {
	if math.IsNaN(p) {
		return "–"
	}
	if p < 1e-300 {
		return data(p, "< 1e-300")
	}
	return data(p, fmt.Sprintf("%.2g", p))
}

// groups is the section of groups of rows, the worst first.
func groups(s *sheet, d *report.Document) {
	if d.Tests == nil {
		return
	}
	const title = "Which groups are off?"
	t := d.Tests
	by := strings.Join(visible.Texts(t.Columns), ", ")
	if said := t.Sentence(); said == "" || !d.Shape().HasClasses() {
		forecastGroups(s, d, by)
		return
	}
	list := t.Groups
	if len(list) > Most {
		list = list[:Most]
	}
	tab := &table{name: "Groups", from: printed, head: []safe{text(by), "rows", "gap, points", text(report.LevelText(d.Level())), "adjusted p", "worst bin, adjusted p", "shrunk gap, points"}}
	for i := range list {
		g := &list[i]
		name := short(strings.Join(visible.Texts(g.Values), ", "))
		in := safe("")
		if !math.IsNaN(g.Interval.Low) {
			in = join(points(g.Interval.Low), " to ", points(g.Interval.High))
		}
		tab.rows = append(tab.rows, []safe{text(name), count(g.Rows), points(g.Gap), in, pvalue(g.Total.Adjusted), pvalue(g.Bins.Adjusted), points(g.Shrunk)})
	}
	said := t.Sentence()
	if n := len(t.Groups) - len(list); n > 0 {
		said += fmt.Sprintf(" Shown are the worst %d of %s groups; the JSON document of the command has all.", len(list), report.Count(int64(len(t.Groups))))
	}
	in := []safe{tag("p", "", text(minus(said)))}
	if f := t.Forest(mostIntervals); len(f.Panels[0].Rows) > 0 {
		in = append(in, forest("groups", f, said, "The worst first, with intervals of one group each, and its rows in brackets. Colour marks groups whose gap is clear after adjustment for their number."))
	}
	s.section(title, append(in, details("The groups as a table", tab.html()))...)
}

// mostSlices is the largest number of slices that a page shows and carries.
const mostSlices = 20

// slicesOf is the section of slices of the rows, the worst first.
func slicesOf(s *sheet, d *report.Document) {
	x := d.Slices
	if x == nil {
		return
	}
	const title = "For whom is it off?"
	in := []safe{tag("p", "", text(minus(x.Sentence())))}
	if m := d.Find("multicalibration_error"); m != nil && m.Value.Value == m.Value.Value {
		said := []safe{"Multicalibration error: ", size(m.Value.Value), " points"}
		if r := d.Find("multicalibration_error_sigma"); r != nil && r.Value.Value == r.Value.Value {
			said = append(said, ", from the segment that is ", number(r.Value.Value), " standard deviations off")
		}
		said = append(said, ". It is the largest cumulative gap of any segment, on the scale of a gap of all rows: 0 is right for everyone.")
		in = append(in, tag("p", "", said...))
	}
	if len(x.List) == 0 {
		s.section(title, in...)
		return
	}
	f := x.Forest(mostIntervals / 2)
	if len(f.Panels[0].Rows) > 0 {
		in = append(in, forest("slices", f, x.Sentence(), text("The worst first, with "+report.LevelText(x.Options.Level)+"s of one slice each, and its rows in brackets. Colour marks slices whose gap is clear after adjustment for their number.")))
	}
	t := &table{name: "Slices", from: printed / 2, head: []safe{"slice", "rows", "mean score", "occurs", "gap, points", text(report.LevelText(x.Options.Level)), "p", "adjusted p"}}
	for i := range x.List {
		if i == mostSlices {
			break
		}
		l := &x.List[i]
		ends := safe("")
		if l.Interval.Low == l.Interval.Low {
			ends = join(points(l.Interval.Low), " to ", points(l.Interval.High))
		}
		t.rows = append(t.rows, []safe{text(short(x.Name(i))), count(l.Rows), percent(l.Mean), percent(l.Frequency), points(l.Gap), ends, pvalue(l.P), pvalue(l.Adjusted)})
	}
	in = append(in, details("The slices as a table", t.html(), others(len(x.List)-len(t.rows), "slice", "slices")))
	if x.Left > 0 {
		in = append(in, tag("p", `class="def"`, text(fmt.Sprintf("%s with fewer than %s rows are left out.", report.Count(int64(x.Left)), report.Count(x.Options.MinRows)))))
	}
	s.section(title, in...)
}

// forecastGroups is the table of groups of forecasts.
func forecastGroups(s *sheet, d *report.Document, by string) {
	if len(d.Groups) == 0 {
		return
	}
	head := []safe{text(by), "rows"}
	var shown []int
	for i := range d.Metrics {
		if len(shown) < 5 {
			shown = append(shown, i)
			head = append(head, text(d.Metrics[i].Key))
		}
	}
	t := &table{name: "Groups", head: head, from: printed}
	for i := range d.Groups {
		if i == Most {
			break
		}
		g := &d.Groups[i]
		row := []safe{text(short(strings.Join(visible.Texts(g.Values), ", "))), count(g.Input.Rows)}
		for _, k := range shown {
			row = append(row, number(g.Metrics[k].Value.Value))
		}
		t.rows = append(t.rows, row)
	}
	s.section("Group by group", t.html())
}

// read is the section of what was read.
func read(s *sheet, d *report.Document) {
	in := &d.Input
	l := [][2]safe{{"Rows", count(in.Rows)}}
	switch {
	case in.Binary:
		l = append(l, [2]safe{"Classes", "2, one probability per row"})
	case in.Classes > 0:
		l = append(l, [2]safe{"Classes", count(int64(in.Classes))})
	case in.Draws > 0:
		l = append(l, [2]safe{"Draws per row", count(int64(in.Draws))})
	case in.Levels != nil:
		l = append(l, [2]safe{"Quantiles per row", text(report.Count(int64(len(in.Levels))))})
	}
	l = append(l, [2]safe{"Scores", text(in.Kind + ", " + in.DType)})
	left := safe("none")
	if in.Dropped > 0 {
		left = count(in.Dropped)
	}
	l = append(l, [2]safe{"Bad rows left out", left})
	if len(in.IgnoredLabels) > 0 {
		l = append(l, [2]safe{"Rows with ignored labels", count(in.Ignored)})
	}
	weights := safe("none: every row counts once")
	if in.Weighted {
		weights = "yes: shares and means are weighted, and tests that count rows are left out"
	}
	l = append(l, [2]safe{"Weights", weights})
	if c := d.Clusters; c != nil {
		l = append(l, [2]safe{"Clusters", join(count(int64(c.Number)), text(" of "+visible.Text(c.Column)))})
	} else {
		l = append(l, [2]safe{"Clusters", "none: rows are taken as independent"})
	}
	if x := d.Detail; x != nil {
		if m := x.Sums; m != nil {
			switch {
			case x.Renormalized:
				l = append(l, [2]safe{"Sums of rows", "divided by, so that each is 1"})
			case m.Off > 0:
				l = append(l, [2]safe{"Sums of rows", join(count(m.Off), " differ from 1, from ", number(m.Min), " to ", number(m.Max))})
			default:
				l = append(l, [2]safe{"Sums of rows", "all 1, within rounding"})
			}
		}
		if x.Absent > 0 {
			l = append(l, [2]safe{"Rows of weight 0", count(x.Absent)})
		}
		if r := x.Rarest; r != nil {
			l = append(l, [2]safe{"Rarest class", join(text(short(className(d, r.Class))+": "), percent(r.Share), " of the rows")})
		}
		if c := x.Certain; c != nil {
			l = append(l, [2]safe{"Rows with confidence 1", join(count(c.Rows), ", of them ", count(c.Wrong), " wrong")})
		}
	}
	var warnings []safe
	for _, w := range slices.Concat(d.Undefined(), d.Warnings) {
		warnings = append(warnings, tag("p", `class="warn"`, text(w)))
	}
	s.section("What was read", definitions("audit", l), join(warnings...))
}

// again is the section with the command, if it is known.
func again(s *sheet, command string, below ...safe) {
	if command != "" {
		s.section("Make this again", append([]safe{tag("pre", `tabindex="0"`, lines(command))}, below...)...)
	}
}

// lines escapes text of several lines.
func lines(s string) safe {
	var l []string
	for line := range strings.SplitSeq(s, "\n") {
		l = append(l, string(text(line)))
	}
	return safe(strings.Join(l, "\n"))
}

// carried returns the document that the page carries: without what it does not show.
func carried(d *report.Document) *report.Document {
	c := *d
	c.Groups, c.CORP = nil, nil
	if x := d.Detail; x != nil && x.Selection != nil && len(x.Selection.Points) > mostPoints {
		thin := *x.Selection
		thin.Points = nil
		n := len(x.Selection.Points) - 1
		for i := range mostPoints {
			thin.Points = append(thin.Points, x.Selection.Points[i*n/(mostPoints-1)])
		}
		own := *x
		own.Selection = &thin
		c.Detail = &own
	}
	if len(d.Groups) > 0 && !d.Shape().HasClasses() {
		c.Groups = d.Groups[:min(Most, len(d.Groups))]
	}
	if d.Tests != nil {
		c.Tests = d.Tests.WithGroups(Most)
	}
	if d.Slices != nil {
		c.Slices = d.Slices.WithList(mostSlices)
	}
	if x := c.Detail; x != nil && x.Classes != nil {
		if len(x.Classes.Classes) > mostClasses {
			c.Input.ClassNames = nil
		}
		return c.WithClasses(mostClasses)
	}
	return &c
}
