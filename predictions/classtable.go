package predictions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// TableOptions says how OpenTable reads the scores of classes.
type TableOptions struct {
	// Kind is Probs, Logits or LogProbs.
	Kind metrics.Kind
	// Columns says which column has which role.
	Columns roles.Want
	// GroupValue, if set, returns the text that stands for a value of a column of Columns.Groups, as in Options.
	GroupValue func(column int, value []byte) []byte
	// Event is the label of a binary task that is 1, as "spam"; all others are 0. Of two columns of scores it is the class whose column
	// is read. Empty takes 1 and true, and of two columns the second.
	Event string
	// Classification leaves two columns of scores two classes; they are a binary task otherwise.
	Classification bool
	// Ignore and Percent are as in Options. Columns.Bytes and Columns.Sequence take the place of its Bytes and Sequences.
	Ignore  []int32
	Percent bool
	// NoHeader is for tables whose first line is a row: columns are then named by their numbers, from 0.
	NoHeader bool
	// Keep, if set, is told the cells of the columns Columns.Kept. See ForecastOptions.Keep.
	Keep func(rows int, cells []Cells) error
	// KeepTexts is as in ForecastOptions.
	KeepTexts bool
	// Unlabelled is for rows without a label, such as those of another distribution. All labels are 0.
	Unlabelled bool
	// Rows selects rows by the column Columns.Only.
	Rows Rows
	// Truth, if set, has the labels, in place of a column.
	Truth *Truth
	// Pivot, if set, is the column with the class of a table that has a row for each class: the rows that agree in Columns.Keys, which need
	// not follow one another, are one. Columns.Scores is one column, and Columns.Classes names the classes. Rows are in the order in which
	// they become whole.
	Pivot string

	// Share selects rows. Of rows whose keys are looked up in another table, it is no error that some are of other shares; there is none of a
	// pivot, nor of members in several tables.
	Share Share

	// Names are what messages and Locate call files, as those of Options.
	Names map[string]string
	// FS, if set, is where all names are opened; "-" stays standard input.
	FS fs.FS

	Buffers     int // chunks that may be out at a time; 0 means as many as keep all processors busy
	BufferBytes int // of the text of a chunk, at least a line; 0 means 1 MiB
	// PartBytes is about how much memory a run of rows may take that is read by itself, as a row group of Parquet, of which there are as many
	// as Buffers; 0 means 128 MiB. Usual ones take far less. One that cannot do with it is an *Error.
	PartBytes int64
}

// OpenTable returns a reader of the scores of classes in tables of text, which are shards in natural order (see NaturalSort). A table is
// text as OpenForecast reads it. Its columns have the roles that o.Columns says.
//
// Chunks are float64, (rows, classes), or one column of a binary task: the column of the event where there is one score a row, or two.
// Labels and decisions are texts or numbers, as roles.Labels reads them. A score that is missing is NaN, which a metrics.Pass counts;
// so does the label -1 of one that is missing.
//
// Errors are *Error.
func OpenTable(paths []string, o *TableOptions) (*ForecastReader, error) {
	if o.Share.some() && o.Truth != nil && o.Truth.Keys == nil {
		own := *o
		own.Share.Numbered, o = true, &own
	}
	r, e := openScores(paths, o)
	if e != nil {
		return nil, e
	}
	if o.Truth != nil && o.Truth.Keys == nil {
		if r.truth, e = openBeside(o.Truth, o.FS, o.Names, r.info, r.labels); e != nil {
			r.Close()
			return nil, e
		}
		if e := r.truth.only(r.base(), o.Share.some()); e != nil {
			r.Close()
			return nil, e
		}
	}
	return r, nil
}

// base returns the number of the first row that is read.
func (r *ForecastReader) base() int64 {
	if t, ok := r.from.(*columnar); ok {
		return t.base
	}
	return 0
}

