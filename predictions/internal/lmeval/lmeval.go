// Package lmeval reads the samples that lm-evaluation-harness logs: samples_<task>_<time>.jsonl, one line per document and filter. A document of
// a multiple-choice task becomes the log-likelihoods of its choices and the number of the right one.
//
// What the file says is checked against itself: from the log-likelihoods the harness computed acc, acc_norm, acc_bytes, acc_mutual_info and
// brier_score, and a row that does not give the same values is an error. So a right choice that was misread is found.
//
// The definitions are those of lm-evaluation-harness 0.4.13, ConfigurableTask.process_results of lm_eval/api/task.py.
package lmeval

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/jsonlines"
)

// Norm says by what the log-likelihood of a choice is divided before the softmax.
type Norm uint8

// The norms.
const (
	Sums  Norm = iota // by nothing, as acc and brier_score have it
	Chars             // by its characters, as acc_norm has it
	Bytes             // by its bytes of UTF-8, as acc_bytes has it
)

// Options say how samples are read.
type Options struct {
	Norm Norm
	// Filters are those of whose lines are read; the file must have exactly one of them. It may be empty if the file has one filter.
	Filters []string
	// Delimiter stands before each choice in what the model was given; nil if it is not known. Lengths of choices are without it.
	Delimiter *string
	// Label is the path of the field that says which choice is right, as "doc.answer", where the file does not tell otherwise: its number from 0,
	// or its text.
	Label string
	// Groups are the paths of fields whose texts are returned.
	Groups []string
	// Drop gives documents that have no single right choice the label -1. They are an error otherwise.
	Drop bool
	// MaxBytes bounds the memory of the result, roughly; 0 for no limit.
	MaxBytes int64
}

// ErrNoChoices is the reason why a file cannot be read whose task has no choices with log-likelihoods.
var ErrNoChoices = errors.New("no choices with log-likelihoods")

// Doc is a document and what the model made of it.
type Doc struct {
	Line   int64     // from 0
	ID     string    // doc_id
	Hash   string    // doc_hash; "" if the file has none
	Scores []float64 // of the choices: log-likelihoods, divided as Norm says
	Label  int32     // number of the right choice, -1 if there is no single one
	Groups []string
}

// line is what a line says.
type line struct {
	at      int64
	id      string
	hash    string
	lls     []float64 // of the choices
	alone   []float64 // of the choices without the question, for acc_mutual_info
	choices []string  // nil if they are not known
	ends    []string  // what the model was given after the question, for choices whose delimiter is not known
	many    bool      // each choice has a question of its own
	facts   facts
	gold    gold // as the line itself says
	settled bool // gold is known
	byIndex gold // the target, read as numbers
	byText  gold // the target, read as texts
	unsure  bool // byText may be several choices
	groups  []string
}

// gold are the choices that are right. Numbers that are none of a choice are kept as -1.
type gold struct {
	of []int
	ok bool // the target can be read so
}

func (g gold) single() int32 {
	if len(g.of) != 1 {
		return -1
	}
	return int32(g.of[0])
}

// whole reports whether all right choices are there.
func (g gold) whole() bool { return g.ok && !slices.Contains(g.of, -1) }

// facts are the values that the harness computed; NaN if it did not.
type facts struct {
	acc, norm, bytes, mutual float64
	probs                    []float64 // of brier_score
}

