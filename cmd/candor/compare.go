package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/ci"
)

// compareRun holds the flags of candor compare.
type compareRun struct {
	evalFlags
	output
	horizon  int    // horizon of forecasts, for the test of Diebold and Mariano
	baseline string // set by whose relative skill others are scaled
}

func compareCommand() *cobra.Command {
	var f compareRun
	c := &cobra.Command{
		Use:   "compare A B [C...]",
		Short: "Compare sets of predictions of the same rows",
		Long: `Evaluate several sets of predictions against the same labels, and print them side by side: one row per metric, one
column per set. Each argument is one file as candor eval takes it, with the same rows and classes; the flags apply to
all of them.

With --from lm-eval each argument is a file of samples, or the folder of a model. Documents may be in any order: they are
the same if task and doc_hash are, and it is an error if one set has others.

A star marks the best value of a metric for which lower or higher is better. Each interval is about one set alone: it
says nothing about the difference of two sets, as their rows are the same. For regression forecasts (--task regression,
quantiles, samples) the Diebold-Mariano test compares the first set with each other one. Rows must then be in time order,
and forecasts are --horizon steps ahead.

With --from hubverse or nixtla, the sets are the models of files that have several, or those of --model. Such forecasts
have a relative skill, and others with --baseline: the geometric mean of the ratios of a set's mean wis, crps or absolute
error to that of each set, over the rows that both have. --baseline NAME scales it to 1 for that set, and gives the plain
ratio to it too.`,
		Example: `  candor compare a.npy b.npy --labels labels.npy
  candor compare a.npy b.npy --labels labels.npy --metrics nll,brier,ece --format markdown
  candor compare before.npz after.npz --input logits --json
  candor compare a.npy b.npy --labels labels.npy --plot gaps.svg --plot-y gap
  candor compare a.npy b.npy --labels labels.npy --report github=summary.md
  candor compare model-a model-b --from lm-eval
  candor compare a.csv b.csv --task regression --mean mu --std sigma --observed y --horizon 7
  candor compare cv.csv --from nixtla --baseline SeasonalNaive`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 && (f.choices.from == "" || f.choices.from == harness) {
				return usage("candor compare takes two sets of predictions or more; candor eval takes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, matched(args)) },
	}
	c.Flags().SortFlags = false
	f.evalFlags.flags(c)
	f.model.flags(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "`NAME` of the set of forecasts whose relative skill is 1")
	f.output.forms(c)
	f.reports.flags(c)
	c.Flags().IntVar(&f.horizon, "horizon", 1, "`STEPS` that forecasts look ahead, for the test of Diebold and Mariano: losses so near in time depend on each other; fewer than 25 rows a step are too few")
	f.evalFlags.limits(c)
	return c
}

func (f *compareRun) run(c *cobra.Command, paths []string) error {
	if err := f.output.check(c); err != nil {
		return err
	}
	if err := f.files.check(slices.Concat(paths, f.labels, f.weights, f.ood, f.model.oracle, f.tokens.bytes, f.tokens.sequences)...); err != nil {
		return err
	}
	if err := f.checkModels(c); err != nil {
		return err
	}
	list, names, err := f.setsOf(paths)
	if err != nil {
		return err
	}
	if f.baseline != "" && !slices.Contains(names, f.baseline) {
		return usage("--baseline is %q, which is none of the sets; it is one of %s", f.baseline, strings.Join(names, ", "))
	}
	j, err := f.job(c)
	if err != nil {
		return err
	}
	if f.task == "multilabel" {
		return usage("--task multilabel: candor compare takes one label; evaluate each set by candor eval")
	}
	if err := f.checkScaled(paths); err != nil {
		return err
	}
	if f.horizon < 1 {
		return usage("--horizon is %d; it is a positive number of steps", f.horizon)
	}
	if len(f.columns.groups) > 0 {
		return usage("--group is for candor eval: sets are compared on all rows; leave it out")
	}
	if len(f.decisions)+len(f.scores) > 0 {
		return usage("--decisions and --confidence-scores belong to one set; evaluate each by candor eval")
	}
	for _, l := range []struct {
		flag  string
		files []string
	}{{"--labels", f.labels}, {"--weights", f.weights}, {"--bytes", f.tokens.bytes}, {"--sequence", f.tokens.sequences}} {
		switch {
		case len(l.files) > 1:
			return usage("%s names %d files, and all sets have the same; name one", l.flag, len(l.files))
		case f.files.once(l.files...) != "":
			return about(usage("%s %s: it is read once for each set, and %s only once; name a file", l.flag, l.files[0], f.files.once(l.files...)), f.files.once(l.files...))
		}
	}
	if name, n := f.files.twice(paths); n > 1 {
		return about(usage("%s is named %d times, and can be read once; name it once", name, n), name)
	}
	if once := f.files.once(f.ood...); once != "" {
		return about(usage("--ood: it is read once for each set, and %s only once; name a file", once), once)
	}
	reads := slices.Concat(paths, f.labels, f.weights)
	if err := f.plot.checkFile("", "", reads...); err != nil {
		return err
	}
	if err := f.reports.check(c, map[string]string{"--plot": f.plot.file}, slices.Concat(reads, f.ood, f.model.oracle, f.tokens.bytes, f.tokens.sequences)...); err != nil {
		return err
	}
	defer stayWithin(j.memory)() // also limits the memory of joint answers
	var first predictions.Info
	sets := make([]*eval.Evaluation, len(list))
	called := func(i int) string {
		if list[i].model != "" {
			return list[i].model
		}
		return f.files.call(paths[i])
	}
	unequal := false
	for i, s := range list {
		j.more = len(list) - 1 - i
		f.model.model = s.model
		sets[i], err = f.evaluate(c, j, s.paths, func(e *eval.Evaluation, info predictions.Info) error {
			if i == 0 {
				warnISA(c)
				first = info
				return f.plot.ready(e)
			}
			return alike(called(0), called(i), first, info)
		})
		if err != nil {
			return err
		}
		if a, b := &sets[0].Audit, &sets[i].Audit; a.Rows != b.Rows && f.model.from == "" {
			return badAt(place{File: called(i), Remedy: "leave those that one cannot use out of all of them"},
				"%s has %s rows that can be used and %s has %s: sets are compared on the same rows",
				called(0), report.Count(a.Rows), called(i), report.Count(b.Rows))
		} else if a.Rows != b.Rows {
			unequal = true
		}
	}
	if unequal {
		warn(c, "models have other numbers of forecasts, and their metrics are over those that each has; relative skill is over those that both of a pair have")
	}
	skills, err := f.relativeSkill(c, j, list, names, sets)
	if err != nil {
		return err
	}
	tests, note, err := f.dieboldMariano(c, j, list, names, sets)
	if err != nil {
		return err
	}
	if note != "" {
		warn(c, "%s", note)
	}
	return f.show(c, names, sets, skills, tests)
}

// alike returns an error if two sets cannot be compared.
func alike(a, b string, first, other predictions.Info) error {
	if first.Classes == other.Classes && (first.Rows == other.Rows || first.Rows < 0 || other.Rows < 0) { // below 0 they are counted as they are read
		return nil
	}
	what, remedy := "rows", "name sets of the same data"
	if first.Classes != other.Classes {
		what, remedy = "classes", "name sets of the same shape"
	}
	return badAt(place{File: b, Remedy: remedy}, "%s is %s and %s is %s, so they differ in %s", a, first.Shape, b, other.Shape, what)
}

// setNames derives names from paths: the file name without extension, with as many folders as needed to make names distinct.
// A repeated file gets a number.
func (s *sources) setNames(paths []string) []string {
	var files []string
	for _, p := range paths {
		if !slices.Contains(files, p) {
			files = append(files, p)
		}
	}
	short := make([]string, len(files))
	const most = 64
	for folders := range most {
		was := slices.Clone(short)
		for i, p := range files {
			same := 0
			for _, n := range was {
				if n == was[i] {
					same++
				}
			}
			if folders == 0 || same > 1 {
				short[i] = s.setName(p, folders)
			}
		}
	}
	names := make([]string, len(paths))
	for i, p := range paths {
		n := short[slices.Index(files, p)]
		names[i] = n
		for k := 2; slices.Contains(names[:i], names[i]); k++ {
			names[i] = fmt.Sprintf("%s (%d)", n, k)
		}
	}
	return names
}

// setName returns the name of a file with some of its folders.
func (s *sources) setName(p string, folders int) string {
	if name, ok := s.names[p]; ok || p == "-" {
		return cmp.Or(name, "standard input")
	}
	file, array, npz := strings.Cut(filepath.ToSlash(filepath.Clean(p)), ".npz:")
	if npz {
		array = ":" + array
	} else {
		for _, ext := range []string{".gz", ".zst", ".npz", ".npy", ".csv", ".tsv", ".txt"} {
			file = strings.TrimSuffix(file, ext)
		}
	}
	parts := strings.Split(file, "/")
	return path.Join(parts[max(0, len(parts)-1-folders):]...) + array
}

// show draws the picture, and prints the result.
func (f *compareRun) show(c *cobra.Command, names []string, sets []*eval.Evaluation, skills []report.RelativeSkill, tests []report.DieboldMariano) error {
	if err := f.plot.overlay(names, sets); err != nil {
		return err
	}
	var docs report.Comparison
	for i, e := range sets {
		docs = append(docs, report.Named{Name: names[i], Document: report.New(e)})
	}
	if err := f.reports.write(c, nil, ci.OfComparison(docs)...); err != nil {
		return err
	}
	var b bytes.Buffer
	var err error
	switch f.format {
	case "json":
		var j []byte
		if j, err = docs.JSONWithSkill(notedBy(c), skills, tests...); err == nil {
			b.Write(j)
		}
	case "csv":
		err = docs.Table(&b, report.CSV, 0)
	case "markdown":
		for _, d := range docs {
			fmt.Fprintf(&b, "- %s: %s\n", visible.Text(d.Name), d.Verdict())
		}
		fmt.Fprintln(&b)
		err = docs.Table(&b, report.Markdown, 0)
		for _, l := range append(skillLines(skills), dmLines(tests)...) {
			fmt.Fprintf(&b, "\n%s\n", l)
		}
		for _, d := range docs {
			for _, w := range notes(d.Document) {
				fmt.Fprintf(&b, "\n> %s: %s\n", visible.Text(d.Name), w)
			}
		}
	default:
		s := screenOf(c.OutOrStdout())
		for _, d := range docs {
			line := visible.Text(d.Name) + ": " + d.Verdict()
			if s.terminal {
				line = report.Wrap(line, s.width)
			}
			fmt.Fprintln(&b, line)
		}
		fmt.Fprintln(&b)
		if err = docs.Table(&b, report.Plain, s.width); err != nil {
			break
		}
		for _, d := range docs {
			for _, w := range notes(d.Document) {
				fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+visible.Text(d.Name)+": "+strings.TrimSuffix(w, ".")+".", s.width))
			}
		}
		for _, l := range append(skillLines(skills), dmLines(tests)...) {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap(l, s.width))
		}
		stars := "* the best value. In brackets " + percent(f.level) + " intervals of each set, which do not test a difference."
		fmt.Fprintf(&b, "\n%s\n", report.Wrap(stars, s.width))
	}
	if err != nil {
		return err
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return nil
}

// percent formats a level with as many digits as it has.
func percent(level float64) string {
	return strconv.FormatFloat(math.Round(1e8*level)/1e6, 'f', -1, 64) + "%"
}
