package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// findRows finds the sets of which there are only losses by row, as candor score -o FILE.npz writes them.
func (f *compareRun) findRows(list []comparedSet) error {
	some := ""
	if f.model.column != "" {
		return nil // a table has all sets
	}
	for i := range list {
		s := &list[i]
		if len(s.paths) != 1 || !strings.HasSuffix(strings.ToLower(s.paths[0]), ".npz") || readOnce(s.paths[0]) {
			continue
		}
		arrays, err := predictions.Inspect(s.paths[0])
		if err != nil {
			continue // reported when it is opened
		}
		var names []string
		for _, a := range arrays {
			names = append(names, a.Name)
		}
		path := f.files.call(s.paths[0])
		if s.rows = slices.Contains(names, predictions.RowMarkArray); s.rows {
			some = path
		} else if byRow := ofMetrics(names); len(byRow) > 0 && len(byRow) == len(names)-beside(names) {
			return badAt(place{File: path, Remedy: "write it again, by candor score -o FILE.npz"},
				"%s has losses by row (%s), and nothing that says of what: it is of an older version, or was not written by candor score", path, strings.Join(byRow, ", "))
		}
	}
	if some == "" {
		return nil
	}
	if !slices.ContainsFunc(list, func(s comparedSet) bool { return !s.rows }) {
		return usage("%s: each of these sets has losses by row alone, and at least one set has to be predictions; name the predictions of one", some)
	}
	if why := f.apart(); why != "" {
		return usage("%s has losses by row, and %s, so rows are not put side by side; compare the predictions", some, why)
	}
	_, ofNumbers := numbers[f.task]
	plotted := f.plot.file != "" && !(f.plot.said && (f.plot.kind == plotDifferences || f.plot.kind == plotFlips))
	for _, l := range []struct {
		flag string
		set  bool
		why  string
	}{
		{"--task " + f.task, ofNumbers || f.task == "multilabel", "losses by row are compared of classes"},
		{"--from " + f.choices.from, f.choices.from != "", "losses by row are those of candor score, which does not read such files"},
		{"--prob NAME=COLUMN", ofSets(f.table.probs), "it names the sets of one table"},
		{"--correct", f.table.correct != "", "it has other labels than losses by row"},
		{"--state", f.state != "", "no state holds losses by row of one model and predictions of another"},
		{"--temperature-scaled", f.scaled, "losses by row have no temperature"},
		{"--plot", plotted, "it draws predictions; add --plot-kind differences, or flips"},
	} {
		if l.set {
			return usage("%s does not go with %s, which has losses by row: %s", l.flag, some, l.why)
		}
	}
	return nil
}

// beside returns how many names are those of arrays beside the metrics.
func beside(names []string) (n int) {
	for _, name := range []string{predictions.RowLabelsArray, predictions.RowWeightsArray, predictions.RowDecisionsArray} {
		if slices.Contains(names, name) {
			n++
		}
	}
	return n
}

// ofMetrics returns the names that are those of metrics of rows.
func ofMetrics(names []string) (l []string) {
	for _, n := range names {
		plain, _, _ := strings.Cut(n, "(")
		for _, k := range []metrics.Kind{metrics.Probs, metrics.Samples, metrics.Normals, metrics.Quantiles} {
			if slices.Contains(rowNames(k), plain) {
				l = append(l, n)
				break
			}
		}
	}
	return l
}

