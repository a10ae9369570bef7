package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// lossOfRows maps metrics of forecasts to the loss per row whose mean they are based on, if its name differs.
var lossOfRows = map[string]string{"rmse": "squared_error", "mae": "abs_error", "ae_median": "abs_error"}

// rowLosses holds the losses of each row of a set, loss by loss, with NaN for rows that were left out. It is an accumulator
// without a state.
type rowLosses struct {
	losses []metrics.RowMetric
	values [][]float64
	seen   []float64                         // observed values; none if rows hold only errors
	grown  *atomic.Bool                      // there are more rows than in the first read
	of     []func([]float64, *metrics.Block) // one per loss
	v      []float64
	series []int32       // of each row, the number of its series or cluster; nil unless they are asked for and known
	names  *atomic.Value // func(int32) string: of series
	groups []int32       // of each row; nil unless rows are grouped
	by     groupNames
	key    func(row int64) string // of a row; "" where rows have none
}

// lossesOf returns the losses per row on which an evaluation's metrics are based.
func lossesOf(e *eval.Evaluation) (l []metrics.RowMetric) {
	if !eval.Forecasts(e.Spec.Kind) {
		return nil
	}
	seen := map[string]bool{}
	of := func(name string) (metrics.RowMetric, error) {
		loss, err := regress.ParseRowMetric(name, e.Spec.Kind, e.Spec.Levels)
		if err == nil && e.Spec.Kind == metrics.Normals {
			loss, err = regress.LawRowMetric(name, e.Spec.Law)
		}
		if errors.Is(err, metrics.ErrNoRows) {
			loss, err = score.ParseRowMetric(name, e.Spec.Kind, e.Spec.Classes)
		}
		return loss, err
	}
	for _, m := range e.Spec.Metrics {
		if eval.Describe(m.Name).In(e.Spec.Shape()).Better != eval.Lower {
			continue
		}
		loss, err := of(m.String())
		if err != nil {
			loss, err = of(lossOfRows[m.String()])
		}
		if err == nil && !seen[loss.Name] {
			seen[loss.Name] = true
			l = append(l, loss)
		}
	}
	return l
}

// rowLosses reads the rows of a set again to compute the losses of each.
func (f *compareRun) rowLosses(c *cobra.Command, j *job, e *eval.Evaluation, set comparedSet, losses []metrics.RowMetric, series string) (*rowLosses, error) {
	f.take(&set)
	f.columns.series = series
	defer func() { f.columns.series = "" }()
	r, err := j.source(&f.evalFlags, set.paths)
	if err != nil && series != "" {
		return nil, usage("--series: %s", strings.NewReplacer("for the cluster", "for the series", "--cluster", "--series").Replace(err.Error()))
	}
	if err != nil {
		return nil, badData(err)
	}
	defer r.Close()
	l := &rowLosses{losses: losses, grown: new(atomic.Bool), key: func(int64) string { return "" }}
	if t, ok := r.(*predictions.ForecastReader); ok {
		l.key = t.Key
	}
	none := func() []float64 {
		v := make([]float64, allRowsOf(e))
		for i := range v {
			v[i] = math.NaN()
		}
		return v
	}
	if series != "" || f.columns.cluster != "" {
		l.series, l.names = make([]int32, allRowsOf(e)), new(atomic.Value)
	}
	if g, ok := r.(groupNames); ok && len(f.columns.groups) > 0 {
		l.groups, l.by = make([]int32, allRowsOf(e)), g
	}
	for range losses {
		l.values = append(l.values, none())
	}
	if eval.Forecasts(e.Spec.Kind) && (e.Spec.Kind != metrics.Normals || e.Spec.Classes == 3) {
		l.seen = none()
	}
	l.begin()
	pass := metrics.NewPass(&j.pass, l)
	err = func() error {
		defer progress(c.ErrOrStderr(), r, r.Info().Bytes, "reading")()
		return pass.AddSource(r)
	}()
	if err != nil {
		return nil, badData(f.asSeries(f.locate(err, r, set.paths)))
	}
	if l.grown.Load() {
		return nil, f.errChanged(set.paths)
	}
	return l, nil
}

