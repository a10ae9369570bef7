package main

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
	"github.com/candor-go/candor/report/picture/file"
)

// plot is the picture that is requested beside the result, if any.
type plot struct {
	file string
	up   string

	kind string // one of plotKinds
	said bool   // kind was given

	sets    bool // the picture is of several sets
	grouped bool // rows are in groups

	format string
	y      picture.Y
	asked  bool // y was given
}

func (p *plot) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.file, "plot", "", "draw the reliability diagram, or for regression forecasts the calibration curve, to `FILE`.png, .svg or .pdf")
	c.Flags().StringVar(&p.up, "plot-y", "", "`WHAT` the vertical axis of --plot shows: accuracy, frequency, or gap (frequency - confidence)")
}

// otherFlags adds the flags of pictures for metrics other than ece.
func (p *plot) otherFlags(c *cobra.Command) {
	names := make([]string, len(plotKinds))
	for i, k := range plotKinds {
		names[i] = k.name
	}
	names = append(names, plotGroups)
	if c.Name() == "merge" {
		names = append(names, plotDifferences, plotGaps, plotFlips)
	}
	c.Flags().StringVar(&p.kind, "plot-kind", plotKinds[0].name, "`KIND` of picture that --plot draws: "+strings.Join(names, ", "))
}

// plotKind is a kind of picture: its name for --plot-kind, its metric, and whether it is for regression forecasts.
type plotKind struct {
	name, of string
	numbers  bool
}

// plotKinds lists the pictures. The first of either sort is the default.
var plotKinds = []plotKind{
	{"reliability", "ece", false},                            // by bins
	{"equal-mass", "calibration_auc", false},                 // gaps by bins of equal mass
	{"classes", "sce", false},                                // a diagram of each class
	{"corp", "corp_mcb", false},                              // of rising frequencies, without bins
	{"belt", "giviti", false},                                // calibration belt
	{"risk-coverage", "aurc", false},                         // of selective classification
	{"rejection", "aurc", false},                             // accuracy of what is kept, with out-of-distribution rows where there are any
	{"confidence", "aurc", false},                            // accuracy above a confidence, likewise
	{"roc", "calibration_auc", false},                        // of class 1 of two, or of being right
	{"decision", "net_benefit", false},                       // net benefit of acting on the probability, by threshold
	{"ood-roc", "ood_auroc", false},                          // of out-of-distribution rows
	{"calibration", "miscalibration_area", true},             // how often what was observed is below the quantiles
	{"coverage", "miscalibration_area(form=interval)", true}, // coverage of central intervals
	{"pit", "pit_p", true},                                   // histogram of the probability integral transform
	{"rank", "rank_p", true},                                 // histogram of ranks among samples or members
	{"spread", "ence", true},                                 // errors by stated spread
	{"brier", "brier_integrated", true},                      // of survival, over time
}

// survivalPlots are those of the kinds that survival has.
var survivalPlots = []string{"reliability", "calibration", "brier"}

// kindOf returns the kind of picture for such predictions, and whether one with the given name exists for them.
func (p *plot) kindOf(of eval.Shape) (plotKind, bool) {
	numbers := !of.HasClasses()
	for _, k := range plotKinds {
		if !p.said && of.Kind == metrics.Multivariate && k.name == "rank" {
			return k, true
		}
		if !p.said && of.Kind == metrics.Multivariate {
			continue
		}
		if p.said && k.name == p.kind || !p.said && k.numbers == numbers {
			return k, k.numbers == numbers
		}
	}
	return plotKind{}, false
}

// also returns the metrics that the picture needs besides those that are always there, or "".
func (p *plot) also(of eval.Shape) string {
	if p.file == "" || of.Kind == metrics.LogLiks || of.Kind == metrics.Survival || of.Kind == metrics.MultivariateNormals {
		return ""
	}
	k, ok := p.kindOf(of)
	switch {
	case !ok:
		return ""
	case k.name == "reliability":
		// Bins of the event that ece does not use, for tasks with one or two classes.
		switch {
		case of.Classes <= 2 && p.asked && p.y == picture.Frequency:
			return "ece_positive"
		case of.Classes == 1 && p.asked && p.y == picture.Accuracy:
			return "ece_top_label"
		}
		return ""
	case k.name == "corp":
		return "corp_mcb,corp_dsc,corp_unc"
	case (k.name == "roc" || k.name == "equal-mass") && of.Classes <= 2:
		return "auroc"
	case of.Out && (k.name == "rejection" || k.name == "confidence"):
		return k.of + ",ood_auroc"
	case k.name == "ood-roc" && !of.Out, k.name == "decision" && of.Classes > 2:
		return ""
	case of.Kind == metrics.Multivariate && k.name != "rank":
		return ""
	case k.name == "brier": // of survival alone, which ready says
		return ""
	case k.name == "rank" && of.Kind != metrics.Samples && of.Kind != metrics.Multivariate, k.name == "spread" && of.Kind != metrics.Normals:
		return ""
	}
	return p.metricOf(k, of.Kind)
}

