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

// scale evaluates the rows after temperature scaling.
func (f *evalFlags) scale(c *cobra.Command, j *job, paths []string, e *eval.Evaluation) error {
	var last reader
	need := recal.NeedOf(recal.Temperature{}, recal.Size{}, nil)
	d := reread(c, &passes{about: need.Reads*(1+recal.Folds{}.Count()) + 1}, func() (rowReader, error) {
		r, err := j.source(f, paths)
		last = r
		return r, err
	})
	bad := func(err error) error { return f.cannotFit(err, last, paths) }
	s := &eval.Scaled{Temperature: eval.Value{Value: math.NaN(), Interval: metrics.NoInterval()}}
	o := &recal.Options{Threads: j.pass.Threads}
	m, err := recal.Temperature{}.Fit(d, o)
	switch {
	case errors.Is(err, recal.ErrUnreachable):
		s.Temperature.Reason = plain(err)
	case err != nil:
		return bad(err)
	default:
		t := m.(*recal.TemperatureMap)
		s.Temperature.Value, s.Temperature.Interval, s.Temperature.Method = t.T(), t.Interval(e.Spec.Level), temperatureMethod
		if t.Fit().LeftOut > 0 {
			s.Temperature.Note = leftOut(t.Fit(), "temperature")
		}
	}
	folds := recal.Folds{Seed: f.seed}
	maps, err := recal.CrossFit(recal.Temperature{}, d, folds, o)
	switch s.Reason = noMap(err); {
	case s.Reason != "":
	case err != nil:
		return bad(err)
	default:
		if s.Rows, err = eval.New(e.ScaledSpec()); err != nil {
			return err
		}
		src, err := recal.CrossApplied(maps, d, folds).Open()
		if err != nil {
			return bad(err)
		}
		defer src.Close()
		if err := s.Rows.AddSource(src, &j.pass); err != nil {
			return bad(err)
		}
	}
	e.Scaled = s
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

const temperatureMethod = "sandwich standard error of ln T; rows taken as independent"

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
