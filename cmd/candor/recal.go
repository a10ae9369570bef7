package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/page"
	"github.com/spf13/cobra"
)

func recalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "recal",
		Short: "Recalibrate probabilities and forecasts",
		Long: `Recalibrate: fit a map from what a model says to what it should have said, on held-out rows, and apply it to others.

'candor recal fit' writes the map to a file and reports how much it helps on rows that it was not fitted to.
'candor recal best' compares the methods, and fits the simplest one that is within noise of the best.
'candor recal apply' applies the map to other predictions.
'candor recal export' writes it as code that needs no candor.`,
		Example: `  candor recal fit temperature val_logits.npy --labels val_labels.npy --input logits -o map.json
  candor recal apply map.json test_logits.npy --input logits -o test_probs.npy
  candor recal export map.json --to python -o recalibrate.py`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return usage("there is no command 'candor recal %s'%s: it is fit, best, apply or export", args[0], meant(args[0], []string{"fit", "best", "apply", "export"}))
		},
		Args: cobra.ArbitraryArgs,
	}
	c.AddCommand(recalFitCommand(), recalBestCommand(), recalApplyCommand(), recalExportCommand())
	return c
}

// recalFit holds the flags of candor recal fit.
type recalFit struct {
	evalFlags
	output
	out   string
	folds int

	besides int64 // bytes in use besides a fit, or besides what differences are found from
}