func openScores(paths []string, o *TableOptions) (*ForecastReader, *Error) {
	if o.Kind > metrics.LogProbs {
		return nil, fault("read other kinds by OpenForecast or from arrays", "the scores of classes in a table cannot be %s", o.Kind)
	}
	sorted, under, e := sortedFiles(o.FS, paths)
	if e != nil {
		return nil, e.in(names(o.Names).of(e.File))
	}
	paths = sorted
	var in io.ReadCloser
	if len(paths) == 1 && (paths[0] == "-" || o.FS == nil && streamed(paths[0]) != nil) {
		s, npy, e := sniff(paths[0])
		if e == nil && !npy {
			if format, ok := begunBy(s.start); ok {
				return openColumnar(sorted, under, s, o, o.long(format))
			}
		}
		if e == nil && npy {
			s.Close()
			e = npyAsTable()
		}
		if e != nil {
			return nil, e.in(names(o.Names).of(paths[0]))
		}
		in = s
	}
	format, ok := formatOf(sorted[0])
	if !ok && o.columnar() {
		format, ok = textFormat(o), true
	} else if ok {
		for _, p := range sorted {
			if other, _ := formatOf(p); other.name != format.name {
				if in != nil {
					in.Close()
				}
				return nil, fault("shards are all of one format", "by its name it is not %s, as %s is", format.name, names(o.Names).of(sorted[0])).in(names(o.Names).of(p))
			}
		}
	}
	if ok {
		return openColumnar(sorted, under, in, o, o.long(format))
	}
	c := &classTable{o}
	return startTable(sorted, in, &ForecastOptions{Kind: o.Kind, Groups: o.Columns.Groups, groupValue: o.GroupValue, Cluster: o.Columns.Cluster, Kept: o.Columns.Kept, Keep: o.Keep, Names: o.Names, FS: o.FS, Share: o.Share, Buffers: o.Buffers,
		BufferBytes: o.BufferBytes, NoHeader: o.NoHeader}, c.lay)
}

// columnar reports whether what is wanted of a table of text is done by the reader of columns alone.
func (o *TableOptions) columnar() bool {
	w := &o.Columns
	return o.Rows != AllRows || o.Truth != nil && o.Truth.Keys != nil || o.Pivot != "" || w.Tags || w.Members != nil || w.Correct != "" || w.Bytes != "" || w.Sequence != ""
}

type classTable struct{ o *TableOptions }

// lay finds the columns that are wanted.
func (c *classTable) lay(t *table, r *ForecastReader, f *tableFile) *Error {
	o, l := c.o, &t.layout
	l.names = f.header
	columns := make([]roles.Column, len(f.header))
	for i, name := range f.header {
		columns[i].Name = name
		// A cell of a column that is named is read as what it should be: the error then has its line.
		if w := &o.Columns; f.begins.text(i) && w.Prefix != nil && strings.HasPrefix(name, *w.Prefix) {
			columns[i].Kind = roles.Text
		}
		if i < len(f.begins.first) && strings.HasPrefix(strings.TrimSpace(f.begins.first[i]), "[") && slices.Contains(o.Columns.Scores, name) {
			cell := []byte(f.begins.first[i])
			n, ok := listNumbers(nil, cell)
			if !ok || n == 0 {
				return badList(name, cell, n, ok, 1).on(f.lines + 1)
			}
			columns[i].Kind, columns[i].Width = roles.List, n
		}
	}
	found, e := o.bind(columns, l)
	if e != nil {
		return e
	}
	classes := len(found.Scores)
	if found.list {
		classes = columns[found.Scores[0]].Width
	}
	if e := found.settle(o, classes); e != nil {
		return e
	}
	l.classes, l.labels, l.pairs, l.event = found.classes, found.labels, found.pairs, found.event
	b, scores := found.Binding, found.Scores
	var uses []use
	if found.list {
		uses = append(uses, use{column: scores[0], slot: listSlot, group: -1, kept: -1})
		scores = nil
	}
	for slot, at := range scores {
		uses = append(uses, use{column: at, slot: slot, group: -1, kept: -1})
		r.scoreColumns = append(r.scoreColumns, l.names[at])
	}
	for _, u := range []struct{ column, slot int }{{b.Label, labelSlot}, {b.Weight, weightSlot}, {b.Decision, decisionSlot}, {b.Confidence, scoreSlot}} {
		if u.column >= 0 {
			uses = append(uses, use{column: u.column, slot: u.slot, group: -1, kept: -1})
		}
	}
	l.unlabelled = o.unlabelled()
	if l.percent = o.Percent; l.percent {
		if e := checkPercent(o.Kind, metrics.Float64); e != nil {
			return e
		}
	}
	l.weighted, l.decided, l.scored = b.Weight >= 0, b.Decision >= 0, b.Confidence >= 0
	l.grouped, l.groupValue = len(b.Groups), o.GroupValue
	for g, at := range b.Groups {
		uses = append(uses, use{column: at, slot: -1, group: g, kept: -1})
	}
	if l.clustered = b.Cluster >= 0; l.clustered {
		uses = append(uses, use{column: b.Cluster, slot: -1, group: l.grouped, kept: -1})
	}
	for k, at := range b.Kept {
		uses = append(uses, use{column: at, slot: -1, group: -1, kept: k})
	}
	l.kept, r.kept = len(b.Kept), untyped(o.Columns.Kept)
	t.steps(uses)
	r.binding, r.classNames, r.labels = b.String(), found.classNames(), found.labels
	return nil
}