// metricOf returns the metric of a kind of picture.
func (p *plot) metricOf(k plotKind, of metrics.Kind) string {
	if k.name == "rank" && of == metrics.Multivariate {
		return "multivariate_rank_p"
	}
	return k.of
}

// check reads the flags; c is their command.
func (p *plot) check(c *cobra.Command) error {
	ok := true
	if c.Flags().Changed("plot") {
		if p.format, ok = file.FormatOf(p.file); !ok {
			return usage("--plot is %q; the name of a picture ends in .png, .svg or .pdf", p.file)
		}
	}
	if p.asked = c.Flags().Changed("plot-y"); p.asked {
		if p.file == "" {
			return usage("--plot-y says what --plot FILE draws; give that too")
		}
		if p.y, ok = picture.ParseY(p.up); !ok {
			return noSuch("--plot-y", p.up, "accuracy", "frequency", "gap")
		}
	}
	if p.said = c.Flags().Changed("plot-kind"); !p.said {
		return nil
	}
	if p.file == "" {
		return usage("--plot-kind says what --plot FILE draws; give that too")
	}
	known := slices.Contains([]string{plotGroups, plotDifferences, plotGaps, plotFlips}, p.kind)
	for _, k := range plotKinds {
		known = known || k.name == p.kind
	}
	if !known {
		return usage("--plot-kind is %q%s; it is %s", p.kind, meant(p.kind, kindNames()), c.Flags().Lookup("plot-kind").Usage[len("`KIND` of picture that --plot draws: "):])
	}
	if p.asked && p.kind != "reliability" && p.kind != "classes" {
		return usage("--plot-y is for the bins of reliability and classes: --plot-kind %s has none; leave it out", p.kind)
	}
	return nil
}

// checkFile returns, before any work is done, the reason why the picture could not be written. Its path must differ from
// files that are read and from the one that another flag writes.
func (p *plot) checkFile(other, written string, reads ...string) error {
	if p.file != "" && written != "" && filepath.Clean(p.file) == filepath.Clean(written) {
		return usage("--plot and %s both name %s; name another one", other, written)
	}
	return checkFile("--plot", p.file, reads...)
}

// bins returns the bins that the picture draws, and what its vertical axis shows.
func (p *plot) bins(e *eval.Evaluation) (eval.Diagram, picture.Y, error) {
	d := e.Diagram()
	y := p.y
	if !p.asked && d.Event == calib.Positive {
		y = picture.Frequency
	}
	want := d.Event
	switch {
	case y == picture.Accuracy:
		want = calib.TopLabel
	case y == picture.Frequency && e.Spec.Classes <= 2 && e.Spec.Choices == eval.NoChoices:
		want = calib.Positive
	}
	if want == d.Event {
		return d, y, nil
	}
	if other, ok := e.DiagramOf(want); ok {
		return other, y, nil
	}
	name := map[calib.Event]string{calib.TopLabel: "ece_top_label", calib.Positive: "ece_positive"}[want]
	return d, 0, usage("--plot-y %s draws the bins of %s, which is not among the metrics; "+
		"evaluate with --metrics default,%s", p.up, name, name)
}