func recalFitCommand() *cobra.Command {
	var f recalFit
	c := &cobra.Command{
		Use:   "fit METHOD PREDICTIONS...",
		Short: "Fit a map that recalibrates",
		Long: `Fit a map to labelled predictions of rows that the model was not trained on, and write it to a file.

METHOD is one of
` + methodList() + `

Options stand in parentheses: 'histogram(bins=10,equal_mass)'. Methods for binary tasks also take rows of K classes: each
class against the rest, then divided by the sum. With top_label only the probability of the top class is mapped.
docs/recalibration.md says which method to use.

Cross-fitting shows how much the map helps: rows are divided into --folds by a hash of --seed and their numbers, and each
row is recalibrated by a map that was fitted to the other folds. --cluster keeps rows that depend on each other, such as
visits of a patient, in one fold, and the intervals allow for that dependence. The map in the file is fitted to all rows. For
temperature the report also shows NLL and ECE of all rows against T.

Files, labels and flags are those of candor eval. Two columns, (N, 2), are a binary task: the map is fitted to column 1, or to
the class that --event names, and applies to both. --task classification makes them two classes, which vector, matrix
and dirichlet need. Files are read several times, so none may be standard input or a pipe.`,
		Example: `  candor recal fit temperature logits.npy --labels labels.npy --input logits -o map.json
  candor recal fit isotonic scores.npy --labels outcomes.npy -o isotonic.json --plot before-after.png
  candor recal fit 'matrix(off_diagonal=1,bias=1)' probs.npy --labels labels.npy -o matrix.json
  candor recal fit 'histogram(top_label)' probs.npy --labels labels.npy --json
  candor recal fit isotonic visits.csv --prob p --labels y --cluster patient
  candor recal fit sigma forecast.csv --mean mu --std sigma --observed y -o sigma.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("METHOD is missing: one of %s", strings.Join(recal.Names(), ", "))
			}
			return nil
		},
		ValidArgsFunction: completeMethod,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c, args[0], matched(args[1:])) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	like := &cobra.Command{} // the flags of candor eval, some of which are used
	f.evalFlags.flags(like)
	f.evalFlags.limits(like)
	take := func(names ...string) {
		for _, n := range names {
			fl.AddFlag(like.Flags().Lookup(n))
		}
	}
	take("labels", "input", "task", "event", "weights", "prob", "prob-prefix", "logit-prefix", "pivot", "id", "on-unmatched", "classes", "no-header", "ignore-label", "percent")
	fl.Lookup("input").Usage = "`KIND` of scores: probs, logits or logprobs"
	fl.Lookup("task").Usage = "`TASK`: binary, of one or two columns, or classification, of three or more, unless it is said; regression, or quantiles; that of sigma is regression"
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` of the map to write, as JSON; without it the map is only reported")
	fl.IntVar(&f.folds, "folds", 5, "`NUMBER` of folds of the cross-fitting")
	fl.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that seeds the division of rows into folds")
	take("metrics", "bins", "confidence", "mean", "std", "observed", "error", "quantile-prefix", "levels", "cluster", "bfloat16", "name")
	f.output.forms(c)
	f.reports.page.flags(c)
	f.evalFlags.limits(c)
	return c
}

// nearMethod returns a hint at the most similar method name, for an unknown name.
func nearMethod(s string) string {
	name, _, _ := strings.Cut(s, "(")
	if slices.Contains(recal.Names(), strings.TrimSpace(name)) {
		return ""
	}
	return meant(strings.TrimSpace(name), recal.Names())
}

// completeMethod completes METHOD; the other arguments are files.
func completeMethod(_ *cobra.Command, args []string, _ string) (l []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, m := range recal.Descriptors() {
		l = append(l, m.Name+"\t"+m.Short)
	}
	return l, cobra.ShellCompDirectiveNoFileComp
}

// methodList returns a line for each method.
func methodList() string {
	var b strings.Builder
	for _, m := range recal.Descriptors() {
		line := fmt.Sprintf("  %-12s %s", m.Name, m.Short)
		switch {
		case m.Options == "":
		case len(line)+len(m.Options)+3 <= 100:
			line += " (" + m.Options + ")"
		default:
			line += fmt.Sprintf("\n  %-12s   (%s)", "", m.Options)
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *recalFit) run(c *cobra.Command, method string, paths []string) error {
	if err := f.output.check(c); err != nil {
		return err
	}
	if err := f.useRemote(&paths); err != nil {
		return err
	}
	f.strict = true
	m, err := recal.Parse(method)
	if err != nil {
		return usage("%v%s", err, nearMethod(method))
	}
	if err := f.taskOf(m); err != nil {
		return err
	}
	reads, err := f.checkReads(paths)
	if err != nil {
		return err
	}
	if err := checkFile("-o", f.out, reads...); err != nil {
		return err
	}
	if err := f.plot.checkFile("-o", f.out, reads...); err != nil {
		return err
	}
	if err := f.reports.page.check(c, map[string]string{"-o": f.out, "--plot": f.plot.file}, reads...); err != nil {
		return err
	}
	j, err := f.job(c)
	if err != nil {
		return err
	}
	j.also = f.plot.also
	defer stayWithin(j.memory)()
	warnISA(c)
	r, err := f.fit(c, j, m, paths)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeFile(f.out, r.Map); err != nil {
			return err
		}
	}
	if err := f.reports.page.write(func() ([]byte, error) {
		return page.Recalibration(r, recalCommandOf(c, r))
	}); err != nil {
		return err
	}
	return f.show(c, r)
}

// checkReads checks the folds, and the files that are read several times, which it returns.
func (f *recalFit) checkReads(paths []string) ([]string, error) {
	if len(paths) == 0 && !f.columns.files() {
		return nil, usage("no predictions are named; name their files")
	}
	if f.folds < 2 || f.folds > 1000 {
		return nil, usage("--folds is %d; it is a number from 2 to 1000", f.folds)
	}
	reads := slices.Concat(paths, f.labels, f.weights, one(f.columns.cluster))
	if len(paths) == 0 {
		reads = append(reads, f.columns.named()...)
	}
	if err := f.files.check(reads...); err != nil {
		return nil, err
	}
	if once := f.files.once(reads...); once != "" {
		return nil, usage("everything is read several times, and %s only once; name a file", once)
	}
	return reads, nil
}

// taskOf sets the task that the method implies, if --task is not given.
func (f *recalFit) taskOf(m recal.Method) error {
	ofNumbers := false
	switch m.(type) {
	case recal.Sigma:
		ofNumbers = true
		if f.task == "" {
			f.task = "regression"
		}
		if f.task != "regression" {
			return usage("%s is for --task regression", m)
		}
	case recal.Quantile:
		ofNumbers = true
		if f.task == "" {
			f.task = "regression"
			if f.columns.prefix != "" || f.columns.levels != "" {
				f.task = "quantiles"
			}
		}
		if f.task != "regression" && f.task != "quantiles" {
			return usage("%s is for --task regression and quantiles", m)
		}
	}
	if !ofNumbers && f.task != "" && f.task != "classification" && f.task != "binary" {
		return usage("%s is for classes, and --task is %q", m, f.task)
	}
	if f.metrics == "default" {
		switch {
		case f.task == "regression" && !isQuantile(m):
			f.metrics = "nll,crps,rmse,sharpness_root,zms,miscalibration_area,coverage_50,coverage_90"
		case ofNumbers:
			f.metrics = "coverage_50,coverage_90,width_50,width_90,interval_score"
		default:
			f.metrics = "accuracy,confidence,nll,brier,ece,calibration_error_squared"
		}
	}
	return nil
}

func isQuantile(m recal.Method) bool {
	_, ok := m.(recal.Quantile)
	return ok
}

// fit fits the map, and evaluates the rows before and after.
func (f *recalFit) fit(c *cobra.Command, j *job, m recal.Method, paths []string) (*report.Recalibration, error) {
	var last reader
	j.passes = new(passes)
	d := reread(c, j.passes, func() (rowReader, error) {
		r, err := j.source(&f.evalFlags, paths)
		last = r
		return r, err
	})
	bad := func(err error) error { return f.cannotFit(err, last, paths) }
	var o *recal.Options
	j.more = 1 // the evaluation after
	before, err := f.evaluate(c, j, paths, func(e *eval.Evaluation, i predictions.Info) error {
		if err := f.checkMany(m, i, paths); err != nil {
			return err
		}
		var err error
		if o, err = f.checkMemory(j, m, i, e); err != nil {
			return err
		}
		need := recal.NeedOf(m, fitSize(j, i), o)
		j.passes.about = 1 + need.Reads + f.readsBehind(m, need.Reads)
		return f.plot.ready(e)
	})
	if err != nil {
		return nil, err
	}
	m = f.method(m, before.Spec.Levels)
	whole, err := m.Fit(d, o)
	if err != nil {
		return nil, bad(err)
	}
	if f.columns.cluster != "" {
		if whole, err = recal.ByClusters(whole, d, o); err != nil {
			return nil, bad(err)
		}
	}
	j.passes.about = j.passes.done + f.readsBehind(m, whole.Fit().Reads)
	r := &report.Recalibration{Method: m.String(), Says: says(whole, f.level), Folds: f.folds, Before: report.Brief(before)}
	if r.Map, err = recal.Marshal(whole); err != nil {
		return nil, err
	}
	sets := []*eval.Evaluation{before}
	folds := recal.Folds{K: f.folds, Seed: f.seed, Clusters: f.columns.cluster != ""}
	maps, err := recal.CrossFit(m, d, folds, o)
	switch r.Reason = noMap(err); {
	case r.Reason != "":
	case err != nil:
		return nil, bad(err)
	default:
		raw := recal.OpenFunc(func() (recal.Source, error) { return j.source(&f.evalFlags, paths) }) // its progress is that of the others
		after, found, err := f.afterAndDifferences(j, m, before, whole, raw, recal.CrossApplied(maps, d, folds))
		if err != nil {
			return nil, bad(err)
		}
		r.After, r.Differences, sets = report.Brief(after), found, append(sets, after)
		// The map's own results are logits whatever they look like.
		r.After.Warnings = slices.DeleteFunc(r.After.Warnings, report.DoubtsLogits)
	}
	if t, ok := whole.(*recal.TemperatureMap); ok {
		if r.Temperatures, err = f.temperatures(j, before, t, d); err != nil {
			return nil, bad(err)
		}
	}
	names := []string{"before", "after"}[:len(sets)]
	return r, f.plot.overlay(names, sets, nil, nil)
}

// checkMany returns an error unless a method for several classes has them.
func (f *recalFit) checkMany(m recal.Method, i predictions.Info, paths []string) error {
	switch m.(type) {
	case recal.Vector, recal.Matrix, recal.Dirichlet:
	default:
		return nil
	}
	switch {
	case i.Pairs:
		return fault(f.files.calls(paths), "pass --task classification to fit it to the two columns as classes, or take platt",
			"%s is for two classes or more, and the two columns are read as a binary task", m)
	case i.Classes == 1:
		return fault(f.files.calls(paths), "a factor and a bias of one logit are platt", "%s is for two classes or more, and these rows have one score", m)
	}
	return nil
}

// checkMemory returns options with which the fit stays within --max-memory, or an error that says how much it needs.
func (f *recalFit) checkMemory(j *job, m recal.Method, i predictions.Info, e *eval.Evaluation) (*recal.Options, error) {
	o := &recal.Options{Threads: j.pass.Threads, Memory: (j.memory - fixedMemory) / 2}
	if f.besides = fixedMemory; i.Rows < 0 {
		return o, nil // tables of forecasts, whose maps are small
	}
	s := fitSize(j, i)
	need, held, pairs := recal.Need{}, int64(0), pairNeed(e, extentOf(i))
	for ; ; o.Threads-- {
		need = recal.NeedOf(m, s, o)
		held = f.held(need, i, j.read.Buffers, j.read.BufferBytes)
		if held+max(need.Fit, pairs) <= j.memory {
			f.besides = held
			o.Memory = max(need.Fit, min(o.Memory, j.memory-held))
			return o, nil
		}
		if o.Threads == 1 {
			break
		}
	}
	// More memory also means more buffers.
	all := held + max(need.Fit, pairs)
	for {
		_, buffers, bytes, err := plan(f.threads, all, 0)
		if err != nil {
			return nil, err
		}
		more := f.held(need, i, buffers, bytes) + max(need.Fit, pairs)
		if more <= all {
			break
		}
		all = more
	}
	what := count(i.Rows, "row")
	if i.Classes > 1 {
		what += fmt.Sprintf(" x %s classes", report.Count(int64(i.Classes)))
	}
	return nil, usage("%s of %s takes about %d MiB, of which %d are for the maps of all rows and of %d folds; pass --max-memory %dMiB", m, what, all>>20+1,
		(int64(f.folds+1)*need.Map)>>20, f.folds, all>>20+1)
}

func fitSize(j *job, i predictions.Info) recal.Size {
	return recal.Size{Rows: max(i.Rows, 0), Classes: i.Classes, Kind: j.read.Kind, DType: i.DType, Weighted: i.Weighted}
}

// readsBehind estimates the number of reads after a fit to all rows that takes each reads: those of the folds, of the
// recalibrated rows, and of the temperatures.
func (f *recalFit) readsBehind(m recal.Method, each int) int {
	n := f.folds*each + 1
	if _, ok := m.(recal.Temperature); ok {
		n += len(nearTemperatures) + 2
	}
	return n
}

// held estimates the memory that is in use besides a fit.
func (f *recalFit) held(need recal.Need, i predictions.Info, buffers, bytes int) int64 {
	const program = 40 << 20
	// Each buffer is read into, and the results of maps for its rows take four times as much: by folds and together, in
	// float64.
	chunk := min(max(int64(bytes), int64(i.Classes)*int64(i.DType.Size())), i.Bytes)
	return program + 5*int64(buffers)*chunk + int64(f.folds+1)*need.Map + need.File
}

// method returns the method, adapted to what the files contain.
func (f *recalFit) method(m recal.Method, levels []float64) recal.Method {
	if q, ok := m.(recal.Quantile); ok && levels != nil {
		q.Levels = levels
		return q
	}
	return m
}

// specAfter returns the spec of the rows that a map recalibrates, by the metrics of the original ones.
func (f *recalFit) specAfter(before *eval.Evaluation, m recal.Map) (eval.Spec, error) {
	spec := eval.Spec{Base: before.Spec.Base, Brier: before.Spec.Brier, Level: before.Spec.Level, Cluster: before.Spec.Cluster}
	kind, classes, err := m.Out(before.Audit.Kind, before.Audit.Classes)
	if err != nil {
		return spec, err
	}
	spec.Kind, spec.Classes = kind, classes
	if q, ok := m.(*recal.QuantileMap); ok {
		spec.Levels = q.Levels()
	}
	for _, l := range before.Spec.Metrics {
		// Metrics that mean something else for such predictions are checked again.
		p, err := eval.ParseMetrics(l.String(), spec.Shape())
		if err != nil {
			return spec, usage("--metrics: of what %s makes of the rows, which are %s: %v", m.Method(), kind, err)
		}
		spec.Metrics = append(spec.Metrics, p...)
	}
	return spec, nil
}

// evaluateApplied evaluates the recalibrated data.
func evaluateApplied(j *job, spec eval.Spec, d recal.Data) (*eval.Evaluation, error) {
	e, err := eval.New(spec)
	if err != nil {
		return nil, err
	}
	src, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return e, e.AddSource(src, &j.pass)
}

// nearTemperatures are factors of the fitted temperature at which all rows are evaluated too.
var nearTemperatures = []float64{0.5, 0.7071, 0.8409, 1.1892, 1.4142, 2}

// temperatures evaluates all rows at several temperatures.
func (f *recalFit) temperatures(j *job, before *eval.Evaluation, m *recal.TemperatureMap, d recal.Data) ([]report.AtTemperature, error) {
	ts := []float64{1, m.T()}
	for _, by := range nearTemperatures {
		ts = append(ts, by*m.T())
	}
	slices.Sort(ts)
	var l []report.AtTemperature
	for _, t := range slices.Compact(ts) {
		at := recal.NewTemperature(t, before.Audit.Classes)
		spec, err := f.specAfter(before, at)
		if err != nil {
			return nil, err
		}
		e, err := evaluateApplied(j, spec, recal.OpenFunc(func() (recal.Source, error) {
			src, err := d.Open()
			if err != nil {
				return nil, err
			}
			return &appliedSource{recal.Applied(at, src), src}, nil
		}))
		if err != nil {
			return nil, err
		}
		v := report.AtTemperature{T: t, NLL: valueOf(e, "nll"), ECE: valueOf(e, "ece")}
		switch t {
		case m.T():
			v.Note = "the fit"
		case 1:
			v.Note = "as given"
		}
		l = append(l, v)
	}
	return l, nil
}

func valueOf(e *eval.Evaluation, name string) float64 {
	m, err := eval.ParseMetrics(name, e.Spec.Shape())
	if err != nil {
		panic(err)
	}
	return e.Value(m[0]).Value
}

type appliedSource struct {
	metrics.Source
	of recal.Source
}

func (a *appliedSource) Close() error { return a.of.Close() }

// show prints the result of the fit.
func (f *recalFit) show(c *cobra.Command, r *report.Recalibration) error {
	var b bytes.Buffer
	var err error
	docs := r.Comparison()
	how := fmt.Sprintf("after: by cross-fitting in %d folds, each row by a map fitted to the others.", r.Folds)
	if r.After == nil {
		how = "There is no after: " + strings.TrimSuffix(r.Reason, ".") + "."
	}
	switch f.format {
	case "json":
		r.Before.Warnings = append(r.Before.Warnings, notedBy(c)...)
		var j []byte
		if j, err = r.JSON(); err == nil {
			b.Write(j)
		}
	case "csv":
		err = docs.Table(&b, report.CSV, 0)
	case "markdown":
		fmt.Fprintf(&b, "%s\n\n", r.Says)
		if s := r.Effect(); s != "" {
			fmt.Fprintf(&b, "%s\n\n", s)
		}
		if err = docs.Table(&b, report.Markdown, 0); err == nil && r.Differences != nil {
			fmt.Fprintln(&b)
			err = r.Differences.Table(&b, report.Markdown, 0)
		}
		if err == nil && r.Temperatures != nil {
			fmt.Fprintln(&b)
			err = r.TemperaturesTable(&b, report.Markdown)
		}
		fmt.Fprintf(&b, "\n%s\n", how)
		for _, d := range docs.Sets {
			for _, w := range notes(d.Document) {
				fmt.Fprintf(&b, "\n> %s: %s\n", d.Name, w)
			}
		}
		if r.Differences != nil {
			for _, w := range r.Differences.Notes() {
				fmt.Fprintf(&b, "\n> %s\n", w)
			}
		}
	default:
		s := screenOf(c.OutOrStdout())
		fmt.Fprintf(&b, "%s\n\n", report.Wrap(r.Says, s.width))
		if e := r.Effect(); e != "" {
			fmt.Fprintf(&b, "%s\n\n", s.strong(report.Wrap(e, s.width)))
		}
		if err = docs.Table(&b, report.Plain, s.width); err != nil {
			break
		}
		fmt.Fprintf(&b, "\n%s\n", report.Wrap(how, s.width))
		if err = differencesText(&b, r.Differences, "Differences, after minus before:", s.width); err != nil {
			break
		}
		if r.Temperatures != nil {
			fmt.Fprintf(&b, "\nAll rows against T:\n\n")
			if err = r.TemperaturesTable(&b, report.Plain); err != nil {
				break
			}
		}
		for _, d := range docs.Sets {
			for _, w := range notes(d.Document) {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+d.Name+": "+strings.TrimSuffix(w, ".")+".", s.width))
			}
		}
		if r.Differences != nil {
			for _, w := range r.Differences.Notes() {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+w+".", s.width))
			}
		}
		next := "Next: -o MAP.json writes the map; candor recal apply MAP.json OTHERS.npy -o OUT.npy applies it"
		if f.out != "" {
			next = "Next: candor recal apply " + visible.Text(f.out) + " OTHERS.npy -o OUT.npy"
		}
		fmt.Fprintf(&b, "\n%s\n", report.Wrap(next, s.width))
		if e := r.Effect(); e != "" {
			s.again(&b, e)
		}
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return nil
}

