package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/ci"
	"github.com/spf13/cobra"
)

// reports holds the flag for files that systems for continuous integration read.
type reports struct {
	asked []string
	files []reportFile
	page  htmlPage
}

type reportFile struct {
	form ci.Form
	path string
}

func (r *reports) flags(c *cobra.Command) {
	r.page.flags(c)
	c.Flags().StringSliceVar(&r.asked, "report", nil, "also write the result for a CI system, as `FORM=FILE`: junit=FILE, github=FILE, mlflow=FILE or openmetrics=FILE; may be given several times")
}

// formNames lists the forms.
func formNames() string {
	var l []string
	for _, f := range ci.Forms() {
		l = append(l, string(f))
	}
	return strings.Join(l[:len(l)-1], ", ") + " or " + l[len(l)-1]
}

// check reads the flag, and returns the reason why a report could not be written, as far as that is known in advance. Its file must differ
// from those that are read, and from those that other flags write, which are in written.
func (r *reports) check(c *cobra.Command, written map[string]string, reads ...string) error {
	r.files = nil
	if err := r.page.check(c, written, reads...); err != nil {
		return err
	}
	for _, s := range r.asked {
		form, path, ok := strings.Cut(s, "=")
		switch form := ci.Form(strings.TrimSpace(form)); {
		case !ok || path == "":
			return usage("--report is %q; it is FORM=FILE, such as junit=report.xml", s)
		case !slices.Contains(ci.Forms(), form):
			return usage("--report %s: there is no form %q; it is %s", s, string(form), formNames())
		case isOutput(path, c.OutOrStdout()) || isOutput(path, c.ErrOrStderr()):
			return about(usage("--report %s: the result or the messages of candor go there; name a file", s), path)
		default:
			r.files = append(r.files, reportFile{form, path})
		}
	}
	if r.page.file != "" {
		written = maps.Clone(written)
		written["--html"] = r.page.file
	}
	for i, f := range r.files {
		if slices.ContainsFunc(r.files[:i], func(o reportFile) bool { return filepath.Clean(o.path) == filepath.Clean(f.path) }) {
			return usage("--report names %s twice; name another one", f.path)
		}
		for flag, path := range written {
			if path != "" && filepath.Clean(path) == filepath.Clean(f.path) {
				return usage("--report and %s both name %s; name another one", flag, f.path)
			}
		}
		if err := checkFile("--report", f.path, reads...); err != nil {
			return err
		}
	}
	return nil
}

// isOutput reports whether a path names an output of the command, such as /dev/stdout. A terminal and /dev/null may be named.
func isOutput(path string, out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice != 0 {
		return false
	}
	to, err := os.Stat(path)
	return err == nil && os.SameFile(fi, to)
}

// write writes the reports. Each file is written completely or not at all.
func (r *reports) write(c *cobra.Command, gates []report.Outcome, sets ...ci.Set) error {
	return r.writeResult(c, &ci.Result{Sets: sets, Gates: gates})
}

// writeResult is write for a result without command and notes, which it sets.
func (r *reports) writeResult(c *cobra.Command, result *ci.Result) error {
	if len(r.files) == 0 {
		return nil
	}
	result.Command, result.Notes = c.CommandPath(), notedBy(c)
	for _, f := range r.files {
		var b bytes.Buffer
		if err := ci.Write(&b, f.form, result); err != nil {
			return err
		}
		if err := writeFile(f.path, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
