package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/drift"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/ci"
	"github.com/candor-go/candor/report/page"
	"github.com/candor-go/candor/report/picture/file"
)

// driftRun holds the flags of candor drift.
type driftRun struct {
	output
	files     sources
	maxMemory string
	level     float64
	adjust    string
}

func driftCommand() *cobra.Command {
	var f driftRun
	c := &cobra.Command{
		Use:   "drift OLD.state NEW.state",
		Short: "Show what changed between two independent sets of rows",
		Long: `Compare two states of different rows, such as last month's and this month's, as candor eval --state or candor merge -o wrote
them. The first line says what drifted: the scores, the outcomes, what the scores say about the outcomes (calibration), or
the metrics. The predictions themselves are not needed.

The difference of each metric, new minus old, has an interval and a p-value for two independent samples. Each bin of the
reliability diagram is tested for its share of the rows and for its outcomes. PSI and KS compare the distributions of the
scores. p-values are adjusted for the number of tests. To compare two models on the same rows, use candor compare: this
command would miss differences between them.

The states must agree in classes, metrics and bins. "-" is standard input. Of states with groups, only the totals are
compared. docs/drift.md says more.

Conditions of --fail-if and --require use psi, ks, ks.p, scores.p, outcomes.p, calibration.p, metrics.p, and delta.METRIC
with .low, .high or .p. With p_adjusted in place of p they use the p-value adjusted for the number of tests.`,
		Example: `  candor eval june.csv --prob p --labels y --state june.state
  candor eval july.csv --prob p --labels y --state july.state
  candor drift june.state july.state
  candor drift june.state july.state --format markdown --adjust bh
  candor drift june.state july.state --plot drift.svg
  candor drift june.state july.state --json --fail-if 'psi>0.2' --fail-if 'delta.nll.low>0'
  candor drift june.state july.state --require 'calibration.p_adjusted>0.01' --report junit=report.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("candor drift takes two states, the old and the new; name what candor eval --state FILE has written")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().SortFlags = false
	c.Flags().Float64Var(&f.level, "confidence", metrics.DefaultLevel, "`LEVEL` of intervals, and 1 minus that of the tests")
	c.Flags().StringVar(&f.adjust, "adjust", "holm", "`METHOD` that adjusts p-values for the number of tests: holm (controls any false finding), or bh (Benjamini-Hochberg: controls their share)")
	f.form(c)
	c.Flags().StringVar(&f.plot.file, "plot", "", "draw the changes of the metrics, with their intervals, to `FILE`.png, .svg or .pdf")
	f.gateFlags(c, "'psi>0.2', 'delta.nll.low>0'", "'calibration.p_adjusted>0.01'")
	f.reports.flags(c)
	f.files.flags(c)
	memoryFlag(c, &f.maxMemory)
	return c
}

// check reads the flags.
func (f *driftRun) check(c *cobra.Command, paths []string) (drift.Options, error) {
	var o drift.Options
	if err := f.checkForm(c); err != nil {
		return o, err
	}
	if !(f.level > 0 && f.level < 1) {
		return o, usage("--confidence is %v; it is between 0 and 1, such as 0.95", f.level)
	}
	adjust, err := drift.ParseAdjust(f.adjust)
	if err != nil {
		return o, noSuch("--adjust", f.adjust, "holm", "bh")
	}
	f.gates = nil
	for _, l := range []struct {
		conditions []string
		required   bool
	}{{f.failIf, false}, {f.require, true}} {
		for _, s := range l.conditions {
			g, err := report.ParseDriftGate(s, l.required)
			if err != nil {
				return o, usage("%v", err)
			}
			f.gates = append(f.gates, g)
		}
	}
	if err := f.files.check(paths...); err != nil {
		return o, err
	}
	if name, n := f.files.twice(paths); n > 1 {
		return o, about(usage("%s is named %d times, and can be read once; name it once", name, n), name)
	}
	if c.Flags().Changed("plot") {
		ok := false
		if f.plot.format, ok = file.FormatOf(f.plot.file); !ok {
			return o, usage("--plot is %q; the name of a picture ends in .png, .svg or .pdf", f.plot.file)
		}
		if err := f.plot.checkFile("", "", paths...); err != nil {
			return o, err
		}
	}
	if err := f.reports.check(c, map[string]string{"--plot": f.plot.file}, paths...); err != nil {
		return o, err
	}
	if name := f.files.call(paths[0]); len(f.reports.files) > 0 && name == f.files.call(paths[1]) {
		return o, usage("--report: both sets are named %s; name other files, or other names by --name", name)
	}
	return drift.Options{Level: f.level, Adjust: adjust}, nil
}

func (f *driftRun) run(c *cobra.Command, paths []string) error {
	o, err := f.check(c, paths)
	if err != nil {
		return err
	}
	r, err := openStates(&f.files, f.maxMemory, c.InOrStdin(), paths)
	if err != nil {
		return err
	}
	defer stayWithin(r.memory)()
	var sets [2]*eval.Evaluation
	for i, path := range paths {
		b, err := r.read(path)
		if err != nil {
			return err
		}
		name := f.files.call(path)
		if mark := &r.shards.sum; !mark.Whole() {
			return badAt(place{File: name, Remedy: "merge all shards by candor merge -o"}, "%s is not a whole set but %s", name, shardsOf(mark))
		}
		if strings.HasPrefix(string(b), multilabel.Magic) {
			return badAt(place{File: name, Remedy: "evaluate each label by itself, as a binary task"}, "%s is the state of several labels (--task multilabel)", name)
		}
		if strings.HasPrefix(string(b), sliced.Magic) {
			return badAt(place{File: name, Remedy: "evaluate both sets without --slice-by"}, "%s is a state with slices of the rows (--slice-by), which are not compared", name)
		}
		if strings.HasPrefix(string(b), compared.Magic) {
			return badAt(place{File: name, Remedy: "evaluate each set by candor eval --state"}, "%s is the state of candor compare, which has several sets of the same rows", name)
		}
		e, groups, err := decodeGroups(b, name)
		if err != nil {
			return err
		}
		if groups != nil {
			warn(c, "%s has groups of rows, and its whole is compared", name)
		}
		if e.Audit.Rows == 0 {
			return badAt(place{File: name, Remedy: "evaluate a set that has some"}, "%s has no rows", name)
		}
		sets[i] = e
	}
	names := [2]string{f.files.call(paths[0]), f.files.call(paths[1])}
	if sets[0].SHA256() == sets[1].SHA256() {
		warn(c, "%s and %s are equal: is the same set named twice?", names[0], names[1])
	}
	result, err := drift.Of(sets[0], sets[1], &o)
	if err != nil {
		return badAt(place{File: names[1], Remedy: "evaluate both sets with the same options"}, "%s against %s: %w", names[0], names[1], err)
	}
	return f.show(c, report.NewDrift(result, names[0], names[1]))
}

// show writes the result and its reports. If gates fail, it returns them as an error.
func (f *driftRun) show(c *cobra.Command, d *report.Drift) error {
	for _, g := range f.gates {
		if why := g.MissingIn(d); why != "" {
			return usage("%s %s", flagOf(g), why)
		}
	}
	outcomes := f.outcomes(func(g report.Gate) report.Outcome { return g.CheckDrift(d) })
	var b bytes.Buffer
	var err error
	switch f.format {
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
		if err = d.Table(&b, report.Markdown, 0); err == nil {
			for _, w := range append(d.Undefined(), d.Warnings...) {
				fmt.Fprintf(&b, "\n> %s\n", w)
			}
		}
	default:
		s := screenOf(c.OutOrStdout())
		s.verdict(&b, d.Verdict())
		if err = d.Table(&b, report.Plain, s.width); err == nil {
			for _, w := range append(d.Undefined(), d.Warnings...) {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+strings.TrimSuffix(w, ".")+".", s.width))
			}
			s.again(&b, d.Verdict())
		}
	}
	if err != nil {
		return err
	}
	if f.plot.file != "" {
		if err := f.plot.save(d.Forest(mostIntervals)); err != nil {
			return err
		}
	}
	if err := f.reports.writeResult(c, &ci.Result{Says: d.Verdict(), Sets: ci.OfDrift(d), Gates: outcomes}); err != nil {
		return err
	}
	if err := f.reports.page.write(func() ([]byte, error) { return page.Drift(d, driftCommandOf(d)) }); err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return failed(outcomes)
}
