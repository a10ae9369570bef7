package main

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

// sliceFlags are the flags of slices.
type sliceFlags struct {
	by    []string
	edges []string

	columns []sliced.Column
	value   func(column int, value []byte) []byte // of columns but the score
	e       *sliced.Evaluation                    // of the last files
}

// sliceMetrics are the metrics that slices add.
const sliceMetrics = "multicalibration_error,multicalibration_error_relative,multicalibration_error_sigma,multicalibration_error_p,multicalibration_gap,multicalibration_gap_p"

// scoreColumn is the name of the model's own score among slices.
const scoreColumn = "score"

func (s *sliceFlags) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&s.by, "slice-by", nil, "`COLUMNS` to cross: their values, pairs and triples of values are the slices; like those of --group, or score, the model's own")
	c.Flags().StringArrayVar(&s.edges, "slice-edges", nil, "`COLUMN=EDGES`: edges of the bins of a numeric column, such as age=0,18,65,inf, instead of ten bins of equal mass from a first read; may be given several times; --state needs it")
}

func (s *sliceFlags) given() bool { return len(s.by) > 0 }

// spelled returns an error of the readers, to whom columns of slices are groups, in the words of slices.
func (s *sliceFlags) spelled(err error) error {
	if e := (*predictions.Error)(nil); s.given() && errors.As(err, &e) {
		e.Reason = strings.ReplaceAll(e.Reason, " for the group", " for the slices")
		e.Remedy = strings.ReplaceAll(e.Remedy, setting.Groups.String(), setting.SliceBy.String())
	}
	return err
}

// binding says the same of how columns were bound.
func (s *sliceFlags) binding(said string) string {
	for _, name := range s.by {
		said = strings.Replace(said, "; group "+name, "; slices by "+name, 1)
	}
	return said
}

// check reads the flags before files are opened.
func (s *sliceFlags) check(c *cobra.Command, f *evalRun) error {
	if !s.given() {
		if len(s.edges) > 0 {
			return usage("--slice-edges is for the columns of --slice-by; pass that too, or leave it out")
		}
		return nil
	}
	_, ofNumbers := numbers[f.task]
	for _, l := range []struct {
		flag string
		set  bool
	}{{"--group", len(f.columns.groups) > 0}, {"--task " + f.task, ofNumbers || f.task == "ensemble" || f.task == "multilabel"}, {"--ood", len(f.ood) > 0},
		{"--confidence-scores", len(f.scores) > 0}, {"--temperature-scaled", f.scaled}, {"--from " + f.model.from, f.model.from != ""},
		{"--from lm-eval", f.choices.given()}, {"--sequence", len(f.tokens.sequences) > 0}} {
		if l.set {
			return usage("--slice-by does not go with %s; leave one of them out", strings.TrimSpace(l.flag))
		}
	}
	s.columns = nil
	for i, name := range s.by {
		if name == "" || slices.Contains(s.by[:i], name) {
			return usage("--slice-by %s: name each column once", strings.Join(s.by, ","))
		}
		s.columns = append(s.columns, sliced.Column{Name: name, Score: name == scoreColumn})
		if name != scoreColumn {
			f.columns.groups = append(f.columns.groups, name)
		}
	}
	if len(f.columns.groups) > sliced.MostColumns {
		return usage("--slice-by names %d columns; at most %d are crossed", len(f.columns.groups), sliced.MostColumns)
	}
	for _, text := range s.edges {
		name, list, ok := strings.Cut(text, "=")
		i := slices.IndexFunc(s.columns, func(c sliced.Column) bool { return c.Name == name || !c.Score && base(c.Name) == name })
		if !ok || i < 0 {
			return usage("--slice-edges %s: it is COLUMN=EDGES, such as age=0,18,65, where --slice-by names the column", text)
		}
		if s.columns[i].Edges != nil {
			return usage("--slice-edges: column %s has edges twice; leave one of them out", name)
		}
		var edges []float64
		for _, e := range strings.Split(list, ",") {
			x, err := strconv.ParseFloat(strings.TrimSpace(e), 64)
			if err != nil && x-x == 0 || x != x || len(edges) > 0 && !(x > edges[len(edges)-1]) {
				return usage("--slice-edges %s: edges are two rising numbers or more, separated by commas; -inf and inf are allowed", text)
			}
			edges = append(edges, x)
		}
		if len(edges) < 2 {
			return usage("--slice-edges %s: edges are two rising numbers or more, separated by commas; -inf and inf are allowed", text)
		}
		s.columns[i].Edges = edges
	}
	return nil
}

// base returns the name of a file without its folder and extension.
func base(path string) string {
	b := filepath.Base(path)
	return strings.TrimSuffix(b, filepath.Ext(b))
}

