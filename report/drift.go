package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/drift"
)

// DriftSchema is the schema of a Drift's JSON.
const DriftSchema = "candor-drift/1"

// Drift is the comparison of two independent sets.
type Drift struct {
	*drift.Result
	Old, New Input
	Names    [2]string // of the old and of the new set
	States   [2]string // their SHA-256, in hex
	Warnings []string
}

// NewDrift returns the comparison of two sets of these names.
func NewDrift(r *drift.Result, before, after string) *Drift {
	d := &Drift{Result: r, Old: InputOf(r.Old), New: InputOf(r.New), Names: [2]string{before, after}, States: [2]string{r.Old.SHA256(), r.New.SHA256()}}
	if r.Classes && (d.Old.Weighted || d.New.Weighted) {
		d.Warnings = append(d.Warnings, "with weights there are no tests of the bins and of KS; metrics have those of the effective numbers of rows")
	}
	for _, e := range []*eval.Evaluation{r.Old, r.New} {
		if c := e.Spec.Cluster; c != "" {
			d.Warnings = append(d.Warnings, "rows are in clusters of "+visible.Text(c)+": tests of metrics allow for that; those of bins, outcomes and KS ignore it, and reject too often")
			break
		}
	}
	return d
}

// part is a question with its name.
type part struct {
	name string
	*drift.Part
}

// parts returns the questions that the sets have.
func (d *Drift) parts() []part {
	all := []part{{"scores", &d.Scores}, {"outcomes", &d.Outcomes}, {"calibration", &d.Calibration}, {"metrics", &d.Values}}
	if !d.Classes {
		return all[3:]
	}
	return all
}

// Verdict says in a line what drifted.
func (d *Drift) Verdict() string {
	between := fmt.Sprintf("between %s and %s", Count(d.Old.Rows), countOf(d.New.Rows, "row"))
	var drifted, same, untested, how []string
	for _, p := range d.parts() {
		switch {
		case p.Drift:
			drifted = append(drifted, p.name)
			if s := d.found(p.name); s != "" {
				how = append(how, s)
			}
		case math.IsNaN(p.P):
			untested = append(untested, p.name)
		default:
			same = append(same, p.name)
		}
	}
	without := ""
	if len(untested) > 0 {
		without = " Without a test: " + listed(untested, "and") + "."
	}
	switch {
	case len(drifted) == 0 && len(same) == 0:
		return fmt.Sprintf("No test of drift %s.", between)
	case len(drifted) == 0:
		return fmt.Sprintf("No drift of %s seen %s.", listed(same, "or"), between) + without
	}
	s := listed(drifted, "and")
	s = strings.ToUpper(s[:1]) + s[1:] + " drifted " + between + ": " + strings.Join(how, "; ") + "."
	if len(same) > 0 {
		s += " No drift of " + listed(same, "or") + " seen."
	}
	return s + without
}

