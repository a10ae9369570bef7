package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// columnFlags say which columns of a table, or which arrays, are what.
type columnFlags struct {
	mean, std, observed, error string
	prefix, levels             string
	groups                     []string
}

func (l *columnFlags) flags(fl *pflag.FlagSet) {
	fl.StringVar(&l.mean, "mean", "", "`COLUMN` of means for --task regression: a name, of an .npy matrix a number from 0, or a file")
	fl.StringVar(&l.std, "std", "", "`COLUMN` of standard deviations")
	fl.StringVar(&l.observed, "observed", "", "`COLUMN` of what was observed; for arrays --labels FILE says it too")
	fl.StringVar(&l.error, "error", "", "`COLUMN` of observed minus mean, in place of --mean and --observed")
	fl.StringVar(&l.prefix, "quantile-prefix", "", "`PREFIX` of the columns for --task quantiles, whose names go on with the level: q of q0.025")
	fl.StringVar(&l.levels, "levels", "", "`LIST` of the levels of an array's quantiles: 0.05,0.5,0.95")
	fl.StringSliceVar(&l.groups, "group", nil, "`COLUMN`, or several with commas between: every metric by the groups of their values, and of all rows")
}

// check tells what does not go together.
func (l *columnFlags) check(f *evalFlags) error {
	regression, quantiles := f.task == "regression", f.task == "quantiles"
	for _, o := range []struct {
		flag  string
		given bool
		of    bool
		tasks string
	}{
		{"--mean", l.mean != "", regression, "regression"}, {"--std", l.std != "", regression, "regression"},
		{"--error", l.error != "", regression, "regression"},
		{"--observed", l.observed != "", regression || quantiles || f.task == "samples", "regression, quantiles and samples"},
		{"--quantile-prefix", l.prefix != "", quantiles, "quantiles"}, {"--levels", l.levels != "", quantiles, "quantiles"},
		{"--group", len(l.groups) > 0, regression || quantiles || f.task == "samples", "regression, quantiles and samples"},
	} {
		if o.given && !o.of {
			return usage("%s is for --task %s", o.flag, o.tasks)
		}
	}
	switch {
	case l.error != "" && (l.mean != "" || l.observed != ""):
		return usage("--error is observed minus mean: with it there is no --mean and no --observed")
	case l.error != "" && l.std == "":
		return usage("--error COLUMN goes with --std COLUMN")
	case l.prefix != "" && l.levels != "":
		return usage("--quantile-prefix finds the levels in the columns' names; --levels is for an array, which has no names")
	case l.observed != "" && len(f.labels) > 0:
		return usage("--observed and --labels are both given; give one")
	}
	return nil
}

// named returns the columns of numbers, which are files where no predictions are named.
func (l *columnFlags) named() (names []string) {
	for _, n := range []string{l.mean, l.std, l.observed, l.error} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// files tells whether the columns may be files by themselves.
func (l *columnFlags) files() bool { return l.std != "" && (l.mean != "" || l.error != "") }

// readLevels reads --levels.
func (l *columnFlags) readLevels() (levels []float64, err error) {
	if l.levels == "" {
		return nil, nil
	}
	for _, s := range strings.Split(l.levels, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(v > 0 && v < 1) || len(levels) > 0 && v <= levels[len(levels)-1] {
			return nil, usage("--levels: %q; levels are numbers between 0 and 1 in rising order, as 0.05,0.5,0.95", s)
		}
		levels = append(levels, v)
	}
	return levels, nil
}

// forecast returns how the files of a forecast of numbers are read.
func (f *evalFlags) forecast(j *job) (*predictions.ForecastOptions, error) {
	l := &f.columns
	levels, err := l.readLevels()
	if err != nil {
		return nil, err
	}
	return &predictions.ForecastOptions{Kind: j.read.Kind, Mean: l.mean, SD: l.std, Observed: l.observed, Error: l.error,
		Prefix: l.prefix, Levels: levels, Groups: l.groups, Observations: f.labels, Weights: f.weights,
		Buffers: j.read.Buffers, BufferBytes: j.read.BufferBytes}, nil
}

// forecasts tells whether the files are read as forecasts of numbers, which tables are.
func (f *evalFlags) forecasts(paths []string) bool {
	switch f.task {
	case "regression", "quantiles":
		return true
	case "samples":
		return f.columns.observed != "" || len(f.columns.groups) > 0 || slices.ContainsFunc(paths, predictions.IsTable)
	}
	return false
}

// openForecast opens such files, and returns besides how an evaluation, or one of groups, is fed with them.
func (j *job) openForecast(f *evalFlags, paths []string) (reader, func(*eval.Evaluation, *metrics.Options) error, error) {
	o, err := f.forecast(j)
	if err != nil {
		return nil, nil, err
	}
	r, err := predictions.OpenForecast(paths, o)
	if err != nil {
		return nil, nil, badData(err)
	}
	j.spec.Levels = r.Levels()
	return r, func(e *eval.Evaluation, o *metrics.Options) error {
		if len(f.columns.groups) == 0 {
			return e.AddSource(r, o)
		}
		g, err := eval.NewGroups(e.Spec, r.GroupColumns())
		if err != nil {
			return err
		}
		g.Threads = e.Threads
		if err := g.AddSource(r, r.Group, o); err != nil {
			return err
		}
		j.groups = g
		return e.Merge(g.Whole())
	}, nil
}
