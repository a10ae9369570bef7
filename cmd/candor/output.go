package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/ci"
	"github.com/candor-go/candor/report/page"
	"github.com/candor-go/candor/report/remedy"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// output holds the flags for showing results.
type output struct {
	json            bool
	format          string
	quiet           bool
	failIf, require []string
	minRows         int64 // of a group or slice that counts
	adjust          string
	adjustment      grouped.Adjustment
	sliced          bool               // rows are to be sliced
	slices          *sliced.Evaluation // their slices, once they have been read
	plot            plot
	reports         reports

	gates []report.Gate
}

func (o *output) flags(c *cobra.Command) {
	o.forms(c)
	c.Flags().BoolVar(&o.quiet, "quiet", false, "print no result, and compute none unless gates or reports need it; for runs that only write a state")
	o.plot.otherFlags(c)
	o.reports.flags(c)
	o.gateFlags(c, "'ece>0.05', 'ece.low>0.02', 'worst_group.bias.low>0.05'", "'ece.high<0.05'")
	c.Flags().Int64Var(&o.minRows, "min-rows", grouped.DefaultMinRows, "least `NUMBER` of rows of a group or slice that is tested, and of a group that worst_group looks at")
	c.Flags().StringVar(&o.adjust, "adjust", string(grouped.Holm), "`METHOD` that adjusts the p-values of groups or slices: holm (controls any false finding), or bh (Benjamini-Hochberg: controls their share)")
}

// gateFlags adds the flags of gates, with examples of them.
func (o *output) gateFlags(c *cobra.Command, fail, require string) {
	c.Flags().StringArrayVar(&o.failIf, "fail-if", nil, "exit with code 1 if `EXPR` holds: "+fail+"; may be given several times")
	c.Flags().StringArrayVar(&o.require, "require", nil, "exit with code 1 unless `EXPR` holds: "+require+"; may be given several times")
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
	return o.parseGates(c)
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
	return noSuch("--format", o.format, "table", "markdown", "csv", "json")
}

// silent reports whether nothing is asked of the answers.
func (o *output) silent() bool {
	return o.quiet && len(o.gates) == 0 && o.plot.file == "" && len(o.reports.files) == 0 && o.reports.page.file == ""
}

// checkQuiet returns an error if nothing is printed and nothing written; flag and file are of the state.
func (o *output) checkQuiet(flag, file string) error {
	if o.silent() && file == "" {
		return usage("--quiet prints no result, and nothing else is asked for; pass %s FILE too, or leave it out", flag)
	}
	return nil
}