// recalApply holds the flags of candor recal apply.
type recalApply struct {
	evalFlags
	keepFlags
	out, as string
	bounds  bool
}

func recalApplyCommand() *cobra.Command {
	var f recalApply
	c := &cobra.Command{
		Use:   "apply MAP PREDICTIONS...",
		Short: "Write recalibrated predictions",
		Long: `Apply a map of 'candor recal fit' to predictions and write the result as .npy or a table. The result holds probabilities,
whatever --input is, unless --as says otherwise: float64 for float64 scores and float32 otherwise, in the shape of the input.
For regression it holds means and standard deviations (N, 2), or quantiles (N, levels). No labels or observed values are
needed. Several files are shards, in natural order.

A map of a binary task takes one column or two. If there are two, it takes column 1, or the class that --event names, which
must be the class that it was fitted to. If a result in one column, (N,), would round to 1 although the map is below 1, two
columns are written, (N, 2), with a note: column 0 holds the rest. --as logits keeps all digits in one column.

If there are observed values (--observed, --labels, a column named observed, or the third column of an array), they are
written beside the means and standard deviations, (N, 3), so that candor eval can read the file. Two columns of an array are
means and standard deviations, unless --error names one of them; errors stay errors.

-o writes an array, .npy, or a table: .csv or .tsv, also .gz and .zst of them, .parquet, .arrow or .feather (an Arrow file) and
.arrows (an Arrow stream). Its columns are prob_ and the name or number of each class, or prob for a binary task in one column
(logit or logprob with --as); mean, sd and observed; q and the level of each quantile. --id and --keep copy columns of a table
in front of these, so that 'candor eval OUT.csv --prob-prefix prob_ --labels label' reads what --keep label wrote.

--bounds writes p0 and p1 of a map by venn_abers behind the probabilities: an array of three columns, (N, 3), of a binary task, and
(N, 3 K) of K classes, all p0 behind all probabilities and then all p1; in a table the columns low and high, or low_ and high_ and
the names of the classes.

Rows that cannot be used are an error, and then nothing is written. "-" is standard input or output.`,
		Example: `  candor recal apply map.json logits.npy --input logits -o probs.npy
  candor recal apply map.json shard-*.npy --input logits -o probs.npy
  candor recal apply map.json predictions.csv --prob-prefix prob_ --id id --keep label -o out.csv
  candor recal apply map.json logits.npy --input logits --as logits -o scaled.npy
  candor recal apply sigma.json forecast.csv --mean mu --std sigma -o scaled.npy
  candor recal apply sigma.json forecast.csv --mean mu --std sigma --observed y -o scaled.npy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("candor recal apply takes a map's file and predictions")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], matched(args[1:])) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	like := &cobra.Command{}
	f.evalFlags.flags(like)
	f.evalFlags.limits(like)
	take := func(names ...string) {
		for _, n := range names {
			fl.AddFlag(like.Flags().Lookup(n))
		}
	}
	take("input", "event", "prob", "prob-prefix", "logit-prefix", "pivot", "classes", "no-header", "percent")
	fl.Lookup("input").Usage = "`KIND` of scores: probs, logits or logprobs"
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` to write: .npy, .csv, .tsv, .parquet, .arrow, .feather or .arrows")
	f.keepFlags.flags(c)
	fl.StringVar(&f.as, "as", "probs", "`KIND` to write: probs, logits or logprobs")
	fl.BoolVar(&f.bounds, "bounds", false, "write p0 and p1 of venn_abers too")
	take("mean", "std", "observed", "error", "quantile-prefix", "levels", "labels", "bfloat16", "name", "threads", "max-memory")
	fl.Lookup("labels").Usage = "`FILE` of observed values, for arrays of regression forecasts"
	return c
}

func (f *recalApply) run(c *cobra.Command, file string, paths []string) error {
	switch {
	case f.out == "":
		return usage("-o FILE is missing: the result is written to a file, .npy, %s", anyOf(predictions.TableExtensions()))
	case f.out == "-" && screenOf(c.OutOrStdout()).terminal:
		return usage("-o -: standard output is a terminal, which cannot show .npy; name a file, or pipe it to a program")
	}
	if _, table := predictions.TableFormatOf(f.out); !table && f.out != "-" && !strings.HasSuffix(strings.ToLower(f.out), ".npy") {
		return usage("-o %s: its extension names no format; end the name in .npy, %s", f.out, anyOf(predictions.TableExtensions()))
	}
	if err := f.useRemote(&paths); err != nil {
		return err
	}
	if f.out != "-" {
		if err := checkFile("-o", f.out, append(slices.Concat(paths, f.labels), file)...); err != nil {
			return err
		}
	}
	if file == "-" {
		return usage("the map is read from a file; - is for predictions and for what is written")
	}
	if err := f.files.check(append(slices.Concat(paths, f.labels), file)...); err != nil {
		return err
	}
	m, err := readMap(file)
	if err != nil {
		return fault(f.files.call(file), "", "%v", err)
	}
	switch m.Fit().Kind {
	case metrics.Normals.String():
		f.task = "regression"
	case metrics.Quantiles.String():
		f.task = "quantiles"
	}
	like := &cobra.Command{}
	(&evalFlags{}).flags(like) // none of these flags counts as given
	for _, flag := range []string{"input", "event", "as"} {
		if c.Flags().Changed(flag) && f.task != "" {
			return usage("--%s is for classes, and the map is for regression forecasts; leave it out", flag)
		}
	}
	if f.task == "" && m.Fit().Classes == 2 { // fitted to two classes
		f.task = "classification"
		if c.Flags().Changed("event") {
			return usage("--event is for binary tasks, and the map was fitted to two classes; leave it out")
		}
	}
	as, err := f.written()
	if err != nil {
		return err
	}
	if f.bounds {
		if c, ok := m.(*recal.CurveMap); !ok || !c.HasBounds() {
			return usage("--bounds is for maps by venn_abers without top_label, and this one is %s; leave it out", m.Method())
		}
		if as != metrics.Probs {
			return usage("--bounds writes probabilities; leave --as out")
		}
	}
	if _, ofNumbers := numbers[f.task]; len(f.labels) > 0 && !ofNumbers {
		return usage("--labels names observed values for regression forecasts, and a map of classes needs none; leave it out")
	}
	if f.table.pivot != "" {
		f.table.ids = f.keepFlags.ids
	}
	f.table.unmatched = "error"
	f.metrics, f.level, f.bins, f.onInvalid, f.strict = "default", metrics.DefaultLevel, 1, "error", true
	j, err := f.job(like)
	if err != nil {
		return err
	}
	j.read.NoLabels, f.unobserved = true, true
	out, err := f.newTableOut(f.out, &f.keepFlags, ".npy", paths)
	if err != nil {
		return err
	}
	defer out.remove()
	defer stayWithin(j.memory)()
	warnISA(c)
	return f.apply(c, j, m, as, paths, out)
}

// written returns the kind of scores to write.
func (f *recalApply) written() (metrics.Kind, error) {
	for _, k := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		if k.String() == f.as {
			return k, nil
		}
	}
	return 0, noSuch("--as", f.as, "probs", "logits", "logprobs")
}

