package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
)

// aligned is sets whose rows are put into one order: those that --id matches, or those of the models of a long table.
type aligned struct {
	*predictions.Alignment
	sets   []*opened
	series bool // rows have their series, for --series
}

// keyCells takes the cells of the columns of --id, as texts: those of the rows that a reader has just returned.
type keyCells struct {
	names []string
	cells []predictions.Cells
}

func (k *keyCells) take(_ int, cells []predictions.Cells) error {
	k.cells = slices.Grow(k.cells[:0], len(cells))[:len(cells)]
	for i := range cells {
		from, to := &cells[i], &k.cells[i]
		to.Bytes, to.Ends, to.Missing = append(to.Bytes[:0], from.Bytes...), append(to.Ends[:0], from.Ends...), append(to.Missing[:0], from.Missing...)
		if from.Missing == nil {
			to.Missing = nil
		}
	}
	return nil
}

// checkAlign checks --model of a long table, and notes what --id and it need.
func (f *compareRun) checkAlign(c *cobra.Command) error {
	if f.choices.from != "" {
		return nil
	}
	if c.Flags().Changed("model") {
		if len(f.model.models) != 1 || f.model.models[0] == "" {
			return usage("--model names %d columns; the models of a long table are in one", len(f.model.models))
		}
		f.model.column = f.model.models[0]
	}
	if len(f.table.ids) > 0 && f.model.column == "" && f.apart() != "" && (f.table.pivot != "" || f.truth() != nil) {
		return nil // sets are read one after another, and --id is of their labels or classes alone
	}
	f.table.align = len(f.table.ids) > 0
	if len(f.table.ids) > 0 {
		f.ids = &keyCells{names: f.table.ids}
		for i, n := range f.table.ids {
			if slices.Contains(f.table.ids[:i], n) {
				return usage("--id names column %q twice; name it once", n)
			}
		}
	}
	if f.model.column == "" {
		return nil
	}
	switch {
	case f.task == "ensemble" || f.task == "multilabel":
		return usage("--model is not for --task %s; leave it out", f.task)
	case ofSets(f.table.probs):
		return usage("--model says that a table has a row for each model, and --prob NAME=COLUMN that it has columns for each; give one")
	case slices.Contains(f.table.ids, f.model.column):
		return usage("--id %s: the model does not tell which rows belong together; leave it out of --id", f.model.column)
	case f.table.pivot != "" && f.truth() != nil:
		return usage("--pivot, --model and --labels TABLE:COLUMN do not go together; put the label into the table of the predictions")
	}
	return nil
}

// checkIDs checks that sets have ids, once it is known what they are.
func (f *compareRun) checkIDs(paths []string) error {
	if t := f.truth(); f.ids != nil && t != nil && t.Label != "" && !f.tables(paths) {
		return usage("--labels %s: rows of arrays are not matched with those of a table; save the labels in each .npz, as an array labels", f.labels[0])
	}
	return nil
}

// aligns reports whether the rows of sets are put into one order before they are compared.
func (f *compareRun) aligns() bool { return f.table.align || f.model.column != "" }

// alignment returns an alignment without sets.
func (f *compareRun) alignment(j *job) *aligned {
	o := &predictions.AlignOptions{Drop: f.table.unmatched == "drop", Memory: (j.memory - fixedMemory) / 2, ChunkBytes: alignedBytes}
	if f.ids != nil {
		o.Keys = f.ids.names
	}
	return &aligned{Alignment: predictions.NewAlignment(o), series: f.series != ""}
}

// alignedBytes is the size of the chunks of an aligned set.
const alignedBytes = 256 << 10

// align reads the rows of sets that are open, and puts them into the order of the first.
func (f *compareRun) align(c *cobra.Command, j *job, sets []*opened) error {
	f.aligned = f.alignment(j)
	f.aligned.sets = sets
	for i, s := range sets {
		if _, err := f.aligned.AddSet(f.files.calls(s.paths), s.r, s.info.Pairs); err != nil {
			return badData(err)
		}
		if err := f.feed(c, s, func(*metrics.Chunk) (func(int) int, error) { return func(int) int { return i }, nil }); err != nil {
			return err
		}
	}
	return f.join(c, j)
}

