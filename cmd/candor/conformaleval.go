package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// conformalEval holds the flags of candor conformal eval.
type conformalEval struct {
	conformalFlags
	file      string // of the map
	coverage  float64
	low, high string // columns of given intervals
	intervals bool
	plot      plot
}

func conformalEvalCommand() *cobra.Command {
	var f conformalEval
	c := &cobra.Command{
		Use:   "eval FILES...",
		Short: "Say how often sets or intervals hold the truth, and how large they are",
		Long: `Say how often sets of classes, or intervals of numbers, hold the truth: over all rows, by the size of the set or the width of the
interval, by class, and with --group by group. Shares have the exact intervals of Clopper and Pearson.

With --map, FILES are labelled predictions, and the sets are those of a map of 'candor conformal fit'. The coverage is then also
compared with what the calibration rows promise.

Without it, FILES are sets or intervals of any origin. Sets are 0 and 1 for each class: an array (N, K), or columns of a table. Intervals
are --low and --high of a table with --observed, or with --intervals an array (N, 2) with --labels. --coverage is what they are meant to
cover; the interval score needs it. A low end above the high end is an error.`,
		Example: `  candor conformal eval probs.npy --map sets.json --labels labels.npy
  candor conformal eval sets.npy --labels labels.npy --coverage 0.9
  candor conformal eval intervals.csv --low low --high high --observed y --coverage 0.9 --json`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, matched(args)) },
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.file, "map", "", "`FILE` of a map of candor conformal fit; without it the files hold sets or intervals")
	f.take(c, "labels")
	fl.Float64Var(&f.coverage, "coverage", 0, "`SHARE` of rows that given sets or intervals are meant to cover")
	fl.StringVar(&f.low, "low", "", "`COLUMN` of the low ends of given intervals")
	fl.StringVar(&f.high, "high", "", "`COLUMN` of the high ends of given intervals")
	fl.BoolVar(&f.intervals, "intervals", false, "an array (N, 2) holds intervals, not sets of two classes")
	f.take(c, "group", "input", "event")
	f.take(c, strings.Fields(conformalColumns)...)
	f.take(c, "mean", "std", "observed", "error", "quantile-prefix", "levels", "confidence", "bfloat16")
	fl.Lookup("input").Usage = "`KIND` of scores: probs, logits or logprobs"
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.StringVar(&f.plot.file, "plot", "", "draw the coverage by size or width, class and group, beside what is promised, to `FILE`.png, .svg or .pdf")
	f.take(c, "name", "threads", "max-memory")
	return c
}