// ready returns, before rows are read, the reason why the picture could not be drawn.
func (p *plot) ready(e *eval.Evaluation) error {
	if p.file == "" {
		return nil
	}
	of := e.Spec.Shape()
	if of.Kind == metrics.Survival {
		switch {
		case p.sets && p.said && p.kind == plotDifferences, p.sets && p.said && p.kind == plotGroups && p.grouped:
		case p.sets && !(p.said && p.kind == plotGroups):
			return usage("--plot draws survival predictions of one model; draw each by candor eval, or their differences by --plot-kind differences or, with --group, groups")
		case p.sets:
			_, err := p.ofRows(of)
			return err
		case p.said && !slices.Contains(survivalPlots, p.kind):
			return usage("--plot-kind %s is not for survival, of which there are %s", p.kind, strings.Join(survivalPlots, ", "))
		case p.kind == "brier" && len(e.Spec.Times) < 2:
			return usage("--plot-kind brier draws the Brier score over several times, and the probabilities are those at one")
		case p.asked && p.y == picture.Accuracy:
			return usage("--plot-y accuracy is for classes; of survival there are frequency and gap")
		}
		return nil
	}
	if of.Kind == metrics.LogLiks {
		return usage("--plot draws forecasts, and --task loglik has none; leave it out")
	}
	if done, err := p.ofRows(of); done {
		if err == nil && p.kind == plotGaps && !compared.KeepsScores(&e.Spec) {
			return usage("--plot-kind gaps draws rows by their scores, which these metrics do not keep; evaluate with --metrics default,calibration_error_squared")
		}
		return err
	}
	k, ok := p.kindOf(of)
	switch {
	case !ok && k.numbers:
		return usage("--plot-kind %s is for regression forecasts; pass --task regression, quantiles or samples, or draw another kind", k.name)
	case !ok:
		return usage("--plot-kind %s is for classes; for regression forecasts there are calibration, coverage, pit, rank and spread", k.name)
	case k.numbers:
		return p.readyNumbers(k, e)
	}
	if p.kind == "" || p.kind == "reliability" {
		_, _, err := p.bins(e)
		return err
	}
	if e.Spec.Scored && !slices.Contains([]string{"classes", "risk-coverage", "roc"}, p.kind) {
		return usage("--plot-kind %s draws rows by their probabilities, not by --confidence-scores: leave these out, or draw risk-coverage or roc", p.kind)
	}
	there := false
	switch p.kind {
	case "classes":
		if e.Spec.Choices != eval.NoChoices {
			return usage("--plot-kind classes draws classes, and choices are not classes; draw another kind")
		}
		there = e.Classes() != nil
	case "corp":
		there = slices.ContainsFunc(e.Spec.Metrics, func(m eval.Metric) bool {
			return strings.HasPrefix(m.Name, "corp_") && !strings.Contains(m.String(), "exact") && !strings.Contains(m.String(), "score=log") && !strings.Contains(m.String(), "score=spherical")
		})
	case "belt":
		there = slices.ContainsFunc(e.Spec.Metrics, func(m eval.Metric) bool {
			return strings.HasPrefix(m.Name, "giviti") && !strings.Contains(m.String(), "exact")
		})
	case "equal-mass":
		_, there = e.EqualMass()
	case "rejection", "ood-roc":
		if !e.Spec.Out && p.kind == "rejection" {
			return usage("--plot-kind rejection draws out-of-distribution rows among the others; give --ood FILE, or draw risk-coverage")
		}
		if !e.Spec.Out {
			return usage("--plot-kind ood-roc draws out-of-distribution rows; give --ood FILE")
		}
		there = e.Foreign() != nil
		if p.kind == "rejection" {
			_, kept := e.Ranking(calib.TopLabel)
			there = there && kept
		}
	case "roc":
		_, there = e.Ranking(rocEvent(e))
	case "decision":
		if rocEvent(e) != calib.Positive {
			return usage("--plot-kind decision draws decisions for class 1 of two, and there are more classes or choices; draw risk-coverage")
		}
		_, there = e.Ranking(calib.Positive)
	default:
		_, there = e.Ranking(calib.TopLabel)
		there = there && (!e.Spec.Out || p.kind == "risk-coverage" || e.Foreign() != nil)
	}
	if there {
		return nil
	}
	return usage("--plot-kind %s draws what is not among the metrics; evaluate with --metrics default,%s", p.kind, p.also(of))
}

// rocEvent returns the event of the picture roc: class 1 of two, or a right top label.
func rocEvent(e *eval.Evaluation) calib.Event {
	if e.Spec.Classes <= 2 && e.Spec.Choices == eval.NoChoices {
		return calib.Positive
	}
	return calib.TopLabel
}

// write draws an evaluation.
func (p *plot) write(e *eval.Evaluation, d *report.Document) error {
	if p.file == "" {
		return nil
	}
	if d.Survival != nil {
		y := p.y
		if !p.asked {
			y = picture.Frequency
		}
		switch p.kind {
		case "calibration":
			return p.save(d.SmoothPicture())
		case "brier":
			return p.save(d.BrierPicture())
		}
		return p.save(d.Pictured(y))
	}
	if k, _ := p.kindOf(e.Spec.Shape()); k.numbers {
		return p.save(forecastPicture(k, e, d))
	}
	switch p.kind {
	case "", "reliability":
	case "classes":
		return p.save(p.classPicture(e, d))
	case "corp":
		return p.save(corpPicture(e, d))
	case "belt":
		return p.save(beltPicture(e, d))
	case "equal-mass":
		return p.save(massPicture(e, d))
	default:
		return p.save(curvePicture(p.kind, e, d))
	}
	b, y, err := p.bins(e)
	if err != nil {
		return err
	}
	bins := b.Bins(e.Spec.Level)
	r := &picture.Reliability{Title: "Reliability by confidence", Bins: bins, Event: b.Event, Y: y, Level: e.Spec.Level}
	if b.Event == calib.Positive {
		r.Title = "Reliability by probability"
	} else if e.Spec.Choices == eval.NoChoices && !e.Spec.Scored {
		r.Classes = e.Spec.Classes
	}
	r.Subtitle = d.VerdictOfAll() + "\nECE " + value(b.ECE())
	if i := b.Interval(e.Spec.Level); !math.IsNaN(i.Low) {
		r.Subtitle += fmt.Sprintf(" [%s, %s]", value(i.Low), value(i.High))
	}
	if f := b.Floor(); !math.IsNaN(f) {
		r.Subtitle += ", perfect calibration would have about " + value(f)
	}
	r.Subtitle += "\n" + sentence(b.Text)
	return p.save(r)
}