// readMap reads the file of a map. It stops reading if the file does not begin as one, since it may be the predictions.
func readMap(name string) (recal.Map, error) {
	r, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("no such file; check the name and the folder")
	case err != nil:
		return nil, unwrapPath(err)
	}
	defer r.Close()
	b := make([]byte, 64)
	n, err := io.ReadFull(r, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, unwrapPath(err)
	}
	b = b[:n]
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return nil, errors.New("this is not the file of a map, which candor recal fit -o writes: the map stands before the predictions")
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return nil, unwrapPath(err)
	}
	return recal.Unmarshal(append(b, rest...))
}

// apply streams the predictions through the map.
func (f *recalApply) apply(c *cobra.Command, j *job, m recal.Map, as metrics.Kind, paths []string, out *tableOut) error {
	r, err := j.source(&f.evalFlags, paths)
	if err != nil {
		return badData(err)
	}
	defer r.Close()
	info := r.Info()
	if c.Flags().Changed("event") && !info.Pairs && !f.tables(paths) {
		return usage("--event names one of two columns of scores, (N, 2), and these are %s; leave it out", info.Shape)
	}
	if info.Rows < 0 && out == nil {
		if info.Rows, err = f.count(c, j, paths); err != nil {
			return err
		}
	}
	w := &mapped{m: m, as: as, out: out, threads: j.pass.Threads, means: j.read.Kind == metrics.Normals && f.columns.error == ""}
	classes := info.Classes
	if w.means {
		classes = 3
	}
	kind, width, err := m.Out(j.read.Kind, classes)
	if err != nil {
		remedy := ""
		if m.Fit().Classes == 2 && info.Classes == 1 {
			remedy = "fit one to a binary task: without --task classification"
		}
		return fault(f.files.calls(paths), remedy, "%s", plain(err))
	}
	if kind == metrics.Quantiles && j.read.Kind == metrics.Quantiles {
		if q := m.(*recal.QuantileMap); !slices.Equal(q.Levels(), j.spec.Levels) {
			return fault(f.files.calls(paths), "", "the quantiles are at the levels %v, and the map is for those at %v", j.spec.Levels, q.Levels())
		}
	}
	w.wide, w.width = width, width
	if w.normals = w.means && kind == metrics.Normals; w.normals {
		w.width = info.Classes
	}
	w.classes = kind == metrics.Probs
	if f.bounds {
		w.bounds, w.wide, w.width = true, 3*width, 3*width
	}
	if w.binary = w.classes && width == 1 && !f.bounds; w.binary && info.Pairs {
		w.wide, w.width, w.event = 2, 2, info.Event
	}
	shape := []int64{max(info.Rows, 0)} // a table has no header, so it may be unknown
	if w.width > 1 || strings.HasSuffix(info.Shape, ", 1)") {
		shape = append(shape, int64(w.width))
	}
	t := metrics.Float32
	if info.DType == metrics.Float64 {
		t = metrics.Float64
	}
	if out != nil {
		if w.names, err = f.nameColumns(w, r, kind); err != nil {
			return err
		}
		names := w.names
		if w.binary && w.width == 1 { // two columns may be written
			names = slices.Concat(names, w.pair)
		}
		if err := out.ready(r, names); err != nil {
			return err
		}
	}
	a, err := newArrayFile(f.out, shape, t)
	if err != nil {
		return cannotWrite(f.out, err)
	}
	defer func() { w.remove() }()
	w.arrayFile, w.rows, w.dtype = a, info.Rows, t
	source := &stopping{Source: r, t: a}
	err = func() error {
		defer progress(c.ErrOrStderr(), r, info.Bytes, "reading")()
		return w.fill(source)
	}()
	for _, failed := range []error{w.failure(), out.failure()} {
		if failed != nil {
			return cannotWrite(f.out, failed)
		}
	}
	if err != nil {
		return badData(f.locate(err, r, paths))
	}
	if info.Rows >= 0 && source.rows != info.Rows {
		return f.errChanged(paths)
	}
	w.rows = source.rows
	warnOf(c, r)
	if out != nil {
		if err := w.finishTable(c); err != nil {
			return cannotWrite(f.out, err)
		}
		return nil
	}
	if w.binary {
		if err := w.settle(c, f.out); err != nil {
			return cannotWrite(f.out, err)
		}
	}
	if err := w.finish(c, f.out, nil); err != nil {
		return cannotWrite(f.out, err)
	}
	return nil
}

