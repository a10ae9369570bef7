package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/report"
)

// remedyNames are the names of the methods that a state is enough for.
var remedyNames = map[string]string{"platt": "Platt scaling", "beta": "beta calibration"}

func remedyName(method string) string {
	name, _, _ := strings.Cut(method, "(")
	return remedyNames[name]
}

// remedies is the section of what recalibration would change.
func remedies(s *sheet, d *report.Document) {
	r := d.Remedies
	if r == nil {
		return
	}
	const title = "What would help"
	var fitted []*report.Remedy
	var without []safe
	known := true
	for i := range r.List {
		m := &r.List[i]
		if m.Reason != "" {
			if n := len(r.List); i+1 < n && r.List[i+1].Reason == m.Reason {
				without = append(without, tag("p", "", text(fmt.Sprintf("There is no curve by %s or %s: %s.", remedyName(m.Method), remedyName(r.List[i+1].Method), m.Reason))))
				break
			}
			without = append(without, tag("p", "", text(fmt.Sprintf("There is no curve by %s: %s.", remedyName(m.Method), m.Reason))))
			continue
		}
		fitted = append(fitted, m)
		known = known && !math.IsNaN(m.After.Brier)
	}
	scaled := d.Find("nll_temperature_scaled")
	if scaled != nil && math.IsNaN(scaled.Value.Value) {
		scaled = nil
	}
	var in []safe
	if len(fitted) > 0 {
		in = append(in, tag("p", "", remedyFinding(d, r, fitted, known)))
	}
	in = append(in, without...)
	if len(fitted) > 0 || scaled != nil {
		in = append(in, remedyTable(d, r, fitted, known, scaled != nil))
	}
	if len(fitted) > 0 {
		in = append(in, tag("p", `class="def"`, remedyText(d, r, fitted, known)))
	}
	switch {
	case scaled != nil:
		t := d.Find("temperature")
		in = append(in, tag("p", `class="def"`, "The temperature of a row, by which logits are divided, is that of the other folds. Of all rows it is ", number(t.Value.Value), "."))
	case d.Input.Classes > 2:
		in = append(in, tag("p", `class="def"`, "What a temperature for all classes would change, the state does not tell: ", tag("code", "", text(setting.Scaled.String())), " adds it here."))
	}
	if r.Command != "" && !(known && r.Best() == nil && d.Clusters == nil) {
		in = append(in, tag("pre", `class="fix" tabindex="0"`, lines(r.Command)))
	}
	s.section(title, in...)
}

// remedyFinding says what a curve changes.
func remedyFinding(d *report.Document, r *report.Remedies, fitted []*report.Remedy, known bool) safe {
	best := r.Best()
	if best == nil {
		best = fitted[0]
		for _, m := range fitted[1:] {
			if known && m.NLL.Value < best.NLL.Value { // of the rows that were fitted to, more parameters always have less
				best = m
			}
		}
	}
	name, after := upper(remedyName(best.Method)), best.After
	if !known {
		after = best.Fitted
	}
	ece := safe("")
	if !math.IsNaN(r.Before.ECE) {
		ece = join(" the ECE would be ", size(after.ECE), " points in place of ", size(r.Before.ECE), ".")
	}
	change := data(best.NLL.Value, digits(best.NLL.Value))
	switch i := best.NLL.Interval; {
	case math.IsNaN(best.NLL.Value):
		return join("The NLL is infinite, since a class of probability 0 was the true one. No curve changes that. After ", text(remedyName(best.Method)), ece)
	case best.Helps():
		return join(text(name), " would change the NLL by ", change, " (", text(report.LevelText(d.Level())), " ", data(i.Low, digits(i.Low)), " to ", data(i.High, digits(i.High)), ");", ece)
	case known && !math.IsNaN(i.Low):
		return join("No gain is shown: neither curve lowers the NLL of rows that it was not fitted to by more than chance.")
	case best.NLL.Value >= 0:
		return "Neither curve lowers the NLL."
	case known:
		return join(text(name), " would change the NLL by ", change, ", without an interval;", ece)
	}
	return join(text(name), " changes the NLL of the rows that it was fitted to by ", change, ";", ece)
}

// digits is a number of two digits or more.
func digits(v float64) string {
	if math.Abs(v) >= 0.0995 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%#.2g", v)
}

// remedyTable is the table of what is before and after.
func remedyTable(d *report.Document, r *report.Remedies, fitted []*report.Remedy, known, scaled bool) safe {
	t := &table{name: "Before and after", more: "narrow", head: []safe{"metric", "as it is"}}
	for _, m := range fitted {
		t.head = append(t.head, text(remedyName(m.Method)))
	}
	if scaled {
		t.head = append(t.head, "temperature scaling")
	}
	row := func(key, about string, before float64, of func(*report.RemedyScores) float64, temperature string) {
		l := []safe{join(tag("code", "", text(key)), tag("small", "", text(about))), number(before)}
		for _, m := range fitted {
			if f := number(of(&m.Fitted)); known {
				l = append(l, join(number(of(&m.After)), tag("small", "", f)))
			} else {
				l = append(l, f)
			}
		}
		if scaled {
			v := safe("–")
			if m := d.Find(temperature); m != nil {
				v = number(m.Value.Value)
			}
			l = append(l, v)
		}
		t.rows = append(t.rows, l)
	}
	row("nll", "surprise at the truth", r.Before.NLL, func(s *report.RemedyScores) float64 { return s.NLL }, "nll_temperature_scaled")
	about, temperature := "squared error", "brier_temperature_scaled"
	if r.Event == calib.TopLabel {
		about, temperature = "squared error of the confidence", ""
	}
	row("brier", about, r.Before.Brier, func(s *report.RemedyScores) float64 { return s.Brier }, temperature)
	row("ece", "mean gap of the bins", r.Before.ECE, func(s *report.RemedyScores) float64 { return s.ECE }, "ece_temperature_scaled")
	return t.html()
}

// remedyText says what the curves are and by which rows they are judged.
func remedyText(d *report.Document, r *report.Remedies, fitted []*report.Remedy, known bool) safe {
	about := "Both map each probability p, with the logit z. "
	if r.Event == calib.TopLabel {
		about = "Both map the probability p of the chosen class, with the logit z; the others keep their proportions. "
	}
	l := []safe{text(about)}
	for _, m := range fitted {
		f := func(i int) safe { return number(m.Parameters[i].Value.(float64)) }
		if len(m.Parameters) == 2 {
			l = append(l, "Platt scaling: sigmoid(a z + b), a = ", f(0), ", b = ", f(1), ". ")
		} else {
			l = append(l, "Beta calibration: sigmoid(a ln p − b ln(1 − p) + c), a = ", f(0), ", b = ", f(1), ", c = ", f(2), ". ")
		}
	}
	n := report.Count(d.Input.Rows)
	switch {
	case !known && d.Input.Weighted:
		l = append(l, text(fmt.Sprintf("The rows are those that the curves were fitted to. That flatters: with equal weights, two parameters by 2/%[1]s of NLL, three by 3/%[1]s, and with unequal ones by more.", n)))
	case !known:
		l = append(l, "The rows are those that the curves were fitted to, and are too few to leave one out.")
	default:
		l = append(l, "Each row is judged by the curve of all others (leave-one-out, by one step of Newton’s method), so fitting does not flatter it. In small print is what the rows show that the curve was fitted to.")
		if d.Clusters != nil {
			l = append(l, " Rows of one cluster are in each other’s fit, which leaving out one row does not allow for.")
		}
	}
	return join(l...)
}
