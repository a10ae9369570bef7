package predictions

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/jsonlines"
	"github.com/candor-go/candor/predictions/internal/lmeval"
)

// ChoiceNorm says by what log-likelihoods of choices are divided before the softmax.
type ChoiceNorm uint8

// The norms of choices.
const (
	NormNone  = ChoiceNorm(lmeval.Sums)  // by nothing, as the harness's acc and brier_score have it
	NormChars = ChoiceNorm(lmeval.Chars) // by their characters, as acc_norm has it
	NormBytes = ChoiceNorm(lmeval.Bytes) // by their bytes of UTF-8, as acc_bytes has it
)

// ChoiceOptions says how OpenChoices reads samples of lm-evaluation-harness.
type ChoiceOptions struct {
	Norm ChoiceNorm
	// Filters are those whose lines are read, as "none" and "strict"; each file must have exactly one of them. It may be empty for files with one
	// filter.
	Filters []string
	// Delimiter is what stands before each choice in what the model was given, target_delimiter of the task; nil for what results_*.json beside
	// a file says. Norms, and targets that are texts, need it.
	Delimiter *string
	// Label is the path of the field that says which choice is right, as "doc.answer": its number from 0, or its text. Files mostly tell it
	// without.
	Label string
	// Groups are columns that group rows: "task", or paths of fields, as "doc.subject".
	Groups []string
	// Cluster is such a column too, which says which cluster a row is in.
	Cluster string
	// Drop gives documents without a single right choice the label -1, which a metrics.Pass can leave out. They are an error otherwise.
	Drop bool
	// MaxBytes bounds the memory of all documents, roughly; 0 for no limit.
	MaxBytes int64

	Names map[string]string // of paths in messages, as in Options
	FS    fs.FS             // as in Options
}

// taskColumn is the name of the column of tasks.
const taskColumn = "task"

// OpenChoices returns a reader of what lm-evaluation-harness logs of multiple-choice tasks, samples_<task>_<time>.jsonl: rows of log-likelihoods,
// one for each choice, which are logits, with the number of the right choice as label. Each file has a task. A path may be a folder, whose
// files of samples are read, except those of tasks without log-likelihoods of choices, which Notes names. All files are read at once, since only whole files tell how targets are to be read.
//
// Choices are not classes: choice 1 of a row has nothing to do with choice 1 of another. See eval.Spec.Choices. Rows with fewer choices
// than others have -Inf in the last columns, which is a probability of 0, and all metrics that choices have are those of the row without them.
//
// What lines say of accuracies and probabilities is checked. Errors are *Error; those about a line have its number.
func OpenChoices(paths []string, o *ChoiceOptions) (*ForecastReader, error) {
	r, e := openChoices(paths, o)
	if e != nil {
		return nil, e
	}
	return r, nil
}

// choices is the source of a reader of samples.
type choices struct {
	groups  *groups
	sets    []sampleSet
	classes int      // choices of the row that has most
	notes   []string // what was left out
	read    atomic.Int64

	mu     sync.Mutex
	set    int // of the next row
	doc    int
	row    int64
	closed bool
}

// sampleSet is a file of samples.
type sampleSet struct {
	name, task string
	start      int64 // number of its first row
	docs       []lmeval.Doc
}

