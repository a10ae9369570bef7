package grouped

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// Most is the largest number of groups.
const Most = 1000

// Group is the evaluation of the rows with equal values in the grouping columns.
type Group struct {
	Values []string
	*eval.Evaluation
}

// Evaluation holds the evaluations of groups of rows, and of all rows. The latter is the merge of the groups' evaluations, and
// equals, to the byte, the evaluation of the same rows without groups.
type Evaluation struct {
	Spec    eval.Spec
	Columns []string // the grouping columns
	// Threads is as in Evaluation.
	Threads int
	// Room limits the memory of AddSource, which returns an *eval.RoomError beyond it.
	Room Room

	each  []Group // by values
	whole *eval.Evaluation
}

// New returns an Evaluation without rows.
func New(s eval.Spec, columns []string) (*Evaluation, error) {
	if len(columns) == 0 {
		return nil, errors.New("grouped: no column names the groups")
	}
	if s.Members > 0 || s.Out {
		return nil, errors.New("grouped: neither an ensemble nor rows beside out-of-distribution rows can be grouped")
	}
	if names := s.KeepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which groups do not support: leave exact out", names)
	}
	whole, err := eval.New(s)
	if err != nil {
		return nil, err
	}
	return &Evaluation{Spec: whole.Spec, Columns: slices.Clone(columns), whole: whole}, nil
}

// Whole returns the evaluation of all rows.
func (g *Evaluation) Whole() *eval.Evaluation {
	g.whole.Threads = g.Threads
	return g.whole
}

// Each returns the groups in rising order of their values: numerically in a column that contains only numbers, else as text.
// Answers are cached as long as the caller keeps the evaluations.
func (g *Evaluation) Each() []Group {
	l := slices.Clone(g.each)
	numbers := make([]bool, len(g.Columns))
	for i := range numbers {
		numbers[i] = !slices.ContainsFunc(l, func(e Group) bool { return math.IsNaN(number(e.Values[i])) })
	}
	slices.SortStableFunc(l, func(a, b Group) int {
		for i, n := range numbers {
			c := cmp.Compare(a.Values[i], b.Values[i])
			if n {
				c = cmp.Or(cmp.Compare(number(a.Values[i]), number(b.Values[i])), c)
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	for i := range l {
		e := *l[i].Evaluation
		e.Threads = g.Threads
		l[i].Evaluation = &e
	}
	return l
}

// number parses a number; it returns NaN if s is none.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// AddSource reads all rows of src, whose chunks have Groups; values returns the column values of a group. After an error
// nothing has changed.
func (g *Evaluation) AddSource(src metrics.Source, values func(group int32) []string, o *metrics.Options) error {
	var opt metrics.Options
	if o != nil {
		opt = *o
	}
	threads := opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	room := &room{Room: g.Room, threads: threads, whole: g.whole}
	workers, visits := make([]*reader, threads), make([]func(*metrics.Chunk) error, threads)
	for i := range workers {
		workers[i] = newReader(g, &opt)
		workers[i].room = room
		visits[i] = workers[i].add
	}
	err := metrics.Feed(g.Spec.Only(src), visits...)
	if err == errNoRoom {
		return room.err(g.Columns)
	} else if err != nil {
		return err
	}
	var bad *metrics.DataError
	for _, w := range workers {
		var e *metrics.DataError
		if err := w.walker.Err(); errors.As(err, &e) {
			if bad == nil {
				bad = e
			} else {
				bad.Merge(e)
			}
		}
	}
	if bad != nil {
		bad.Rows = 0
		for _, w := range workers {
			bad.Rows += w.seen
		}
		return bad
	}
	n := &Evaluation{Spec: g.Spec, Columns: g.Columns}
	for _, w := range workers {
		for i, e := range w.each {
			if e == nil {
				continue
			}
			if err := n.add(values(int32(i)), e); err != nil {
				return err
			}
		}
		w.each, w.accs = nil, nil
	}
	if len(g.each) > 0 {
		return g.Merge(n)
	}
	whole, err := g.merged(n.each)
	if err == nil {
		g.each, g.whole = n.each, whole
	}
	return err
}

// add merges the evaluation of a group, and may keep it.
func (g *Evaluation) add(values []string, e *eval.Evaluation) error {
	if len(values) != len(g.Columns) {
		panic("grouped: a group has a value for each column")
	}
	i, found := slices.BinarySearchFunc(g.each, values, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
	switch {
	case found:
		return g.each[i].Merge(e)
	case len(g.each) == Most:
		return fmt.Errorf("by %s rows are in more than %d groups", strings.Join(g.Columns, ", "), Most)
	}
	g.each = slices.Insert(g.each, i, Group{slices.Clone(values), e})
	return nil
}

// errNoRoom stops a reader that has reached the limit.
var errNoRoom = errors.New("grouped: no room for groups")

// Merge adds the rows of other groups with the same columns and spec. Otherwise it returns an error that names the first
// difference, and changes nothing.
func (g *Evaluation) Merge(o *Evaluation) error {
	if !slices.Equal(g.Columns, o.Columns) {
		return fmt.Errorf("%w: rows are grouped by %s and by %s", metrics.ErrMismatch, strings.Join(g.Columns, ", "), strings.Join(o.Columns, ", "))
	}
	n, err := New(g.Spec, g.Columns)
	if err != nil {
		return err
	}
	for _, from := range [][]Group{g.each, o.each} {
		for i := range from {
			e, err := eval.New(g.Spec)
			if err != nil {
				return err
			}
			if err := e.Merge(from[i].Evaluation); err != nil {
				return err
			}
			if err := n.add(from[i].Values, e); err != nil {
				return err
			}
		}
	}
	if n.whole, err = n.merged(n.each); err != nil {
		return err
	}
	g.each, g.whole = n.each, n.whole
	return nil
}

// merged returns the merge of some groups. It merges by halves, so that large evaluations are merged least often.
func (g *Evaluation) merged(each []Group) (*eval.Evaluation, error) {
	if len(each) < 2 {
		e, err := eval.New(g.Spec)
		if err == nil && len(each) == 1 {
			err = e.Merge(each[0].Evaluation)
		}
		return e, err
	}
	e, err := g.merged(each[:len(each)/2])
	if err != nil {
		return nil, err
	}
	o, err := g.merged(each[len(each)/2:])
	if err != nil {
		return nil, err
	}
	return e, e.Merge(o)
}
