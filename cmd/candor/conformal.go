package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

func conformalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "conformal",
		Short: "Make and evaluate sets and intervals that promise a coverage",
		Long: `Conformal prediction: sets of classes, or intervals of numbers, that hold the truth as often as promised, whatever the model.

'candor conformal fit' finds the threshold on labelled rows that the model was not trained on, and writes it to a file.
'candor conformal apply' writes the sets or intervals of other predictions.
'candor conformal eval' says how often sets or intervals hold the truth, and how large they are.
'candor conformal export' writes the map as code that needs no candor.`,
		Example: `  candor conformal fit aps probs.npy --labels labels.npy --coverage 0.9 -o sets.json
  candor conformal apply sets.json probs.npy -o sets.npy
  candor conformal eval probs.npy --map sets.json --labels labels.npy`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return usage("there is no command 'candor conformal %s'%s: it is fit, apply, eval or export", args[0], meant(args[0], []string{"fit", "apply", "eval", "export"}))
		},
		Args: cobra.ArbitraryArgs,
	}
	c.AddCommand(conformalFitCommand(), conformalApplyCommand(), conformalEvalCommand(), conformalExportCommand())
	return c
}

// conformalFlags are the flags that the three commands share.
type conformalFlags struct {
	evalFlags
	json bool
}

// take adds flags of candor eval.
func (f *conformalFlags) take(c *cobra.Command, names ...string) {
	like := &cobra.Command{}
	f.evalFlags.flags(like)
	f.evalFlags.limits(like)
	for _, n := range names {
		c.Flags().AddFlag(like.Flags().Lookup(n))
	}
}

// begin returns the job of a method.
func (f *conformalFlags) begin(c *cobra.Command, m conformal.Method) (*job, error) {
	want, what := "", ""
	switch m.Score {
	case conformal.Split, conformal.Normalized:
		want = "regression"
	case conformal.CQR:
		want = "quantiles"
	}
	switch {
	case want == "" && f.task != "" && f.task != "classification" && f.task != "binary":
		what = "classes"
	case want != "" && f.task != "" && f.task != want:
		what = "--task " + want
	}
	if what != "" {
		return nil, usage("%s is for %s, and --task is %q", m.Score, what, f.task)
	}
	if want != "" {
		f.task = want
	}
	f.metrics, f.onInvalid, f.strict = "default", "error", true
	if f.bins == 0 {
		f.bins = 1
	}
	if f.level == 0 {
		f.level = metrics.DefaultLevel
	}
	f.table.unmatched = "error"
	like := &cobra.Command{}
	(&evalFlags{}).flags(like) // none of these flags counts as given
	j, err := f.job(like)
	if err != nil {
		return nil, err
	}
	if m.Score.Classes() && f.event == "" {
		j.read.Event = predictions.NoEvent // two columns are two classes
	}
	return j, nil
}

// rows opens predictions, and returns their kind. Those of split need no standard deviations: without any, the means are one column of
// quantiles.
func (f *conformalFlags) rows(j *job, m conformal.Method, paths []string) (groupedReader, metrics.Kind, error) {
	r, err := j.source(&f.evalFlags, paths)
	if err == nil {
		return r.(groupedReader), j.read.Kind, nil
	}
	if m.Score != conformal.Split || f.columns.spread() != "" || len(f.files.once(paths...)) > 0 {
		return nil, 0, badData(err)
	}
	o, bad := f.forecast(j, paths)
	if bad != nil {
		return nil, 0, bad
	}
	o.Kind, o.Levels = metrics.Quantiles, []float64{0.5} // of which nothing depends
	if slices.ContainsFunc(paths, isColumns) {
		o.Columns = []string{cmp.Or(o.Mean, "mean")}
	}
	o.Mean = ""
	means, bad := predictions.OpenForecast(paths, o)
	if bad != nil {
		return nil, 0, badData(err)
	}
	return means, metrics.Quantiles, nil
}

// files checks the files that are read and written.
func (f *conformalFlags) check(out string, paths []string, more ...string) error {
	if len(paths) == 0 {
		return usage("no predictions are named; name their files")
	}
	reads := slices.Concat(paths, f.labels, f.columns.groups, more)
	if err := f.files.check(reads...); err != nil {
		return err
	}
	return checkFile("-o", out, reads...)
}

