package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// scoreRun holds the flags of candor score.
type scoreRun struct {
	evalFlags
	keepFlags
	out string
}

func scoreCommand() *cobra.Command {
	var f scoreRun
	c := &cobra.Command{
		Use:   "score PREDICTIONS...",
		Short: "Write the metrics of each row",
		Long: `Write the value of each metric for every row of the predictions, in order: the losses whose means candor eval reports.
Files, labels and flags are those of candor eval. With --task samples each row holds the draws of a forecast, (N, M), and
--labels names the observed values.

The extension of -o FILE chooses the format: .npy, a float64 array (N,) for one metric or (N, number) for several;
.npz, an array (N,) for each metric; or a table with a column for each metric: .csv or .tsv, also .gz and .zst of them,
.parquet, .arrow or .feather (an Arrow file) and .arrows (an Arrow stream). "-" writes .npy to standard output.
candor compare takes such an .npz in place of the predictions: it also holds the labels, the decisions, the weights if
there are any, and a description in the text candor_rows.

--id and --keep copy columns of a table in front of the metrics, first those of --id; to an .npz they copy arrays. --id also
matches rows with those of --labels TABLE:COLUMN, and with --pivot says which rows are one example.

Rows that are left out, by --on-invalid drop, --on-unmatched drop, --ignore-label or a weight of 0, are NaN; a note on
standard error counts them. If there is an error, nothing is written.`,
		Example: `  candor score probs.npy --labels labels.npy --metrics nll -o nll.npy
  candor score logits.npy --labels labels.npy --input logits --metrics 'accuracy,brier(form=sum)' -o rows.csv
  candor score predictions.csv --prob-prefix prob_ --labels label --id id --keep label -o rows.parquet
  candor score probs.npy --labels labels.npy -o base.npz
  candor score shard-*.npz --input logits --metrics all --on-invalid drop -o rows.npz
  candor score logits.npy --labels labels.npy --input logits --ignore-label -100 --metrics nll -o nll.npy
  candor score draws.npy --labels obs.npy --task samples --metrics crps,crps_fair -o crps.npy
  candor score forecast.csv --task regression --mean mu --std sigma --observed y --metrics crps,pit -o rows.csv`,
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
	take("labels", "input", "task", "event", "prob", "prob-prefix", "logit-prefix", "pivot", "on-unmatched", "classes", "no-header", "ignore-label", "percent")
	fl.Lookup("task").Usage = "`TASK`: classification or binary, where the shape does not decide, regression, quantiles or samples"
	fl.StringVar(&f.metrics, "metrics", "default", "`LIST` of metrics, with options: 'nll,brier(form=sum)', default, all")
	fl.StringVarP(&f.out, "output", "o", "", "`FILE` to write: .npy, .npz (which candor compare takes), .csv, .tsv, .parquet, .arrow, .feather or .arrows")
	f.keepFlags.flags(c)
	take("weights", "mean", "std", "scale", "distribution", "observed", "error", "quantile-prefix", "levels", "decisions", "on-invalid", "renormalize", "bfloat16", "name", "threads", "max-memory")
	return c
}

// rowMetrics parses --metrics.
func rowMetrics(list string, k metrics.Kind, classes int, levels []float64, law regress.Law) ([]metrics.RowMetric, error) {
	var l []metrics.RowMetric
	add := func(m metrics.RowMetric) {
		if law != regress.NormalLaw {
			m, _ = regress.LawRowMetric(m.Name, law) // it is among those of RowsOf
		}
		if !slices.ContainsFunc(l, func(o metrics.RowMetric) bool { return o.Name == m.Name }) {
			l = append(l, m)
		}
	}
	for _, s := range strings.Split(list, ",") { // no metric takes more than one option
		switch s = strings.TrimSpace(s); s {
		case "":
		case "default", "all":
			for _, m := range slices.Concat(score.RowMetrics(k, classes, s == "default"), regress.RowMetrics(k, levels, s == "default")) {
				add(m)
			}
		default:
			m, err := score.ParseRowMetric(s, k, classes)
			if errors.Is(err, metrics.ErrNoRows) {
				m, err = regress.ParseRowMetric(s, k, levels)
			}
			if errors.Is(err, metrics.ErrNoRows) {
				// The name may be a metric of another kind, or unknown.
				if _, unknown := eval.ParseMetric(s); unknown != nil && !ofAnother(s, k) {
					err = unknown
				} else {
					err = fmt.Errorf("%w of %s; there are %s", err, k, strings.Join(rowNames(k), ", "))
				}
			}
			if err != nil {
				return nil, usage("--metrics: %v", err)
			}
			add(m)
		}
	}
	if len(l) == 0 {
		return nil, usage("--metrics: no metric is named in %q; 'candor metrics' lists them", list)
	}
	return l, nil
}

// rowNames returns the metrics with a value for each row of a kind.
func rowNames(k metrics.Kind) []string { return slices.Concat(score.RowNames(k), regress.RowNames(k)) }

// ofAnother reports whether name is a row metric of another kind.
func ofAnother(name string, k metrics.Kind) bool {
	for _, o := range []metrics.Kind{metrics.Probs, metrics.Samples, metrics.Normals, metrics.Quantiles} {
		if o != k && slices.Contains(rowNames(o), name) {
			return true
		}
	}
	return false
}

func (f *scoreRun) run(c *cobra.Command, paths []string) error {
	if len(paths) == 0 && !f.columns.files() {
		return unnamed(c, "no predictions are named")
	}
	if err := f.useRemote(&paths); err != nil {
		return err
	}
	form, err := f.form(c)
	if err != nil {
		return err
	}
	reads := slices.Concat(paths, f.labels, f.weights, f.decisions)
	if len(paths) == 0 {
		reads = append(reads, f.columns.named()...)
	}
	if err := f.files.check(reads...); err != nil {
		return err
	}
	if f.out != "-" {
		if err := checkFile("-o", f.out, reads...); err != nil {
			return err
		}
	}
	if f.task == "ensemble" || f.task == "loglik" || f.task == "multilabel" || f.task == ofSurvival {
		return usage("--task is %q; candor score takes classification, binary, regression, quantiles or samples", f.task)
	}
	if f.truth() != nil || f.table.pivot != "" {
		f.table.ids = f.keepFlags.ids
	}
	f.table.stay = true
	j, err := f.job(c)
	if err != nil {
		return err
	}
	var out *tableOut
	var kept *keptRows
	if form == "npz" {
		if kept, err = f.keptInNPZ(paths); err != nil {
			return err
		}
		if f.kept = kept; kept != nil && !f.tables(paths) && !f.forecasts(paths) {
			j.read.Kept, j.read.Keep = kept.names, kept.add
		}
	} else if out, err = f.newTableOut(f.out, &f.keepFlags, ".npy", paths); err != nil {
		return err
	}
	defer func() {
		if kept != nil && kept.file != nil {
			temporary.Remove(kept.file)
		}
	}()
	defer func() { out.remove() }()
	defer stayWithin(j.memory)()
	r, err := j.source(&f.evalFlags, paths)
	if err != nil {
		return badData(err)
	}
	defer r.Close()
	info := r.Info()
	if info.Rows < 0 && out == nil {
		if info.Rows, err = f.count(c, j, paths); err != nil {
			return err
		}
	}
	if err := f.checkShape(c, info, f.tables(paths)); err != nil {
		return err
	}
	l, err := rowMetrics(f.metrics, j.read.Kind, info.Classes, j.spec.Levels, j.spec.Law)
	if err != nil {
		return err
	}
	warnISA(c)
	if out != nil {
		if err := out.ready(r, namesOf(l)); err != nil {
			return err
		}
	}
	t, err := newRowTable(f.out, l, info.Rows, form == "npz")
	if err != nil {
		return cannotWrite(f.out, err)
	}
	defer t.remove()
	if form == "npz" {
		if t.beside, err = f.beside(j, r, info, l, kept, paths); err != nil {
			return err
		}
	}
	pass, source := metrics.NewPass(&j.pass, newRowWriter(t)), &stopping{Source: r, t: t.arrayFile}
	source.table = t
	if j.pass.Drop || info.Weighted || len(f.tokens.ignore) > 0 || f.table.unmatched == "drop" {
		source.blank = true
	}
	err = func() error {
		defer progress(c.ErrOrStderr(), r, info.Bytes, "reading")()
		return pass.AddSource(source)
	}()
	if kept != nil && kept.failed != nil {
		return cannotWrite(f.out, kept.failed)
	}
	for _, failed := range []error{t.failure(), out.failure()} {
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
	t.rows = source.rows
	warnOf(c, r)
	audit := pass.Audit()
	if audit.Rows == 0 {
		return fault(f.files.calls(paths), nothingLeft, "no row is left to score: %s", f.tokens.reasons(&audit))
	}
	if err := t.finish(c, f.out, form, out); err != nil {
		return cannotWrite(f.out, err)
	}
	for _, w := range audit.Warnings() {
		warn(c, "%s", w)
	}
	if n := audit.Dropped + audit.Absent + audit.Ignored; n > 0 {
		warn(c, "%s of %s rows are NaN", report.Count(n), report.Count(t.rows))
	}
	return nil
}

// rowReader is a reader of one model's rows.
type rowReader interface {
	reader
	metrics.Source
}

// source opens the files of one model, and keeps the levels of quantiles.
func (j *job) source(f *evalFlags, paths []string) (rowReader, error) {
	if f.aligned != nil {
		return f.aligned.reader(f.at, f.columns.series != ""), nil
	}
	if f.model.from != "" {
		return j.openModel(f, paths)
	}
	if f.tables(paths) {
		return j.openTable(f, paths)
	}
	if !f.forecasts(paths) {
		return predictions.Open(paths, &j.read)
	}
	o, err := f.forecast(j, paths)
	if err != nil {
		return nil, err
	}
	r, err := predictions.OpenForecast(paths, o)
	if err != nil {
		return nil, err
	}
	j.spec.Levels = r.Levels()
	return r, nil
}

// count reads tables once to count their rows, since the number must be known before the first row is written.
func (f *evalFlags) count(c *cobra.Command, j *job, paths []string) (rows int64, err error) {
	return f.countOf(c, paths, func() (rowReader, error) {
		r, err := j.source(f, paths)
		if err != nil {
			return nil, badData(err)
		}
		return r, nil
	})
}

// countOf is count of the rows that open opens.
func (f *evalFlags) countOf(c *cobra.Command, paths []string, open func() (rowReader, error)) (rows int64, err error) {
	if once := f.files.once(paths...); once != "" {
		return 0, usage("a table on %s cannot be read twice, and the number of its rows is needed first; name a file", once)
	}
	kept := f.kept
	f.kept = nil // nothing is copied yet
	r, err := open()
	f.kept = kept
	if err != nil {
		return 0, err
	}
	defer r.Close()
	defer progress(c.ErrOrStderr(), r, r.Info().Bytes, "reading")()
	for {
		chunk, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return 0, badData(err)
		}
		rows += int64(chunk.Rows)
		if chunk.Recycle != nil {
			chunk.Recycle()
		}
	}
}

// form returns the format that the name in -o implies.
func (f *scoreRun) form(c *cobra.Command) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(f.out)); {
	case f.out == "":
		return "", usage("-o is missing; name a file for the values, such as rows.npy")
	case f.out == "-":
		if screenOf(c.OutOrStdout()).terminal {
			return "", usage("-o -: standard output is a terminal, which cannot show .npy; name a file, or pipe it to a program")
		}
		return "npy", nil
	case ext == ".npy" || ext == ".npz":
		return ext[1:], nil
	}
	if _, ok := predictions.TableFormatOf(f.out); ok {
		return "table", nil
	}
	return "", usage("-o %s: its extension names no format; end the name in .npy, .npz, %s", f.out, anyOf(predictions.TableExtensions()))
}

