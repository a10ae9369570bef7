package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
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