// hasSeries reports whether a set has the column of --series.
func (f *compareRun) hasSeries(j *job, set comparedSet) bool {
	f.take(&set)
	f.columns.series = f.series
	defer func() { f.columns.series = "" }()
	r, err := j.source(&f.evalFlags, set.paths)
	if err != nil {
		return false
	}
	r.Close()
	return true
}

// sameSeries returns an error if a row of two sets is of different series.
func (f *compareRun) sameSeries(first comparedSet, a *rowLosses, other comparedSet, b *rowLosses) error {
	if a == b || a.series == nil || b.series == nil {
		return nil
	}
	same := map[[2]int32]bool{}
	for r, s := range a.series[:min(len(a.series), len(b.series))] {
		if a.values[0][r] != a.values[0][r] || b.values[0][r] != b.values[0][r] { // left out
			continue
		}
		both := [2]int32{s, b.series[r]}
		is, known := same[both]
		if !known {
			is = a.name(both[0]) == b.name(both[1])
			same[both] = is
		}
		if !is {
			row := int64(r)
			return badAt(place{File: f.files.call(other.paths[0]), Row: &row, Column: f.series, Value: b.name(both[1]), Remedy: "are these the same rows in the same order?"},
				"row %d is of the series %q in %s and of %q in %s", r, a.name(both[0]), f.files.call(first.paths[0]), b.name(both[1]), f.files.call(other.paths[0]))
		}
	}
	return nil
}

// name returns that of a series.
func (l *rowLosses) name(series int32) string {
	if f, ok := l.names.Load().(func(int32) string); ok {
		return f(series)
	}
	return strconv.Itoa(int(series))
}

// asSeries words an error about the column of --series, which readers take for one of clusters.
func (f *compareRun) asSeries(err error) error {
	var e *predictions.Error
	if f.series == "" || !errors.As(err, &e) {
		return err
	}
	if reason, ok := strings.CutSuffix(e.Reason, "the row has no cluster"); ok {
		e.Reason, e.Remedy = reason+"the row has no series", "each row needs the name or number of its series"
	}
	return err
}

// allRowsOf returns the number of rows in a set's files, including those that were left out.
func allRowsOf(e *eval.Evaluation) int64 {
	return e.Audit.Rows + e.Audit.Dropped + e.Audit.Absent + e.Audit.Ignored
}

func (l *rowLosses) begin() {
	l.of = nil
	for _, m := range l.losses {
		l.of = append(l.of, m.New())
	}
}

func (l *rowLosses) Needs() (n metrics.Need) {
	n = metrics.NeedRows
	for _, m := range l.losses {
		n |= m.Need
	}
	return n
}

func (l *rowLosses) Empty() metrics.Accumulator {
	o := &rowLosses{losses: l.losses, values: l.values, seen: l.seen, series: l.series, names: l.names, groups: l.groups, grown: l.grown}
	o.begin()
	return o
}

func (l *rowLosses) AddBlock(b *metrics.Block) {
	if len(l.v) < b.Rows {
		l.v = make([]float64, b.Rows)
	}
	if b.Number(b.Rows-1) >= int64(len(l.values[0])) {
		l.grown.Store(true)
		return
	}
	for i := range b.Rows {
		switch t := &b.Probs; {
		case l.seen == nil:
		case b.Observed != nil:
			l.seen[b.Number(i)] = b.Observed[i]
		default:
			l.seen[b.Number(i)] = t.At(i, 2)
		}
	}
	if l.series != nil {
		if b.ClusterName != nil && l.names.Load() == nil {
			l.names.Store(b.ClusterName)
		}
		for i, s := range b.Clusters {
			l.series[b.Number(i)] = s
		}
	}
	if l.groups != nil {
		for i, g := range b.Groups {
			l.groups[b.Number(i)] = g
		}
	}
	for k, f := range l.of {
		f(l.v[:b.Rows], b)
		for i, v := range l.v[:b.Rows] {
			l.values[k][b.Number(i)] = v
		}
	}
}

