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
	labelPrefix string   // of the columns of labels of --task multilabel
	correct     string   // the column that says whether the top label was right
	pivot       string   // the column with the class of a row that has one score
	ids         []string // columns by which rows belong together
	align       bool     // --id also tells which rows of several sets belong together
	unmatched   string   // what becomes of rows without a partner
	stay        bool     // rows keep their numbers
	noHeader    bool
}

func (s *scoreFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringSliceVar(&s.probs, "prob", nil, "`COLUMNS` of a table with the probabilities of the classes, in their order, or of the event; or one column with all of a row")
	fl.StringVar(&s.prefix, "prob-prefix", "", "`PREFIX` of the columns of probabilities; the class's name follows it: .pred_ for .pred_cat")
	fl.StringVar(&s.logitPrefix, "logit-prefix", "", "`PREFIX` of the columns of logits, instead of --prob-prefix and --input logits")
	fl.StringVar(&s.correct, "correct", "", "`COLUMN` that says whether the top label was right, instead of --label; --prob is then the top label's probability")
	fl.StringVar(&s.pivot, "pivot", "", "`COLUMN` of classes, for a table with one row per class; --id says which rows belong together")
	fl.StringSliceVar(&s.ids, "id", nil, "`COLUMNS` by which rows belong together: those of --labels TABLE:COLUMN and of the predictions, or those of --pivot")
	fl.StringVar(&s.unmatched, "on-unmatched", "error", "`WHAT` to do with rows whose --id is in only one of two tables, and with forecasts that have no observed value: error, or drop (and count)")
	fl.BoolVar(&s.noHeader, "no-header", false, "the first line of a table is a row; columns are named by their numbers, from 0")
	fl.StringSliceVar(&s.classes, "classes", nil, "`NAMES` of the classes, or of the labels of --task multilabel, in the order of the scores, if the columns do not name them")
}

// named returns the names of the classes of scores that r reads, or of the labels of a multilabel task.
func (f *evalFlags) named(r reader, what string) ([]string, error) {
	if t, ok := tableOf(r); ok && t.Binding() != "" {
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
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return nil, usage("--classes names %q twice; name each once", name)
		}
		seen[name] = true
	}
	if len(names) != n {
		return nil, usage("--classes names %d %s, and the scores are of %d; name each once, in the order of the scores", len(names), what, n)
	}
	if info.Pairs && info.Event == 0 {
		slices.Reverse(names)
	}
	return names, nil
}

// tableOf returns the reader of tables that r is.
func tableOf(r reader) (*predictions.ForecastReader, bool) {
	switch r := r.(type) {
	case *predictions.ForecastReader:
		return r, true
	case *predictions.LabelTable:
		return r.ForecastReader, true
	case *predictions.MemberTable:
		return r.ForecastReader, true
	}
	return nil, false
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
	case s.given() && !slices.Contains(tableTasks, f.task) && f.task != ofSurvival:
		return usage("--prob, --prob-prefix and --logit-prefix are for --task binary, classification, multilabel, ensemble and survival; leave them out, or leave --task out")
	case s.labelPrefix != "" && f.task != "multilabel":
		return usage("--label-prefix names the columns of several labels; pass --task multilabel too, or name the one label by --label")
	case s.labelPrefix != "" && len(f.labels) > 0:
		return usage("--label-prefix and --label name the same columns; give one of them")
	case s.correct != "" && (len(f.labels) > 0 || f.event != "" || len(s.classes) > 0 || len(f.decisions) > 0 || f.task != "" && f.task != "binary"):
		return usage("--correct replaces the label: leave out --label, --event, --classes, --decisions and --task")
	case s.correct != "" && len(s.probs) != 1:
		return usage("--correct goes with --prob COLUMN, the probability of the top label; name it")
	case s.unmatched != "error" && s.unmatched != "drop":
		return noSuch("--on-unmatched", s.unmatched, "error", "drop")
	case s.unmatched == "drop" && f.model.from == "" && (len(s.ids) == 0 || f.truth() == nil && !s.align):
		return usage("--on-unmatched drop is for labels in a table of their own that are matched by --id; pass --labels TABLE:COLUMN and --id, or leave it out")
	case s.pivot != "" && len(s.ids) == 0:
		return usage("--pivot needs --id COLUMN,..., which tells which rows belong together")
	case s.pivot != "" && len(s.probs) != 1:
		return usage("--pivot goes with --prob COLUMN, the one column of scores; name it")
	case len(s.ids) > 0 && s.pivot == "" && f.truth() == nil && !s.align:
		return usage("--id tells which rows belong together, of --pivot or of --labels TABLE:COLUMN; give one of these, or leave it out")
	}
	if _, ofNumbers := numbers[f.task]; ofNumbers && len(s.classes) > 0 {
		return usage("--classes names classes, and --task %s has none; leave it out", f.task)
	}
	for _, r := range f.rowColumns() {
		if s.given() && len(*r.names) > 1 {
			return usage("%s names %d columns, and a table has one per row; name one", r.flag, len(*r.names))
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
		{"--bytes", &f.tokens.bytes, func(w *roles.Want) *string { return &w.Bytes }},
		{"--sequence", &f.tokens.sequences, func(w *roles.Want) *string { return &w.Sequence }},
	}
}

