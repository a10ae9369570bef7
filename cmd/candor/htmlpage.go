package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
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

// commandOf returns the command that makes a document again, its options in a fixed order. Names of files are not known.
func commandOf(d *report.Document) string {
	in := &d.Input
	c := []string{"candor eval PREDICTIONS"}
	if in.Classes > 0 {
		c = append(c, "--labels LABELS")
	} else {
		c = append(c, "--observed OBSERVED")
	}
	switch in.Task {
	case "classification", "binary":
	default:
		c = append(c, "--task "+in.Task)
	}
	if in.Kind == "logits" || in.Kind == "logprobs" {
		c = append(c, "--input "+in.Kind)
	}
	if in.Weighted {
		c = append(c, "--weights WEIGHTS")
	}
	if d.Clusters != nil {
		c = append(c, "--cluster "+quoted(d.Clusters.Column))
	}
	if d.Tests != nil {
		for _, g := range d.Tests.Columns {
			c = append(c, "--group "+quoted(g))
		}
	}
	var keys []string
	standard, _ := eval.ParseMetrics("default", d.Shape())
	for i := range d.Metrics {
		keys = append(keys, d.Metrics[i].Key)
	}
	if !slices.EqualFunc(keys, standard, func(k string, m eval.Metric) bool { return k == m.String() }) {
		c = append(c, "--metrics "+quoted(strings.Join(keys, ",")))
	}
	if d.Level() != 0.95 {
		c = append(c, fmt.Sprintf("--level %v", d.Level()))
	}
	return strings.Join(append(c, "--html page.html"), " \\\n  ")
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
