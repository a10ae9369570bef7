package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/report"
)

// htmlPage is the page that is requested beside the result, if any.
type htmlPage struct{ file string }

func (p *htmlPage) flags(c *cobra.Command) {
	c.Flags().StringVar(&p.file, "html", "", "also write the result to `FILE` as one self-contained page: pictures, tables and definitions, without scripts; docs/page.md describes it")
}

// check returns the reason why the page could not be written, as far as that is known in advance. Its file must differ from those that are
// read, and from those that other flags write, which are in written.
func (p *htmlPage) check(c *cobra.Command, written map[string]string, reads ...string) error {
	if !c.Flags().Changed("html") {
		return nil
	}
	if p.file == "" {
		return usage("--html has no file; name one, as --html page.html")
	}
	if isOutput(p.file, c.OutOrStdout()) || isOutput(p.file, c.ErrOrStderr()) {
		return about(usage("--html %s: the result or the messages of candor go there; name a file", p.file), p.file)
	}
	for flag, path := range written {
		if path != "" && filepath.Clean(path) == filepath.Clean(p.file) {
			return usage("--html and %s both name %s; name another one", flag, p.file)
		}
	}
	return checkFile("--html", p.file, reads...)
}

// mostClasses is the largest number of classes for which a page adds metric sce, which takes time and memory for each class.
const mostClasses = 2000

// also returns the metrics that the page needs besides those that are always there, or "".
func (p *htmlPage) also(of eval.Shape) string {
	switch {
	case p.file == "" || of.Kind == metrics.LogLiks:
		return ""
	case of.Kind == metrics.Normals:
		return "miscalibration_area,miscalibration_area(form=interval),pit_p,ence"
	case of.Kind == metrics.Quantiles:
		return "miscalibration_area,miscalibration_area(form=interval),pit_p"
	case of.Kind == metrics.Samples:
		return "miscalibration_area,miscalibration_area(form=interval),rank_p"
	case of.Classes < 3 || of.Classes > mostClasses:
		return ""
	}
	return "sce"
}

// write writes the page, completely or not at all.
func (p *htmlPage) write(page func() ([]byte, error)) error {
	if p.file == "" {
		return nil
	}
	b, err := page()
	if err != nil {
		return err
	}
	return writeFile(p.file, b)
}

// commandOf returns the command that makes a document again, its options in the order of the help. Names of files are not known, nor is what
// names the columns of a table.
func commandOf(e *eval.Evaluation, d *report.Document) string {
	in, s := &d.Input, &e.Spec
	c := []string{"candor eval PREDICTIONS"}
	add := func(needed bool, option string) {
		if needed {
			c = append(c, option)
		}
	}
	c = append(append(c, outcomesOf(in)...), inputOf(in)...)
	standard, err := eval.ParseMetrics("default", d.Shape())
	var keys []string
	for i := range d.Metrics {
		if key := d.Metrics[i].Key; d.Slices == nil || !slices.Contains(strings.Split(sliceMetrics, ","), key) { // which --slice-by adds
			keys = append(keys, key)
		}
	}
	add(err != nil || !slices.EqualFunc(keys, standard, func(k string, m eval.Metric) bool { return k == m.String() }), "--metrics "+quoted(strings.Join(keys, ",")))
	bins := calib.DefaultBins
	if in.Classes > 0 && !in.Correct {
		if system := likeOf(s); system != "" {
			base, err := calib.Like(system)
			add(err == nil, "--like "+system)
			bins = base.Bins
		}
	}
	add(in.Classes > 0 && s.Base.Bins != bins, fmt.Sprintf("--bins %d", s.Base.Bins))
	add(s.Level != metrics.DefaultLevel, fmt.Sprintf("--confidence %v", s.Level))
	add(s.Seed != 0, fmt.Sprintf("--seed %d", s.Seed))
	add(in.Weighted, "--weights WEIGHTS")
	add(in.Decided, "--decisions DECISIONS")
	add(in.Scored, "--confidence-scores SCORES")
	add(in.Out > 0, "--ood OTHERS")
	add(in.Dropped > 0, "--on-invalid drop")
	add(e.Audit.Renormalized, "--renormalize")
	add(len(in.IgnoredLabels) > 0, ignoredOf(in))
	add(s.Kind == metrics.Normals && s.Law != regress.NormalLaw, "--distribution "+quoted(s.Law.String()))
	add(s.Transform != 0, "--transform "+s.Transform.String())
	if d.Clusters != nil {
		add(true, "--cluster "+quoted(d.Clusters.Column))
	}
	if d.Slices != nil {
		for _, x := range d.Slices.Columns {
			add(true, "--slice-by "+quoted(x.Name))
		}
	}
	if d.Tests != nil {
		for _, g := range d.Tests.Columns {
			add(true, "--group "+quoted(g))
		}
	}
	return strings.Join(append(c, "--html page.html"), " \\\n  ")
}