// write writes an evaluation to standard output, with its groups if there are any. If gates fail, it returns them as an error.
func (o *output) write(c *cobra.Command, e *eval.Evaluation, groups *grouped.Evaluation, next string) error {
	if o.silent() {
		return nil
	}
	var d *report.Document
	if groups != nil {
		d = report.OfGroups(groups, grouped.TestOptions{MinRows: o.minRows, Adjust: o.adjustment})
	} else {
		d = report.New(e)
	}
	o.addSlices(d)
	if o.reports.page.file != "" {
		d.AddForecasts(e)
		if d.Remedies = remedy.Of(e); d.Remedies != nil {
			d.Remedies.Command = fitCommandOf(e, d)
		}
	}
	outcomes := o.outcomes(func(g report.Gate) report.Outcome {
		if g.Scope() == report.WorstGroup {
			return g.CheckGroups(groups, o.minRows)
		}
		return g.Check(d)
	})
	if o.plot.file != "" && o.plot.said && o.plot.kind == plotGroups {
		if err := o.plot.save(d.Tests.Forest(mostIntervals)); err != nil {
			return err
		}
	} else if err := o.plot.write(e, d); err != nil {
		return err
	}
	if err := o.reports.write(c, outcomes, ci.OfDocument(d)); err != nil {
		return err
	}
	if err := o.reports.page.write(func() ([]byte, error) { return page.Eval(d, commandOf(e, d)) }); err != nil {
		return err
	}
	if o.quiet {
		return failed(outcomes)
	}
	var b bytes.Buffer
	var err error
	switch o.format {
	case "json":
		d.Warnings = append(d.Warnings, notedBy(c)...)
		if err := d.WriteJSON(c.OutOrStdout()); err != nil {
			return badOutput("cannot write the result: %v", err)
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
		if err == nil && d.Tests != nil {
			err = groupTests(&b, d, report.Markdown, 0)
		}
		if err == nil && d.Slices != nil {
			fmt.Fprintf(&b, "\n%s\n\n", d.Slices.Sentence())
			err = d.Slices.Table(&b, report.Markdown, 0)
		}
		for _, w := range notes(d) {
			fmt.Fprintf(&b, "\n> %s\n", w)
		}
	default:
		s := screenOf(c.OutOrStdout())
		s.verdict(&b, d.Verdict())
		if err = d.Screen(&b, s.color, s.width); err != nil {
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
		if d.Tests != nil {
			if err = groupTests(&b, d, report.Plain, s.width); err != nil {
				break
			}
		}
		if d.Slices != nil {
			fmt.Fprintf(&b, "\n%s\n\n", report.Wrap(d.Slices.Sentence(), s.width))
			if err = d.Slices.Table(&b, report.Plain, s.width); err != nil {
				break
			}
		}
		if d.Input.Classes > 0 && !d.Wide(s.width) {
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
		s.again(&b, d.Verdict())
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return failed(outcomes)
}

// groupTests writes the table of the tests of groups, if there are any.
func groupTests(b *bytes.Buffer, d *report.Document, f report.Format, width int) error {
	var t bytes.Buffer
	if err := d.Tests.Table(&t, f, width); err != nil || t.Len() == 0 {
		return err
	}
	heading := "Calibration of groups, the worst first:"
	if d.Tests.Tested == 0 {
		heading = "Groups, which are not tested:"
	}
	fmt.Fprintf(b, "\n%s\n\n", heading)
	_, err := t.WriteTo(b)
	return err
}

// notes returns what a reader of a table should know beside it.
func notes(d *report.Document) []string { return slices.Concat(d.Undefined(), d.Warnings) }

// notesBeside is notes of a set beside the differences, which say themselves what is not known of a set.
func notesBeside(d *report.Document) []string {
	if d.RowValues != nil {
		return d.Warnings
	}
	return notes(d)
}

// screen describes where text goes.
type screen struct {
	terminal bool
	color    bool
	width    int
	height   int // 0 if it is no terminal
}

// strong returns text in bold, each line of it.
func (s screen) strong(text string) string {
	if !s.color {
		return text
	}
	const on, off = "\x1b[1m", "\x1b[0m"
	return on + strings.ReplaceAll(text, "\n", off+"\n"+on) + off
}

// verdict writes the first line of a result. In a pipe it stays one line.
func (s screen) verdict(w io.Writer, verdict string) {
	if s.terminal {
		verdict = report.Wrap(verdict, s.width)
	}
	fmt.Fprintf(w, "%s\n\n", s.strong(verdict))
}

// again repeats the first line at the end of a result that is too long for the screen, where it has scrolled away.
func (s screen) again(b *bytes.Buffer, verdict string) {
	if s.terminal && bytes.Count(b.Bytes(), []byte("\n")) >= s.height {
		fmt.Fprintf(b, "\n%s\n", s.strong(report.Wrap(verdict, s.width)))
	}
}

func screenOf(w io.Writer) screen {
	s := screen{width: report.DefaultWidth}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.terminal = true
	s.color = os.Getenv("NO_COLOR") == "" && !dumb()
	if n, h, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
		s.width, s.height = n, h
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
	return about(badOutput("cannot write %s: %v; name a file in an existing, writable folder with free space", path, unwrapPath(err)), path)
}

// writeFile writes a file completely or not at all: under another name next to it, which is then renamed. Anything that is
// not a regular file, such as a pipe, is written to directly.
func writeFile(path string, data []byte) error { return writeTo(path, bytes.NewReader(data)) }

// writeTo is writeFile for data that writes itself piece by piece.
func writeTo(path string, from io.WriterTo) error {
	path = linked(path)
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
	f, err := temporary.CreateFor(path, 0o666)
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

// linked returns the file that a link leads to, so that the link is kept.
func linked(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}

// comparison writes a comparison to standard output, and its reports. If gates fail, it returns them as an error.
func (o *output) comparison(c *cobra.Command, first *eval.Evaluation, docs *report.Comparison) error {
	outcomes := o.outcomes(func(g report.Gate) report.Outcome { return g.CheckDifferences(docs.Differences) })
	says := ""
	if docs.Differences != nil {
		says = docs.Differences.Sentence()
	}
	if err := o.reports.writeResult(c, &ci.Result{Says: says, Sets: ci.OfComparison(docs), Gates: outcomes, Deltas: ci.DeltasOf(docs), Rankings: ci.RankingsOf(docs)}); err != nil {
		return err
	}
	if err := o.reports.page.write(func() ([]byte, error) {
		return page.Compare(docs, compareCommandOf(first, docs))
	}); err != nil {
		return err
	}
	var b bytes.Buffer
	var err error
	d := docs.Differences
	switch o.format {
	case "json":
		if err := docs.WriteJSON(c.OutOrStdout()); err != nil {
			return badOutput("cannot write the result: %v", err)
		}
	case "csv":
		err = docs.Table(&b, report.CSV, 0)
	case "markdown":
		if d != nil {
			fmt.Fprintf(&b, "%s\n\n", d.Sentence())
		}
		for _, s := range docs.Sets {
			fmt.Fprintf(&b, "- %s: %s\n", visible.Text(s.Name), s.Verdict())
		}
		fmt.Fprintln(&b)
		if err = docs.Table(&b, report.Markdown, 0); err == nil && d != nil {
			fmt.Fprintln(&b)
			err = d.Table(&b, report.Markdown, 0)
		}
		if d != nil {
			for _, l := range []string{d.Simultaneous(), d.FlipsText()} {
				if l != "" {
					fmt.Fprintf(&b, "\n%s\n", l)
				}
			}
		}
		if d != nil && d.Groups != nil {
			fmt.Fprintf(&b, "\n%s\n\n", strings.Join(d.GroupSentences(), " "))
			if err = d.GroupsTable(&b, report.Markdown, 0); err != nil {
				break
			}
		}
		if d != nil && d.Flipped != nil && len(d.Flipped.Rows) > 0 {
			fmt.Fprintf(&b, "\n%s\n\n", d.Flipped.Sentence())
			if err = d.Flipped.Table(&b, report.Markdown, 0); err != nil {
				break
			}
		}
		for _, l := range skillLines(docs.Skills) {
			fmt.Fprintf(&b, "\n%s\n", l)
		}
		for _, w := range docs.SetNotes(notesBeside) {
			fmt.Fprintf(&b, "\n> %s\n", w)
		}
		if d != nil {
			for _, w := range d.Notes() {
				fmt.Fprintf(&b, "\n> %s\n", w)
			}
		}
	default:
		s := screenOf(c.OutOrStdout())
		line := func(l string) string {
			if s.terminal {
				return report.Wrap(l, s.width)
			}
			return l
		}
		if d != nil {
			s.verdict(&b, d.Sentence())
		}
		for _, d := range docs.Sets {
			fmt.Fprintln(&b, line(visible.Text(d.Name)+": "+d.Verdict()))
		}
		fmt.Fprintln(&b)
		var values bytes.Buffer
		if err = docs.Table(&values, report.Plain, s.width); err != nil {
			break
		}
		of := "In brackets " + percent(first.Spec.Level) + " intervals of each set"
		if !bytes.Contains(values.Bytes(), []byte(" [")) { // they have no room
			of = ""
		}
		b.Write(values.Bytes())
		stars := "* the best value."
		switch {
		case d == nil && of != "":
			stars += " " + of + ", which do not test a difference."
		case d != nil:
			stars = ""
			for i := range docs.Sets[0].Metrics {
				if slices.Contains(docs.Best(i), true) {
					stars = "* better than every other set."
					break
				}
			}
			if of != "" {
				stars = strings.TrimSpace(stars + " " + of + ".")
			}
		}
		if l := docs.Shortened(); l != "" {
			stars = strings.TrimSpace(stars + " " + l)
		}
		if stars != "" {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap(stars, s.width))
		}
		if d != nil {
			title := "Differences:"
			if len(d.Names) == 2 && len(d.List) > 0 {
				title = fmt.Sprintf("Differences, %s minus %s:", visible.Text(d.Names[d.List[0].B]), visible.Text(d.Names[d.List[0].A]))
			}
			var rows strings.Builder
			if err = d.Table(&rows, report.Plain, s.width); err != nil {
				break
			}
			if rows.Len() > 0 { // else no difference has an interval
				fmt.Fprintf(&b, "\n%s\n\n%s", report.Wrap(title, s.width), &rows)
			}
			if l := d.FlipsText(); l != "" {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap(l, s.width))
			}
			if f := d.Flipped; f != nil && len(f.Rows) > 0 {
				fmt.Fprintf(&b, "\n%s\n\n", report.Wrap(f.Sentence(), s.width))
				if err = f.Table(&b, report.Plain, s.width); err != nil {
					break
				}
			}
			if d.Groups != nil {
				for i, l := range d.GroupSentences() {
					if i == 0 {
						fmt.Fprintln(&b)
					}
					fmt.Fprintln(&b, report.Wrap(l, s.width))
				}
				fmt.Fprintf(&b, "\n%s\n\n", report.Wrap(d.GroupsTitle(), s.width))
				if err = d.GroupsTable(&b, report.Plain, s.width); err != nil {
					break
				}
			}
			for _, l := range []string{d.Independent(), d.Simultaneous()} {
				if l != "" {
					fmt.Fprintf(&b, "\n%s\n", report.Wrap(l, s.width))
				}
			}
		}
		for _, l := range skillLines(docs.Skills) {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap(l, s.width))
		}
		for _, w := range docs.SetNotes(notesBeside) {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+strings.TrimSuffix(w, ".")+".", s.width))
		}
		if d != nil {
			for _, w := range d.Notes() {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+strings.TrimSuffix(w, ".")+".", s.width))
			}
			s.again(&b, d.Sentence())
		}
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return failed(outcomes)
}