// show prints the result.
func (f *conformalFlags) show(c *cobra.Command, r *report.Conformal, next string) error {
	var b bytes.Buffer
	if f.json {
		j, err := r.JSON()
		if err != nil {
			return err
		}
		b.Write(j)
	} else {
		s := screenOf(c.OutOrStdout())
		for _, p := range strings.Split(r.Verdict(), "\n\n") {
			if p != "" {
				fmt.Fprintf(&b, "%s\n\n", s.strong(report.Wrap(p, s.width)))
			}
		}
		r.Text(&b)
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap("Note: "+n+".", s.width))
		}
		if next != "" {
			fmt.Fprintf(&b, "\n%s\n", report.Wrap(next, s.width))
		}
	}
	if _, err := c.OutOrStdout().Write(b.Bytes()); err != nil {
		return badOutput("cannot write the result: %v", err)
	}
	return nil
}

const conformalColumns = "prob prob-prefix logit-prefix classes no-header percent"

// conformalFit holds the flags of candor conformal fit.
type conformalFit struct {
	conformalFlags
	out      string
	coverage float64
}

func conformalMethods() string {
	var b strings.Builder
	for _, m := range conformal.Descriptors() {
		fmt.Fprintf(&b, "  %-11s %s: %s\n", m.Name, m.Short, m.Formula)
		if m.Options != "" {
			fmt.Fprintf(&b, "  %-11s (%s)\n", "", m.Options)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func conformalFitCommand() *cobra.Command {
	var f conformalFit
	c := &cobra.Command{
		Use:   "fit METHOD PREDICTIONS...",
		Short: "Find the threshold that promises a coverage",
		Long: `Find the threshold of a method on labelled predictions of rows that the model was not trained on, and write it to a file. If later
rows come from the same population, their sets hold the truth with a probability of --coverage or more.

METHOD is one of
` + conformalMethods() + `

Options stand in parentheses: 'raps(lambda=0.01,k=5,randomized)'. by_class finds a threshold for each class, so that the
promise holds for each class. randomized makes sets cover no more than promised, by random numbers of --seed and the rows'
numbers; some sets are then empty. docs/conformal.md says which method to use.

Files, labels and flags are those of candor eval. cqr takes the lowest and the highest quantile of the files. Rows with weights are
refused: the promise is for rows that count once. The threshold is the score at rank ceil((n+1) coverage) of n; if n is too
small for the coverage, every set holds everything, and a note says so.`,
		Example: `  candor conformal fit aps probs.npy --labels labels.npy -o sets.json
  candor conformal fit 'lac(by_class)' logits.npy --labels labels.npy --input logits --coverage 0.95 -o sets.json
  candor conformal fit normalized forecast.csv --mean mu --std sigma --observed y -o intervals.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("METHOD is missing: one of %s", strings.Join(conformal.Names(), ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], matched(args[1:])) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.Float64Var(&f.coverage, "coverage", 0.9, "`SHARE` of rows whose set or interval is to hold the truth")
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` of the map to write, as JSON; without it the threshold is only reported")
	f.take(c, "labels", "input", "event")
	f.take(c, strings.Fields(conformalColumns)...)
	f.take(c, "mean", "std", "observed", "error", "quantile-prefix", "levels", "confidence", "bfloat16")
	fl.Lookup("input").Usage = "`KIND` of scores: probs, logits or logprobs"
	fl.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that seeds random numbers, for randomized and keep_last")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	f.take(c, "name", "threads", "max-memory")
	return c
}

func (f *conformalFit) run(c *cobra.Command, method string, paths []string) error {
	m, err := conformal.Parse(method)
	if err != nil {
		return usage("%v", err)
	}
	if !(f.coverage > 0 && f.coverage < 1) {
		return usage("--coverage is %v; it is a number between 0 and 1, such as 0.9", f.coverage)
	}
	m.Seed = f.seed
	if err := f.check(f.out, paths); err != nil {
		return err
	}
	j, err := f.begin(c, m)
	if err != nil {
		return err
	}
	defer stayWithin(j.memory)()
	warnISA(c)
	r, _, err := f.rows(j, m, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	info := r.Info()
	if info.Weighted {
		return fault(f.files.calls(paths), "leave the weights out", "%v", conformal.ErrWeights)
	}
	if need := fixedMemory + 20*max(0, info.Rows); need > j.memory {
		return usage("the scores of %s rows take %d MiB; pass --max-memory %dMiB, or give fewer rows: tens of thousands suffice", report.Count(info.Rows), need>>20+1, need>>20+1)
	}
	if m.Score == conformal.CQR && len(j.spec.Levels) < 2 {
		return fault(f.files.calls(paths), "", "cqr takes two quantiles or more, and there is one")
	}
	pass := j.pass
	var out *conformal.Map
	err = func() error {
		defer progress(c.ErrOrStderr(), r, info.Bytes, "reading")()
		var err error
		out, _, err = conformal.Fit(r, m, f.coverage, &pass)
		return err
	}()
	switch {
	case errors.Is(err, conformal.ErrNoRows):
		return fault(f.files.calls(paths), "", "%v", err)
	case err != nil:
		return badData(f.locate(err, r, paths))
	}
	names, err := f.classNames(r)
	if err != nil {
		return err
	}
	warnOf(c, r)
	if l := j.spec.Levels; m.Score == conformal.CQR {
		out = out.WithLevels(l[0], l[len(l)-1])
	}
	b, err := conformal.Marshal(out)
	if err != nil {
		return err
	}
	next := "Next: -o MAP.json writes the map; candor conformal eval OTHERS --map MAP.json says what it does to other rows"
	if f.out != "" {
		if err := writeFile(f.out, b); err != nil {
			return err
		}
		next = "Next: candor conformal eval OTHERS --map " + visible.Text(f.out)
	}
	d := documentOf(out, names, f.level)
	return f.show(c, d, next)
}

// classNames returns the names of the classes, if they are known.
func (f *conformalFlags) classNames(r rowReader) ([]string, error) {
	if _, ofNumbers := numbers[f.task]; ofNumbers {
		return nil, nil
	}
	return f.named(r, "classes")
}

func documentOf(m *conformal.Map, names []string, level float64) *report.Conformal {
	d := &report.Conformal{Method: m.Method().String(), Coverage: m.Coverage(), Rows: m.Rows(), Parts: m.Parts(), Level: level, Names: names, Notes: m.Notes()}
	if p, ok := m.Promise(); ok {
		d.Promise = &p
	}
	return d
}

// readConformal reads the file of a map.
func (f *conformalFlags) readConformal(file string) (*conformal.Map, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fault(f.files.call(file), "", "%v", unwrapPath(err))
	}
	m, err := conformal.Unmarshal(b)
	if err != nil {
		return nil, fault(f.files.call(file), "", "%v", err)
	}
	return m, nil
}

// conformalApply holds the flags of candor conformal apply.
type conformalApply struct {
	conformalFlags
	keepFlags
	out string
}

func conformalApplyCommand() *cobra.Command {
	var f conformalApply
	c := &cobra.Command{
		Use:   "apply MAP PREDICTIONS...",
		Short: "Write sets or intervals",
		Long: `Write the sets or intervals that a map of 'candor conformal fit' makes of predictions. No labels are needed. Several files are shards,
in natural order.

Sets are 1 for each class in a row's set and 0 for the others: an array (N, K) of float32, or the columns in_ and the name or number of each class,
then size, of a table. Intervals are the two ends: an array (N, 2) of float64, or the columns low and high. --id and --keep copy
columns of a table in front of them.

The extension of -o FILE chooses the format: .npy, or a table: .csv or .tsv, also .gz and .zst of them, .parquet, .arrow or .feather (an Arrow
file) and .arrows (an Arrow stream).`,
		Example: `  candor conformal apply sets.json probs.npy -o sets.npy
  candor conformal apply sets.json predictions.csv --prob-prefix prob_ --id id --keep label -o sets.csv
  candor conformal apply intervals.json forecast.csv --mean mu --std sigma -o intervals.parquet`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("candor conformal apply takes a map's file and predictions")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0], matched(args[1:])) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` to write: .npy, .csv, .tsv, .parquet, .arrow, .feather or .arrows")
	f.take(c, "input", "event")
	f.take(c, strings.Fields(conformalColumns)...)
	f.keepFlags.flags(c)
	f.take(c, "mean", "std", "quantile-prefix", "levels", "bfloat16", "name", "threads", "max-memory")
	fl.Lookup("input").Usage = "`KIND` of scores: probs, logits or logprobs"
	return c
}

func (f *conformalApply) run(c *cobra.Command, file string, paths []string) error {
	switch {
	case f.out == "":
		return usage("-o FILE is missing: the result is written to a file, .npy, %s", anyOf(predictions.TableExtensions()))
	case f.out == "-" && screenOf(c.OutOrStdout()).terminal:
		return usage("-o -: standard output is a terminal, which cannot show .npy; name a file, or pipe it to a program")
	}
	if _, table := predictions.TableFormatOf(f.out); !table && f.out != "-" && !strings.HasSuffix(strings.ToLower(f.out), ".npy") {
		return usage("-o %s: its extension names no format; end the name in .npy, %s", f.out, anyOf(predictions.TableExtensions()))
	}
	out := f.out
	if out == "-" {
		out = "" // standard output, which is no file
	}
	if err := f.check(out, paths, file); err != nil {
		return err
	}
	m, err := f.readConformal(file)
	if err != nil {
		return err
	}
	j, err := f.begin(c, m.Method())
	if err != nil {
		return err
	}
	j.read.NoLabels, f.unobserved = true, true
	table, err := f.newTableOut(f.out, &f.keepFlags, ".npy", paths)
	if err != nil {
		return err
	}
	defer table.remove()
	defer stayWithin(j.memory)()
	warnISA(c)
	r, kind, err := f.rows(j, m.Method(), paths)
	if err != nil {
		return err
	}
	defer r.Close()
	info := r.Info()
	if info.Rows < 0 && table == nil {
		info.Rows, err = f.countOf(c, paths, func() (rowReader, error) {
			r, _, err := f.rows(j, m.Method(), paths)
			return r, err
		})
		if err != nil {
			return err
		}
	}
	if err := m.Accepts(kind, info.Classes); err != nil {
		return fault(f.files.calls(paths), "", "%v", err)
	}
	ofClasses, width, dtype := m.Method().Score.Classes(), 2, metrics.Float64
	names := []string{"low", "high"}
	if ofClasses {
		width, dtype, names = m.Classes(), metrics.Float32, nil
		classes, err := f.classNames(r)
		if err != nil {
			return err
		}
		for i := range width {
			name := strconv.Itoa(i)
			if len(classes) == width {
				name = classes[i]
			}
			names = append(names, "in_"+name)
		}
		if table != nil {
			names, width = append(names, "size"), width+1
		}
	}
	if table != nil {
		if err := table.ready(r, names); err != nil {
			return err
		}
	}
	a, err := newArrayFile(f.out, []int64{max(info.Rows, 0), int64(width)}, dtype)
	if err != nil {
		return cannotWrite(f.out, err)
	}
	defer a.remove()
	source := &stopping{Source: r, t: a}
	w := &setWriter{m: m, to: a, width: width}
	err = func() error {
		defer progress(c.ErrOrStderr(), r, info.Bytes, "reading")()
		return w.fill(source, j.pass.Threads)
	}()
	for _, failed := range []error{a.failure(), table.failure()} {
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
	warnOf(c, r)
	for _, n := range m.Notes() {
		warn(c, "%s", n)
	}
	var write func(io.Writer) error
	if table != nil {
		var list []valueColumn
		for i, n := range names {
			list = append(list, valueColumn{name: n, at: i})
		}
		write = func(to io.Writer) error { return table.write(to, a, list, dtype, width, source.rows) }
	}
	if err := a.finish(c, f.out, write); err != nil {
		return cannotWrite(f.out, err)
	}
	return nil
}

// setWriter writes sets or intervals to an array.
type setWriter struct {
	m     *conformal.Map
	to    *arrayFile
	width int
}

func (w *setWriter) fill(r metrics.Source, threads int) error {
	return walkBlocks(r, threads, func() func(*metrics.Block) {
		var sets []bool
		var ends []float64
		var buf []byte
		var fill func([]bool, *metrics.Block)
		if w.m.Method().Score.Classes() {
			fill = w.m.Sets()
		}
		k := w.m.Classes()
		return func(b *metrics.Block) {
			each := 4 * w.width
			buf = buf[:0]
			if fill != nil {
				sets = slices.Grow(sets[:0], b.Rows*k)[:b.Rows*k]
				fill(sets, b)
				for i := range b.Rows {
					size := 0
					for _, in := range sets[i*k:][:k] {
						v := float32(0)
						if in {
							v = 1
							size++
						}
						buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
					}
					if w.width > k {
						buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(float32(size)))
					}
				}
			} else {
				each = 16
				ends = slices.Grow(ends[:0], 2*b.Rows)[:2*b.Rows]
				w.m.Intervals(ends, b)
				for _, v := range ends {
					buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits(v))
				}
			}
			for lo := 0; lo < b.Rows; { // rows of a block follow one another
				hi := lo + 1
				for hi < b.Rows && b.Number(hi) == b.Number(lo)+int64(hi-lo) {
					hi++
				}
				w.to.put(buf[lo*each:hi*each], int64(len(w.to.head))+b.Number(lo)*int64(each))
				lo = hi
			}
		}
	})
}

// walkBlocks gives all blocks of a source to functions, one for each goroutine. Labels and observed values may be missing.
func walkBlocks(r metrics.Source, threads int, visitor func() func(*metrics.Block)) error {
	walkers := make([]*mapper, max(1, threads))
	visits := make([]func(*metrics.Chunk) error, len(walkers))
	for i := range walkers {
		w := &mapper{mapped: &mapped{}, check: metrics.NewWalker(nil, metrics.NeedRows, visitor())}
		walkers[i] = w
		visits[i] = func(c *metrics.Chunk) error {
			w.means = c.Kind == metrics.Normals
			w.check.Add(w.unobserved(c))
			return nil
		}
	}
	if err := metrics.Feed(r, visits...); err != nil {
		return err
	}
	return invalidRows(walkersOf(walkers))
}
