package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
)

// columnFlags says which columns of a table, or which arrays, hold what.
type columnFlags struct {
	mean, std, observed, error string
	scale, distribution        string
	prefix, levels             string
	groups                     []string
	series                     string // column of series, while they are read
	cluster                    string
}

func (l *columnFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&l.mean, "mean", "", "`COLUMN` of means for --task regression: a name, of an .npy matrix a number from 0, or a file")
	fl.StringVar(&l.std, "std", "", "`COLUMN` of standard deviations")
	fl.StringVar(&l.scale, "scale", "", "`COLUMN` of scale parameters, instead of --std")
	fl.StringVar(&l.distribution, "distribution", "normal", "`NAME` of the distribution for --task regression: normal, laplace, logistic or 't(df=5)'")
	fl.StringVar(&l.observed, "observed", "", "`COLUMN` of the observed values; for arrays --labels FILE works too; with --task multivariate the prefix of these columns (default obs_)")
	fl.StringVar(&l.error, "error", "", "`COLUMN` of observed minus mean, instead of --mean and --observed")
	fl.StringVar(&l.prefix, "quantile-prefix", "", "`PREFIX` of the columns for --task quantiles, followed by the level in their names: q for q0.025")
	fl.StringVar(&l.levels, "levels", "", "`LIST` of the levels of an array's quantiles: 0.05,0.5,0.95")
	fl.StringSliceVar(&l.groups, "group", nil, "`COLUMN` of a table, array of each .npz, or file of numbers or text, or several: also give all metrics for each group of equal values")
	fl.StringVar(&l.cluster, "cluster", "", "`COLUMN` of a table, array of each .npz, or file of numbers or text: rows of equal values depend on each other, and intervals allow for that")
}

// check returns an error for flags that exclude each other.
func (l *columnFlags) check(f *evalFlags) error {
	regression, quantiles := f.task == "regression", f.task == "quantiles"
	for _, o := range []struct {
		flag  string
		given bool
		of    bool
		tasks string
	}{
		{"--mean", l.mean != "", regression, "regression"}, {"--std", l.std != "", regression, "regression"},
		{"--error", l.error != "", regression, "regression"}, {"--scale", l.scale != "", regression, "regression"},
		{"--distribution", l.distribution != "normal", regression, "regression"},
		{"--observed", l.observed != "", regression || quantiles || f.task == "samples" || f.task == ofVectors, "regression, quantiles, samples and multivariate"},
		{"--quantile-prefix", l.prefix != "", quantiles, "quantiles"}, {"--levels", l.levels != "", quantiles, "quantiles"},
		{"--group", len(l.groups) > 0, !slices.Contains([]string{"multilabel", "loglik"}, f.task), // an ensemble's are compared
			"classification, binary, regression, quantiles, samples and survival"},
		{"--cluster", l.cluster != "", !slices.Contains([]string{"multilabel", "ensemble", "loglik"}, f.task),
			"classification, binary, regression, quantiles, samples, multivariate and survival"},
	} {
		if o.given && !o.of {
			return usage("%s is for --task %s; leave it out, or pass that", o.flag, o.tasks)
		}
	}
	switch {
	case len(l.groups) > 0 && len(f.ood) > 0:
		return usage("--group and --ood are both given, and out-of-distribution rows are in no group; give one")
	case l.cluster != "" && len(f.ood) > 0:
		return usage("--cluster and --ood are both given, and out-of-distribution rows have no clusters; give one")
	case l.error != "" && (l.mean != "" || l.observed != ""):
		return usage("--error is observed minus mean, in place of --mean and --observed; leave it out, or leave these out")
	case l.std != "" && l.scale != "":
		return usage("--std and --scale are both given; --std names standard deviations, --scale scale parameters; give one")
	case l.error != "" && l.spread() == "":
		return usage("--error is given, and neither --std nor --scale is; give --std COLUMN or --scale COLUMN too")
	case l.prefix != "" && l.levels != "":
		return usage("--quantile-prefix finds the levels in the columns' names, and --levels is for an array, which has none; give one")
	case l.observed != "" && len(f.labels) > 0:
		return usage("--observed and --labels are both given; give one")
	}
	if _, err := l.law(); err != nil {
		return err
	}
	_, err := l.readLevels()
	return err
}

// spread returns the column of standard deviations or of scale parameters.
func (l *columnFlags) spread() string { return cmp.Or(l.std, l.scale) }

// law parses --distribution.
func (l *columnFlags) law() (regress.Law, error) {
	law, err := regress.ParseLaw(l.distribution)
	if err != nil {
		return law, usage("--distribution: %v", err)
	}
	return law, nil
}