func (f *conformalEval) run(c *cobra.Command, paths []string) error {
	var more []string
	if f.file != "" {
		more = []string{f.file}
	}
	if err := f.check("", paths, more...); err != nil {
		return err
	}
	if err := f.plot.check(c); err != nil {
		return err
	}
	if f.plot.file != "" {
		if err := f.plot.checkFile("", "", slices.Concat(paths, f.labels, f.columns.groups, more)...); err != nil {
			return err
		}
	}
	given := f.low != "" || f.high != "" || f.intervals
	switch {
	case f.file != "" && (given || f.coverage != 0):
		return usage("--map makes the sets and intervals, and says what they are to cover; leave --low, --high, --intervals and --coverage out")
	case (f.low == "") != (f.high == ""):
		return usage("--low and --high are the two ends of intervals; give both")
	case f.low != "" && f.intervals:
		return usage("--low and --high name columns of a table, and --intervals is for an array; give one of them")
	case c.Flags().Changed("coverage") && !(f.coverage > 0 && f.coverage < 1):
		return usage("--coverage is %v; it is a number between 0 and 1, such as 0.9", f.coverage)
	}
	if f.plot.file != "" && f.file == "" && f.coverage == 0 {
		return usage("--plot draws the coverage beside what is promised; give --coverage, such as 0.9")
	}
	var m *conformal.Map
	var method conformal.Method
	if f.file != "" {
		var err error
		if m, err = f.readConformal(f.file); err != nil {
			return err
		}
		method = m.Method()
	} else if given {
		method.Score = conformal.CQR
	} else if f.task == "" && f.event == "" {
		f.task = "classification" // two columns are two classes
	}
	j, err := f.begin(c, method)
	if err != nil {
		return err
	}
	defer stayWithin(j.memory)()
	warnISA(c)
	r, kind, err := f.open(j, method, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	info := r.Info()
	if info.Weighted {
		return fault(f.files.calls(paths), "leave the weights out", "the rows have weights, and coverage is counted in rows")
	}
	d := &report.Conformal{Coverage: f.coverage, Level: f.level}
	switch {
	case m != nil:
		if err := m.Accepts(kind, info.Classes); err != nil {
			return fault(f.files.calls(paths), "", "%v", err)
		}
		d = documentOf(m, nil, f.level)
	case given && info.Classes != 2:
		return fault(f.files.calls(paths), "", "intervals have two ends, and these rows have %d numbers", info.Classes)
	case !given && info.Classes < 2:
		return fault(f.files.calls(paths), "intervals of an array take --intervals", "sets have a column for each class, and there is one column")
	}
	if d.Names, err = f.classNames(r); err != nil {
		return err
	}
	if err := f.count(c, r, info, m, d, j.pass.Threads, paths); err != nil {
		return err
	}
	warnOf(c, r)
	if f.plot.file != "" {
		if err := f.plot.save(d.Forest()); err != nil {
			return err
		}
	}
	return f.show(c, d, "")
}

// open opens the files: given intervals as two quantiles.
func (f *conformalEval) open(j *job, m conformal.Method, paths []string) (groupedReader, metrics.Kind, error) {
	if f.low == "" && !f.intervals {
		return f.rows(j, m, paths)
	}
	o, err := f.forecast(j, paths)
	if err != nil {
		return nil, 0, err
	}
	o.Levels = []float64{0.25, 0.75} // of which nothing depends
	if f.low != "" {
		o.Columns = []string{f.low, f.high}
	}
	r, err := predictions.OpenForecast(paths, o)
	if err != nil {
		return nil, 0, badData(err)
	}
	return r, o.Kind, nil
}

// badSet is a value of a set that is neither 0 nor 1.
type badSet struct {
	row   int64
	class int
	value float64
}

// count counts all rows into the document.
func (f *conformalEval) count(c *cobra.Command, r groupedReader, info predictions.Info, m *conformal.Map, d *report.Conformal, threads int, paths []string) error {
	ofClasses := m == nil && !f.intervals && f.low == "" || m != nil && m.Method().Score.Classes()
	k := max(2, info.Classes)
	if ofClasses {
		d.Sets = conformal.NewSetTally(k)
	} else {
		d.Intervals = &conformal.IntervalTally{}
	}
	grouped := len(f.columns.groups) > 0
	found := map[int32]conformal.Share{}
	if grouped {
		d.GroupColumns = r.GroupColumns()
	}
	var lock sync.Mutex
	var bad *badSet
	var crossed error
	visitor := func(now **metrics.Chunk) (func(*metrics.Block), func()) {
		groups := map[int32]conformal.Share{}
		count := func(b *metrics.Block, i int, covered bool) {
			if grouped {
				c := *now
				g := c.Groups[b.Number(i)-c.First]
				t := groups[g]
				t.Add(covered)
				groups[g] = t
			}
		}
		var bools []bool
		var ends []float64
		sets, intervals := conformal.NewSetTally(k), &conformal.IntervalTally{}
		fill := func(dst []bool, b *metrics.Block) { // given sets
			for i := range b.Rows {
				for class := range k {
					v := b.Probs.At(i, class)
					dst[i*k+class] = v == 1
					if v == 0 || v == 1 {
						continue
					}
					lock.Lock()
					if n := b.Number(i); bad == nil || n < bad.row {
						bad = &badSet{n, class, v}
					}
					lock.Unlock()
				}
			}
		}
		if m != nil && ofClasses {
			fill = m.Sets()
		}
		visit := func(b *metrics.Block) {
			if ofClasses {
				bools = slices.Grow(bools[:0], b.Rows*k)[:b.Rows*k]
				fill(bools, b)
				for i := range b.Rows {
					set := bools[i*k:][:k]
					sets.Add(set, int(b.Labels[i]))
					count(b, i, set[b.Labels[i]])
				}
				return
			}
			ends = slices.Grow(ends[:0], 2*b.Rows)[:2*b.Rows]
			if m != nil {
				m.Intervals(ends, b)
			}
			for i := range b.Rows {
				low, high, y := ends[2*i], ends[2*i+1], 0.0
				switch {
				case m == nil:
					low, high, y = b.Probs.At(i, 0), b.Probs.At(i, 1), b.Observed[i]
				case b.Kind == metrics.Quantiles:
					y = b.Observed[i]
				case b.Probs.Width == 3:
					y = b.Probs.At(i, 2)
				default: // errors: moved by their own size
					e := b.Probs.At(i, 0)
					low, high, y = low-e, high-e, e
				}
				if err := intervals.Add(low, high, y); err != nil {
					lock.Lock()
					crossed = err
					lock.Unlock()
				}
				count(b, i, low <= y && y <= high)
			}
		}
		return visit, func() {
			for g, s := range groups {
				t := found[g]
				t.Merge(s)
				found[g] = t
			}
			if ofClasses {
				d.Sets.Merge(sets)
			} else {
				d.Intervals.Merge(intervals)
			}
		}
	}
	walkers := make([]*metrics.Walker, max(1, threads))
	ends := make([]func(), len(walkers))
	visits := make([]func(*metrics.Chunk) error, len(walkers))
	for i := range walkers {
		var now *metrics.Chunk
		visit, end := visitor(&now)
		walkers[i], ends[i] = metrics.NewWalker(&metrics.Options{Unchecked: m == nil && ofClasses}, metrics.NeedRows, visit), end
		visits[i] = func(c *metrics.Chunk) error {
			now = c
			walkers[i].Add(c)
			return nil
		}
	}
	err := func() error {
		defer progress(c.ErrOrStderr(), r, info.Bytes, "reading")()
		if err := metrics.Feed(r, visits...); err != nil {
			return err
		}
		return invalidRows(walkers)
	}()
	var wrong *metrics.DataError
	switch {
	case m == nil && !ofClasses && errors.As(err, &wrong) && wrong.Faults[0].Reason == metrics.Crossing:
		b := wrong.Faults[0]
		file, row := r.Locate(b.Row)
		where := fmt.Sprintf("row %d", row)
		if t, ok := r.(*predictions.ForecastReader); ok && t.Line(b.Row) > 0 {
			where = fmt.Sprintf("line %d", t.Line(b.Row))
		}
		return fault(f.files.call(file), "swap the two ends, if they are in the wrong order", "%s: the high end is %v, below the low end (%d of %d rows like it)", where, b.Value, b.Count, wrong.Rows)
	case err != nil:
		return badData(f.locate(err, r, paths))
	case bad != nil:
		file, row := r.Locate(bad.row)
		return fault(file, "probabilities take --map, the file of a map of candor conformal fit", "row %d, class %d is %v; a set holds a class, 1, or not, 0", row, bad.class, bad.value)
	case crossed != nil:
		return fault(f.files.calls(paths), "", "%v", crossed)
	}
	for _, end := range ends {
		end()
	}
	for g, s := range found {
		d.Groups = append(d.Groups, report.ConformalGroup{Values: r.Group(g), Share: s})
	}
	rows := int64(0)
	if ofClasses {
		rows = d.Sets.All().Rows
	} else {
		rows = d.Intervals.All.Rows
	}
	if rows == 0 {
		return fault(f.files.calls(paths), "", "%s", "there are no rows")
	}
	return nil
}