// ofTopLabel returns a list of metrics in which the default ones are those of the top label.
func ofTopLabel(list string) string {
	words := strings.Split(list, ",")
	for i, w := range words {
		if strings.TrimSpace(w) == "default" {
			words[i] = "accuracy,confidence,overconfidence,nll,brier,ece,calibration_slope,calibration_intercept,calibration_auc,aurc"
		}
	}
	return strings.Join(words, ",")
}

// tableTasks are the tasks whose scores may be columns of tables.
var tableTasks = []string{"", "binary", "classification", "multilabel", "ensemble"}

// truth returns the table of labels that --labels names as TABLE:COLUMN, or an array of labels beside a table of scores; nil if it names
// neither.
func (f *evalFlags) truth() *predictions.Truth {
	if len(f.labels) != 1 {
		return nil
	}
	path, column := f.labels[0], ""
	if i := strings.LastIndexByte(path, ':'); i > 0 && isColumns(path[:i]) {
		path, column = path[:i], path[i+1:]
	} else if !isColumns(path) && (!f.table.given() || !strings.HasSuffix(path, ".npy")) {
		return nil
	} else if _, err := statOf(f.from, path); err != nil {
		return nil // a column of that name
	}
	return &predictions.Truth{Path: path, Label: column, Keys: f.table.ids, Drop: f.table.unmatched == "drop", Stay: f.table.stay}
}

// oodColumn returns the column that marks out-of-distribution rows; "" if --ood names files.
func (f *evalFlags) oodColumn(paths []string) string {
	if len(f.ood) != 1 || !f.tables(paths) {
		return ""
	}
	if _, err := statOf(f.from, f.ood[0]); err == nil || isColumns(f.ood[0]) || isArray(f.ood[0]) {
		return ""
	}
	return f.ood[0]
}

// openOut opens the out-of-distribution rows: those that a column marks, or other files with the same columns of scores.
func (f *evalFlags) openOut(j *job, paths []string) (groupedReader, error) {
	column := f.oodColumn(paths)
	if i := slices.IndexFunc(f.ood, isArray); i >= 0 && f.tables(paths) {
		return nil, usage("--ood %s is an array, and the predictions are tables; write those rows as a table with the same columns of scores", f.ood[i])
	}
	if i := slices.IndexFunc(f.ood, isColumns); i >= 0 && slices.ContainsFunc(paths, isArray) {
		return nil, usage("--ood %s is a table, and the predictions are arrays; save those rows as an array", f.ood[i])
	}
	if column == "" && !f.tables(f.ood) {
		return predictions.Open(f.ood, f.outOptions(j))
	}
	o := f.tableOptions(j, paths)
	o.Share = f.divided.share()
	w := &o.Columns
	if o.Unlabelled, o.Truth = true, nil; o.Pivot == "" {
		w.Keys = nil
	}
	w.Label, w.Correct, w.Weight, w.Decision, w.Confidence, w.Bytes, w.Sequence, w.Cluster, w.Groups = "", "", "", "", "", "", "", "", nil
	if column == "" {
		return predictions.OpenTable(f.ood, o)
	}
	if p := f.files.once(paths...); p != "" {
		return nil, usage("--ood %s: %s is read twice, for the rows that it marks and for the others, and it can be read once; write it to a file", column, p)
	}
	o.Rows = predictions.Marked
	return predictions.OpenTable(paths, o)
}

// isArray reports whether a path is one of arrays by its name, maybe followed by that of an array.
func isArray(path string) bool {
	return strings.HasSuffix(path, ".npy") || strings.HasSuffix(path, ".npz") || strings.Contains(path, ".npz:")
}

func isColumns(path string) bool { return predictions.IsTable(path) || predictions.HasColumns(path) }

