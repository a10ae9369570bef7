package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
)

// again is a source of files that are read several times, with progress for each read.
type again struct {
	rowReader
	start func() (stop func())
	stop  func()
}

// Next starts to show progress only now, since not everything that is opened is read.
func (a *again) Next() (*metrics.Chunk, error) {
	if a.stop == nil {
		a.stop = a.start()
	}
	return a.rowReader.Next()
}

func (a *again) Close() error {
	if a.stop != nil {
		a.stop()
		a.stop = func() {}
	}
	return a.rowReader.Close()
}

// reread returns data that calls open for each read.
func reread(c *cobra.Command, p *passes, open func() (rowReader, error)) recal.Data {
	return recal.OpenFunc(func() (recal.Source, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		return &again{rowReader: r, start: func() func() { return progress(c.ErrOrStderr(), r, r.Info().Bytes, p.next()) }}, nil
	})
}

// checkScaled returns an error for flags that exclude --temperature-scaled.
func (f *evalFlags) checkScaled(paths []string) error {
	if !f.scaled {
		return nil
	}
	if _, ofNumbers := numbers[f.task]; ofNumbers || f.task == "ensemble" || f.task == "multilabel" {
		return usage("--temperature-scaled does not go with --task %s: it is for the classes of one model; leave it out", f.task)
	}
	for _, l := range []struct {
		flag string
		set  bool
	}{{"--input dirichlet", f.input == metrics.Dirichlet.String()}, {"--on-invalid drop", f.onInvalid == "drop"}, {"--renormalize", f.renormalize},
		{"--decisions", len(f.decisions) > 0}, {"--confidence-scores", len(f.scores) > 0}, {"--group", len(f.columns.groups) > 0},
		{"--correct", f.table.correct != ""}} {
		if l.set {
			return usage("--temperature-scaled does not go with %s; leave one of them out", l.flag)
		}
	}
	if once := f.files.once(slices.Concat(paths, f.labels, f.weights)...); once != "" {
		return usage("--temperature-scaled reads everything several times, and %s only once; name a file", once)
	}
	return nil
}

// scaledRows are the rows of a set after temperature scaling, which may be read again.
type scaledRows struct {
	as    *eval.Scaled
	maps  []recal.Map // of the folds; nil if there is no temperature for some fold, for as.Reason
	folds recal.Folds
	data  recal.Data                // the rows as they are
	bad   func(error) error         // locates an error in the rows
	quiet func() (rowReader, error) // opens the rows as they are, without progress
}

// open opens the rows after scaling.
func (s *scaledRows) open() (recal.Source, error) {
	return recal.CrossApplied(s.maps, s.data, s.folds).Open()
}

// openQuietly is open without progress.
func (s *scaledRows) openQuietly() (recal.Source, error) {
	return recal.CrossApplied(s.maps, recal.OpenFunc(func() (recal.Source, error) { return s.quiet() }), s.folds).Open()
}

// fitScaled fits the temperatures of a set, whose rows read opens.
func (f *evalFlags) fitScaled(c *cobra.Command, j *job, paths []string, e *eval.Evaluation, read func() (rowReader, error)) (*scaledRows, error) {
	var last reader
	need := recal.NeedOf(recal.Temperature{}, recal.Size{}, nil)
	open := func() (rowReader, error) {
		r, err := read()
		last = r
		return r, err
	}
	d := reread(c, &passes{about: need.Reads*(1+recal.Folds{}.Count()) + 1}, open)
	bad := func(err error) error { return f.cannotFit(err, last, paths) }
	s := &eval.Scaled{Temperature: eval.Value{Value: math.NaN(), Interval: metrics.NoInterval()}}
	rows := &scaledRows{as: s, folds: recal.Folds{Seed: f.seed, Clusters: e.Spec.Cluster != ""}, data: d, bad: bad, quiet: open}
	o := &recal.Options{Threads: j.pass.Threads}
	m, err := recal.Temperature{}.Fit(d, o)
	switch {
	case errors.Is(err, recal.ErrUnreachable):
		s.Temperature.Reason = plain(err)
	case err != nil:
		return nil, bad(err)
	default:
		t := m.(*recal.TemperatureMap)
		s.Temperature.Method = temperatureMethod
		if e.Spec.Cluster != "" {
			if m, err = recal.ByClusters(m, d, o); err != nil {
				return nil, bad(err)
			}
			t, s.Temperature.Method = m.(*recal.TemperatureMap), temperatureOfClusters
		}
		s.Temperature.Value, s.Temperature.Interval = t.T(), t.Interval(e.Spec.Level)
		if e.Spec.Cluster != "" && s.Temperature.Interval.Low != s.Temperature.Interval.Low {
			s.Temperature.Method, s.Temperature.Reason = "", temperatureOfOne
		}
		if t.Fit().LeftOut > 0 {
			s.Temperature.Note = leftOut(t.Fit(), "temperature")
		}
	}
	maps, err := recal.CrossFit(recal.Temperature{}, d, rows.folds, o)
	switch s.Reason = noMap(err); {
	case s.Reason != "":
	case err != nil:
		return nil, bad(err)
	default:
		rows.maps = maps
	}
	return rows, nil
}

