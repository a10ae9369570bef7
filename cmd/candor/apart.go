package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// refusedApart returns an error for a flag that sets which are read apart do not have, for this reason.
func (f *compareRun) refusedApart(why string, timed bool) error {
	keyed, members := f.model.from != "", f.task == "ensemble"
	for _, l := range []struct {
		flag   string
		set    bool
		remedy string
	}{
		{"--flips", f.flips != nil && keyed, "compare files that have the same rows"},
		{"--state", f.state != "" && members, "write a state for each ensemble by candor eval --state, or compare files of the means of the members"},
		{"--state", f.state != "" && keyed, "write a state for each model by candor eval --state"},
		{"--state", f.state != "" && len(f.tokens.sequences) > 0, "leave --sequence out: rows alone have a state"},
		{"--state", f.state != "", eval.WithoutExact},
		{"--plot-kind " + f.plot.kind, f.plot.kind == plotGaps || f.plot.kind == plotFlips && keyed, "leave it out, or name another kind"},
		{"--horizon", timed && !members, "leave it out; --cluster allows for rows that depend on each other"},
		{"--horizon", timed, "leave it out, or compare files of the means of the members"},
	} {
		if l.set {
			return usage("%s: %s; %s", l.flag, why, l.remedy)
		}
	}
	return nil
}

// pairAgain finds the differences of sets that were evaluated one after another, by reading their rows again: side by side, or of models
// of --from the losses of the rows that both of a pair have.
func (f *compareRun) pairAgain(c *cobra.Command, j *job, list []comparedSet, names []string, sets []*eval.Evaluation, o *compared.Answers) (*report.Differences, error) {
	if n := len(list); n > compared.MostPairs && f.baseline == "" {
		warn(c, "there are no differences: %d sets make %d pairs; name one with which all others are compared: --baseline %s", n, n*(n-1)/2, names[0])
		return nil, nil
	}
	found := &report.Differences{Names: names, Level: f.level, Rows: sets[0].Audit.Rows, Baseline: f.baseline != "", Adjust: o.Adjust, Forecasts: consecutive(&sets[0].Spec)}
	var err error
	again := "" // what needs the rows once more
	switch {
	case f.flips != nil:
		again = "--flips"
	case len(f.columns.groups) > 0:
		again = "--group"
	}
	switch once := f.readOnce(list); {
	case once != "" && again != "":
		return nil, about(usage("%s: %s, which reads the rows again, and %s can be read only once; name a file", again, f.apart(), once), once)
	case f.task == "ensemble" && len(f.table.ids) > 0 && again != "":
		return nil, usage("%s: --id finds the labels of ensembles, and does not match their rows; leave one of them out", again)
	case once != "":
		found.List = f.unpairedList(sets, names, func(eval.Metric) string {
			return fmt.Sprintf("rows are read once more for differences, and %s is read once", once)
		})
	case f.task == "ensemble" && len(f.table.ids) > 0:
		found.List = f.unpairedList(sets, names, func(eval.Metric) string {
			return "--id finds the labels of ensembles, and does not match their rows"
		})
	case f.model.from != "":
		err = f.pairByKey(c, j, list, sets, found, o.Adjust)
	default:
		err = f.pairSideBySide(c, j, list, sets, found, o.Adjust)
	}
	if err != nil {
		return nil, err
	}
	for i := range found.List {
		d := &found.List[i]
		if size, ok := o.Margins[d.Metric.String()]; ok {
			d.Margin = &compared.Margin{Size: size}
		}
	}
	compared.Judge(found.List, f.level, found.Rows, o.Adjust)
	return found, nil
}

// readOnce returns what of the sets' files can be read only once, or "".
func (f *compareRun) readOnce(list []comparedSet) string {
	for _, s := range list {
		if once := f.files.once(slices.Concat(s.paths, f.labels, f.weights)...); once != "" {
			return once
		}
	}
	return ""
}

// pairsOf returns the pairs of sets, in the order of compared.Comparison.Differences.
func (f *compareRun) pairsOf(names []string) (l [][2]int) {
	base := slices.Index(names, f.baseline)
	for a := range names {
		for b := a + 1; b < len(names); b++ {
			switch base {
			case -1, a:
				l = append(l, [2]int{a, b})
			case b:
				l = append(l, [2]int{b, a})
			}
		}
	}
	return l
}