// classPicture returns the diagrams of the classes.
func (p *plot) classPicture(e *eval.Evaluation, d *report.Document) picture.Drawing {
	b := e.Classes()
	r := &picture.Classes{Title: "Reliability of each class", Y: p.y, Level: e.Spec.Level}
	r.Subtitle = fmt.Sprintf("%s\nSCE %s, the mean of the classes' ECE; %d equal-width bins of each class's probability", d.VerdictOfAll(), value(b.SCE()), b.Options().Bins)
	for j := range b.Classes() {
		r.Classes = append(r.Classes, picture.Class{Name: fmt.Sprintf("class %d", j), Bins: b.Class(j).Bins(e.Spec.Level)})
	}
	return r
}

// massPicture returns the gaps of bins of equal mass.
func massPicture(e *eval.Evaluation, d *report.Document) picture.Drawing {
	r := &picture.Mass{Title: "Where the calibration error comes from", Level: e.Spec.Level}
	b, ok := e.EqualMass()
	if ok {
		r.Event, r.Bins = b.Event, b.Bins(e.Spec.Level)
		r.Subtitle = d.VerdictOfAll() + "\n" + r.Finding() + "\n" + sentence(b.Text)
	}
	return r
}

// sentence returns a text with a capital letter at its beginning.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// corpPicture returns the recalibrated frequencies, with the consistency band for calibrated scores.
func corpPicture(e *eval.Evaluation, d *report.Document) picture.Drawing {
	level := e.Spec.Level
	r := &picture.CORP{Title: "Recalibrated frequency by score", Subtitle: d.VerdictOfAll(), Level: level}
	if f := e.Fit(); f != nil {
		r.Fit, r.Event, r.Bins, r.Band = f.CORP, f.Event, f.Histogram, f.Band(level, &f.Resampling)
	}
	return r
}

// beltPicture returns the calibration belt.
func beltPicture(e *eval.Evaluation, d *report.Document) picture.Drawing {
	r := &picture.Belt{Title: "Calibration belt", Subtitle: d.VerdictOfAll()}
	if b := e.Belt(); b != nil {
		r.Belt, r.Event, r.Bins = b.Belt, b.Event, b.Histogram
	}
	return r
}

// overlay draws several evaluations, or their differences.
func (p *plot) overlay(names []string, es []*eval.Evaluation, found *report.Differences, all *compared.Comparison) error {
	switch {
	case p.file == "":
		return nil
	case p.said && p.kind == plotDifferences:
		return p.save(found.Forest(mostIntervals))
	case p.said && p.kind == plotGroups:
		return p.save(found.GroupForest(mostIntervals))
	case p.said && p.kind == plotFlips:
		if len(es) > 2 {
			return usage("--plot-kind flips draws two sets, and there are %d; name two", len(es))
		}
		d, err := flipsPicture(found, all)
		if err != nil {
			return err
		}
		return p.save(d)
	case p.said && p.kind == plotGaps:
		if len(es) > 2 {
			return usage("--plot-kind gaps draws two sets, and there are %d; name two", len(es))
		}
		return p.save(gapsPicture(all))
	}
	if !es[0].Spec.Shape().HasClasses() {
		return p.save(calibrationCurves(names, es))
	}
	r := &picture.Overlay{Title: "Reliability by confidence", Level: es[0].Spec.Level}
	names = picture.Short(visible.Texts(names))
	eces := make([]string, len(es))
	for i, e := range es {
		b, y, err := p.bins(e)
		if err != nil {
			return err
		}
		name := names[i]
		r.Sets = append(r.Sets, picture.Set{Name: name, Bins: b.Bins(e.Spec.Level)})
		r.Y, r.Event = y, b.Event
		eces[i] = fmt.Sprintf("%s %s", name, value(b.ECE()))
		r.Subtitle = fmt.Sprintf("ECE: %s. %s rows each.\n%s", strings.Join(eces[:i+1], "; "), report.Count(e.Audit.Rows), sentence(b.Text))
	}
	if r.Event == calib.Positive {
		r.Title = "Reliability by probability"
	}
	return p.save(r)
}

// save writes a picture completely or not at all.
func (p *plot) save(d picture.Drawing) error {
	var b bytes.Buffer
	if err := file.Write(&b, p.format, d.Scene()); err != nil {
		return err
	}
	return writeFile(p.file, b.Bytes())
}

// value formats a number in a text; "-" if it is undefined, as in tables.
func value(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.4g", v)
}