// rowTable is the file being written: the values of all rows, row by row or metric by metric.
type rowTable struct {
	*arrayFile
	metrics []metrics.RowMetric
	rows    int64
	planes  int      // 1, or one for each metric
	beside  *rowFile // of an .npz; else nil
}

func newRowTable(path string, l []metrics.RowMetric, rows int64, apart bool) (*rowTable, error) {
	t := &rowTable{metrics: l, rows: rows, planes: 1}
	if apart {
		t.planes = len(l)
	}
	shape := []int64{max(rows, 0)} // a table has no header, so it may be unknown
	if len(l) > 1 && !apart {
		shape = append(shape, int64(len(l)))
	}
	var err error
	if t.arrayFile, err = newArrayFile(path, shape, metrics.Float64); err != nil {
		return nil, err
	}
	return t, nil
}

// blank sets the values of rows to NaN.
func (t *rowTable) blank(first int64, rows int) {
	width := int64(len(t.metrics) / t.planes)
	b := slices.Repeat(binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())), rows*int(width))
	for p := range t.planes {
		t.put(b, int64(len(t.head))+(int64(p)*t.rows+first)*width*8)
	}
}

// finish converts the file to its final form.
func (t *rowTable) finish(c *cobra.Command, path, form string, out *tableOut) error {
	switch form {
	case "npy":
		return t.arrayFile.finish(c, path, nil)
	case "npz":
		return t.arrayFile.finish(c, path, t.writeNPZ)
	}
	return t.arrayFile.finish(c, path, func(w io.Writer) error {
		var columns []valueColumn
		for i, name := range namesOf(t.metrics) {
			columns = append(columns, valueColumn{name: name, at: i})
		}
		return out.write(w, t.arrayFile, columns, metrics.Float64, len(columns), t.rows)
	})
}