// found says what of a question drifted.
func (d *Drift) found(name string) string {
	switch name {
	case "scores":
		return fmt.Sprintf("PSI %s, KS %s", brief(d.PSI.Value), brief(d.KS.Value))
	case "outcomes":
		o := &d.Outcome
		if d.Event == calib.Positive {
			return fmt.Sprintf("%s of rows are class 1 and %s were", percent(o.New.Value), percent(o.Old.Value))
		}
		return fmt.Sprintf("%s of rows are right and %s were", percent(o.New.Value), percent(o.Old.Value))
	case "calibration":
		var s []string
		if 2*d.Gap.Adjusted < 1-d.Level {
			s = append(s, fmt.Sprintf("scores minus outcomes are %s on average and were %s", brief(d.Gap.New.Value), brief(d.Gap.Old.Value)))
		}
		if 2*d.Slope.Adjusted < 1-d.Level {
			s = append(s, fmt.Sprintf("the calibration slope is %s and was %s", brief(d.Slope.New.Value), brief(d.Slope.Old.Value)))
		}
		bins := 0
		for i := range d.Bins {
			if 2*d.Bins[i].FrequencyAdjusted < 1-d.Level {
				bins++
			}
		}
		if bins > 0 {
			s = append(s, fmt.Sprintf("outcomes follow the scores in another way in %s of %d", countOf(int64(bins), "bin"), len(d.Bins)))
		}
		return strings.Join(s, ", ")
	}
	const most = 3
	var l []*drift.Difference
	for i := range d.Metrics {
		if m := &d.Metrics[i]; m.Adjusted < 1-d.Level {
			l = append(l, m)
		}
	}
	slices.SortStableFunc(l, func(a, b *drift.Difference) int {
		switch {
		case a.P < b.P:
			return -1
		case a.P > b.P:
			return 1
		}
		return 0
	})
	var s []string
	for _, m := range l[:min(most, len(l))] {
		s = append(s, fmt.Sprintf("%s %s [%s, %s]", m.Key, signed(m.Value), signed(m.Interval.Low), signed(m.Interval.High)))
	}
	if n := len(l) - most; n > 0 {
		s = append(s, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(s, ", ")
}

// listed joins words by commas, and the last by a conjunction.
func listed(l []string, by string) string {
	if len(l) < 2 {
		return strings.Join(l, "")
	}
	return strings.Join(l[:len(l)-1], ", ") + " " + by + " " + l[len(l)-1]
}

// brief formats a number with three digits.
func brief(v float64) string { return fmt.Sprintf("%.3g", v) }

func signed(v float64) string { return fmt.Sprintf("%+.3g", v) }

// chanceOf formats a p-value.
func chanceOf(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 1e-4:
		return "<0.0001"
	}
	return fmt.Sprintf("%.2g", p)
}

// adjustment names how p-values were adjusted.
func (d *Drift) adjustment() string {
	if d.Adjust == drift.BenjaminiHochberg {
		return "Benjamini and Hochberg's"
	}
	return "Holm's"
}

// Table writes the differences of metrics and of bins in the given format. Plain keeps to width columns where its numbers allow; 0 means
// DefaultWidth.
func (d *Drift) Table(w io.Writer, f Format, width int) error {
	if f == CSV {
		return d.csv(w)
	}
	if width <= 0 {
		width = DefaultWidth
	}
	level := fmt.Sprintf("%v%% interval", math.Round(1e8*d.Level)/1e6)
	const mostKey = 26
	t := narrow{head: []string{"Metric", "Old", "New", "Difference", level, "p", "adjusted"}, numbers: 1, drop: []int{5, 1, 2, 4}}
	for i := range d.Metrics {
		m := &d.Metrics[i]
		key, in := m.Key, ""
		if f == Plain {
			key = fold(key, ",", mostKey)
		}
		if m.Interval.Low == m.Interval.Low {
			in = "[" + short(m.Interval.Low) + ", " + short(m.Interval.High) + "]"
		}
		t.rows = append(t.rows, []string{key, short(m.Old.Value), short(m.New.Value), short(m.Value), in, chanceOf(m.P), chanceOf(m.Adjusted)})
	}
	write := func(t *narrow) error {
		left, err := t.render(w, f, width)
		if said := rest(0, "", left, "csv, markdown or json"); err == nil && said != "" {
			_, err = io.WriteString(w, Wrap(said, width)+"\n")
		}
		return err
	}
	if err := write(&t); err != nil || !d.Classes {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	t = narrow{head: []string{"Scores", "Old rows", "New rows", "Old %", "New %", "adjusted p", d.happens() + ", old", "new", "adjusted p"}, numbers: 1, drop: []int{1, 2, 3, 6}}
	for i := range d.Bins {
		b := &d.Bins[i]
		if b.Old.Count+b.New.Count == 0 {
			continue
		}
		t.rows = append(t.rows, []string{d.binName(i), Count(b.Old.Count), Count(b.New.Count), fmt.Sprintf("%.2f", 100*b.Old.Share), fmt.Sprintf("%.2f", 100*b.New.Share),
			chanceOf(b.ShareAdjusted), frequency(b.Old.Frequency), frequency(b.New.Frequency), chanceOf(b.FrequencyAdjusted)})
	}
	if err := write(&t); err != nil {
		return err
	}
	for _, l := range d.lines() {
		if f == Plain {
			l = Wrap(l, width)
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", l); err != nil {
			return err
		}
	}
	return nil
}

// happens names the outcomes.
func (d *Drift) happens() string {
	if d.Event == calib.Positive {
		return "Class 1"
	}
	return "Right"
}

func frequency(v float64) string {
	if v != v {
		return ""
	}
	return fmt.Sprintf("%.4f", v)
}

// binName names a bin by its edges.
func (d *Drift) binName(i int) string {
	b := &d.Bins[i]
	if b.Lower == b.Upper {
		return fmt.Sprintf("%.4g", b.Lower)
	}
	return fmt.Sprintf("%.4g - %.4g", b.Lower, b.Upper)
}

// lines says what the numbers about all scores are, and how p-values were adjusted.
func (d *Drift) lines() []string {
	psi := fmt.Sprintf("PSI %s over these bins", brief(d.PSI.Value))
	if c := d.PSI.Chance; c == c {
		psi += fmt.Sprintf("; about %s would come by chance", brief(c))
	}
	what := "stable, below 0.1"
	switch {
	case d.PSI.Value > 0.25:
		what = "a large shift, above 0.25"
	case d.PSI.Value >= 0.1:
		what = "a moderate shift, from 0.1 to 0.25"
	}
	psi += ". By convention that is " + what + ". The convention is no test: it knows no number of rows."
	ks := "KS of the scores " + brief(d.KS.Value)
	if d.KS.Bound > 0 {
		ks += fmt.Sprintf(" (of the grid of scores; at most %s)", brief(d.KS.Value+d.KS.Bound))
	}
	if d.KS.P == d.KS.P {
		ks += ", p " + chanceOf(d.KS.P) + "."
	} else {
		ks += ": no p, as " + d.KS.Reason + "."
		if d.KS.Value != d.KS.Value {
			ks = "No KS of the scores: " + d.KS.Reason + "."
		}
	}
	both := func(what string, x *drift.Difference) string {
		if x.P != x.P {
			return what + ": no test: " + x.Reason + "."
		}
		return fmt.Sprintf("%s: %s old, %s new, p %s.", what, brief(x.Old.Value), brief(x.New.Value), chanceOf(x.P))
	}
	return []string{psi + " " + ks, both("Mean of score minus outcome", &d.Gap) + " " + both("Calibration slope", &d.Slope),
		"p-values are adjusted by " + d.adjustment() + " method, over the metrics and over the bins. Outcomes of a bin are tested against what its mean scores differ by. The first line is adjusted over scores, outcomes, calibration and metrics. Rows are taken as independent, and no row as being in both sets."}
}

// csv writes a row for each number.
func (d *Drift) csv(w io.Writer) error {
	rows := [][]string{{"part", "name", "old", "new", "difference", "low", "high", "level", "p", "p_adjusted"}}
	difference := func(part, name string, x *drift.Difference) {
		level := ""
		if x.Interval.Low == x.Interval.Low {
			level = full(d.Level)
		}
		rows = append(rows, []string{part, name, full(x.Old.Value), full(x.New.Value), full(x.Value), full(x.Interval.Low), full(x.Interval.High), level, full(x.P), full(x.Adjusted)})
	}
	for i := range d.Metrics {
		difference("metrics", d.Metrics[i].Key, &d.Metrics[i])
	}
	if d.Classes {
		rows = append(rows, []string{"scores", "psi", "", "", full(d.PSI.Value), "", "", "", "", ""},
			[]string{"scores", "ks", "", "", full(d.KS.Value), "", "", "", full(d.KS.P), ""})
		for i := range d.Bins {
			b := &d.Bins[i]
			rows = append(rows, []string{"scores", d.binName(i), full(b.Old.Share), full(b.New.Share), full(b.New.Share - b.Old.Share), "", "", "", full(b.ShareP), full(b.ShareAdjusted)})
		}
		difference("outcomes", "share", &d.Outcome)
		difference("calibration", "gap", &d.Gap)
		difference("calibration", "slope", &d.Slope)
		for i := range d.Bins {
			b := &d.Bins[i]
			rows = append(rows, []string{"calibration", d.binName(i), full(b.Old.Frequency), full(b.New.Frequency), full(b.New.Frequency - b.Old.Frequency), "", "", "", full(b.FrequencyP), full(b.FrequencyAdjusted)})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// JSON returns the document, indented, with a final newline.
func (d *Drift) JSON() ([]byte, error) {
	b, err := marshal(d.object())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (d *Drift) object() object {
	set := func(i int, in *Input) object {
		o := object{{"name", d.Names[i]}, {"rows", in.Rows}}
		if in.Weighted {
			o = append(o, field{"weighted", true})
		}
		return append(o, field{"state", object{{"sha256", d.States[i]}}})
	}
	o := object{{"schema", DriftSchema}, {"task", d.Old.Task}, {"old", set(0, &d.Old)}, {"new", set(1, &d.New)}, {"verdict", d.Verdict()},
		{"level", number(d.Level)}, {"adjust", d.Adjust.String()}}
	for _, p := range d.parts() {
		x := object{{"p", number(p.P)}, {"p_adjusted", number(p.Adjusted)}, {"drift", p.Drift}}
		if p.Reason != "" {
			x = append(x, field{"reason", p.Reason})
		}
		switch p.name {
		case "scores":
			ks := object{{"value", number(d.KS.Value)}, {"p", number(d.KS.P)}}
			if d.KS.Bound > 0 {
				ks = append(ks, field{"grid_bound", number(d.KS.Bound)})
			}
			if d.KS.Reason != "" {
				ks = append(ks, field{"reason", d.KS.Reason})
			}
			x = append(x, field{"psi", object{{"value", number(d.PSI.Value)}, {"chance", number(d.PSI.Chance)}}}, field{"ks", ks})
		case "outcomes":
			x = append(x, field{"share", d.difference(&d.Outcome)})
		case "calibration":
			x = append(x, field{"gap", d.difference(&d.Gap)}, field{"slope", d.difference(&d.Slope)})
		default:
			l := object{}
			for i := range d.Metrics {
				m := &d.Metrics[i]
				l = append(l, field{m.Key, append(d.difference(m), field{"better", m.Better})})
			}
			x = append(x, field{"differences", l})
		}
		o = append(o, field{p.name, x})
	}
	if d.Classes {
		bins := make([]object, len(d.Bins))
		for i := range d.Bins {
			b := &d.Bins[i]
			side := func(s *drift.Side) object {
				return object{{"count", s.Count}, {"share", number(s.Share)}, {"confidence", number(s.Confidence)}, {"frequency", number(s.Frequency)}}
			}
			bins[i] = object{{"lower", number(b.Lower)}, {"upper", number(b.Upper)}, {"old", side(&b.Old)}, {"new", side(&b.New)}, {"psi", number(b.PSI)},
				{"share_p", number(b.ShareP)}, {"share_p_adjusted", number(b.ShareAdjusted)}, {"expected_difference", number(b.Expected)},
				{"frequency_p", number(b.FrequencyP)}, {"frequency_p_adjusted", number(b.FrequencyAdjusted)}}
		}
		o = append(o, field{"bins", bins}, field{"bins_text", d.Text})
	}
	warnings := d.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return append(o, field{"warnings", warnings})
}

func (d *Drift) difference(x *drift.Difference) object {
	o := object{{"old", number(x.Old.Value)}, {"new", number(x.New.Value)}, {"value", number(x.Value)}, {"low", number(x.Interval.Low)}, {"high", number(x.Interval.High)}}
	if x.Interval.Low == x.Interval.Low {
		o = append(o, field{"level", number(d.Level)}, field{"method", drift.Method})
	}
	o = append(o, field{"p", number(x.P)}, field{"p_adjusted", number(x.Adjusted)})
	if x.Reason != "" {
		o = append(o, field{"reason", x.Reason})
	}
	return o
}

// Undefined says which differences have no test, and why; it groups those with the same reason.
func (d *Drift) Undefined() (l []string) {
	by := map[string][]string{}
	var order []string
	for i := range d.Metrics {
		m := &d.Metrics[i]
		if m.Reason == "" {
			continue
		}
		if by[m.Reason] == nil {
			order = append(order, m.Reason)
		}
		by[m.Reason] = append(by[m.Reason], m.Key)
	}
	for _, r := range order {
		has := " has"
		if len(by[r]) > 1 {
			has = " have"
		}
		l = append(l, listed(by[r], "and")+has+" no test: "+r)
	}
	return l
}

// value returns a number that a gate looks at: part of psi, of ks, of a question, or of delta. and a metric's key. found is false if the
// sets have none.
func (d *Drift) value(name, part string) (v float64, why string, found bool) {
	if key, ok := strings.CutPrefix(name, deltaOf); ok {
		for i := range d.Metrics {
			m := &d.Metrics[i]
			if m.Key != key {
				continue
			}
			switch part {
			case "low":
				return m.Interval.Low, m.Reason, true
			case "high":
				return m.Interval.High, m.Reason, true
			case "p":
				return m.P, m.Reason, true
			case "p_adjusted":
				return m.Adjusted, m.Reason, true
			}
			return m.Value, m.Reason, true
		}
		return 0, "", false
	}
	for _, p := range d.parts() {
		switch {
		case p.name != name:
		case part == "p":
			return p.P, p.Reason, true
		default:
			return p.Adjusted, p.Reason, true
		}
	}
	switch {
	case !d.Classes:
	case name == "psi":
		return d.PSI.Value, "", true
	case name == "ks" && part == "p":
		return d.KS.P, d.KS.Reason, true
	case name == "ks":
		return d.KS.Value, d.KS.Reason, true
	}
	return 0, "", false
}