// prepare finds the bins of columns of numbers, in a first read of the files if some have no edges.
func (s *sliceFlags) prepare(c *cobra.Command, f *evalRun, j *job, paths []string) error {
	if !s.given() {
		return nil
	}
	of := func() (l []*sliced.Column) {
		for i := range s.columns {
			if !s.columns[i].Score {
				l = append(l, &s.columns[i])
			}
		}
		return l
	}()
	code := func() {
		coders := make([]func([]byte) []byte, len(of))
		for i := range of {
			coders[i] = of[i].Coder()
		}
		s.value = func(column int, value []byte) []byte { return coders[column](value) }
		j.read.GroupValue = s.value
	}
	if f.state != "" || !slices.ContainsFunc(of, func(c *sliced.Column) bool { return c.Edges == nil }) {
		code()
		return nil
	}
	if once := f.files.once(slices.Concat(paths, f.labels, f.weights, f.decisions, f.columns.groups)...); once != "" {
		return usage("--slice-by reads everything twice, to find the bins of numbers, and %s only once; name a file, or pass --slice-edges for every column", once)
	}
	values := make([]sliced.Values, len(of))
	s.value = func(column int, value []byte) []byte {
		if of[column].Edges == nil {
			values[column].Add(value)
		}
		return nil
	}
	j.read.GroupValue = s.value
	r, _, err := j.open(&f.evalFlags, paths)
	if err != nil {
		return badData(err)
	}
	defer r.Close()
	j.passes = &passes{about: 2}
	defer progress(c.ErrOrStderr(), r, r.Info().Bytes, j.passes.next())()
	for src := r.(metrics.Source); ; {
		chunk, err := src.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return badData(err)
		}
		if chunk.Recycle != nil {
			chunk.Recycle()
		}
	}
	for i := range values {
		if v := &values[i]; of[i].Edges == nil && v.Numeric() && v.Distinct() > sliced.EqualMass {
			of[i].Edges, of[i].Thirds = v.Edges(sliced.EqualMass), v.Edges(sliced.Thirds)
		}
	}
	code()
	return nil
}

// room takes the memory of cells into account, with fewer threads if it would take half of what there is.
func (s *sliceFlags) room(j *job, i predictions.Info) {
	if !s.given() {
		return
	}
	rows := i.Rows
	if rows < 0 && i.Bytes > 0 {
		rows = i.Bytes // a row of text takes more, but it may be compressed
	}
	clusters := j.read.Cluster != ""
	for j.pass.Threads > 1 && sliced.Bytes(rows, j.pass.Threads, clusters) > j.memory/2 {
		j.pass.Threads--
	}
	j.held += sliced.Bytes(rows, j.pass.Threads, clusters)
}

// feed evaluates the rows of a reader with their slices.
func (s *sliceFlags) feed(j *job, e *eval.Evaluation, r groupedReader, o *metrics.Options, within func(nextOf[metrics.Chunk], func(metrics.Source) error) error) error {
	names, k := r.GroupColumns(), 0
	for i := range s.columns {
		if !s.columns[i].Score {
			s.columns[i].Name = names[k]
			k++
		}
	}
	made := func() (*sliced.Evaluation, error) {
		n, err := sliced.New(e.Spec, s.columns)
		if err == nil {
			n.Threads = e.Threads
		}
		return n, err
	}
	n, err := made()
	if err != nil {
		return err
	}
	n, err = inPieces(j.checkpoint, r, rowChunks, n, made, func(n *sliced.Evaluation, src nextOf[metrics.Chunk]) error {
		return within(src, func(src metrics.Source) error { return n.AddSource(src, r.Group, o) })
	})
	if err != nil {
		return err
	}
	n.Threads = e.Threads
	if name := n.Textual(); name != "" {
		return usage("--slice-edges %s: no value of that column is a number; leave its edges out, and texts make slices as they are", name)
	}
	threads, remedy := e.Threads, e.Remedy
	*e = *n.Whole()
	e.Threads, e.Remedy, s.e = threads, remedy, n
	return nil
}

// checkState returns an error if states of these slices could not be merged with those of other rows.
func (s *sliceFlags) checkState(f *evalRun) error {
	if s.e == nil || f.state == "" {
		return nil
	}
	if name := s.e.Unedged(); name != "" {
		return usage("--state: column %s has many numbers, and states need the same bins in every shard; pass --slice-edges %s=EDGES, as %s=0,10,20", name, name, name)
	}
	return nil
}

// mergeSlices merges states of slices; the first one has been read.
func mergeSlices(c *cobra.Command, o *output, to string, paths []string, first []byte, r *stateFiles) error {
	m := merging[*sliced.Evaluation]{magic: sliced.Magic, empty: func() *sliced.Evaluation { return new(sliced.Evaluation) },
		rows: func(e *sliced.Evaluation) int64 { return e.Whole().Audit.Rows },
		begin: func(e *sliced.Evaluation) error {
			w := e.Whole()
			o.sliced = true
			if err := o.plot.ready(w); err != nil {
				return err
			}
			return o.gatesFit(c, w.Answered(), w.Spec.Shape(), false)
		}}
	sum, err := m.all(c, r, paths, first)
	if err != nil {
		return err
	}
	if name := sum.Unedged(); name != "" {
		return badAt(place{File: r.call(paths[0]), Column: name, Remedy: "evaluate the shards with --slice-edges " + name + "=EDGES"},
			"column %q of slices has more than %d numbers over all shards, and no edges of bins", name, sliced.EqualMass)
	}
	if err := r.shards.write(c, to, sum); err != nil {
		return err
	}
	if done, err := r.shards.empty(c, r.calls(paths), sum.Whole().Audit.Rows); done || err != nil {
		return err
	}
	o.slices = sum
	return o.write(c, sum.Whole(), nil, "")
}

// sliceOptions returns how slices are listed.
func (o *output) sliceOptions(level float64) sliced.ListOptions {
	l := sliced.ListOptions{Level: level, MinRows: max(1, o.minRows)}
	if o.adjust == "bh" {
		l.Adjust = sliced.BenjaminiHochberg
	}
	return l
}

// addSlices adds slices to a document.
func (o *output) addSlices(d *report.Document) {
	if o.slices != nil {
		d.Slices = report.SlicesOf(o.slices, o.sliceOptions(o.slices.Whole().Spec.Level))
	}
}
