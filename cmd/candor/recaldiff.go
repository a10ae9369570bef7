package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
	"github.com/candor-go/candor/report"
)

// beforeAfter are the sets of a recalibration's differences, and the rows by the map of all of them.
var beforeAfter = []string{"before", "after", "map of all rows"}

// afterAndDifferences evaluates the recalibrated data, and finds the differences from the rows as they were. The intervals allow for the
// maps' being estimates, by the rows as the map of all of them has them.
//
// A row moves the difference by itself, and by the maps of other folds. Where a map has little to correct, both count alike, and the
// spread of rows shows the first only. The map of all rows differs from that of all but a fold as a jackknife's: K times that variance is
// the variance of the latter, for K folds. Where rows are in clusters, which folds keep whole, both spreads are those of clusters.
func (f *recalFit) afterAndDifferences(j *job, m recal.Method, before *eval.Evaluation, whole recal.Map, raw, after recal.Data) (*eval.Evaluation, *report.Differences, error) {
	spec, err := f.specAfter(before, whole)
	if err != nil {
		return nil, nil, err
	}
	found := &report.Differences{Names: beforeAfter[:2], Level: spec.Level, Rows: before.Audit.Rows}
	if why := f.unpaired(before, &spec); why != "" {
		e, err := evaluateApplied(j, spec, after)
		if err != nil {
			return nil, nil, err
		}
		found.List = f.values(before, e, why)
		return e, found, nil
	}
	e, err := f.pairMaps(j, m, spec, whole, raw, after, found)
	var room *eval.RoomError
	if !errors.As(err, &room) {
		return e, found, err
	}
	// Of clusters there is no room for scores: metrics that need them have no interval.
	less := spec
	less.Metrics = slices.DeleteFunc(slices.Clone(spec.Metrics), func(m eval.Metric) bool { return compared.NeedsScores(&spec, m) })
	if len(less.Metrics) == 0 || len(less.Metrics) == len(spec.Metrics) {
		return nil, nil, err
	}
	*found = report.Differences{Names: found.Names, Level: found.Level, Rows: found.Rows}
	if _, err := f.pairMaps(j, m, less, whole, raw, after, found); err != nil {
		return nil, nil, err
	}
	if e, err = evaluateApplied(j, spec, after); err != nil {
		return nil, nil, err
	}
	have := found.List
	found.List = nil
	for _, d := range f.values(before, e, room.Reason) {
		if k := slices.IndexFunc(have, func(o compared.Difference) bool { return o.Metric.String() == d.Metric.String() }); k >= 0 {
			found.List = append(found.List, have[k])
		} else if compared.NeedsScores(&spec, d.Metric) {
			found.List = append(found.List, d)
		}
	}
	return e, found, nil
}

// pairMaps finds the differences between rows as they were and as they are recalibrated, whose evaluation it returns.
func (f *recalFit) pairMaps(j *job, m recal.Method, spec eval.Spec, whole recal.Map, raw, after recal.Data, found *report.Differences) (*eval.Evaluation, error) {
	all, err := compared.New(spec, beforeAfter, "")
	if err != nil {
		return nil, err
	}
	all.Room, all.Maps = j.clusterRoom(), f.folds
	pass := j.pass
	for pass.Threads > 1 && f.besides+all.Need(j.extent, pass.Threads) > j.memory {
		pass.Threads--
	}
	var srcs []metrics.Source
	applied := recal.OpenFunc(func() (recal.Source, error) {
		src, err := raw.Open()
		if err != nil {
			return nil, err
		}
		return &appliedSource{recal.Applied(whole, src), src}, nil
	})
	for _, d := range []recal.Data{raw, after, applied} {
		src, err := d.Open()
		if err != nil {
			return nil, err
		}
		defer src.Close()
		srcs = append(srcs, src)
	}
	if err := all.AddSources(srcs, &pass); err != nil {
		return nil, err
	}
	list := all.Differences(nil)
	for _, d := range list {
		if d.A != 0 || d.B != 1 || d.Metric.Name == "accuracy" && keepsDecisions(m) {
			continue
		}
		for _, o := range list {
			if o.A == 1 && o.B == 2 && o.Metric.String() == d.Metric.String() {
				widen(&d, o.Error.SE*math.Sqrt(float64(f.folds)), spec.Level)
			}
		}
		found.List = append(found.List, d)
	}
	compared.Judge(found.List, spec.Level, all.Rows(), compared.Holm)
	found.Clusters = all.Models()[1].Clusters()
	return all.Models()[1].Evaluation, nil
}