// scale evaluates the rows after temperature scaling.
func (f *evalFlags) scale(c *cobra.Command, j *job, paths []string, e *eval.Evaluation) error {
	s, err := f.fitScaled(c, j, paths, e, func() (rowReader, error) { return j.source(f, paths) })
	if err != nil {
		return err
	}
	if s.maps != nil {
		if err := s.evaluate(j, e); err != nil {
			return err
		}
	}
	e.Scaled = s.as
	return nil
}

// evaluate evaluates the rows after scaling.
func (s *scaledRows) evaluate(j *job, e *eval.Evaluation) (err error) {
	if s.as.Rows, err = eval.New(e.ScaledSpec()); err != nil {
		return err
	}
	s.as.Rows.ClusterBytes, s.as.Rows.Remedy = j.clusterBytes(), e.Remedy
	src, err := s.open()
	if err != nil {
		return s.bad(err)
	}
	defer src.Close()
	if err := s.as.Rows.AddSource(src, &j.pass); err != nil {
		return s.bad(err)
	}
	return nil
}

// scaleAll evaluates the rows of all sets after temperature scaling, side by side if each has a temperature for each fold. Folds are the
// same rows in all sets; rows of a cluster are in one.
func (f *compareRun) scaleAll(c *cobra.Command, j *job, list []comparedSet, sets []*opened, all *compared.Comparison) error {
	rows, whole := make([]*scaledRows, len(sets)), true
	for i, s := range sets {
		f.take(&list[i])
		var err error
		read := func() (rowReader, error) { return j.source(&f.evalFlags, s.paths) }
		if f.aligned != nil {
			read = func() (rowReader, error) { return f.aligned.reader(i, false), nil }
		}
		if rows[i], err = f.fitScaled(c, j, s.paths, s.e, read); err != nil {
			return err
		}
		whole = whole && rows[i].maps != nil
	}
	defer func() {
		for i, s := range sets {
			s.e.Scaled = rows[i].as
		}
	}()
	if !whole {
		for i, s := range sets {
			if f.take(&list[i]); rows[i].maps == nil {
				continue
			}
			if err := rows[i].evaluate(j, s.e); err != nil {
				return err
			}
		}
		return nil
	}
	after, err := compared.New(sets[0].e.ScaledSpec(), f.names, f.baseline)
	if err != nil {
		return err
	}
	after.Threads, after.Room, after.Maps = f.threads, all.Room, 2*rows[0].folds.Count()
	pass := j.pass
	for pass.Threads > 1 && fixedMemory+all.Size(j.extent)+after.Need(j.extent, pass.Threads) > j.memory {
		pass.Threads--
	}
	var srcs []metrics.Source
	for i, s := range rows {
		open := s.openQuietly
		if i == 0 {
			open = s.open // its progress is that of all
		}
		f.take(&list[i])
		src, err := open()
		if err != nil {
			return s.bad(err)
		}
		defer src.Close()
		srcs = append(srcs, src)
	}
	if err := after.AddSources(srcs, &pass); err != nil {
		var one *compared.ModelError
		if errors.As(err, &one) {
			return rows[one.Model].bad(one.Err)
		}
		return f.whose(err, sets)
	}
	for i, m := range after.Models() {
		rows[i].as.Rows = m.Evaluation
	}
	all.Scaled = after
	return nil
}

// noMap returns the reason why a fit to some of the rows has no map although the rows are valid, or "" for any other error.
func noMap(err error) string {
	for _, e := range []error{recal.ErrUnreachable, recal.ErrNoMinimum, recal.ErrNoRows} {
		if errors.Is(err, e) {
			return plain(err)
		}
	}
	return ""
}

const (
	temperatureMethod     = "sandwich standard error of ln T; rows taken as independent"
	temperatureOfClusters = "sandwich standard error of ln T by clusters, t Student's with degrees of freedom by the sizes of clusters"
	temperatureOfOne      = "no interval: all rows are of one cluster, and how clusters differ is not known"
)

// leftOut says how many rows a fit left out, and why; what is "map" or "temperature".
func leftOut(f recal.Fit, what string) string {
	if f.LeftOut == 1 {
		return fmt.Sprintf("1 row was left out of the fit: its true class got probability 0, which no %s changes; it is row %d", what, f.FirstLeftOut)
	}
	return fmt.Sprintf("%s rows were left out of the fit: their true classes got probability 0, which no %s changes; the first is row %d",
		report.Count(f.LeftOut), what, f.FirstLeftOut)
}

// plain returns the text of an error without the name of the package, which may occur inside it too.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "recal: ", "") }

// cannotFit returns the error of a fit. By default that is bad data: in some row of the reader, or in all of them.
func (f *evalFlags) cannotFit(err error, r reader, paths []string) error {
	var room *eval.RoomError
	if errors.As(err, &room) {
		return usage("%v", room)
	}
	if r != nil {
		err = f.locate(err, r, paths)
	}
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	text, at := plain(err), placeOf(err)
	if at == (place{}) {
		at.File = f.files.calls(paths)
		_, at.Remedy, _ = cutLast(text, "; ")
	}
	return badData(&placed{text, at, err})
}