// fill writes the results of the map for each chunk, which is checked while it is in a cache.
func (w *mapped) fill(r metrics.Source) error {
	workers := make([]*mapper, max(1, w.threads))
	visits := make([]func(*metrics.Chunk) error, len(workers))
	for i := range workers {
		workers[i] = &mapper{mapped: w, check: metrics.NewWalker(nil, 0, func(*metrics.Block) {})}
		visits[i] = workers[i].chunk
	}
	if err := metrics.Feed(r, visits...); err != nil {
		return err
	}
	return invalidRows(walkersOf(workers))
}

// walkersOf returns what checks the rows of each goroutine.
func walkersOf(workers []*mapper) []*metrics.Walker {
	walkers := make([]*metrics.Walker, len(workers))
	for i, m := range workers {
		walkers[i] = m.check
	}
	return walkers
}

// invalidRows returns one error for all invalid rows that the walkers found.
func invalidRows(walkers []*metrics.Walker) error {
	var bad *metrics.DataError
	for _, w := range walkers {
		err := w.Err()
		var d *metrics.DataError
		switch {
		case err == nil:
		case !errors.As(err, &d):
			return err
		case bad == nil:
			bad = d
		default:
			bad.Merge(d)
		}
	}
	if bad == nil {
		return nil
	}
	return bad
}