// widen widens an interval by another standard error, of what is independent of it. Intervals of counts stay.
func widen(d *compared.Difference, se, level float64) {
	if math.IsNaN(d.Interval.Low) || !math.IsNaN(d.PExact) || !(se > 0) {
		return
	}
	more := paired.Error{SE: se, DF: d.Error.DF}.Interval(0, 0, level).High
	d.Interval = metrics.Interval{Low: d.Value - rootSum(d.Value-d.Interval.Low, more), High: d.Value + rootSum(d.Interval.High-d.Value, more)}
	d.Error = d.Error.Plus(se)
	d.P = math.Max(d.P, d.Error.P(d.Value, 0))
	d.Method += report.ByMaps
}

// keepsDecisions reports whether maps of a method change no decision.
func keepsDecisions(m recal.Method) bool {
	switch m.(type) {
	case recal.Temperature, recal.ETS:
		return true
	}
	return false
}

// unpaired says why rows before and after are not compared; "" if they are.
func (f *recalFit) unpaired(before *eval.Evaluation, after *eval.Spec) string {
	if a, b := before.Spec.Shape(), after.Shape(); a.Kind != b.Kind || !slices.Equal(before.Spec.Levels, after.Levels) {
		return "before and after are forecasts of other kinds, which are not compared row by row"
	}
	if after.KeepsRows() != "" {
		return "exact keeps every row, and differences are of what is kept; " + eval.WithoutExact
	}
	return ""
}

// values returns differences of the metrics that both have, without intervals.
func (f *recalFit) values(before, after *eval.Evaluation, why string) (l []compared.Difference) {
	nan := math.NaN()
	for _, m := range after.Spec.Metrics {
		if !slices.ContainsFunc(before.Spec.Metrics, func(o eval.Metric) bool { return o.String() == m.String() }) {
			continue
		}
		a, b := before.Value(m), after.Value(m)
		d := compared.Difference{A: 0, B: 1, Metric: m, Better: eval.Describe(m.Name).In(after.Spec.Shape()).Better, Value: b.Value - a.Value, Interval: metrics.NoInterval(),
			Error: paired.Error{SE: nan, DF: nan}, P: nan, PExact: nan, Adjusted: nan, Reason: why}
		switch {
		case math.IsNaN(a.Value):
			d.Reason = a.Reason
		case math.IsNaN(b.Value):
			d.Reason = b.Reason
		}
		l = append(l, d)
	}
	return l
}

// pairNeed returns the memory that finding differences takes with one thread, beside maps and buffers.
func pairNeed(before *eval.Evaluation, x eval.Extent) int64 {
	spec := before.Spec
	spec.Memory = 0
	all, err := compared.New(spec, beforeAfter, "")
	if err != nil {
		return before.Need(x, 1) // they are not compared
	}
	return all.Need(x, 1)
}

// extentOf returns what is known of the rows of a fit.
func extentOf(i predictions.Info) eval.Extent {
	return eval.Extent{Rows: i.Rows, DType: i.DType, Weighted: i.Weighted}
}

// differencesText writes the table of differences under a title, with what its intervals assume. Nothing is written if no difference
// has an interval.
func differencesText(w io.Writer, d *report.Differences, title string, width int) error {
	if d == nil {
		return nil
	}
	var rows strings.Builder
	if err := d.Table(&rows, report.Plain, width); err != nil || rows.Len() == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n%s\n%s\n", report.Wrap(title, width), &rows, report.Wrap(d.Independent(), width))
	return err
}

// rootSum returns the root of the sum of two squares.
func rootSum(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }
