package main

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// compareRun holds the flags of candor compare.
type compareRun struct {
	evalFlags
	output
	horizon  int      // horizon of forecasts, for the test of Diebold and Mariano
	series   string   // column of series, within which that test is
	baseline string   // set that the others are compared with, and by whose relative skill they are scaled
	margin   []string // sizes of differences that do not matter
	adjust   string   // how the pairs of a metric are adjusted for their number
	state    string
	flipped  string // file of rows whose decisions differ
	flips    *flips
	names    []string                    // of the sets
	wide     string                      // the sets of a table whose columns of scores --prob NAME=COLUMN names, with these
	marks    map[int]predictions.RowMark // of the sets of which there are only losses by row
}

func compareCommand() *cobra.Command {
	var f compareRun
	c := &cobra.Command{
		Use:   "compare A B [C...]",
		Short: "Compare sets of predictions of the same rows",
		Long: `Evaluate several sets of predictions against the same labels, side by side: one row per metric, one column per set.
Each argument is one set: a file as candor eval takes it, a folder of shards, or a pattern in quotes, such as 'a/*.npy'.
Sets have the same rows and classes; the flags apply to all of them.

The difference of each metric, B minus A, has an interval and a p-value. The comparison is paired: both models judged the
same rows. 'candor help comparing' says how sets are matched, tested and adjusted.`,
		Example: `  candor compare a.npy b.npy --labels labels.npy
  candor compare a.npy b.npy --labels labels.npy --metrics nll,brier,ece --format markdown
  candor compare before.npz after.npz --input logits --json
  candor compare models.csv --prob old=p_old --prob new=p_new --label y
  candor compare old.csv new.csv --prob p --label y --id id --on-unmatched drop
  candor compare old.npy new.npy --labels labels.npy --margin nll=0.01,accuracy=0.005
  candor compare models.csv --prob old=p_old --prob new=p_new --label y --group site
  candor compare base.npz b.npy --labels labels.npy --fail-if 'delta.nll.low>0'
  candor compare a.npy b.npy --labels labels.npy --plot differences.png --plot-kind differences`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && f.choices.from == "" && len(f.model.models) > 0 {
				return nil
			}
			if len(args) < 2 && (f.choices.from == "" || f.choices.from == harness) && !(len(args) == 1 && ofSets(f.table.probs)) {
				return usage("candor compare takes two or more sets of predictions; candor eval takes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args) },
	}
	c.Flags().SortFlags = false
	f.evalFlags.flags(c)
	f.model.flags(c)
	f.life.flags(c)
	c.Flags().StringVar(&f.baseline, "baseline", "", "`NAME` of the set with which all others are compared; for forecasts, its relative skill is 1")
	c.Flags().StringSliceVar(&f.margin, "margin", nil, "`METRIC=SIZE`: SIZE of a difference that does not matter, in the metric's units; sets are equivalent if the 90% interval lies within it")
	adjustFlag(c, &f.adjust)
	c.Flags().Int64Var(&f.output.minRows, "min-rows", compared.DefaultMinRows, "least `NUMBER` of rows of a group that is tested")
	f.output.forms(c)
	f.plot.setFlags(c)
	f.reports.flags(c)
	f.output.gateFlags(c, "'delta.nll.low>0', of the last set minus the first, or of each minus the baseline", "'delta.accuracy.low>-0.01'")
	c.Flags().IntVar(&f.horizon, "horizon", 1, "`STEPS` that forecasts look ahead: uses the Diebold-Mariano test, because losses so close in time depend on each other; it needs at least 25 rows per step")
	c.Flags().StringVar(&f.series, "series", "", "`COLUMN` of a table, or array of each .npz, that names the series of each row, for --horizon")
	c.Flags().StringVar(&f.state, "state", "", "write the comparison's state to `FILE`, for candor merge")
	c.Flags().Lookup("id").Usage = "`COLUMNS` by which the rows of all sets are matched, and those of --labels TABLE:COLUMN and of --pivot"
	c.Flags().StringVar(&f.flipped, "flips", "", "write the rows whose decisions differ to `FILE`: .csv, .npz, .parquet, or another table")
	f.evalFlags.limits(c)
	c.Flags().Lookup("group").Usage = "`COLUMN` of a table, array of each .npz, or file of numbers or text, or several: also say which set is better for each group of equal values"
	for _, refused := range []string{"decisions", "confidence-scores"} { // which run says why
		c.Flags().Lookup(refused).Hidden = true
	}
	return c
}

func (f *compareRun) run(c *cobra.Command, args []string) error {
	if err := f.useRemote(&args); err != nil {
		return err
	}
	paths := matched(args)
	f.plot.sets = true
	if err := f.output.check(c); err != nil {
		return err
	}
	if err := f.files.check(slices.Concat(paths, f.labels, f.weights, f.ood, f.columns.groups, one(f.columns.cluster), f.model.oracle, f.tokens.bytes, f.tokens.sequences, f.lifeFiles())...); err != nil {
		return err
	}
	if err := f.checkAlign(c); err != nil {
		return err
	}
	if err := f.checkModels(c); err != nil {
		return err
	}
	list, names, err := f.setsOf(args)
	if err != nil {
		return err
	}
	if err := f.findRows(list); err != nil {
		return err
	}
	if f.plot.said && (f.plot.kind == plotGaps || f.plot.kind == plotFlips) && len(list) > 2 {
		return usage("--plot-kind %s draws two sets, and there are %d; name two", f.plot.kind, len(list))
	}
	if f.baseline != "" && f.model.column == "" && !slices.Contains(names, f.baseline) {
		return usage("--baseline is %q, which is none of the sets%s; it is one of %s", f.baseline, meant(f.baseline, names), strings.Join(names, ", "))
	}
	j, err := f.job(c)
	if err != nil {
		return err
	}
	if err := f.checkIDs(paths); err != nil {
		return err
	}
	if f.task == "multilabel" {
		return usage("--task multilabel: candor compare takes one label; evaluate each set by candor eval")
	}
	if err := f.checkScaled(paths); err != nil {
		return err
	}
	if f.scaled && f.state != "" {
		return usage("--temperature-scaled does not go with --state: rows are read again for it, and no state has them; leave one of them out")
	}
	if f.horizon < 1 {
		return usage("--horizon is %d; it is a positive number of steps", f.horizon)
	}
	if err := f.checkGroups(c, j); err != nil {
		return err
	}
	if len(f.decisions)+len(f.scores) > 0 {
		return usage("--decisions and --confidence-scores belong to one set; evaluate each by candor eval")
	}
	for _, l := range []struct {
		flag  string
		files []string
	}{{"--labels", f.labels}, {"--weights", f.weights}, {"--bytes", f.tokens.bytes}, {"--sequence", f.tokens.sequences}, {"--cluster", one(f.columns.cluster)}, {"--time", one(f.life.time)}, {"--event", one(f.event)}} {
		switch {
		case len(l.files) > 1:
			return usage("%s names %d files, and all sets have the same; name one", l.flag, len(l.files))
		case f.files.once(l.files...) != "":
			return about(usage("%s %s: it is read once per set, and %s can be read only once; name a file", l.flag, l.files[0], f.files.once(l.files...)), f.files.once(l.files...))
		}
	}
	if name, n := f.files.twice(paths); n > 1 {
		return about(usage("%s is named %d times, and can be read once; name it once", name, n), name)
	}
	if once := f.files.once(paths...); once != "" && ofSets(f.table.probs) {
		return about(usage("the columns of each --prob NAME=COLUMN are a set, for which the table is read, and %s can be read only once; write it to a file", once), once)
	}
	if once := f.files.once(f.ood...); once != "" {
		return about(usage("--ood: it is read once per set, and %s can be read only once; name a file", once), once)
	}
	reads := slices.Concat(paths, f.labels, f.weights, f.lifeFiles())
	if err := f.plot.checkFile("--state", f.state, reads...); err != nil {
		return err
	}
	if err := f.reports.check(c, map[string]string{"--plot": f.plot.file, "--state": f.state}, slices.Concat(reads, f.ood, f.model.oracle, f.tokens.bytes, f.tokens.sequences)...); err != nil {
		return err
	}
	if err := f.checkFlips(slices.Concat(reads, f.ood, f.model.oracle, f.tokens.bytes, f.tokens.sequences)); err != nil {
		return err
	}
	defer func() { f.flips.remove() }()
	sizes, err := margins(f.margin)
	if err != nil {
		return err
	}
	how, err := adjustment(f.adjust)
	if err != nil {
		return err
	}
	for m := range sizes {
		f.metrics += "," + m // named twice it counts once
	}
	if err := checkFile("--state", f.state, slices.Concat(paths, f.labels, f.weights)...); err != nil {
		return err
	}
	f.gated = nil
	for _, g := range f.gates {
		if g.Scope() != report.Delta {
			return usage("%s %q: gates of a comparison are on differences, such as delta.nll.low>0; for others use candor eval", flagOf(g), g)
		}
		f.gated = append(f.gated, g)
	}
	timed := c.Flags().Changed("horizon")
	if timed && f.columns.cluster != "" {
		return usage("--horizon and --cluster are both given: the Diebold-Mariano test allows for rows close in time, and clusters for rows that belong together; give one")
	}
	if c.Flags().Changed("series") && (!timed || f.series == "") {
		return usage("--series %q: it names the column of the series within which --horizon STEPS tests; give both", f.series)
	}
	defer stayWithin(j.memory)() // also limits the memory of joint answers
	f.names = names
	var first predictions.Info
	begun := -1
	called := func(i int) string {
		if f.model.column != "" || list[i].model != "" || list[i].probs != nil {
			return names[i]
		}
		return f.files.call(args[i])
	}
	ready := func(i int, e *eval.Evaluation, info predictions.Info) error {
		if begun < 0 {
			warnISA(c)
			begun, first = i, info
			return f.plot.ready(e)
		}
		if f.aligns() { // their numbers of rows may differ
			info.Rows = -1
		}
		return alike(called(begun), called(i), first, info)
	}
	f.plot.grouped = len(f.columns.groups) > 0
	why := f.apart()
	if why != "" && f.aligns() {
		return usage("--id and --model: %s, so rows are not put side by side; leave them out", why)
	}
	if f.model.column != "" {
		if list, err = f.spread(c, j, paths, ready); err != nil {
			return err
		}
		if names = f.names; f.baseline != "" && !slices.Contains(names, f.baseline) {
			return usage("--baseline is %q, which is none of the models%s; it is one of %s", f.baseline, meant(f.baseline, names), strings.Join(names, ", "))
		}
	}
	for i := range list {
		list[i].at = i
	}
	defer func() {
		if f.aligned != nil {
			f.aligned.Close()
		}
	}()
	sets := make([]*eval.Evaluation, len(list))
	var found *report.Differences
	var read *compared.Comparison
	if why == "" {
		all, err := f.together(c, j, list, names, func(i int, s *opened) error { return ready(i, s.e, s.info) })
		if err != nil {
			return err
		}
		read = all
		for i, m := range all.Models() {
			sets[i] = m.Evaluation
		}
		if f.state != "" {
			if err := writeTo(f.state, all); err != nil {
				return err
			}
		}
		found = &report.Differences{Names: names, Level: f.level, Rows: all.Rows(), Baseline: all.Baseline >= 0, Adjust: how, Clusters: f.whole(all).Clusters(), Forecasts: consecutive(&all.Spec),
			Flips: all.Flips(), List: all.Differences(&compared.Answers{Margins: sizes, Adjust: how}), Groups: all.GroupDifferences(compared.GroupAnswers{MinRows: f.minRows, Adjust: how})}
		if f.flips != nil {
			if found.Flipped, err = f.flips.finish(names, &all.Spec, f.flipIDs()); err != nil {
				return err
			}
			found.Flipped.File = f.files.call(f.flipped)
		}
	} else {
		if err := f.refusedApart(why, timed); err != nil {
			return err
		}
		groups := f.columns.groups
		f.columns.groups = nil // rows are grouped when they are read again
		if err := f.oneByOne(c, j, list, names, sets, called, ready); err != nil {
			return err
		}
		f.columns.groups = groups
		if found, err = f.pairAgain(c, j, list, names, sets, &compared.Answers{Margins: sizes, Adjust: how}); err != nil {
			return err
		}
	}
	skills, err := f.relativeSkill(c, j, list, names, sets)
	if err != nil {
		return err
	}
	if timed {
		tests, note, err := f.dieboldMariano(c, j, list, sets, found)
		if err != nil {
			return err
		}
		if note != "" {
			warn(c, "%s", note)
		}
		found.TakeDieboldMariano(tests)
	}
	return f.show(c, names, sets, skills, found, read)
}

// oneByOne evaluates sets one after another.
func (f *compareRun) oneByOne(c *cobra.Command, j *job, list []comparedSet, names []string, sets []*eval.Evaluation, called func(int) string,
	ready func(i int, e *eval.Evaluation, info predictions.Info) error) (err error) {
	unequal := false
	for i, s := range list {
		j.more = len(list) - 1 - i
		f.take(&s)
		sets[i], err = f.evaluate(c, j, s.paths, func(e *eval.Evaluation, info predictions.Info) error { return ready(i, e, info) })
		if err != nil {
			return err
		}
		if a, b := &sets[0].Audit, &sets[i].Audit; a.Rows != b.Rows && f.model.from == "" {
			return badAt(place{File: called(i), Remedy: "give all sets the same rows: leave out of all those that are invalid in one"},
				"%s has %s rows that can be used and %s has %s: sets are compared on the same rows",
				called(0), report.Count(a.Rows), called(i), report.Count(b.Rows))
		} else if a.Rows != b.Rows {
			unequal = true
		}
	}
	if unequal {
		warn(c, "models have other numbers of forecasts, and their metrics are over those that each has; relative skill is over those that both of a pair have")
	}
	return nil
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
		have := map[string]int{}
		for _, n := range short {
			have[n]++
		}
		if folders > 0 && len(have) == len(short) {
			break
		}
		for i, p := range files {
			if have[short[i]] > 1 || folders == 0 {
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
func (f *compareRun) show(c *cobra.Command, names []string, sets []*eval.Evaluation, skills []report.RelativeSkill, found *report.Differences, read *compared.Comparison) error {
	if err := f.plot.overlay(names, sets, found, read); err != nil {
		return err
	}
	docs := report.Comparison{Differences: found, Skills: skills, Dropped: f.dropped(), Warnings: notedBy(c)}
	for i, e := range sets {
		docs.Sets = append(docs.Sets, report.Named{Name: names[i], Document: f.documentOf(i, e, read)})
	}
	return f.output.comparison(c, sets[0], &docs)
}

// percent formats a level with as many digits as it has.
func percent(level float64) string {
	return strconv.FormatFloat(math.Round(1e8*level)/1e6, 'f', -1, 64) + "%"
}

// consecutive reports whether rows are often of consecutive times, as those of forecasts.
func consecutive(s *eval.Spec) bool {
	return !s.Shape().HasClasses() && s.Kind != metrics.Survival
}