// mapped is the file with the results of a map.
type mapped struct {
	*arrayFile
	m           recal.Map
	as          metrics.Kind // for classes: kind to write
	rows        int64
	dtype       metrics.DType
	wide, width int // width of the map's rows, and of what is written of them
	threads     int
	means       bool // rows hold a mean and a standard deviation, and possibly the observed value
	normals     bool // so do the results
	classes     bool // rows belong to classes
	binary      bool // rows belong to a binary task, and have no bounds
	bounds      bool // p0 and p1 are behind the probabilities
	event       int  // column of the event among two
	certain     certain

	out   *tableOut // nil if an array is written
	names []string  // of its columns
	pair  []string  // those of a binary task where one does not suffice
}

// mapper is the state of one goroutine.
type mapper struct {
	*mapped
	check    *metrics.Walker
	into     metrics.Scores
	three    metrics.Scores // means and standard deviations, with 0 in place of the observed value
	observed []float64      // observed values, where known
	nothing  []float64      // used in their place
}

func (m *mapper) chunk(given *metrics.Chunk) error {
	c := m.unobserved(given)
	m.check.Add(c)
	if m.check.Err() != nil { // other chunks may have more bad rows
		return m.failure()
	}
	if m.binary {
		m.events(c)
		return m.failure()
	}
	n, at := c.Rows*m.wide, c.First*int64(m.width)
	m.into.Rows, m.into.Classes = c.Rows, m.wide
	apply := m.m.Apply
	if m.classes {
		apply = m.applyAs
	}
	if c.F64 != nil {
		m.into.F64 = slices.Grow(m.into.F64[:0], n)[:n]
		apply(&m.into, &c.Scores, c.Kind)
		m.put(predictions.NPYData(observedAgain(m, m.into.F64)), int64(len(m.head))+8*at)
		return m.failure()
	}
	m.into.F32 = slices.Grow(m.into.F32[:0], n)[:n]
	apply(&m.into, &c.Scores, c.Kind)
	m.put(predictions.NPYData(observedAgain(m, m.into.F32)), int64(len(m.head))+4*at)
	return m.failure()
}