// unpairedList returns differences without intervals of all metrics, for a reason.
func (f *compareRun) unpairedList(sets []*eval.Evaluation, names []string, why func(m eval.Metric) string) (l []compared.Difference) {
	for _, m := range sets[0].Spec.Metrics {
		for _, p := range f.pairsOf(names) {
			l = append(l, unpairedDifference(sets, m, p, why(m)))
		}
	}
	return l
}

// unpairedDifference is the difference of two values, without an interval for a reason.
func unpairedDifference(sets []*eval.Evaluation, m eval.Metric, pair [2]int, why string) compared.Difference {
	nan := math.NaN()
	a, b := sets[pair[0]].Value(m), sets[pair[1]].Value(m)
	d := compared.Difference{A: pair[0], B: pair[1], Metric: m, Better: eval.Describe(m.Name).In(sets[0].Spec.Shape()).Better, Value: b.Value - a.Value,
		Interval: metrics.NoInterval(), Error: paired.Error{SE: nan, DF: nan}, P: nan, PExact: nan, Adjusted: nan, Reason: why}
	switch {
	case math.IsNaN(a.Value):
		d.Reason = a.Reason
	case math.IsNaN(b.Value):
		d.Reason = b.Reason
	}
	return d
}

// notOfRows is the reason for metrics that no row has a part in by itself.
const notOfRows = "there is no paired interval for this kind of metric"

// pairSideBySide compares the rows of sets whose evaluations take more than rows: of ensembles the means of their members, of sequences and of
// metrics that keep every row the rows as they are. Metrics of what is more have no interval.
func (f *compareRun) pairSideBySide(c *cobra.Command, j *job, list []comparedSet, sets []*eval.Evaluation, found *report.Differences, how compared.Adjust) error {
	spec := sets[0].Spec
	spec.Members, spec.Metrics = 0, nil
	if sets[0].Spec.Members > 0 {
		spec.Kind = metrics.Probs // the means of members are probabilities
	}
	for _, m := range sets[0].Spec.Metrics {
		if _, err := eval.ParseMetrics(m.String(), spec.Shape()); err == nil && !exactly.MatchString(m.String()) && m.Name != "sequence_nll" {
			spec.Metrics = append(spec.Metrics, m)
		}
	}
	why := func(m eval.Metric) string {
		if exactly.MatchString(m.String()) {
			return "exact keeps every row, and differences are of what is kept; " + eval.WithoutExact
		}
		return notOfRows
	}
	if spec.Metrics == nil && f.flips == nil {
		found.List = f.unpairedList(sets, found.Names, why)
		return nil
	}
	all, err := compared.New(spec, found.Names, f.baseline)
	if err != nil {
		return usage("%v", err)
	}
	all.Threads, all.Room = f.threads, j.clusterRoom()
	pass := j.pass
	for pass.Threads > 1 && fixedMemory+j.held+all.Need(j.extent, pass.Threads) > j.memory {
		pass.Threads--
	}
	read := make([]*opened, len(list))
	var srcs []metrics.Source
	for i := range list {
		f.take(&list[i])
		r, src, err := j.meanRows(f, list[i].paths)
		if err != nil {
			return badData(err)
		}
		defer r.Close()
		srcs = append(srcs, &bareRows{src})
		read[i] = &opened{paths: list[i].paths, r: r, info: r.Info(), e: sets[i]}
	}
	if len(f.columns.groups) > 0 {
		if err := f.groupBy(all, read); err != nil {
			return err
		}
	}
	if f.flips != nil {
		if err := f.flips.open(); err != nil {
			return err
		}
		all.Flipped = f.flips.add
	}
	err = func() error {
		r := &sideBySide{reader: read[0].r, sets: read}
		defer progress(c.ErrOrStderr(), r, r.bytes(), "comparing")()
		if sets[0].Spec.Members > 0 {
			pass.Unchecked = true // members have been checked
		}
		return all.AddSources(srcs, &pass)
	}()
	if err != nil {
		return f.whose(err, read)
	}
	of := map[string][]compared.Difference{}
	for _, d := range all.Differences(nil) {
		of[d.Metric.String()] = append(of[d.Metric.String()], d)
	}
	for _, m := range sets[0].Spec.Metrics {
		for i, p := range f.pairsOf(found.Names) {
			d := unpairedDifference(sets, m, p, why(m))
			if l := of[m.String()]; l != nil && (math.IsNaN(d.Value) || !math.IsNaN(l[i].Value)) {
				d = l[i]
			}
			found.List = append(found.List, d)
		}
	}
	found.Rows, found.Clusters, found.Flips = all.Rows(), all.Models()[0].Clusters(), all.Flips()
	found.Groups = all.GroupDifferences(compared.GroupAnswers{MinRows: f.minRows, Adjust: how})
	if f.flips != nil {
		if found.Flipped, err = f.flips.finish(found.Names, &all.Spec, nil); err != nil {
			return err
		}
		found.Flipped.File = f.files.call(f.flipped)
	}
	return nil
}