// namesOf returns the names of metrics.
func namesOf(l []metrics.RowMetric) (names []string) {
	for _, m := range l {
		names = append(names, m.Name)
	}
	return names
}

// stopping ends a source once nothing more can be written, and counts the rows.
type stopping struct {
	metrics.Source
	t     *arrayFile
	table *rowTable // to be told of rows before they are used; may be nil
	blank bool      // rows may be left out
	rows  int64
}

func (s *stopping) Next() (*metrics.Chunk, error) {
	if err := s.t.failure(); err != nil {
		return nil, err
	}
	c, err := s.Source.Next()
	if err == nil {
		if s.blank {
			s.table.blank(c.First, c.Rows)
		}
		if s.table != nil {
			s.table.note(c)
		}
		s.rows += int64(c.Rows)
	}
	return c, err
}

const changedWhile, changedRemedy = "the file changed while it was read", "wait until whoever writes it is done"

// errChanged is the error for tables whose rows have changed since they were counted.
func (f *evalFlags) errChanged(paths []string) error {
	return fault(f.files.calls(paths), changedRemedy, changedWhile)
}

// rowWriter is an accumulator without a state: it writes each row's values to the file.
type rowWriter struct {
	t      *rowTable
	values []func([]float64, *metrics.Block) // one per metric
	v      []float64                         // metric by metric
	b      []byte
}

