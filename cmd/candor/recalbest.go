package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
)

// recalBest holds the flags of candor recal best.
type recalBest struct {
	recalFit
	list, loss string
}

func recalBestCommand() *cobra.Command {
	var f recalBest
	c := &cobra.Command{
		Use:   "best PREDICTIONS...",
		Short: "Compare methods, and fit the simplest of the best",
		Long: `Compare recalibration methods by cross-fitting, and choose the simplest one that is within noise of the best.

Rows are divided into --folds, and each row is judged by a map that was fitted to the other folds. The method with the lowest mean NLL
is compared with each other method, row by row. A method is within noise if the interval of the difference of their NLL contains 0.
Among these methods and the best one itself, the one with the fewest parameters is chosen. Leaving the predictions as they are also
counts as a method, with 0 parameters; tables call it none.

--methods lists what is tried, separated by commas, as recal fit names it. The default for a binary task is
  ` + strings.Join(binaryCandidates, ", ") + `
and for classes
  ` + strings.ReplaceAll(strings.Join(classCandidates, ", "), ", platt", ",\n  platt") + `
but matrix and dirichlet only where there are at least K^2 rows for K classes, and bbq only without weights.

-o writes the map of the chosen method, fitted to all rows, as recal fit writes it. If none is chosen, the map changes nothing. Files, labels and other flags are those of recal fit. Two columns, (N, 2), are a binary task unless --task classification is
given. Files are read many times, so none may be standard input or a pipe.`,
		Example: `  candor recal best logits.npy --labels labels.npy --input logits -o map.json
  candor recal best visits.csv --prob p --labels y --cluster patient
  candor recal best probs.npy --labels labels.npy --methods 'temperature,vector,matrix(off_diagonal=1,bias=1)'
  candor recal best probs.npy --labels labels.npy --loss brier --json`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, matched(args)) },
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
	fl.StringVar(&f.list, "methods", "", "`METHODS` to try, separated by commas")
	take("labels", "input", "task", "event", "weights", "prob", "prob-prefix", "logit-prefix", "pivot", "id", "on-unmatched", "classes", "no-header", "ignore-label", "percent")
	own := func(name, usage string) {
		f := fl.Lookup(name)
		f.Usage, f.Annotations = usage, map[string][]string{ownUsage: {}}
	}
	own("labels", "`FILE` of true classes, or a column")
	own("input", "`KIND` of scores: probs (the default), logits, logprobs")
	own("task", "`TASK` of two columns: binary (the default), classification")
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` of the chosen map to write, as JSON")
	fl.StringVar(&f.loss, "loss", "nll", "`LOSS` by which methods are compared: nll or brier")
	fl.IntVar(&f.folds, "folds", 5, "`NUMBER` of folds of the cross-fitting")
	fl.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that seeds the division of rows into folds")
	take("confidence", "cluster", "bfloat16", "name")
	f.output.form(c)
	f.evalFlags.limits(c)
	return c
}

// What is tried by default.
var (
	binaryCandidates = []string{"temperature", "ets", "platt", "beta", "isotonic", "venn_abers", "histogram(equal_mass)", "bbq"}
	classCandidates  = []string{"temperature", "ets", "vector", "matrix", "dirichlet(off_diagonal=1,bias=1)", "platt", "beta", "isotonic", "venn_abers", "histogram(equal_mass)", "bbq"}
)

func (f *recalBest) run(c *cobra.Command, paths []string) error {
	if err := f.output.checkForm(c); err != nil {
		return err
	}
	if err := f.useRemote(&paths); err != nil {
		return err
	}
	f.strict, f.metrics = true, "nll"
	if f.loss != "nll" && f.loss != "brier" {
		return noSuch("--loss", f.loss, "nll", "brier")
	}
	methods, err := f.named()
	if err != nil {
		return err
	}
	if f.task != "" && f.task != "classification" && f.task != "binary" {
		return usage("recal best is for classes, and --task is %q", f.task)
	}
	reads, err := f.checkReads(paths)
	if err != nil {
		return err
	}
	if err := checkFile("-o", f.out, reads...); err != nil {
		return err
	}
	j, err := f.job(c)
	if err != nil {
		return err
	}
	defer stayWithin(j.memory)()
	warnISA(c)
	b, err := f.best(c, j, methods, paths)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := writeFile(f.out, b.Map); err != nil {
			return err
		}
	}
	return f.show(c, b)
}

// named returns the methods of --methods; nil if it is not given.
func (f *recalBest) named() (l []recal.Method, err error) {
	for _, s := range splitMethods(f.list) {
		m, err := recal.Parse(s)
		if err != nil {
			return nil, usage("--methods: %v%s", err, nearMethod(s))
		}
		switch m.(type) {
		case recal.Sigma, recal.Quantile:
			return nil, usage("--methods: %s is for forecasts, and recal best is for classes", m)
		}
		if slices.ContainsFunc(l, func(o recal.Method) bool { return o.String() == m.String() }) {
			return nil, usage("--methods: %s is given twice", m)
		}
		l = append(l, m)
	}
	if f.list != "" && l == nil {
		return nil, usage("--methods names no method; leave it out, or name some of %s", strings.Join(recal.Names(), ", "))
	}
	return l, nil
}

// splitMethods splits a list at the commas outside parentheses, and leaves out what is empty.
func splitMethods(s string) (l []string) {
	deep, from := 0, 0
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			l = append(l, part)
		}
	}
	for i, r := range s {
		switch {
		case r == '(':
			deep++
		case r == ')':
			deep--
		case r == ',' && deep <= 0:
			add(s[from:i])
			from = i + 1
		}
	}
	add(s[from:])
	return l
}

// candidates returns the methods that are tried by default on such rows.
func candidates(i predictions.Info) (l []recal.Method) {
	names := binaryCandidates
	if i.Classes > 1 {
		names = classCandidates
	}
	for _, n := range names {
		m, err := recal.Parse(n)
		if err != nil {
			panic(err)
		}
		switch m.(type) {
		case recal.Matrix, recal.Dirichlet:
			if i.Rows >= 0 && int64(i.Classes)*int64(i.Classes) > i.Rows {
				continue
			}
		case recal.BBQ:
			if i.Weighted {
				continue
			}
		}
		l = append(l, m)
	}
	return l
}

// best compares the methods.
func (f *recalBest) best(c *cobra.Command, j *job, methods []recal.Method, paths []string) (*report.Best, error) {
	var last reader
	j.passes = new(passes)
	d := reread(c, j.passes, func() (rowReader, error) {
		r, err := j.source(&f.evalFlags, paths)
		last = r
		return r, err
	})
	var o *recal.Options
	before, err := f.evaluate(c, j, paths, func(e *eval.Evaluation, i predictions.Info) (err error) {
		if methods == nil {
			methods = candidates(i)
		}
		for _, m := range methods {
			if err := f.checkMany(m, i, paths); err != nil {
				return err
			}
		}
		o, err = f.checkBest(j, methods, i, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &before.Audit
	loss, err := score.ParseRowMetric(f.loss, a.Kind, a.Classes)
	if err != nil {
		return nil, err
	}
	folds := recal.Folds{K: f.folds, Seed: f.seed, Clusters: f.columns.cluster != ""}
	found, err := recal.Best(methods, d, folds, &recal.BestOptions{Options: *o, Loss: loss, Level: before.Spec.Level})
	if err != nil {
		return nil, f.cannotFit(err, last, paths)
	}
	if found.Chosen < 0 {
		return nil, fault(f.files.calls(paths), "pass --loss brier, or other --methods", "the NLL of every method is infinite: as they are, the predictions give probability 0 to the true class of %s",
			count(found.Candidates[0].Infinite, "row"))
	}
	b := &report.Best{Rows: found.Rows, Clusters: int64(found.Clusters), Folds: f.folds, Loss: f.loss, Level: found.Level, Lowest: found.Lowest, Chosen: found.Chosen,
		Warnings: report.Brief(before).Warnings}
	titles := map[string]string{recal.None: "no recalibration"}
	for _, m := range recal.Descriptors() {
		titles[m.Name] = m.Title
	}
	for _, x := range found.Candidates {
		name, options, _ := strings.Cut(x.Name, "(")
		title := titles[name]
		if options != "" {
			title += " (" + options
		}
		b.Methods = append(b.Methods, report.Tried{Method: x.Name, Title: title, Parameters: x.Parameters, Reason: strings.TrimPrefix(x.Reason, "recal: "), Loss: x.Loss, Infinite: x.Infinite,
			Within: x.Within, FromLowest: report.TriedChange(x.FromLowest), FromNone: report.TriedChange(x.FromNone)})
	}
	chosen := found.Candidates[found.Chosen].Map
	if chosen == nil {
		chosen = recal.NewTemperature(1, a.Classes)
	} else if f.columns.cluster != "" {
		if chosen, err = recal.ByClusters(chosen, d, o); err != nil {
			return nil, f.cannotFit(err, last, paths)
		}
	}
	b.Map, err = recal.Marshal(chosen)
	return b, err
}

// checkBest is checkMemory for methods whose maps are held together.
func (f *recalBest) checkBest(j *job, methods []recal.Method, i predictions.Info, e *eval.Evaluation) (*recal.Options, error) {
	o := &recal.Options{Threads: j.pass.Threads, Memory: (j.memory - fixedMemory) / 2}
	if i.Rows < 0 {
		j.passes.about = 0
		return o, nil
	}
	s := fitSize(j, i)
	for ; ; o.Threads-- {
		var all recal.Need
		reads := 3
		for _, m := range methods {
			n := recal.NeedOf(m, s, o)
			all.Fit, all.Map, all.File = max(all.Fit, n.Fit), all.Map+n.Map, max(all.File, n.File)
			reads += n.Reads * (1 + f.folds)
		}
		// Each goroutine holds the results of one map at a time, as for one method.
		held := f.held(all, i, j.read.Buffers, j.read.BufferBytes)
		if need := held + max(all.Fit, e.Need(extentOf(i), o.Threads)); need <= j.memory {
			o.Memory = max(all.Fit, min(o.Memory, j.memory-held))
			j.passes.about = reads
			return o, nil
		} else if o.Threads == 1 {
			return nil, usage("%s of %s take about %d MiB together; pass --max-memory %dMiB, or fewer --methods or --folds", count(int64(len(methods)), "method"), count(i.Rows, "row"),
				need>>20+1, need>>20+1)
		}
	}
}

// show prints the choice.
func (f *recalBest) show(c *cobra.Command, r *report.Best) error {
	var b bytes.Buffer
	var err error
	how := fmt.Sprintf("By cross-fitting in %d folds, each row by a map fitted to the others; intervals of %v%%.", r.Folds, 100*r.Level)
	switch f.format {
	case "json":
		r.Warnings = append(r.Warnings, notedBy(c)...)
		var j []byte
		if j, err = r.JSON(); err == nil {
			b.Write(j)
		}
	case "csv":
		err = r.Table(&b, report.CSV, 0)
	case "markdown":
		fmt.Fprintf(&b, "%s\n\n", r.Says())
		err = r.Table(&b, report.Markdown, 0)
		fmt.Fprintf(&b, "\n%s\n", how)
		for _, w := range r.Warnings {
			fmt.Fprintf(&b, "\n> %s\n", w)
		}
	default:
		s := screenOf(c.OutOrStdout())
		fmt.Fprintf(&b, "%s\n\n", s.strong(report.Wrap(r.Says(), s.width)))
		if err = r.Table(&b, report.Plain, s.width); err != nil {
			break
		}
		fmt.Fprintf(&b, "\n%s\n", report.Wrap(how, s.width))
		for _, w := range r.Warnings {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+strings.TrimSuffix(w, ".")+".", s.width))
		}
		next := "Next: -o MAP.json writes the map; candor recal apply MAP.json OTHERS.npy -o OUT.npy applies it"
		if f.out != "" {
			next = "Next: candor recal apply " + visible.Text(f.out) + " OTHERS.npy -o OUT.npy"
		}
		fmt.Fprintf(&b, "\n%s\n", report.Wrap(next, s.width))
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return nil
}