// compareCommandOf returns the command that makes a comparison again, as commandOf does.
func compareCommandOf(all *report.Comparison) string {
	d := all.Sets[0].Document
	in := &d.Input
	sets := "SETS..."
	if n := len(all.Sets); n <= 26 {
		sets = strings.Join(strings.Split("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:n], ""), " ")
	}
	c := []string{"candor compare " + sets}
	add := func(needed bool, option string) {
		if needed {
			c = append(c, option)
		}
	}
	c = append(append(c, outcomesOf(in)...), inputOf(in)...)
	add(d.Level() != metrics.DefaultLevel, fmt.Sprintf("--confidence %v", d.Level()))
	add(in.Weighted, "--weights WEIGHTS")
	if x := all.Differences; x != nil {
		if x.Clusters != nil {
			add(true, "--cluster "+quoted(x.Clusters.Column))
		}
		if x.Groups != nil {
			for _, g := range x.Groups.Columns {
				add(true, "--group "+quoted(g))
			}
		}
		add(x.Baseline && len(x.Names) > 2 && len(x.List) > 0, "--baseline NAME")
		add(x.Adjust != compared.Holm, "--adjust "+x.Adjust.String())
	}
	return oneLine(append(c, "--html page.html"))
}

// oneLine puts a command together, on several lines if it is long.
func oneLine(l []string) string {
	if s := strings.Join(l, " "); len(s) <= 80 {
		return s
	}
	return strings.Join(l, " \\\n  ")
}

// outcomesOf returns the option that says what really happened.
func outcomesOf(in *report.Input) []string {
	switch {
	case in.Choices != eval.NoChoices:
		return []string{"--from lm-eval"}
	case in.Correct:
		return []string{"--correct RIGHT"}
	case in.Classes > 0:
		return []string{"--labels LABELS"}
	case in.Task == "loglik":
		return nil
	}
	return []string{"--observed OBSERVED"}
}

// inputOf returns the options that say what scores are.
func inputOf(in *report.Input) (c []string) {
	if in.Choices == eval.NoChoices && (in.Kind == "logits" || in.Kind == "logprobs") || in.Kind == "dirichlet" {
		c = append(c, "--input "+in.Kind)
	}
	switch in.Task {
	case "binary":
	case "classification":
		if in.Classes == 2 && in.Choices == eval.NoChoices && in.Kind != "dirichlet" { // for two columns are a binary task
			c = append(c, "--task classification")
		}
	default:
		c = append(c, "--task "+in.Task)
	}
	return c
}

// fitCommandOf returns the commands that fit the remedy which a document suggests and apply it, or "" if there is none.
func fitCommandOf(e *eval.Evaluation, d *report.Document) string {
	method := d.Remedies.Chosen()
	if method == "" || d.Input.Dropped > 0 || e.Audit.Renormalized { // which candor recal fit does not read
		return ""
	}
	fit := fitOf(method, d)
	apply := []string{"candor recal apply map.json OTHERS"}
	if d.Input.Kind != "probs" {
		apply = append(apply, "--input "+d.Input.Kind)
	}
	return oneLine(append(fit, "-o map.json")) + "\n" + oneLine(append(apply, "-o recalibrated.npy"))
}

// fitOf returns the command that fits a method to the rows of a document.
func fitOf(method string, d *report.Document) []string {
	fit := append([]string{"candor recal fit " + quoted(method) + " PREDICTIONS --labels LABELS"}, inputOf(&d.Input)...)
	if d.Input.Classes == 0 {
		fit[0] = "candor recal fit " + quoted(method) + " FORECASTS --observed OBSERVED"
	}
	if d.Input.Weighted {
		fit = append(fit, "--weights WEIGHTS")
	}
	if len(d.Input.IgnoredLabels) > 0 {
		fit = append(fit, ignoredOf(&d.Input))
	}
	if d.Clusters != nil {
		fit = append(fit, "--cluster "+quoted(d.Clusters.Column))
	}
	return fit
}

// ignoredOf returns the option of labels that are ignored.
func ignoredOf(in *report.Input) string {
	var l []string
	for _, v := range in.IgnoredLabels {
		l = append(l, fmt.Sprint(v))
	}
	return "--ignore-label=" + strings.Join(l, ",")
}

// likeOf returns the system of --like that a spec has the defaults of, whatever its number of bins; "" if it is none.
func likeOf(s *eval.Spec) string {
	for _, system := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
		base, err := calib.Like(system)
		if err != nil {
			continue
		}
		base.Bins = s.Base.Bins
		if s.Base == base && s.UM == (system == "um") && (s.Brier == score.BrierMinusOne) == (system == "um" || system == "tfp") {
			return system
		}
	}
	return ""
}

// quoted quotes a word for a shell, if it needs that.
func quoted(s string) string {
	s = visible.Text(s)
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,/:@=+", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