// feed adds the rows of a reader. of returns what says to which set each row of a chunk belongs.
func (f *compareRun) feed(c *cobra.Command, s *opened, of func(*metrics.Chunk) (func(row int) int, error)) error {
	src, ok := s.r.(metrics.Source)
	if !ok {
		return usage("%s cannot be read side by side with another set", f.files.calls(s.paths))
	}
	defer progress(c.ErrOrStderr(), s.r, s.info.Bytes, "reading")()
	for {
		chunk, err := src.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return badData(f.asSeries(f.locate(err, s.r, s.paths)))
		}
		set, err := of(chunk)
		if err != nil {
			return err
		}
		var keys []predictions.Cells
		if f.ids != nil {
			keys = f.ids.cells
		}
		err = f.aligned.Add(chunk, keys, set)
		if chunk.Recycle != nil {
			chunk.Recycle()
		}
		if err != nil {
			return badData(err)
		}
	}
}

// join finds the rows that all sets have.
func (f *compareRun) join(c *cobra.Command, j *job) error {
	a := f.aligned
	if err := a.Join(); err != nil {
		return badData(err)
	}
	for _, s := range a.sets {
		s.r.Close() // what is read from now on is copied
		s.info.Rows = a.Rows()
	}
	j.keys += a.KeyBytes() + int64(len(a.sets))*int64(j.pass.Threads+3)*3*alignedBytes
	if n := a.Dropped(); n > 0 {
		warn(c, "%s", f.dropped().Text())
	}
	return nil
}

// dropped says how many rows not every set has; nil if all have all.
func (f *compareRun) dropped() *report.Dropped {
	if f.aligned == nil || f.aligned.Dropped() == 0 {
		return nil
	}
	return &report.Dropped{Rows: f.aligned.Dropped(), By: f.ids.names}
}

// spread opens a long table, and makes a set of the rows of each model.
func (f *compareRun) spread(c *cobra.Command, j *job, paths []string, ready func(i int, e *eval.Evaluation, info predictions.Info) error) (list []comparedSet, err error) {
	// The models are groups of rows to the readers, which --temperature-scaled excludes otherwise. So are those of --group within models.
	scaled, by := f.scaled, f.columns.groups
	all := slices.Concat([]string{f.model.column}, by)
	j.read.Groups, f.columns.groups, f.columns.series, f.scaled = all, all, f.series, false
	s, err := f.open(c, j, paths, func(e *eval.Evaluation, i predictions.Info) error { return ready(0, e, i) })
	j.read.Groups, f.columns.groups, f.columns.series, f.scaled = by, by, "", scaled
	if err != nil {
		return nil, ofModels(err)
	}
	defer func() {
		if err != nil {
			s.r.Close()
		}
	}()
	r, ok := s.r.(groupedReader)
	if !ok {
		return nil, usage("--model names a column, and %s has none; leave it out", f.files.calls(paths))
	}
	f.aligned = f.alignment(j)
	var of []int // the set of each group
	err = f.feed(c, s, func(chunk *metrics.Chunk) (func(int) int, error) {
		groups := chunk.Groups
		if by == nil {
			chunk.Groups = nil
		}
		for last := slices.Max(groups); len(of) <= int(last); {
			name := r.Group(int32(len(of)))[0]
			if set := slices.Index(f.names, name); set >= 0 {
				of = append(of, set)
				continue
			}
			if len(f.aligned.sets) == compared.Most {
				return nil, badAt(place{File: f.files.calls(paths), Remedy: "name the column that says which model a row is of"}, "%s: column %q names more than %s models", f.files.calls(paths), f.model.column, report.Count(compared.Most))
			}
			if name == "" {
				return nil, badAt(place{File: f.files.calls(paths), Column: f.model.column, Remedy: "name the model in each row"}, "%s: column %q: the model is missing in some row", f.files.calls(paths), f.model.column)
			}
			if _, err := f.aligned.AddSet(name, s.r, s.info.Pairs); err != nil {
				return nil, badData(err)
			}
			one := *s
			if one.e, err = eval.New(s.e.Spec); err != nil {
				return nil, usage("%v", err)
			}
			one.e.Threads = f.threads
			of = append(of, len(f.aligned.sets))
			f.aligned.sets = append(f.aligned.sets, &one)
			list, f.names = append(list, comparedSet{paths: paths}), append(f.names, name)
		}
		return func(row int) int { return of[groups[row]] }, nil
	})
	if err != nil {
		return nil, err
	}
	if len(list) < 2 {
		return nil, badAt(place{File: f.files.calls(paths), Remedy: "name a table of several, or evaluate it by candor eval"}, "%s: column %q names one model, %s", f.files.calls(paths), f.model.column, f.names[0])
	}
	return list, f.join(c, j)
}