// tables reports whether the files are tables with the scores of classes.
func (f *evalFlags) tables(paths []string) bool {
	return f.table.given() && f.task != ofSurvival || f.choices.given() || slices.Contains(tableTasks, f.task) && slices.ContainsFunc(paths, isColumns)
}

// partBytes returns how much memory a run of rows may take that is read by itself.
func (j *job) partBytes() int64 {
	return max(leastMemory-fixedMemory, (j.memory-fixedMemory)/int64(j.pass.Threads+1))
}

// tableOptions returns how tables of classes are read.
func (f *evalFlags) tableOptions(j *job, paths []string) *predictions.TableOptions {
	s := &f.table
	o := &predictions.TableOptions{Kind: j.read.Kind, Names: f.files.names, Event: f.event, Classification: f.task == "classification", NoHeader: s.noHeader, Unlabelled: j.read.NoLabels,
		Ignore: f.tokens.ignore, Percent: f.tokens.percent,
		BufferBytes: j.read.BufferBytes, PartBytes: j.partBytes(), Share: j.read.Share, FS: f.from}
	w := roles.Want{Scores: s.probs, Classes: s.classes, Groups: f.columns.groups, Cluster: f.columns.cluster, Correct: s.correct, Tags: f.task == "multilabel", TagPrefix: s.labelPrefix}
	if p := s.prefix + s.logitPrefix; p != "" {
		w.Prefix = &p
	}
	if f.task == "ensemble" {
		if w.Prefix != nil && strings.Contains(*w.Prefix, ",") {
			w.Members, w.Prefix = strings.Split(*w.Prefix, ","), nil
		} else if len(s.probs) > 1 {
			w.Members, w.Scores = s.probs, nil
		}
	}
	for _, r := range f.rowColumns() {
		if len(*r.names) == 1 {
			*r.of(&w) = (*r.names)[0]
		}
	}
	if o.Truth = f.truth(); o.Truth != nil {
		w.Label = ""
		o.Truth.Memory = j.memory / 2
	}
	if w.Only = f.oodColumn(paths); w.Only != "" {
		o.Rows = predictions.Unmarked
	}
	o.Pivot = s.pivot
	if o.Pivot != "" || o.Truth != nil {
		w.Keys = s.ids
	}
	if f.model.column != "" {
		if o.Truth != nil {
			o.Truth.Many = true
		}
		if o.Pivot != "" {
			w.Keys = append(slices.Clone(s.ids), f.model.column)
		}
	}
	o.Columns, o.GroupValue = w, f.slicing.value
	if f.ids != nil {
		o.Columns.Kept, o.Keep, o.KeepTexts = f.ids.names, f.ids.take, true
	}
	if f.kept != nil {
		o.Columns.Kept, o.Keep = f.kept.names, f.kept.add
	}
	return o
}

// openTable opens tables of classes.
func (j *job) openTable(f *evalFlags, paths []string) (*predictions.ForecastReader, error) {
	if f.choices.given() {
		return j.openChoices(f, paths)
	}
	o := f.tableOptions(j, paths)
	r, err := predictions.OpenTable(paths, o)
	if err != nil {
		return nil, err
	}
	if err := f.ambiguous(o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// ambiguous returns an error if a flag names a column and a file.
func (f *evalFlags) ambiguous(o *predictions.TableOptions) error {
	both := func(flag, name string) error {
		if _, err := os.Stat(name); name == "" || err != nil {
			return nil
		}
		return usage("%s %s: there is a column of that name and a file; rename the column, or run candor in another folder", flag, name)
	}
	for _, u := range f.rowColumns() {
		if err := both(u.flag, *u.of(&o.Columns)); err != nil {
			return err
		}
	}
	for _, g := range o.Columns.Groups {
		if err := both("--group", g); err != nil {
			return err
		}
	}
	return both("--cluster", o.Columns.Cluster)
}

// inClassTable returns the message about a bad row, extended by its line and column.
func (f *evalFlags) inClassTable(r *predictions.ForecastReader, said string, b metrics.Fault, at *place) string {
	_, what, _ := strings.Cut(said, ": ")
	where := said[:len(said)-len(what)-len(": ")]
	what = strings.Replace(what, " is NaN", " is missing or NaN", 1)
	if f.table.pivot != "" {
		where = strings.Replace(where, "row ", "example ", 1) // the file has several rows of each
	}
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
	case b.Reason == metrics.BadBytes:
		name = f.tokens.bytes[0]
	case b.Column >= 0 && len(columns) == 1 && (r.Info().Classes > 1 || r.Info().Pairs): // a list of scores
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
