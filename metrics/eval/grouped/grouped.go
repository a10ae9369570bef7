package grouped

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
)

// MostWhole is the largest number of groups that have evaluations of their own, with every metric. Of more groups only sums are kept.
const MostWhole = 1000

// Most is the largest number of groups.
const Most = 100_000

// Group is the evaluation of the rows with equal values in the grouping columns.
type Group struct {
	Values []string
	*eval.Evaluation
}

// Evaluation holds the sums of groups of rows, up to MostWhole groups also their evaluations, and the evaluation of all rows. The latter
// equals, to the byte, the evaluation of the same rows without groups.
type Evaluation struct {
	Spec    eval.Spec
	Columns []string // the grouping columns
	// Threads is as in Evaluation.
	Threads int
	// Room limits the memory of AddSource, which returns an *eval.RoomError beyond it.
	Room Room

	each  []Group // by values; nil if there are more than MostWhole
	whole *eval.Evaluation

	kept   *compact.Kept
	table  *compact.Table
	values [][]string // by number in the table
	slots  []uint64   // open addressing: numbers of groups by the hashes of their values; see slot
}

// New returns an Evaluation without rows.
func New(s eval.Spec, columns []string) (*Evaluation, error) {
	if len(columns) == 0 {
		return nil, errors.New("grouped: no column names the groups")
	}
	if s.Out {
		return nil, errors.New("grouped: rows beside out-of-distribution rows cannot be grouped")
	}
	if names := s.KeepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which groups do not support: %s", names, eval.WithoutExact)
	}
	whole, err := eval.New(s)
	if err != nil {
		return nil, err
	}
	g := &Evaluation{Spec: whole.Spec, Columns: slices.Clone(columns), whole: whole, kept: compact.For(&whole.Spec)}
	g.table = g.kept.New()
	return g, nil
}

// Whole returns the evaluation of all rows.
func (g *Evaluation) Whole() *eval.Evaluation {
	g.whole.Threads = g.Threads
	return g.whole
}

// Len returns the number of groups.
func (g *Evaluation) Len() int { return len(g.values) }

// Each returns the groups in rising order of their values: numerically in a column that contains only numbers, else as text. It returns
// none if there are more than MostWhole. Answers are cached as long as the caller keeps the evaluations.
func (g *Evaluation) Each() []Group {
	l := slices.Clone(g.each)
	compare := g.comparison()
	slices.SortStableFunc(l, func(a, b Group) int { return compare(a.Values, b.Values) })
	for i := range l {
		e := *l[i].Evaluation
		e.Threads = g.Threads
		l[i].Evaluation = &e
	}
	return l
}

// comparison returns the order of groups by their values.
func (g *Evaluation) comparison() func(a, b []string) int {
	numbers := make([]bool, len(g.Columns))
	for i := range numbers {
		numbers[i] = !slices.ContainsFunc(g.values, func(v []string) bool { return math.IsNaN(number(v[i])) })
	}
	return func(a, b []string) int {
		for i, n := range numbers {
			c := cmp.Compare(a[i], b[i])
			if n {
				c = cmp.Or(cmp.Compare(number(a[i]), number(b[i])), c)
			}
			if c != 0 {
				return c
			}
		}
		return 0
	}
}

// number parses a number; it returns NaN if s is none.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// AddSource reads all rows of src, whose chunks have Groups; values returns the column values of a group. Use AddMembers for an ensemble. After an
// error nothing has changed.
func (g *Evaluation) AddSource(src metrics.Source, values func(group int32) []string, o *metrics.Options) error {
	if g.Spec.Members > 0 {
		return fmt.Errorf("%w: rows of one model for an evaluation of %d members", metrics.ErrMismatch, g.Spec.Members)
	}
	var opt metrics.Options
	if o != nil {
		opt = *o
	}
	threads := opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	room := &room{Room: g.Room, threads: threads, whole: g.whole, kept: g.kept}
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
		if err := w.end(); err != nil {
			return err
		}
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
	n, err := New(g.Spec, g.Columns)
	if err != nil {
		return err
	}
	brief := false
	for _, w := range workers {
		if err := n.takeSums(w, values); err != nil {
			return err
		}
		brief = brief || w.whole != nil
	}
	if brief || len(n.values) > MostWhole {
		for _, w := range workers {
			if err := w.brief(); err != nil {
				return err
			}
			if err := n.whole.Merge(w.whole); err != nil {
				return err
			}
			w.whole = nil
		}
		for i := range room.of {
			if e := room.of[i].over; e != nil {
				if err := n.whole.Merge(e); err != nil {
					return err
				}
				room.of[i].over = nil
			}
		}
		for _, a := range n.whole.Accumulators() {
			if a, ok := a.(metrics.Ender); ok {
				a.End()
			}
		}
	} else {
		for i := range room.of {
			if e := room.of[i].over; e != nil {
				if err := n.add(values(int32(i)), e); err != nil {
					return err
				}
			}
		}
		for _, w := range workers {
			w.accs, w.now = nil, nil
			for i, e := range w.each {
				if e == nil {
					continue
				}
				if err := n.add(values(int32(i)), e); err != nil {
					return err
				}
				w.each[i] = nil
			}
		}
		if n.whole, err = n.merged(n.each); err != nil {
			return err
		}
	}
	if g.Len() > 0 {
		return g.Merge(n)
	}
	g.take(n)
	return nil
}