func (m *mapped) applyAs(dst, src *metrics.Scores, k metrics.Kind) {
	if m.bounds {
		n := dst.Classes / 3
		part := func(i int) *metrics.Scores {
			s := metrics.Scores{Rows: dst.Rows, Classes: n, Stride: 3 * n}
			if dst.F64 != nil {
				s.F64 = dst.F64[min(i*n, len(dst.F64)):]
			} else {
				s.F32 = dst.F32[min(i*n, len(dst.F32)):]
			}
			return &s
		}
		m.m.Apply(part(0), src, k)
		m.m.(*recal.CurveMap).Bounds(part(1), part(2), src, k)
		return
	}
	recal.ApplyAs(m.m, m.as, dst, src, k)
}

// unobserved returns the chunk with 0 in place of the observed values, which may be missing: maps do not depend on them.
func (m *mapper) unobserved(c *metrics.Chunk) *metrics.Chunk {
	d := *c
	switch {
	case c.Kind == metrics.Quantiles:
		if len(m.nothing) < c.Rows {
			m.nothing = make([]float64, c.Rows)
		}
		d.Observed = m.nothing[:c.Rows]
	case m.means:
		d.Scores = metrics.Scores{Rows: c.Rows, Classes: 3}
		if c.F64 != nil {
			m.three.F64 = threes(m, &c.Scores, m.three.F64, c.F64)
			d.F64 = m.three.F64
			break
		}
		x := c.F32
		if n := len(c.F16) + len(c.BF16); x == nil {
			x = make([]float32, n)
			kernel.WidenF16(x[:len(c.F16)], c.F16)
			kernel.WidenBF16(x[:len(c.BF16)], c.BF16)
		}
		m.three.F32 = threes(m, &c.Scores, m.three.F32, x)
		d.F32 = m.three.F32
	default:
		return c
	}
	return &d
}