// scored is a Binding with what follows from it.
type scored struct {
	*roles.Binding
	names   []string // of the classes; nil if they have none
	list    bool     // one column has all scores of a row
	classes int      // of a row; 0 until settle is told
	labels  *roles.Labels
	pairs   bool // rows have two scores, of which the event's is read
	event   int  // of pairs, that class
}

// classNames returns the names of the classes of what is read: of a binary task two, of which the second is the event's.
func (s *scored) classNames() []string {
	if s.pairs && s.event == 0 && s.names != nil {
		return []string{s.names[1], s.names[0]}
	}
	return slices.Clone(s.names)
}

// bind finds the columns of the scores, the label and what else is wanted. l has the names for messages.
func (o *TableOptions) bind(columns []roles.Column, l *layout) (*scored, *Error) {
	want := o.Columns
	want.Unnamed = o.NoHeader
	b, err := roles.Bind(columns, &want)
	if err != nil {
		return nil, o.unbound(l, err)
	}
	if b.Label < 0 && !o.unlabelled() && b.Tags == nil {
		return nil, fault("name it by "+setting.LabelColumn.String(), "no column of labels is named: %s", l.list())
	}
	s := &scored{Binding: b, names: b.Classes}
	s.list = len(b.Scores) == max(1, b.Members) && columns[b.Scores[0]].Kind != roles.Number
	return s, nil
}

// settle decides what labels mean for rows of this many scores.
func (s *scored) settle(o *TableOptions, classes int) *Error {
	s.classes = classes
	event := o.Event
	switch {
	case o.Columns.Tags:
		if s.names != nil && len(s.names) != classes {
			return fault("name each label once, in the order of the scores", "%d labels are named, and the scores are of %d", len(s.names), classes)
		}
		s.labels = roles.NewLabels(1, nil, "")
		return nil
	case o.Columns.Correct != "" && classes != 1:
		return fault("name the one column of the top label's probability", "whether the top label was right goes with one probability a row, and rows have %d scores", classes)
	case o.Columns.Correct != "":
		s.labels, s.names = roles.NewLabels(1, nil, event).Ignore(o.Ignore), nil
		return nil
	case classes > 1 && s.names != nil && len(s.names) != classes:
		return fault("name each class once, in the order of the scores", "%d classes are named, and the scores are of %d", len(s.names), classes)
	case classes == 1 && s.names != nil && len(s.names) != 2:
		return fault("name two, the event's last, or name a column of scores for each", "%d classes are named, and one probability a row is a binary task", len(s.names))
	case classes == 1 && s.names != nil && event != "" && event != s.names[1]:
		return fault("leave "+setting.EventLabel.String()+" out, or name the classes in another order",
			"the event is %q, and the second of the classes, which is the event, is %q", cut(event), cut(s.names[1]))
	case classes == 2 && !o.Classification:
		between := s.names
		if between == nil {
			between = []string{"0", "1"}
		}
		if s.event = 1; event != "" {
			if s.event = slices.Index(between, event); s.event < 0 {
				return fault("name one of them by "+setting.EventLabel.String(), "event %q is neither of the classes %q and %q", cut(event), cut(between[0]), cut(between[1]))
			}
			event = ""
		}
		s.pairs = true
	case classes > 1 && event != "":
		return fault("leave "+setting.EventLabel.String()+" out", "event %q is for a binary task, and rows have %d scores", cut(event), classes)
	}
	if classes == 1 && len(s.names) == 2 {
		event = ""
	}
	s.labels = roles.NewLabels(classes, s.names, event).Ignore(o.Ignore)
	return nil
}

