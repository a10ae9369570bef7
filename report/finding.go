package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
)

// Tone is what a finding is, for its colour.
type Tone uint8

// The tones of findings.
const (
	Neutral Tone = iota // nothing is shown to be off, or nothing can be said
	TooHigh             // overconfident, or too high
	TooLow              // underconfident, or too low
)

// Finding is the verdict in the parts that a page shows: a heading, a sentence with the numbers behind it, and what else must be said.
type Finding struct {
	Tone Tone
	Head string // "Overconfident by 1.2 points"
	Lead string
	But  string // "" if there is nothing
}

// rarest returns the rarest class, if it is known.
func (d *Document) rarest() *Rarest {
	if d.Detail == nil {
		return nil
	}
	return d.Detail.Rarest
}

// judgedRows is the number of rows below which that nothing is seen is no finding.
const judgedRows = 30

// Finding returns the verdict of VerdictOfAll, by the same rules.
func (d *Document) Finding() Finding {
	rows := countOf(d.Input.Rows, "row")
	if d.Input.Rows == 0 {
		return Finding{Head: "Nothing to judge", Lead: "There are no rows."}
	}
	if !d.shape.HasClasses() {
		return d.forecastFinding(rows)
	}
	j := d.judged
	event := j.Event == calib.Positive && !d.Input.Correct
	f := Finding{Lead: fmt.Sprintf("It is %s sure on average, and right in %s of the rows%s.", percent(j.Says.Value), percent(j.Happens.Value), d.between(&j.Happens))}
	high, low := "overconfident", "underconfident"
	if event {
		f.Lead = fmt.Sprintf("It gives class 1 a probability of %s on average; class 1 is %s of the rows%s.", percent(j.Says.Value), percent(j.Happens.Value), d.between(&j.Happens))
		high, low = "too high", "too low"
	}
	side := func(gap float64) string {
		if gap < 0 {
			return low
		}
		return high
	}
	worst := d.against()
	where := ""
	if worst != nil {
		where = fmt.Sprintf("between %.2f and %.2f it is %s by %s (%s)", worst.Lower, worst.Upper, side(worst.Gap), points(worst.Gap), countOf(worst.Rows, "row"))
	}
	switch {
	case math.IsNaN(j.Gap.Interval.Low):
		f.Head, f.But = "Too few rows to judge", ""
		return f
	case j.Side == 0 && worst != nil && (j.Gap.Interval.Low > 0 || j.Gap.Interval.High < 0):
		f.Head, f.But = "Off in places", upper(where)+"."
	case j.Side == 0 && worst != nil:
		f.Head, f.But = "Right on average, off in places", upper(where)+"."
	case j.Side == 0:
		f.Head = "No miscalibration seen"
		if !math.IsNaN(d.detectable) {
			f.But = fmt.Sprintf("With %s, a bias of %s or more would probably have shown.", rows, points(d.detectable))
		}
	default:
		f.Tone = TooHigh
		if j.Gap.Value < 0 {
			f.Tone = TooLow
		}
		f.Head = upper(side(j.Gap.Value)) + " by " + points(j.Gap.Value)
		if event {
			f.Head = "Probabilities are " + side(j.Gap.Value) + " by " + points(j.Gap.Value)
		}
		if worst != nil {
			f.But = "But " + where + "."
		}
	}
	if f.Head == "No miscalibration seen" && d.Input.Rows < judgedRows && !math.IsNaN(d.detectable) {
		f.Head, f.But = "Too few rows to judge", fmt.Sprintf("With %s, only a bias of %s or more would probably have shown.", rows, points(d.detectable))
	}
	if x := d.Detail; x != nil && x.Certain != nil && x.Certain.Rows == d.Input.Rows {
		f.Head, f.Tone = "Certain of every row, and always right", Neutral
		if x.Certain.Wrong > 0 {
			f.Head, f.Tone = fmt.Sprintf("Certain of every row, and wrong in %s of them", Percent(float64(x.Certain.Wrong)/float64(d.Input.Rows))), TooHigh
		}
		f.But = "All probabilities are 0 or 1, as decisions are. Evaluate what the model gave before it decided, if that is known."
	}
	if r := d.rarest(); event && r != nil && r.Missing == 1 {
		f.But = strings.TrimSpace(f.But + fmt.Sprintf(" All rows are of class %d, so nothing is known of the other.", r.Class))
	}
	if d.Tests != nil && d.Tests.Off > 0 {
		f.But = strings.TrimSpace(f.But + fmt.Sprintf(" %s of %s are off.", Count(int64(d.Tests.Off)), countOf(int64(len(d.Tests.Groups)), "group")))
	}
	return f
}

// forecastFinding splits the verdict on forecasts without classes.
func (d *Document) forecastFinding(rows string) Finding {
	f := Finding{Lead: strings.TrimSpace(d.headline())}
	if f.Lead == "" {
		return Finding{Head: "Metrics of " + rows, Lead: d.VerdictOfAll()}
	}
	// The last words of the verdict are what it comes to.
	s := strings.TrimSuffix(f.Lead, ".")
	at := strings.LastIndex(s, ": ")
	if at < 0 {
		f.Head = "Metrics of " + rows
		return f
	}
	f.Head = upper(s[at+2:])
	switch last := s[at+2:]; {
	case strings.HasPrefix(last, "overconfident"), strings.HasPrefix(last, "too narrow"):
		f.Tone = TooHigh
	case strings.HasPrefix(last, "underconfident"), strings.HasPrefix(last, "too wide"):
		f.Tone = TooLow
	}
	if last := s[at+2:]; last == "too narrow" || last == "too wide" {
		f.Head = "Intervals are " + last
	}
	return f
}

// between returns the interval of a share in words; "" without one.
func (d *Document) between(v *eval.Value) string {
	if math.IsNaN(v.Interval.Low) {
		return ""
	}
	return fmt.Sprintf(" (%s %s to %s)", d.levelText(), share(v.Interval.Low), share(v.Interval.High))
}

// upper returns a sentence with its first letter in upper case.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Judgement returns the judgement that the verdict states; nil if there are no classes.
func (d *Document) Judgement() *eval.Judgement { return d.judged }

// Level returns the level of the intervals.
func (d *Document) Level() float64 { return d.level }

// Shape returns the shape of the predictions.
func (d *Document) Shape() eval.Shape { return d.shape }

// Percent returns a share as text: 97.7%, with one decimal or as many as tell it from 0 and 100%.
func Percent(v float64) string { return percent(v) }

// LevelText names intervals of a level: "95% interval".
func LevelText(level float64) string { return (&Document{level: level}).levelText() }