func newRowWriter(t *rowTable) *rowWriter {
	w := &rowWriter{t: t}
	for _, m := range t.metrics {
		w.values = append(w.values, m.New())
	}
	return w
}

func (w *rowWriter) Needs() (n metrics.Need) {
	for _, m := range w.t.metrics {
		n |= m.Need
	}
	return n
}

var errNoRowState = errors.New("rows have no state")

func (w *rowWriter) Empty() metrics.Accumulator          { return newRowWriter(w.t) }
func (w *rowWriter) Len() int64                          { return 0 }
func (w *rowWriter) Merge(metrics.Accumulator) error     { return nil }
func (w *rowWriter) AppendBinary([]byte) ([]byte, error) { return nil, errNoRowState }
func (w *rowWriter) UnmarshalBinary([]byte) error        { return errNoRowState }

func (w *rowWriter) AddBlock(b *metrics.Block) {
	n := b.Rows
	if need := n * len(w.values); len(w.v) < need {
		w.v, w.b = make([]float64, need), make([]byte, 8*need)
	}
	for j, f := range w.values {
		f(w.v[j*n:(j+1)*n], b)
	}
	// Rows that are consecutive in the block need not be consecutive in the data set.
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && b.Number(hi) == b.Number(lo)+int64(hi-lo) {
			hi++
		}
		w.write(b.Number(lo), n, lo, hi)
		if w.t.beside.planes() > 0 {
			w.t.decide(b, w.b, lo, hi)
		}
		lo = hi
	}
}

// write writes rows [lo, hi) of a block of n rows; the first of them has the number first.
func (w *rowWriter) write(first int64, n, lo, hi int) {
	width := len(w.values) / w.t.planes
	for p := range w.t.planes {
		b := w.b[:0]
		for i := lo; i < hi; i++ {
			for c := range width {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(w.v[(p*width+c)*n+i]))
			}
		}
		w.t.put(b, int64(len(w.t.head))+(int64(p)*w.t.rows+first)*int64(width)*8)
	}
}