// ofModels words an error about the column of --model, which readers take for one of groups.
func ofModels(err error) error {
	var e *predictions.Error
	if errors.As(err, &e) && strings.Contains(e.Reason, " for the group") {
		e.Reason, e.Remedy = strings.Replace(e.Reason, " for the group", " for the model", 1), "name the column by --model"
	}
	return err
}

// reader returns a reader of the rows of a set, with the series that they are of, if there are any, only where it is asked for them.
func (a *aligned) reader(set int, series bool) *alignedReader {
	return &alignedReader{reader: a.sets[set].r, rows: a.Source(set), a: a, set: set, bare: a.series && !series}
}

// alignedReader reads the rows of an aligned set, which its own reader says where to find.
type alignedReader struct {
	reader
	rows metrics.Source
	a    *aligned
	set  int
	bare bool
}

func (r *alignedReader) Next() (*metrics.Chunk, error) {
	c, err := r.rows.Next()
	if err == nil && r.bare {
		c.Clusters, c.ClusterName = nil, nil
	}
	return c, err
}

func (r *alignedReader) Info() predictions.Info {
	i := r.a.sets[r.set].info
	i.Bytes = 0 // it takes no time worth to show
	return i
}

func (r *alignedReader) Close() error { return nil }

// Locate implements reader.
func (r *alignedReader) Locate(row int64) (string, int64) {
	own, err := r.a.RowIn(r.set, row)
	if err != nil {
		return "", -1
	}
	return r.reader.Locate(own)
}

// own returns an error about rows with the numbers that they have in the set's own files.
func (r *alignedReader) own(err error) error {
	var d *metrics.DataError
	if errors.As(err, &d) {
		for i := range d.Faults {
			if row, err := r.a.RowIn(r.set, d.Faults[i].Row); err == nil {
				d.Faults[i].Row = row
			}
		}
	}
	return err
}

// flipIDs are the ids of the rows of --flips; nil if they have none.
func (f *compareRun) flipIDs() rowIDs {
	if f.aligned == nil || f.ids == nil {
		return nil
	}
	return alignedIDs{f}
}

type alignedIDs struct{ f *compareRun }

func (a alignedIDs) names() []string { return a.f.ids.names }

func (a alignedIDs) of(dst [][]byte, row int64) [][]byte { return a.f.aligned.Key(dst, row) }

// unlike returns the error of a row about which two aligned sets disagree.
func (f *compareRun) unlike(row *compared.RowError, file, first string) error {
	i := slices.Index(f.names, row.Model)
	r := f.aligned.reader(i, false)
	at := place{File: file, Remedy: "rows that belong together must have the same one"}
	if name, n := r.Locate(row.Row); n >= 0 {
		at.File, at.Row = name, &n
	}
	where := "row " + report.Count(row.Row) + " of the model"
	if key := f.aligned.KeyText(row.Row); key != "" {
		where = f.ids.said() + " " + key
	}
	if row.What == "cluster" || row.What == "group" {
		at.Value = row.Cluster
		return badAt(at, "%s: %s: the %s is %q, and %q in %s", file, where, row.What, row.Cluster, row.OtherCluster, first)
	}
	at.Value = numberOf(row.Value)
	return badAt(at, "%s: %s: the %s is %v, and %v in %s", file, where, row.What, row.Value, row.Other, first)
}

// said returns the names of the columns.
func (k *keyCells) said() string { return strings.Join(k.names, ", ") }

// binding says how the columns of tables were bound.
func (f *compareRun) binding(c *cobra.Command, s *opened) {
	t, ok := tableOf(s.r)
	if !ok || !f.aligns() && f.wide == "" || t.Binding() == "" || notesAreJSON(c) {
		s.binding(c, &f.slicing)
		return
	}
	// To the readers ids are columns that are kept, and models are groups.
	said := t.Binding()
	if scores, rest, _ := strings.Cut(said, "; "); f.wide != "" && strings.HasPrefix(scores, "scores ") {
		said = "scores " + f.wide + "; " + rest
	}
	if f.ids != nil {
		said = strings.Replace(said, "kept "+strings.Join(f.ids.names, ", "), "id "+f.ids.said(), 1)
	}
	if f.model.column != "" {
		said = strings.Replace(said, "group "+f.model.column, "model "+f.model.column, 1)
	}
	tell(c, "", "Columns: %s.", said)
}