// threes converts rows x of two or three numbers to three, the last of which is 0, in the buffer to if it is large enough.
// It stores the observed values.
func threes[T float32 | float64](m *mapper, s *metrics.Scores, to, x []T) []T {
	stride := max(s.Stride, s.Classes)
	to = slices.Grow(to[:0], 3*s.Rows)[:3*s.Rows]
	m.observed = m.observed[:0]
	for i := range s.Rows {
		row := x[i*stride:][:s.Classes]
		copy(to[3*i:], row[:2])
		to[3*i+2] = 0
		if len(row) == 3 {
			m.observed = append(m.observed, float64(row[2]))
		}
	}
	return to
}

// observedAgain returns what is written for the map's rows: normal forecasts, with the observed value if it is known.
func observedAgain[T float32 | float64](m *mapper, x []T) []T {
	switch {
	case !m.normals:
		return x
	case len(m.observed) > 0:
		for i, y := range m.observed {
			x[3*i+2] = T(y)
		}
		return x
	}
	rows := len(x) / 3
	for i := range rows {
		copy(x[2*i:2*i+2], x[3*i:])
	}
	return x[:2*rows]
}

// says describes in a few words what a map does.
func says(m recal.Map, level float64) string {
	fit := m.Fit()
	s := fmt.Sprintf("%s of %s", m.Method(), count(fit.Rows, "row"))
	switch fit.Kind {
	case metrics.Probs.String(), metrics.Logits.String(), metrics.LogProbs.String():
		if fit.Classes == 1 {
			s += ", binary"
		} else {
			s += fmt.Sprintf(" x %s classes", report.Count(int64(fit.Classes)))
		}
	}
	s += ": "
	between := func(i metrics.Interval) string {
		if i.Low != i.Low {
			return ""
		}
		return fmt.Sprintf(" [%.5g, %.5g]", i.Low, i.High)
	}
	switch m := m.(type) {
	case *recal.TemperatureMap:
		i := m.Interval(level)
		s += fmt.Sprintf("T = %.5g%s, ", m.T(), between(i))
		switch {
		case i.Low > 1:
			s += "above 1: the model is too sure"
		case i.High < 1:
			s += "below 1: the model is not sure enough"
		default:
			s += "which does not tell whether the model is too sure"
		}
	case *recal.ETSMap:
		w := m.Weights()
		s += fmt.Sprintf("T = %.5g with the weight %.4g, the rows as they are %.4g, equal shares %.4g", m.T(), w[0], w[1], w[2])
	case *recal.SigmaMap:
		i := m.Interval(level)
		s += fmt.Sprintf("standard deviations times %.5g%s", m.Scale(), between(i))
	case *recal.QuantileMap:
		s += fmt.Sprintf("quantiles at %d levels", len(m.Levels()))
	case *recal.CurveMap:
		switch m.Curves() {
		case 1:
			s += "one curve"
		default:
			s += fmt.Sprintf("%d curves, a class each", m.Curves())
		}
	case *recal.PairMap:
		s += fmt.Sprintf("%d curves, a pair of classes each", fit.Classes*(fit.Classes-1)/2)
	case *recal.VectorMap:
		s += fmt.Sprintf("%d factors and biases", fit.Classes)
	case *recal.MatrixMap:
		s += fmt.Sprintf("%d factors and %d biases", fit.Classes*fit.Classes, fit.Classes)
	}
	s += "; " + count(int64(fit.Reads), "read") + "."
	if fit.LeftOut > 0 {
		s += " " + leftOut(fit, "map") + "."
	}
	return s
}

// count formats a number with its noun.
func count(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return report.Count(n) + " " + what
}
