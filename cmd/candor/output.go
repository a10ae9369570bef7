package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output holds the flags for showing results.
type output struct {
	json   bool
	format string
	failIf []string
	plot   plot

	gates []report.Gate
}

func (o *output) flags(c *cobra.Command) {
	o.forms(c)
	o.plot.otherFlags(c)
	c.Flags().StringArrayVar(&o.failIf, "fail-if", nil, "exit with code 1 if `EXPR` holds: 'ece>0.05', 'ece.low>0.02'; may be given several times")
}

// forms adds the flags except those of gates.
func (o *output) forms(c *cobra.Command) {
	o.form(c)
	o.plot.flags(c)
}

// form adds the flags of the format.
func (o *output) form(c *cobra.Command) {
	c.Flags().BoolVar(&o.json, "json", false, "print one JSON document, the same as --format json; docs/json.md and docs/candor-1.schema.json describe it")
	c.Flags().StringVar(&o.format, "format", "table", "`FORMAT`: table, markdown, csv or json")
}

// check reads the flags; c is their command.
func (o *output) check(c *cobra.Command) error {
	if err := o.checkForm(c); err != nil {
		return err
	}
	if err := o.plot.check(c); err != nil {
		return err
	}
	o.gates = nil
	for _, s := range o.failIf {
		g, err := report.ParseGate(s)
		if err != nil {
			return usage("%v", err)
		}
		o.gates = append(o.gates, g)
	}
	return nil
}

// checkForm reads the flags of the format.
func (o *output) checkForm(c *cobra.Command) error {
	if o.json && c.Flags().Changed("format") && o.format != "json" {
		return usage("--json and --format %s are both given; give one", o.format)
	}
	if o.json {
		o.format = "json"
	}
	switch o.format {
	case "table", "markdown", "csv", "json":
		return nil
	}
	return usage("--format is %q; it is table, markdown, csv or json", o.format)
}

// write writes an evaluation to standard output, with its groups if there are any, then the met conditions of --fail-if to
// standard error.
func (o *output) write(c *cobra.Command, e *eval.Evaluation, groups *grouped.Evaluation, next string) error {
	var d *report.Document
	if groups != nil {
		d = report.OfGroups(groups)
	} else {
		d = report.New(e)
	}
	for _, g := range o.gates {
		if why := g.Missing(d); why != "" {
			return usage("--fail-if: %v", errors.New(why))
		}
	}
	if err := o.plot.write(e, d); err != nil {
		return err
	}
	var b bytes.Buffer
	var err error
	switch o.format {
	case "json":
		d.Warnings = append(d.Warnings, notedBy(c)...)
		var j []byte
		if j, err = d.JSON(); err == nil {
			b.Write(j)
		}
	case "csv":
		err = d.Table(&b, report.CSV, 0)
	case "markdown":
		fmt.Fprintf(&b, "%s\n\n", d.Verdict())
		err = d.Table(&b, report.Markdown, 0)
		if err == nil && len(d.Members) > 0 {
			fmt.Fprintln(&b)
			err = d.MembersTable(&b, report.Markdown, 0)
		}
		if err == nil && len(d.Groups) > 0 {
			fmt.Fprintln(&b)
			err = d.GroupsTable(&b, report.Markdown, 0)
		}
		for _, w := range notes(d) {
			fmt.Fprintf(&b, "\n> %s\n", w)
		}
	default:
		s := screenOf(c.OutOrStdout())
		verdict := d.Verdict()
		if s.terminal {
			verdict = report.Wrap(verdict, s.width)
		}
		fmt.Fprintf(&b, "%s\n\n", verdict)
		if err = d.Table(&b, report.Plain, s.width); err != nil {
			break
		}
		if len(d.Members) > 0 {
			fmt.Fprintln(&b)
			if err = d.MembersTable(&b, report.Plain, s.width); err != nil {
				break
			}
		}
		if len(d.Groups) > 0 {
			fmt.Fprintln(&b)
			if err = d.GroupsTable(&b, report.Plain, s.width); err != nil {
				break
			}
		}
		if d.Input.Classes > 0 {
			fmt.Fprintln(&b)
			if err = d.Diagram(&b, s.color, s.width); err != nil {
				break
			}
		}
		for _, w := range notes(d) {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+strings.TrimSuffix(w, ".")+".", s.width))
		}
		if next != "" {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap(next, s.width))
		}
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	var failed gates
	for _, g := range o.gates {
		if why := g.Check(d); why != "" {
			failed = append(failed, why)
		}
	}
	return failed.failed()
}

// notes returns what a reader of a table should know beside it.
func notes(d *report.Document) []string { return slices.Concat(d.Undefined(), d.Warnings) }

// screen describes where text goes.
type screen struct {
	terminal bool
	color    bool
	width    int
}

func screenOf(w io.Writer) screen {
	s := screen{width: report.DefaultWidth}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.terminal = true
	s.color = os.Getenv("NO_COLOR") == "" && !dumb()
	if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		s.width = n
	}
	return s
}

// dumb reports whether the terminal takes no control sequences.
func dumb() bool { t := os.Getenv("TERM"); return t == "dumb" || t == "" }

// checkFile returns, before any work is done, the reason why writeFile could not write to path, as far as that is known in
// advance. Files that are read must not be written.
func checkFile(flag, path string, reads ...string) error {
	if path == "" {
		return nil
	}
	if path == "-" {
		return usage("%s -: standard output has the result; name a file", flag)
	}
	fi, err := os.Stat(path)
	if err == nil && fi.IsDir() {
		return about(usage("%s %s: is a directory; name a file in it", flag, path), path)
	}
	for _, r := range reads {
		if ri, rerr := os.Stat(r); err == nil && rerr == nil && os.SameFile(fi, ri) {
			return about(usage("%s %s: that file is read; name another one", flag, path), path)
		}
	}
	if err == nil && !fi.Mode().IsRegular() {
		return nil
	}
	f, err := besideFile(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	temporary.Remove(f)
	return nil
}

// besideFile creates an empty file in the folder of path, with the usual permissions of a new file.
func besideFile(path string) (*os.File, error) { return temporary.Create(filepath.Dir(path), 0o666) }

func cannotWrite(path string, err error) error {
	return about(badOutput("cannot write %s: %v; name a file in a folder that exists, with room, and that may be written", path, unwrapPath(err)), path)
}

// writeFile writes a file completely or not at all: under another name next to it, which is then renamed. Anything that is
// not a regular file, such as a pipe, is written to directly.
func writeFile(path string, data []byte) error { return writeTo(path, bytes.NewReader(data)) }

// writeTo is writeFile for data that writes itself piece by piece.
func writeTo(path string, from io.WriterTo) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // keep the link
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = from.WriteTo(f)
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
		if err != nil {
			return cannotWrite(path, err)
		}
		return nil
	}
	f, err := besideFile(path)
	if err != nil {
		return cannotWrite(path, err)
	}
	defer temporary.Remove(f)
	if _, err = from.WriteTo(f); err == nil {
		err = replace(f, path)
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	return nil
}