// named returns the columns of numbers. These are files if no predictions are named.
func (l *columnFlags) named() (names []string) {
	for _, n := range []string{l.mean, l.spread(), l.observed, l.error} {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}

// files reports whether the columns may be separate files.
func (l *columnFlags) files() bool { return l.spread() != "" && (l.mean != "" || l.error != "") }

// readLevels parses --levels.
func (l *columnFlags) readLevels() (levels []float64, err error) {
	if l.levels == "" {
		return nil, nil
	}
	for _, s := range strings.Split(l.levels, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(v > 0 && v < 1) || len(levels) > 0 && v <= levels[len(levels)-1] {
			return nil, usage("--levels: %q; give numbers between 0 and 1 in rising order, such as 0.05,0.5,0.95", s)
		}
		levels = append(levels, v)
	}
	return levels, nil
}

// forecast returns how the files of regression forecasts are read.
func (f *evalFlags) forecast(j *job, paths []string) (*predictions.ForecastOptions, error) {
	l := &f.columns
	levels, err := l.readLevels()
	if err != nil {
		return nil, err
	}
	o := &predictions.ForecastOptions{Kind: j.read.Kind, Mean: l.mean, SD: l.spread(), Observed: l.observed, Error: l.error,
		Prefix: l.prefix, Levels: levels, NoHeader: f.table.noHeader, Unobserved: f.unobserved, Groups: l.groups, Cluster: cmp.Or(l.series, l.cluster), Names: f.files.names, Observations: f.labels, Weights: f.weights,
		Buffers: j.read.Buffers, BufferBytes: j.read.BufferBytes, PartBytes: j.partBytes(), Share: j.read.Share, FS: f.from, Transform: f.transformed()}
	if f.kept != nil {
		o.Kept, o.Keep = f.kept.names, f.kept.add
	}
	if f.ids != nil {
		o.Kept, o.Keep, o.KeepTexts = f.ids.names, f.ids.take, true
	}
	if f.task == ofSurvival {
		if err := f.lives(o); err != nil {
			return nil, err
		}
	}
	if l.scale != "" {
		o.SDFactor = j.spec.Law.ScaleSD()
	}
	if f.weightColumn(paths) {
		o.Weight, o.Weights = f.weights[0], nil
	}
	return o, nil
}

// forecasts reports whether the files are read as regression forecasts, as tables are.
func (f *evalFlags) forecasts(paths []string) bool {
	switch f.task {
	case "regression", "quantiles", ofSurvival, ofVectors, ofStated:
		return true
	case "samples":
		return f.columns.observed != "" || slices.ContainsFunc(paths, isColumns)
	}
	return false
}

// weightColumn reports whether --weights names a column of a table; tables have no separate files of weights.
func (f *evalFlags) weightColumn(paths []string) bool {
	if len(f.weights) != 1 || len(paths) == 0 {
		return false
	}
	if len(paths) == 1 && readOnce(paths[0]) && !predictions.IsTable(paths[0]) {
		return !strings.HasSuffix(f.weights[0], ".npy") && !strings.Contains(f.weights[0], ".npz")
	}
	return slices.ContainsFunc(paths, isColumns)
}

// inTable returns the message about a bad row, extended by its place if it is in a table: the line, and the column's name or
// level. It also adds the place to at.
func (f *evalFlags) inTable(r *predictions.ForecastReader, said string, b metrics.Fault, at *place) string {
	line := r.Line(b.Row)
	if r.Binding() != "" && r.Joined() == "" {
		return f.inClassTable(r, said, b, at)
	}
	where, what, _ := strings.Cut(said, ": ") // "row N, column C"
	where, _, _ = strings.Cut(where, ",")
	if line >= 0 {
		where = fmt.Sprintf("line %d", line)
		at.Row, at.Line = nil, line
	}
	column := func(name string) {
		where += fmt.Sprintf(", column %q", name)
		at.Column = name
	}
	levels, l := r.Levels(), &f.columns
	names := []string{cmp.Or(l.mean, "mean"), cmp.Or(l.spread(), "sd"), cmp.Or(l.observed, "observed")}
	if l.error != "" {
		names = []string{l.error, cmp.Or(l.spread(), "sd")}
	}
	switch c := int(b.Column); {
	case b.Reason == metrics.BadObserved:
		column(cmp.Or(l.observed, "observed"))
	case b.Reason == metrics.BadWeight:
		column(f.weights[0])
	case c < 0:
	case f.task == ofVectors:
		if names := r.ScoreColumns(); names != nil {
			column(names[c])
			break
		}
		d := r.Info().Dimensions
		who := fmt.Sprintf("member %d", c/d)
		if c >= r.Info().Classes-d {
			who = "observed values"
		}
		where += fmt.Sprintf(", %s, number %d", who, c%d)
	case r.ClassNames() != nil:
		where += fmt.Sprintf(", class %q", r.ClassNames()[c])
	case levels != nil && f.task != ofSurvival:
		where += fmt.Sprintf(", level %v", levels[c])
	case f.task == "regression":
		column(names[c])
	case f.task == ofSurvival:
		switch times := r.Levels(); {
		case c < len(times):
			where += fmt.Sprintf(", time %v", times[c])
		case c == len(times):
			column(cmp.Or(f.life.time, "time"))
		default:
			column(cmp.Or(f.event, "event"))
		}
	default:
		where += fmt.Sprintf(", sample %d", c)
	}
	return where + ": " + what
}

// openForecast opens files of regression forecasts. It also returns a function that feeds them to an evaluation.
func (j *job) openForecast(f *evalFlags, paths []string) (reader, func(*eval.Evaluation, *metrics.Options) error, error) {
	o, err := f.forecast(j, paths)
	if err != nil {
		return nil, nil, err
	}
	r, err := predictions.OpenForecast(paths, o)
	if err != nil {
		return nil, nil, err
	}
	if f.task == ofSurvival {
		if err := f.survivalSpec(&j.spec, r.Levels()); err != nil {
			r.Close()
			return nil, nil, err
		}
		return r, j.feed(f, r), nil
	}
	j.spec.Levels = r.Levels()
	return r, j.feed(f, r), nil
}

// readyNumbers returns, before rows are read, the reason why a picture of regression forecasts could not be drawn.
func (p *plot) readyNumbers(k plotKind, e *eval.Evaluation) error {
	there := false
	if e.Spec.Kind == metrics.MultivariateNormals {
		return usage("there is no picture of --task multivariate_normal; leave --plot out")
	}
	if e.Spec.Kind == metrics.Multivariate && k.name != "rank" {
		return usage("--plot-kind %s draws forecasts of one number; of --task multivariate draw rank", k.name)
	}
	switch k.name {
	case "calibration", "coverage":
		there = e.Calibration(k.name == "coverage") != nil
	case "pit":
		there = e.PIT() != nil
	case "rank":
		if e.Spec.Kind != metrics.Samples && e.Spec.Kind != metrics.Multivariate {
			return usage("--plot-kind rank draws ranks among samples or members (--task samples, multivariate); for other forecasts draw pit")
		}
		there = e.Ranks() != nil
	case "spread":
		if e.Spec.Kind != metrics.Normals {
			return usage("--plot-kind spread draws standard deviations (--task regression); draw another kind")
		}
		there = e.Spread() != nil
	case "brier":
		return usage("--plot-kind brier draws survival over time (--task survival); draw another kind")
	}
	if !there {
		return usage("--plot-kind %s draws what is not among the metrics; evaluate with --metrics default,%s", k.name, p.metricOf(k, e.Spec.Kind))
	}
	return nil
}

// forecastPicture returns one of the pictures of regression forecasts.
func forecastPicture(k plotKind, e *eval.Evaluation, d *report.Document) picture.Drawing {
	f := report.ForecastPicturesOf(e)
	switch k.name {
	case "pit":
		f.PIT.Title = "What forecasts gave to what was observed or less (PIT)"
		return f.PIT
	case "rank":
		if f.Rank.Title = "Rank of what was observed among the samples"; e.Spec.Kind == metrics.Multivariate {
			f.Rank.Title = "Average rank of what was observed among the members"
		}
		return f.Rank
	case "spread":
		f.Spread.Title, f.Spread.Subtitle = "Errors against the stated spread", d.Verdict()
		return f.Spread
	case "coverage":
		f.Coverage.Title, f.Coverage.Subtitle = "What central intervals hold", d.Verdict()
		return f.Coverage
	}
	f.Calibration.Title, f.Calibration.Subtitle = "How often what was observed is below a quantile", d.Verdict()
	return f.Calibration
}

// calibrationCurves draws the calibration curves of several forecasts.
func calibrationCurves(names []string, es []*eval.Evaluation) picture.Drawing {
	names = picture.Short(visible.Texts(names))
	c := &picture.Curves{Title: "How often what was observed is below a quantile", X: "level of the quantile", Y: "share of rows at or below the quantile"}
	c.Subtitle = report.Count(es[0].Audit.Rows) + " rows each"
	for i, e := range es {
		curve := e.Calibration(false).Curve()
		c.Curves = append(c.Curves, picture.Curve{Name: fmt.Sprintf("%s (area %s)", names[i], value(curve.Area(regress.AreaCrossing))), X: curve.Levels, Y: curve.Frequencies})
	}
	c.Curves = append(c.Curves, picture.Curve{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true})
	return c
}