func openChoices(paths []string, o *ChoiceOptions) (*ForecastReader, *Error) {
	files, e := sampleFiles(paths, o)
	if e != nil {
		return nil, e
	}
	if len(files) == 0 {
		return nil, fault("name files of samples", "no files")
	}
	if o.Norm > NormBytes {
		panic("predictions: there is no such norm of choices")
	}
	t := &choices{groups: newGroups(o.Groups, o.Cluster), classes: 2}
	left := o.MaxBytes
	rows, size := int64(0), int64(0)
	var without *Error // of a task without choices
	for _, p := range files {
		s := sampleSet{name: names(o.Names).of(p), task: taskOf(p), start: rows}
		if i := slices.IndexFunc(t.sets, func(other sampleSet) bool { return other.task == s.task }); i >= 0 {
			return nil, fault("name one of them", "it is of task %s, as %s is, and each document would count twice", s.task, t.sets[i].name).in(s.name)
		}
		n, e := t.open(&s, p, o, left)
		if e != nil && errors.Is(e, lmeval.ErrNoChoices) && !slices.Contains(paths, p) {
			t.notes = append(t.notes, s.name+" is left out: "+e.Reason)
			without = cmp.Or(without, e.in(s.name))
			continue
		}
		if e != nil {
			return nil, e.in(s.name)
		}
		for _, d := range s.docs {
			t.classes = max(t.classes, len(d.Scores))
			left -= int64(200 + 8*len(d.Scores))
		}
		if o.MaxBytes > 0 && left <= 0 {
			return nil, fault("raise "+setting.Memory.String()+", or evaluate some tasks at a time", "the documents of all tasks take more than %d MiB of memory", o.MaxBytes>>20)
		}
		rows += int64(len(s.docs))
		size += n
		t.sets = append(t.sets, s)
	}
	if len(t.sets) == 0 {
		return nil, without
	}
	what := "scores filtered_resps, log-likelihoods " + map[ChoiceNorm]string{NormNone: "as they are", NormChars: "over characters", NormBytes: "over bytes"}[o.Norm]
	label := "target"
	if o.Label != "" {
		label = o.Label
	}
	tasks := make([]string, len(t.sets))
	for i, s := range t.sets {
		tasks[i] = s.task
	}
	more := ""
	if len(tasks) > 10 {
		more = fmt.Sprintf(" and %d more", len(tasks)-10)
	}
	return &ForecastReader{from: t, groups: t.groups, clusters: t.groups.clusters, scoreColumns: []string{"filtered_resps"},
		binding: fmt.Sprintf("%s; right choice %s; task %s%s", what, label, strings.Join(tasks[:min(len(tasks), 10)], ", "), more),
		info: Info{Rows: rows, Classes: t.classes, DType: metrics.Float64, Bytes: size, Files: len(t.sets),
			Shape: fmt.Sprintf("(%d, %d)", rows, t.classes)}}, nil
}

// open reads a file. It returns its size.
func (t *choices) open(s *sampleSet, path string, o *ChoiceOptions, left int64) (int64, *Error) {
	size := int64(0)
	fi, regular, e := statText(o.FS, path)
	if path == "-" {
		regular, e = false, nil
	}
	if e != nil {
		return 0, e
	}
	if regular {
		size = fi.Size()
	}
	delimiter := o.Delimiter
	if delimiter == nil && regular {
		if delimiter, e = delimiterOf(o.FS, path, s.task); e != nil {
			return 0, e
		}
	}
	var in io.ReadCloser
	if path == "-" {
		in = io.NopCloser(os.Stdin)
	}
	text, e := openText(o.FS, path, in, &t.read)
	if e != nil {
		return 0, e
	}
	defer text.close()
	lo := &lmeval.Options{Norm: lmeval.Norm(o.Norm), Filters: o.Filters, Delimiter: delimiter, Label: o.Label, Drop: o.Drop}
	if o.MaxBytes > 0 {
		lo.MaxBytes = max(left, 1)
	}
	for _, g := range append(slices.Clone(o.Groups), o.Cluster) {
		if g != taskColumn && g != "" {
			lo.Groups = append(lo.Groups, g)
		}
	}
	docs, err := lmeval.Read(text.r, lo)
	switch {
	case err != nil:
		if l, ok := logAt(o.FS, path); ok && l.why != "" {
			return 0, l.fault()
		}
		return 0, asError(err, 0, 0)
	case len(docs) == 0:
		return 0, noRows()
	case regular && text.file != nil:
		if e := stampOf(fi).compare(text.file); e != nil {
			return 0, e
		}
	}
	s.docs = docs
	return size, nil
}