// Read reads a file. Errors about a line are *columns.Fault with it.
func Read(r io.Reader, o *Options) ([]Doc, error) {
	rows, err := jsonlines.NewRows(r)
	if err != nil {
		return nil, err
	}
	p := &parser{o: o, seen: map[string]int64{}}
	var lines []line
	size := int64(0)
	for {
		row, at, err := rows.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		l, ok, f := p.line(row, at)
		if f != nil {
			f.Row, f.Line = -1, at
			return nil, f
		}
		if !ok {
			continue
		}
		lines = append(lines, l)
		if size += l.bytes(); o.MaxBytes > 0 && size > o.MaxBytes {
			return nil, columns.Wrong("raise "+setting.Memory.String(), "its documents take more than %d MiB of memory, and all are kept until they are checked", o.MaxBytes>>20)
		}
	}
	if len(lines) == 0 && p.without != nil && errors.Is(p.without, ErrNoChoices) {
		return nil, p.without // whatever its filters are
	}
	if len(lines) == 0 && len(p.filters) > 0 {
		return nil, columns.Wrong("name one of these with "+setting.Filters.String(), "it has lines of the filters %s, and of none of %s",
			strings.Join(p.filters, ", "), strings.Join(o.Filters, ", "))
	}
	if f := p.settle(lines); f != nil {
		return nil, f
	}
	docs := make([]Doc, len(lines))
	for i := range lines {
		l := &lines[i]
		label := l.gold.single()
		if label < 0 && !o.Drop {
			return nil, l.wrong("leave it out by "+setting.Drop.String(), "%s", l.unlabelled())
		}
		if f := l.check(); f != nil {
			return nil, f
		}
		scores, f := l.scores(o.Norm)
		if f != nil {
			return nil, f
		}
		docs[i] = Doc{Line: l.at, ID: l.id, Hash: l.hash, Scores: scores, Label: label, Groups: l.groups}
	}
	return docs, nil
}

// bytes is about how much memory the line takes.
func (l *line) bytes() int64 {
	n := 400 + len(l.id) + len(l.hash) + 8*(len(l.lls)+len(l.alone)+len(l.facts.probs))
	for _, s := range [][]string{l.choices, l.ends, l.groups} {
		for _, c := range s {
			n += 16 + len(c)
		}
	}
	return int64(n)
}

// wrong returns a fault about a line.
func (l *line) wrong(remedy, format string, args ...any) *columns.Fault {
	f := columns.Wrong(remedy, format, args...)
	f.Line = l.at
	return f
}

func (l *line) unlabelled() string {
	switch {
	case len(l.gold.of) > 1:
		return fmt.Sprintf("the choices %s are all right, and a row has one label", join(l.gold.of))
	case len(l.gold.of) == 0:
		return "no choice is right"
	}
	return "its target is none of the choices"
}

func join(l []int) string {
	s := make([]string, len(l))
	for i, v := range l {
		s[i] = strconv.Itoa(v)
	}
	return strings.Join(s, ", ")
}

// lengths returns the lengths of the choices, as floats.
func (l *line) lengths(n Norm) []float64 {
	out := make([]float64, len(l.choices))
	for i, c := range l.choices {
		out[i] = float64(utf8.RuneCountInString(c))
		if n == Bytes {
			out[i] = float64(len(c))
		}
	}
	return out
}

// scores returns the log-likelihoods, divided as the norm says.
func (l *line) scores(n Norm) ([]float64, *columns.Fault) {
	if n == Sums {
		return l.lls, nil
	}
	if l.many {
		return nil, l.wrong("pass "+setting.ChoiceNorm.String()+" none", "each choice has a question of its own, so the texts of the choices, whose lengths are needed, are not in the file")
	}
	if l.choices == nil {
		return nil, l.wrong(delimiterRemedy(), "the lengths of the choices are not known without the delimiter before them")
	}
	out := make([]float64, len(l.lls))
	for i, length := range l.lengths(n) {
		if length == 0 {
			return nil, l.wrong("pass "+setting.ChoiceNorm.String()+" none", "choice %d is empty, so its log-likelihood cannot be divided by its length", i)
		}
		out[i] = l.lls[i] / length
	}
	return out, nil
}

func delimiterRemedy() string {
	return "pass " + setting.TargetDelimiter.String() + ", as the task has it, or put results_*.json of the same run beside the file"
}

// argmax returns the number of the largest value, the first of equals, as numpy does, and whether another one is so close that rounding could
// have changed that.
func argmax(x []float64) (best int, close bool) {
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	for i := range x {
		if i != best && math.Abs(x[i]-x[best]) <= 1e-6*math.Abs(x[best]) {
			close = true
		}
	}
	return best, close
}