func (l *rowLosses) Len() int64                          { return 0 }
func (l *rowLosses) Merge(metrics.Accumulator) error     { return nil }
func (l *rowLosses) AppendBinary([]byte) ([]byte, error) { return nil, errNoRowState }
func (l *rowLosses) UnmarshalBinary([]byte) error        { return errNoRowState }

// dieboldMariano compares the pairs of sets whose differences were found, by the losses per row on which metrics are based. It needs
// the rows in order, and all their losses in memory.
func (f *compareRun) dieboldMariano(c *cobra.Command, j *job, list []comparedSet, sets []*eval.Evaluation, found *report.Differences) (tests []report.DieboldMariano, note string, err error) {
	losses := lossesOf(sets[0])
	if found == nil || len(losses) == 0 {
		return nil, "", usage("--horizon is for forecasts (--task regression, quantiles, samples) with losses among --metrics, such as crps; leave it out")
	}
	for _, s := range list {
		if once := f.files.once(s.paths...); once != "" && f.aligned == nil {
			return nil, "", about(usage("--horizon: the Diebold-Mariano test reads the rows again, and %s can be read only once; name a file", once), once)
		}
	}
	rows := allRowsOf(sets[0])
	if need := 8 * rows * int64(len(list)*len(losses)+4); need > j.memory/2 {
		return nil, "", usage("--horizon: the losses of %s rows take %d MiB; pass --max-memory %dMiB, or name fewer metrics", report.Count(rows), need>>20+1, need>>19+1)
	}
	values := make([]*rowLosses, len(list))
	for i := range list {
		series := f.series
		if i > 0 && series != "" && !f.hasSeries(j, list[i]) { // its rows are of the series of the first set's
			series = ""
		}
		if values[i], err = f.rowLosses(c, j, sets[i], list[i], losses, series); err != nil {
			return nil, "", err
		}
		if err := f.sameSeries(list[0], values[0], list[i], values[i]); err != nil {
			return nil, "", err
		}
	}
	loss := map[string]int{}
	for k, m := range losses {
		loss[m.Name] = k
	}
	for _, d := range found.List {
		name := d.Metric.String()
		k, ok := loss[name]
		if !ok {
			k, ok = loss[lossOfRows[name]]
			if ok = ok && name != "ae_median"; !ok { // which is of medians
				continue
			}
		}
		var x, y []float64
		var of []int32
		for r, v := range values[d.A].values[k] {
			if w := values[d.B].values[k][r]; v == v && w == w {
				if x, y = append(x, v), append(y, w); values[0].series != nil {
					of = append(of, values[0].series[r])
				}
			}
		}
		r, err := regress.DieboldMariano(x, y, &regress.DMOptions{Horizon: f.horizon, Level: f.level, Series: of})
		if err != nil {
			return nil, "", err
		}
		if name == "rmse" { // a difference of squares is that of roots times their sum
			if sum := sets[d.A].Value(d.Metric).Value + sets[d.B].Value(d.Metric).Value; sum > 0 {
				r.Mean, r.SE, r.Interval.Low, r.Interval.High = r.Mean/sum, r.SE/sum, r.Interval.Low/sum, r.Interval.High/sum
			}
		}
		tests = append(tests, report.DieboldMariano{A: d.A, B: d.B, Loss: losses[k].Name, Metric: name, DMResult: r, Horizon: f.horizon, By: f.series})
	}
	if sets[0].Audit.Weighted {
		note = "the Diebold-Mariano test does not support weights"
	}
	return tests, note, nil
}