// Next returns the next rows, all of one file.
func (t *choices) Next() (*metrics.Chunk, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, os.ErrClosed
	}
	if t.set == len(t.sets) {
		return nil, io.EOF
	}
	s := &t.sets[t.set]
	const most = 1 << 20 // bytes of scores
	n := min(len(s.docs)-t.doc, max(1, most/8/t.classes), 4096)
	docs := s.docs[t.doc : t.doc+n]
	c := &metrics.Chunk{First: t.row}
	c.Kind, c.Rows, c.Classes = metrics.Logits, n, t.classes
	c.F64, c.Labels = make([]float64, n*t.classes), make([]int32, n)
	for i, d := range docs {
		row := c.F64[i*t.classes : (i+1)*t.classes]
		for k := copy(row, d.Scores); k < len(row); k++ {
			row[k] = math.Inf(-1)
		}
		c.Labels[i] = d.Label
	}
	if g := t.groups.clusters; g != nil {
		c.Clusters = make([]int32, n)
		for i, d := range docs {
			name := s.task
			if g.column() != taskColumn {
				name = d.Groups[len(d.Groups)-1]
			}
			var e *Error
			if c.Clusters[i], e = g.addName(name); e != nil {
				return nil, e.on(d.Line).in(s.name)
			}
		}
	}
	if len(t.groups.columns) > 0 {
		c.Groups = make([]int32, n)
		for i, d := range docs {
			var key []byte
			next := 0
			for _, g := range t.groups.columns {
				value := s.task
				if g != taskColumn {
					value, next = d.Groups[next], next+1
				}
				key = appendKey(key, []byte(value))
			}
			var e *Error
			if c.Groups[i], e = t.groups.add(string(key)); e != nil {
				return nil, e.in(s.name)
			}
		}
	}
	t.row += int64(n)
	if t.doc += n; t.doc == len(s.docs) {
		t.set, t.doc = t.set+1, 0
	}
	return c, nil
}

func (t *choices) BytesRead() int64 { return t.read.Load() }

func (t *choices) at(row int64) (*sampleSet, int64) {
	for i := range t.sets {
		if s := &t.sets[i]; row >= s.start && row < s.start+int64(len(s.docs)) {
			return s, row - s.start
		}
	}
	return nil, -1
}

func (t *choices) Locate(row int64) (file string, rowInFile int64) {
	s, i := t.at(row)
	if s == nil {
		return "", -1
	}
	return s.name, i
}

func (t *choices) line(row int64) int64 {
	s, i := t.at(row)
	if s == nil {
		return -1
	}
	return s.docs[i].Line + 1
}

func (t *choices) said() []string { return t.notes }

func (t *choices) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

// SameChoices returns an *Error unless two readers from OpenChoices have the same documents, in any order: equal tasks and hashes, with as many
// choices and the same right one. Documents without hashes are the same if their doc_id is. It puts the rows of b in the order of those of a, so it
// comes before they are read.
func SameChoices(a, b *ForecastReader) error {
	type known struct {
		set     *sampleSet
		doc     *lmeval.Doc
		matched bool
	}
	walk := func(r *ForecastReader, f func(key string, s *sampleSet, d *lmeval.Doc) *Error) *Error {
		times := map[string]int{}
		t := r.from.(*choices)
		for i := range t.sets {
			s := &t.sets[i]
			for j := range s.docs {
				d := &s.docs[j]
				key := s.task + "\x00" + d.Hash
				if d.Hash == "" {
					key += d.ID
				}
				times[key]++
				if e := f(fmt.Sprint(key, "\x00", times[key]), s, d); e != nil {
					return e
				}
			}
		}
		return nil
	}
	const remedy = "sets are compared on the same documents: run both models on the same tasks, with the same limit"
	first := a.from.(*choices).sets[0].name
	docs := map[string]*known{}
	var order []*known
	_ = walk(a, func(key string, s *sampleSet, d *lmeval.Doc) *Error {
		k := &known{set: s, doc: d}
		docs[key], order = k, append(order, k)
		return nil
	})
	missing := func(d *lmeval.Doc, s *sampleSet, where string) *Error {
		e := fault(remedy, "document %s of task %s, doc_hash %.12s, is not in %s", d.ID, s.task, d.Hash, where).in(s.name)
		return e.on(d.Line + 1)
	}
	other := map[*known]*lmeval.Doc{}
	names := map[string]string{} // of b's files, by task
	e := walk(b, func(key string, s *sampleSet, d *lmeval.Doc) *Error {
		k := docs[key]
		switch {
		case k == nil:
			return missing(d, s, first)
		case len(k.doc.Scores) != len(d.Scores):
			return fault(remedy, "document %s of task %s has %d choices, and %d in %s", d.ID, s.task, len(d.Scores), len(k.doc.Scores), k.set.name).in(s.name).on(d.Line + 1)
		case k.doc.Label != d.Label:
			return fault(remedy, "the right choice of document %s of task %s is %d, and %d in %s", d.ID, s.task, d.Label, k.doc.Label, k.set.name).in(s.name).on(d.Line + 1)
		}
		k.matched = true
		other[k], names[s.task] = d, s.name
		return nil
	})
	if e != nil {
		return e
	}
	for _, k := range order {
		if !k.matched {
			return missing(k.doc, k.set, b.from.(*choices).sets[0].name)
		}
	}
	// From here on the rows of b are in the order of those of a.
	var sets []sampleSet
	for _, k := range order {
		n := len(sets)
		if n == 0 || sets[n-1].task != k.set.task {
			sets = append(sets, sampleSet{name: names[k.set.task], task: k.set.task, start: k.set.start})
			n++
		}
		sets[n-1].docs = append(sets[n-1].docs, *other[k])
	}
	b.from.(*choices).sets = sets
	return nil
}