// unlabelled reports whether no column has the labels.
func (o *TableOptions) unlabelled() bool { return o.Unlabelled || o.Truth != nil }

// unbound explains why the columns of a table do not have the roles that they should have.
func (o *TableOptions) unbound(l *layout, err error) *Error {
	var missing *roles.Missing
	var doubt *roles.Doubt
	switch {
	case errors.As(err, &missing) && !o.NoHeader && slices.ContainsFunc(l.names, isFraction):
		return fault(fmt.Sprintf("is the first line a row? pass %v, and name columns by their numbers, from 0", setting.NoHeader), "%v", err)
	case errors.As(err, &missing) && o.KeepTexts && slices.Contains(o.Columns.Kept, missing.Name): // which are keys
		missing.Role = "key"
		return fault("name the column by "+setting.Keys.String(), "%v", missing)
	case errors.As(err, &missing):
		return fault("name the column by "+settingOf[missing.Role].String(), "%v", err)
	case errors.As(err, &doubt) && doubt.Propose != nil:
		return fault(fmt.Sprintf("name the columns of scores by %v: %s", setting.ScoreColumns, strings.Join(doubt.Propose, ",")), "%v", err)
	case doubt.Remedy != "":
		return fault(doubt.Remedy, "%v", err)
	}
	if w := &o.Columns; len(w.Scores) == 0 && w.Prefix == nil && w.Members == nil {
		return fault(fmt.Sprintf("name it by %v; %v proposes how", setting.ScoreColumns, setting.Inspect), "%v", err)
	}
	return fault("name another by "+settingOf[doubt.Role].String(), "%v", err)
}

// isFraction reports whether the name of a column is a number that is not whole, as in a row.
func isFraction(name string) bool {
	v, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
	return err == nil && v != math.Trunc(v)
}

// settingOf is what names the column of a role.
var settingOf = map[string]setting.Setting{"scores": setting.ScoreColumns, "label": setting.LabelColumn, "weight": setting.Weight,
	"decision": setting.Decisions, "confidence score": setting.ConfidenceScores, "group": setting.Groups, "cluster": setting.Cluster, "kept column": setting.Kept, "classes": setting.ClassNames,
	"correctness": setting.Correct, "labels": setting.LabelPrefix, "number of bytes": setting.Bytes, "sequence": setting.Sequences, "key": setting.Keys, "filter": setting.OOD}

// named tells whether a step's cell names a class.
func (s *step) named() bool { return s.slot == labelSlot || s.slot == decisionSlot }

// badLabel explains a cell that names no class.
func badLabel(name string, c []byte, why error) *Error {
	remedy := ""
	switch {
	case errors.Is(why, roles.ErrEvent):
		remedy = "name the label that is the event by " + setting.EventLabel.String()
	case errors.Is(why, roles.ErrUnnamed):
		remedy = "name the classes, in the order of the scores, by " + setting.ClassNames.String()
	case errors.Is(why, roles.ErrNoClass):
		remedy = "name the classes as the labels do, in the order of the scores, by " + setting.ClassNames.String()
	case errors.Is(why, roles.ErrFromOne):
		remedy = "write the names of the classes, or numbers from 0"
	}
	e := fault(remedy, "column %q: %v", cut(name), why)
	e.Name, e.Value = name, string(bytes.Trim(c, " \t"))
	return e
}

