package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// scoreFlags says which columns of a table hold the scores of which classes.
type scoreFlags struct {
	probs       []string
	prefix      string // of the columns of probabilities
	logitPrefix string // of the columns of logits
	classes     []string
	noHeader    bool
}

func (s *scoreFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringSliceVar(&s.probs, "prob", nil, "`COLUMNS` of a table with the probability of each class, in their order, or of the event; or one with all of a row")
	fl.StringVar(&s.prefix, "prob-prefix", "", "`PREFIX` of the columns of probabilities of a table; the class's name follows it: .pred_ for .pred_cat")
	fl.StringVar(&s.logitPrefix, "logit-prefix", "", "`PREFIX` of the columns of logits, in place of --prob-prefix and --input logits")
	fl.BoolVar(&s.noHeader, "no-header", false, "the first line of a table is a row; columns are named by their numbers, from 0")
	fl.StringSliceVar(&s.classes, "classes", nil, "`NAMES` of the classes, or of the labels of --task multilabel, in the order of the scores, where the columns do not name them")
}

// named returns the names of the classes of scores that r reads, or of the labels of a multilabel task.
func (f *evalFlags) named(r reader, what string) ([]string, error) {
	if t, ok := r.(*predictions.ForecastReader); ok && t.Binding() != "" {
		return t.ClassNames(), nil
	}
	names, info := slices.Clone(f.table.classes), r.Info()
	if len(names) == 0 {
		return nil, nil
	}
	n := info.Classes
	if what == "classes" {
		n = max(2, n)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, usage("--classes names %q twice; name each once", name)
		}
	}
	if len(names) != n {
		return nil, usage("--classes names %d %s, and the scores are of %d; name each once, in the order of the scores", len(names), what, n)
	}
	if info.Pairs && info.Event == 0 {
		slices.Reverse(names)
	}
	return names, nil
}

// given reports whether columns of scores are named.
func (s *scoreFlags) given() bool { return len(s.probs) > 0 || s.prefix != "" || s.logitPrefix != "" }

// checkTables returns an error for flags that exclude each other, and applies what --logit-prefix implies for the input.
func (f *evalFlags) checkTables(c *cobra.Command) error {
	s := &f.table
	count := 0
	for _, given := range []bool{len(s.probs) > 0, s.prefix != "", s.logitPrefix != ""} {
		if given {
			count++
		}
	}
	switch {
	case count > 1:
		return usage("--prob, --prob-prefix and --logit-prefix name the same columns; give one of them")
	case s.logitPrefix != "" && c.Flags().Changed("input") && f.input != "logits":
		return usage("--logit-prefix names columns of logits, and --input is %s; leave --input out, or pass --prob-prefix", f.input)
	case s.given() && !slices.Contains([]string{"", "binary", "classification"}, f.task):
		return usage("--prob, --prob-prefix and --logit-prefix are for --task binary and classification; leave them out, or leave --task out")
	}
	if _, ofNumbers := numbers[f.task]; ofNumbers && len(s.classes) > 0 {
		return usage("--classes names classes, and --task %s has none; leave it out", f.task)
	}
	for _, r := range f.rowColumns() {
		if s.given() && len(*r.names) > 1 {
			return usage("%s names %d columns, and a row of a table has one; name one", r.flag, len(*r.names))
		}
	}
	if s.logitPrefix != "" {
		f.input = "logits"
	}
	return nil
}

// rowColumn is a flag that names a column of a table with one value per row.
type rowColumn struct {
	flag  string
	names *[]string
	of    func(w *roles.Want) *string
}

func (f *evalFlags) rowColumns() []rowColumn {
	return []rowColumn{
		{"--labels", &f.labels, func(w *roles.Want) *string { return &w.Label }},
		{"--weights", &f.weights, func(w *roles.Want) *string { return &w.Weight }},
		{"--decisions", &f.decisions, func(w *roles.Want) *string { return &w.Decision }},
		{"--confidence-scores", &f.scores, func(w *roles.Want) *string { return &w.Confidence }},
	}
}

// tables reports whether the files are tables with the scores of classes.
func (f *evalFlags) tables(paths []string) bool {
	return f.table.given() || slices.Contains([]string{"", "binary", "classification"}, f.task) && slices.ContainsFunc(paths, func(p string) bool { return predictions.IsTable(p) || predictions.HasColumns(p) })
}

// tableOptions returns how tables of classes are read.
func (f *evalFlags) tableOptions(j *job) *predictions.TableOptions {
	s := &f.table
	o := &predictions.TableOptions{Kind: j.read.Kind, Names: f.files.names, Event: f.event, Classification: f.task == "classification", NoHeader: s.noHeader, Unlabelled: j.read.NoLabels,
		BufferBytes: j.read.BufferBytes}
	w := roles.Want{Scores: s.probs, Classes: s.classes, Groups: f.columns.groups}
	if p := s.prefix + s.logitPrefix; p != "" {
		w.Prefix = &p
	}
	for _, r := range f.rowColumns() {
		if len(*r.names) == 1 {
			*r.of(&w) = (*r.names)[0]
		}
	}
	o.Columns = w
	return o
}

// openTable opens tables of classes.
func (j *job) openTable(f *evalFlags, paths []string) (*predictions.ForecastReader, error) {
	o := f.tableOptions(j)
	r, err := predictions.OpenTable(paths, o)
	if err != nil {
		return nil, err
	}
	for _, u := range f.rowColumns() {
		name := *u.of(&o.Columns)
		if name == "" {
			continue
		}
		if _, err := os.Stat(name); err == nil {
			r.Close()
			return nil, usage("%s %s: there is a column of that name and a file; rename the column, or go to another folder", u.flag, name)
		}
	}
	return r, nil
}

// inClassTable returns the message about a bad row, extended by its line and column.
func (f *evalFlags) inClassTable(r *predictions.ForecastReader, said string, b metrics.Fault, at *place) string {
	_, what, _ := strings.Cut(said, ": ")
	where := said[:len(said)-len(what)-len(": ")]
	if line := r.Line(b.Row); line > 0 {
		where = fmt.Sprintf("line %d", line)
		at.Row, at.Line = nil, line
	} else if cut := strings.Index(where, ", column"); cut > 0 {
		where = where[:cut]
	}
	name, element := "", ""
	switch columns := r.ScoreColumns(); {
	case b.Reason == metrics.BadLabel:
		name, what = f.labels[0], "the label is missing; "+setting.Drop.String()+" leaves such rows out"
	case b.Reason == metrics.BadWeight:
		name = f.weights[0]
	case b.Reason == metrics.BadConfidence:
		name = f.scores[0]
	case b.Column >= 0 && len(columns) == 1 && r.Info().Classes > 1: // a list of scores
		name, element = columns[0], fmt.Sprintf(", class %d", b.Column)
	case b.Column >= 0 && int(b.Column) < len(columns):
		name = columns[b.Column]
	}
	if name != "" {
		where += fmt.Sprintf(", column %q", name) + element
		at.Column = name
	}
	return where + ": " + what
}