// sampleName matches the name of a file of samples: its task, and the time of the run.
var sampleName = regexp.MustCompile(`^samples_(.+)_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl`)

// taskOf returns the task of a file, by its name.
func taskOf(file string) string {
	base := filepath.Base(file)
	if m := sampleName.FindStringSubmatch(base); m != nil {
		return m[1]
	}
	base = unpackedName(base)
	return strings.TrimPrefix(strings.TrimSuffix(base, filepath.Ext(base)), "samples_")
}

// sampleFiles replaces folders by the files of samples in them, and sorts all.
func sampleFiles(paths []string, o *ChoiceOptions) ([]string, *Error) {
	var files []string
	for _, p := range paths {
		var fi fs.FileInfo
		var err error
		if o.FS != nil {
			fi, err = fs.Stat(o.FS, p)
		} else {
			fi, err = os.Stat(p)
		}
		if p == "-" || err != nil || !fi.IsDir() {
			files = append(files, p)
			continue
		}
		var entries []fs.DirEntry
		if o.FS != nil {
			entries, err = fs.ReadDir(o.FS, p)
		} else {
			entries, err = os.ReadDir(p)
		}
		if err != nil {
			return nil, cannotOpen(err).in(names(o.Names).of(p))
		}
		n := len(files)
		for _, d := range entries {
			if !d.IsDir() && sampleName.MatchString(d.Name()) {
				files = append(files, filepath.Join(p, d.Name()))
			}
		}
		if len(files) == n {
			return nil, fault("name the folder of one model, or the files", "a folder without samples_*.jsonl").in(names(o.Names).of(p))
		}
	}
	sorted := make([]string, len(files))
	for i, j := range naturalOrder(files) {
		sorted[i] = files[j]
	}
	return sorted, nil
}

// delimiterOf returns the delimiter of a task from results_<time>.json of the same run, beside the samples; nil if that does not say.
func delimiterOf(from fs.FS, file, task string) (*string, *Error) {
	m := sampleName.FindStringSubmatch(filepath.Base(file))
	if m == nil {
		return nil, nil
	}
	beside := filepath.Join(filepath.Dir(file), "results_"+m[2]+".json")
	var b []byte
	var err error
	if from != nil {
		b, err = fs.ReadFile(from, path.Join(path.Dir(file), "results_"+m[2]+".json"))
	} else {
		b, err = os.ReadFile(beside)
	}
	if err != nil {
		return nil, nil // it need not be there
	}
	v, err := jsonlines.Parse(b)
	if err != nil {
		e := asError(err, 0, 0)
		e.Remedy = "copy it again, or pass " + setting.TargetDelimiter.String()
		return nil, e.in(beside)
	}
	configs, _ := v.Field("configs")
	config, _ := configs.Field(task)
	d, _ := config.Field("target_delimiter")
	delimiter, ok := d.Text()
	if !ok {
		return nil, nil
	}
	// With a chat template the harness writes no delimiter, except after a prefix of the answer that does not end with white space.
	template, _ := v.Field("chat_template")
	if text, _ := template.Text(); text != "" {
		prefix, _ := config.Field("gen_prefix")
		if p, _ := prefix.Text(); p == "" || strings.TrimRight(p, " \t\r\n\v\f") != p {
			delimiter = ""
		}
	}
	return &delimiter, nil
}