// meanRows opens the rows of a set, which of an ensemble are the means of its members.
func (j *job) meanRows(f *compareRun, paths []string) (reader, metrics.Source, error) {
	if f.task != "ensemble" {
		r, err := j.source(&f.evalFlags, paths)
		return r, r, err
	}
	var r interface {
		reader
		metrics.MemberSource
	}
	var err error
	if f.tables(paths) {
		r, err = predictions.OpenMemberTable(paths, f.tableOptions(j, paths))
	} else {
		r, err = predictions.OpenMembers(paths, &j.read)
	}
	if err != nil {
		return nil, nil, err
	}
	return r, ensemble.Fold(r, &ensemble.Options{Options: j.pass}), nil
}

// bareRows are rows without sequences, to which they belong beside being compared one by one.
type bareRows struct{ metrics.Source }

func (b *bareRows) Next() (*metrics.Chunk, error) {
	c, err := b.Source.Next()
	if err == nil {
		c.Sequences = nil
	}
	return c, err
}

// pairByKey compares the losses of the rows that both models of a pair have, which keys match.
func (f *compareRun) pairByKey(c *cobra.Command, j *job, list []comparedSet, sets []*eval.Evaluation, found *report.Differences, how compared.Adjust) error {
	spec, names := &sets[0].Spec, found.Names
	var losses []metrics.RowMetric
	place := map[string]int{} // of a metric's loss among them, plus 1
	for _, m := range spec.Metrics {
		l, is := compared.RowLoss(spec, m)
		if !is {
			continue
		}
		at := slices.IndexFunc(losses, func(o metrics.RowMetric) bool { return o.Name == l.Name })
		if at < 0 {
			at, losses = len(losses), append(losses, l)
		}
		place[m.String()] = at + 1
	}
	why, grouped := notOfRows, len(f.columns.groups) > 0
	need := f.needByPlace(sets, len(losses))
	if need > j.memory/2 {
		why = f.tooMany(sets, need)
	}
	if losses == nil || need > j.memory/2 {
		if grouped {
			return usage("--group: %s", why)
		}
		found.List = f.unpairedList(sets, names, func(eval.Metric) string { return why })
		return nil
	}
	all, err := f.lossesByPlace(c, j, list, sets, losses)
	if err != nil {
		return err
	}
	pairs := f.pairsOf(names)
	for _, m := range spec.Metrics {
		for _, p := range pairs {
			k := place[m.String()] - 1
			if k < 0 {
				found.List = append(found.List, unpairedDifference(sets, m, p, why))
				continue
			}
			both := &compared.Losses{Names: [2]string{names[p[0]], names[p[1]]}}
			if all.clusters != nil {
				both.Clusters = []string{}
			}
			for i, x := range all.values[k][p[0]] {
				if y := all.values[k][p[1]][i]; x == x && y == y {
					if both.A, both.B = append(both.A, x), append(both.B, y); all.clusters != nil {
						both.Clusters = append(both.Clusters, all.clusters[i])
					}
				}
			}
			found.List = append(found.List, compared.OfLosses(spec, m, p[0], p[1], both))
		}
	}
	found.Clusters = sets[0].Clusters()
	if !grouped {
		return nil
	}
	by := &compared.GroupedLosses{Columns: all.columns, Values: all.groups, Group: all.group, Clusters: all.clusters, Of: func(m eval.Metric, model int) []float64 {
		if k := place[m.String()] - 1; k >= 0 {
			return all.values[k][model]
		}
		return nil
	}}
	if found.Groups, err = compared.OfGroups(spec, pairs, compared.GroupAnswers{MinRows: f.minRows, Adjust: how}, by); err != nil {
		return usage("--group: %v", err)
	}
	return nil
}