// openRows opens losses by row, to be compared with a set whose predictions are open.
func (f *compareRun) openRows(c *cobra.Command, path string, with *opened) (*opened, error) {
	o := &predictions.RowOptions{Names: f.files.names}
	if f.ids != nil {
		o.Kept, o.Keep = f.ids.names, f.ids.take
	}
	r, err := predictions.OpenRows(path, o)
	if err != nil {
		return nil, badData(err)
	}
	bad := func(err error) (*opened, error) {
		r.Close()
		return nil, err
	}
	m, spec := r.Mark(), &with.e.Spec
	file, other := f.files.call(path), f.files.calls(with.paths)
	info := r.Info()
	switch {
	case m.Classes == 0:
		return bad(badAt(place{File: file, Remedy: "compare the forecasts themselves"}, "%s has losses by row of --task %s, and those of classes are compared", file, m.Task))
	case info.Classes != spec.Classes:
		return bad(badAt(place{File: file, Remedy: "name sets of the same shape"}, "%s is of %s and %s of %s, so they differ in classes", file, classesText(info.Classes), other, classesText(spec.Classes)))
	case !f.aligns() && with.info.Rows >= 0 && info.Rows != with.info.Rows:
		return bad(badAt(place{File: file, Remedy: "score the same rows, or match them by --id"}, "%s has losses of %s rows and %s has %s: sets are compared on the same rows",
			file, report.Count(info.Rows), other, report.Count(with.info.Rows)))
	case m.ClassNames != nil && spec.Names != nil && !slices.Equal(m.ClassNames, spec.Names):
		return bad(badAt(place{File: file, Remedy: "name sets of the same classes, in the same order"}, "%s is of the classes %s and %s of %s", file, strings.Join(m.ClassNames, ", "), other, strings.Join(spec.Names, ", ")))
	}
	columns, err := r.Choose(compared.RowColumns(spec))
	if err != nil {
		return bad(badData(err))
	}
	var wanted []string
	for _, n := range spec.Metrics {
		if name := compared.Columns(spec, n); name != "" && !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	switch has := func(n string) bool { return slices.Contains(columns, n) }; {
	case len(wanted) == 0:
		return bad(usage("%s has losses by row, and no metric of --metrics is a mean of losses; name one that is, such as nll", file))
	case !slices.ContainsFunc(wanted, has):
		return bad(badAt(place{File: file, Remedy: "write it again, by candor score --metrics '" + strings.Join(wanted, ",") + "', or compare by --metrics what it has"},
			"%s has losses by row of %s, and not of %s", file, strings.Join(m.Metrics, ", "), strings.Join(wanted, ", ")))
	}
	return &opened{paths: []string{path}, r: r, info: info, e: with.e, columns: columns}, nil
}

// classesText says how many classes there are, as columns of scores.
func classesText(columns int) string {
	if columns == 1 {
		return "a binary task"
	}
	return report.Count(int64(columns)) + " classes"
}

// ofValues returns the error of values of a row that cannot be compared.
func (f *compareRun) ofValues(row *compared.RowError, file string) error {
	n, key := row.Row, ""
	if f.aligned != nil {
		_, n = f.aligned.reader(slices.Index(f.names, row.Model), false).Locate(row.Row)
		if key = f.aligned.KeyText(row.Row); key != "" {
			key = ", " + f.ids.said() + " " + key
		}
	}
	at := place{File: file, Row: &n}
	if row.What == compared.LeftOut {
		at.Remedy = "--on-invalid drop leaves such rows out of all sets"
		return badAt(at, "%s: row %d%s has no values: it was left out when the file was written", file, n, key)
	}
	at.Remedy, at.Value = "write it again, by candor score -o FILE.npz", numberOf(row.Value)
	return badAt(at, "%s: row %d%s: %s is %v, which no row has", file, n, key, row.Column, row.Value)
}

// documentOf returns the document of a set.
func (f *compareRun) documentOf(i int, e *eval.Evaluation, read *compared.Comparison) *report.Document {
	if read == nil || !read.Known(i) {
		return report.Brief(e)
	}
	m := f.marks[i]
	return report.OfRows(f.whole(read), &report.RowValues{Name: m.Name, Input: m.Input, Metrics: m.Metrics}, func(n eval.Metric) eval.Value { return read.Value(i, n) })
}

// whole returns the evaluation of the first set that has predictions.
func (f *compareRun) whole(read *compared.Comparison) *eval.Evaluation {
	m := read.Models()
	return m[slices.IndexFunc(m, func(m compared.Model) bool { return m.Audit.Rows > 0 })].Evaluation
}