// sniffedRows is how many rows are looked at to tell columns of text from those of numbers.
const sniffedRows = 100

// beginning is what the first rows of a table are like.
type beginning struct {
	first []string // cells of the first row
	mixed []bool   // columns with cells that are no numbers
	texts []bool   // of these, columns without cells that are numbers
	comma bool     // numbers have decimal commas
	named bool     // the first row begins with a text, in quotes or no number, and does not end in an empty cell
}

// begin looks at the first rows of a text, which may end anywhere. Columns beyond those of the first row are left out.
//
// A column of numbers with a cell that is none is not one of text: reading that cell is an error, which names it.
func begin(text []byte, separator byte) (b beginning) {
	var numbers []bool // columns with cells that are numbers, not only missing ones
	defer func() {
		b.texts = slices.Clone(b.mixed)
		for i := range b.texts {
			b.texts[i] = b.mixed[i] && !numbers[i]
		}
	}()
	var q quoting
	end := q.lastLine(text, separator)
	for p, rows := 0, 0; p < end && rows < sniffedRows; rows++ {
		for i := 0; ; i++ {
			c, to, why := readCell(text[:end], p, separator, nil)
			if why != "" {
				return b
			}
			if rows == 0 {
				b.first, b.mixed, numbers = append(b.first, string(c)), append(b.mixed, false), append(numbers, false)
			}
			if _, ok := cellNumber(c); !ok && i < len(b.mixed) {
				_, comma := cellNumber(bytes.Replace(c, []byte{','}, []byte{'.'}, 1))
				comma = comma && separator != ','
				b.comma = b.comma || comma
				b.mixed[i], numbers[i] = b.mixed[i] || !comma, numbers[i] || comma
			} else if ok && i < len(b.mixed) && !absent(bytes.TrimSpace(c)) {
				numbers[i] = true
			}
			if p = to + 1; text[to] == '\n' {
				break
			}
		}
		if rows == 0 {
			b.named = (text[0] == '"' || b.mixed[0]) && b.first[len(b.first)-1] != ""
		}
	}
	return b
}

// text tells whether a column has texts and no numbers.
func (b *beginning) text(column int) bool { return column < len(b.texts) && b.texts[column] }

// listNumbers reads a list of numbers in brackets, as [0.25, 0.75], to dst, as many as fit, and returns how many there are.
func listNumbers(dst []float64, c []byte) (n int, ok bool) {
	c = bytes.TrimSpace(c)
	if len(c) < 2 || c[0] != '[' && c[0] != '(' || c[len(c)-1] != ']' && c[len(c)-1] != ')' {
		return 0, false
	}
	c = c[1 : len(c)-1]
	if len(bytes.TrimSpace(c)) == 0 {
		return 0, true
	}
	for {
		one, rest, more := bytes.Cut(c, []byte{','})
		v, ok := cellNumber(one)
		if !ok || len(bytes.TrimSpace(one)) == 0 {
			return n, false
		}
		if n < len(dst) {
			dst[n] = v
		}
		n++
		if !more {
			return n, true
		}
		c = rest
	}
}

// badList explains a cell that is no list of so many numbers.
func badList(name string, c []byte, n int, ok bool, want int) *Error {
	if ok {
		e := fault("each row must have a score for each class", "column %q: a list of %d numbers, and that of the first row has %d", cut(name), n, want)
		e.Name = name
		return e
	}
	e := fault(`write lists: df["`+name+`"] = df["`+name+`"].map(list), before to_csv`, "column %q: %q is not a list of numbers with commas between them", cut(name), cut(string(c)))
	e.Name, e.Value = name, string(bytes.TrimSpace(c))
	return e
}