// takeSums adds the sums of a reader.
func (g *Evaluation) takeSums(w *reader, values func(group int32) []string) error {
	to := make([]int32, w.table.Len())
	if g.Len() == 0 {
		g.values = make([][]string, 0, len(to))
		g.grow(len(to))
	}
	for i := range to {
		if to[i] = -1; w.met[i] {
			var err error
			if to[i], err = g.number(values(int32(i))); err != nil {
				return err
			}
		}
	}
	own := g.table.Len() == 0 // and the groups have the same numbers, so that there is no second copy
	for i, n := range to {
		own = own && int(n) == i
	}
	if own {
		g.table = w.table
	} else {
		g.table.Grow(g.Len())
		g.table.Merge(w.table, to)
	}
	w.table = nil
	return nil
}

// number returns the number of a group in the table, and adds it if it is new.
func (g *Evaluation) number(values []string) (int32, error) {
	if len(values) != len(g.Columns) {
		panic("grouped: a group has a value for each column")
	}
	if 2*len(g.values) >= len(g.slots) {
		g.grow(len(g.values) + 1)
	}
	slot, hash := g.slot(values)
	if *slot == 0 {
		if len(g.values) == Most {
			return 0, fmt.Errorf("by %s rows are in more than %d groups", strings.Join(g.Columns, ", "), Most)
		}
		g.values = append(g.values, slices.Clone(values))
		*slot = hash | uint64(len(g.values))
	}
	return int32(*slot&numberMask) - 1, nil
}

// numberMask are the bits of a slot that have the number of its group plus 1. The others are those of the hash of its values.
const numberMask = 1<<20 - 1

// slot returns the slot of the group with these values, which is 0 if there is none yet, and its bits of the hash.
func (g *Evaluation) slot(values []string) (slot *uint64, hash uint64) {
	for _, v := range values {
		hash = bits.RotateLeft64(hash, 1) ^ maphash.String(seed, v)
	}
	at, mask := hash, uint64(len(g.slots)-1)
	for hash &^= numberMask; ; at++ {
		s := &g.slots[at&mask]
		if *s == 0 || *s&^numberMask == hash && slices.Equal(g.values[*s&numberMask-1], values) {
			return s, hash
		}
	}
}

var seed = maphash.MakeSeed()

// grow makes slots for at least n groups.
func (g *Evaluation) grow(n int) {
	g.slots = make([]uint64, max(1024, 1<<bits.Len(uint(2*n))))
	for i, v := range g.values {
		slot, hash := g.slot(v)
		*slot = hash | uint64(i+1)
	}
}

// take replaces the rows of g.
func (g *Evaluation) take(n *Evaluation) {
	g.each, g.whole, g.table, g.values, g.slots = n.each, n.whole, n.table, n.values, n.slots
}

// add merges the evaluation of a group, and may keep it.
func (g *Evaluation) add(values []string, e *eval.Evaluation) error {
	i, found := slices.BinarySearchFunc(g.each, values, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
	if found {
		return g.each[i].Merge(e)
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
	parts := []*Evaluation{g, o}
	for _, from := range parts {
		if err := n.whole.Merge(from.whole); err != nil { // which refuses what does not match
			return err
		}
	}
	for _, from := range parts {
		to := make([]int32, from.Len())
		for i, v := range from.values {
			if to[i], err = n.number(v); err != nil {
				return err
			}
		}
		n.table.Grow(n.Len())
		n.table.Merge(from.table, to)
	}
	if n.Len() <= MostWhole {
		for _, from := range parts {
			for i := range from.each {
				e, err := eval.New(g.Spec)
				if err != nil {
					return err
				}
				if err := e.Merge(from.each[i].Evaluation); err != nil {
					return err
				}
				if err := n.add(from.each[i].Values, e); err != nil {
					return err
				}
			}
		}
		if n.whole, err = n.merged(n.each); err != nil {
			return err
		}
	}
	g.take(n)
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
