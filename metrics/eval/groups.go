package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// MostGroups is the largest number of groups.
const MostGroups = 1000

// Group is the evaluation of the rows with equal values in the grouping columns.
type Group struct {
	Values []string
	*Evaluation
}

// Groups holds the evaluations of groups of rows, and of all rows. The latter is the merge of the groups' evaluations, and
// equals, to the byte, the evaluation of the same rows without groups.
type Groups struct {
	Spec    Spec
	Columns []string // the grouping columns
	// Threads is as in Evaluation.
	Threads int
	// Room limits the memory of AddSource, which returns a *RoomError beyond it.
	Room Room

	each  []Group // by values
	whole *Evaluation
}

// NewGroups returns a Groups without rows.
func NewGroups(s Spec, columns []string) (*Groups, error) {
	if len(columns) == 0 {
		return nil, errors.New("eval: no column is named by which rows are grouped")
	}
	if s.Members > 0 || s.Out {
		return nil, errors.New("eval: there are no groups of an ensemble, or of rows beside out-of-distribution ones")
	}
	if names := s.keepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which is not done by groups: leave exact out", names)
	}
	whole, err := New(s)
	if err != nil {
		return nil, err
	}
	return &Groups{Spec: whole.Spec, Columns: slices.Clone(columns), whole: whole}, nil
}

// Whole returns the evaluation of all rows.
func (g *Groups) Whole() *Evaluation {
	g.whole.Threads = g.Threads
	return g.whole
}

// Each returns the groups in rising order of their values: numerically in a column that contains only numbers, else as text.
// Answers are cached as long as the caller keeps the evaluations.
func (g *Groups) Each() []Group {
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
func (g *Groups) AddSource(src metrics.Source, values func(group int32) []string, o *metrics.Options) error {
	var opt metrics.Options
	if o != nil {
		opt = *o
	}
	threads := opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	room := &groupRoom{Room: g.Room, threads: threads, whole: g.whole}
	workers, visits := make([]*grouper, threads), make([]func(*metrics.Chunk) error, threads)
	for i := range workers {
		workers[i] = newGrouper(g, &opt)
		workers[i].room = room
		visits[i] = workers[i].add
	}
	err := metrics.Feed(&ofSpec{src, &g.Spec}, visits...)
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
	n := &Groups{Spec: g.Spec, Columns: g.Columns}
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
func (g *Groups) add(values []string, e *Evaluation) error {
	if len(values) != len(g.Columns) {
		panic("eval: a group has a value for each column")
	}
	i, found := slices.BinarySearchFunc(g.each, values, func(a Group, b []string) int { return slices.Compare(a.Values, b) })
	switch {
	case found:
		return g.each[i].Merge(e)
	case len(g.each) == MostGroups:
		return fmt.Errorf("by %s rows are in more than %d groups", strings.Join(g.Columns, ", "), MostGroups)
	}
	g.each = slices.Insert(g.each, i, Group{slices.Clone(values), e})
	return nil
}

// errNoRoom stops a grouper that has reached the limit.
var errNoRoom = errors.New("eval: no room for groups")

// Merge adds the rows of other groups with the same columns and spec. Otherwise it returns an error that names the first
// difference, and changes nothing.
func (g *Groups) Merge(o *Groups) error {
	if !slices.Equal(g.Columns, o.Columns) {
		return fmt.Errorf("%w: rows are grouped by %s and by %s", metrics.ErrMismatch, strings.Join(g.Columns, ", "), strings.Join(o.Columns, ", "))
	}
	n, err := NewGroups(g.Spec, g.Columns)
	if err != nil {
		return err
	}
	for _, from := range [][]Group{g.each, o.each} {
		for i := range from {
			e, err := New(g.Spec)
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
func (g *Groups) merged(each []Group) (*Evaluation, error) {
	if len(each) < 2 {
		e, err := New(g.Spec)
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

// grouper is the state of one goroutine of AddSource: a Walker whose blocks go to the accumulators of the current group.
type grouper struct {
	spec   Spec
	walker *metrics.Walker
	each   []*Evaluation // by group number; nil for groups without rows
	accs   [][]metrics.Accumulator
	now    []metrics.Accumulator
	seen   int64
	room   *groupRoom
	sizes  []groupSize
	grown  int64 // memory of the rows of a chunk

	at, count []int32 // for each group, its range among the rows sorted by group
	order     []int32
	part      metrics.Chunk
	numbers   []int32
}

func newGrouper(g *Groups, o *metrics.Options) *grouper {
	w := &grouper{spec: g.Spec}
	need := metrics.Need(0)
	for _, a := range g.whole.accumulators() {
		need |= a.Needs()
	}
	w.walker = metrics.NewWalker(o, need, func(b *metrics.Block) {
		for _, a := range w.now {
			a.AddBlock(b)
		}
	})
	return w
}

// add processes the rows of a chunk group by group.
func (w *grouper) add(c *metrics.Chunk) error {
	if len(c.Groups) != c.Rows {
		panic("eval: the rows of a chunk have no groups")
	}
	if c.Rows == 0 {
		return nil
	}
	w.seen += int64(c.Rows)
	most := slices.Max(c.Groups)
	for len(w.each) <= int(most) {
		w.each, w.accs, w.sizes = append(w.each, nil), append(w.accs, nil), append(w.sizes, groupSize{})
	}
	w.grown = 0
	if err := w.parts(c, most); err != nil {
		return err
	}
	if !w.room.take(int64(c.Rows), w.grown, int(most)+1) {
		return errNoRoom
	}
	return nil
}

// parts processes the rows of each group of a chunk, whose largest group is most.
func (w *grouper) parts(c *metrics.Chunk, most int32) error {
	if slices.Min(c.Groups) == most {
		return w.group(most, c)
	}
	w.count = resized(w.count, int(most)+2)
	clear(w.count)
	for _, g := range c.Groups {
		w.count[g+1]++
	}
	for i := range most {
		w.count[i+1] += w.count[i]
	}
	w.at = append(w.at[:0], w.count[:most+1]...)
	w.order = resized(w.order, c.Rows)
	for i, g := range c.Groups {
		w.order[w.at[g]] = int32(i)
		w.at[g]++
	}
	from := int32(0)
	for g := range most + 1 {
		if to := w.at[g]; to > from {
			w.pick(c, w.order[from:to])
			if err := w.group(g, &w.part); err != nil {
				return err
			}
			from = to
		}
	}
	return nil
}

// group passes on the rows of one group.
func (w *grouper) group(g int32, c *metrics.Chunk) error {
	if w.each[g] == nil {
		e, err := New(w.spec)
		if err != nil {
			return err
		}
		w.each[g], w.accs[g] = e, e.accumulators()
	}
	w.now = w.accs[g]
	w.grown += w.sizes[g].add(int64(c.Rows), w.each[g], w.room.Extent)
	w.walker.Add(c)
	a := w.walker.Take()
	return w.each[g].Audit.Merge(&a)
}

// pick sets w.part to the given rows of a chunk.
func (w *grouper) pick(c *metrics.Chunk, rows []int32) {
	p := &w.part
	p.Kind, p.First, p.Rows, p.Classes, p.Stride = c.Kind, c.First, len(rows), c.Classes, 0
	stride := c.RowStride()
	p.F64 = pickRows(p.F64, c.F64, rows, c.Classes, stride)
	p.F32 = pickRows(p.F32, c.F32, rows, c.Classes, stride)
	p.F16 = pickRows(p.F16, c.F16, rows, c.Classes, stride)
	p.BF16 = pickRows(p.BF16, c.BF16, rows, c.Classes, stride)
	p.Labels = pickRows(p.Labels, c.Labels, rows, 1, 1)
	p.Observed = pickRows(p.Observed, c.Observed, rows, 1, 1)
	p.Weights = pickRows(p.Weights, c.Weights, rows, 1, 1)
	p.Decisions = pickRows(p.Decisions, c.Decisions, rows, 1, 1)
	p.ConfidenceScores = pickRows(p.ConfidenceScores, c.ConfidenceScores, rows, 1, 1)
	p.Pair = c.Pair.Rows(rows)
	p.Numbers = rows
	if c.Numbers != nil {
		w.numbers = pickRows(w.numbers, c.Numbers, rows, 1, 1)
		p.Numbers = w.numbers
	}
}

// pickRows copies rows to dst, reallocating it if needed; nil stays nil.
func pickRows[T any](dst, src []T, rows []int32, width, stride int) []T {
	if src == nil {
		return nil
	}
	dst = resized(dst, len(rows)*width)
	if width == 1 {
		for to, from := range rows {
			dst[to] = src[int(from)*stride]
		}
		return dst
	}
	for to, from := range rows {
		copy(dst[to*width:(to+1)*width], src[int(from)*stride:int(from)*stride+width])
	}
	return dst
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

const (
	groupsMagic   = "cGRP"
	groupsVersion = 1
)

// AppendBinary appends the state: equal specs, columns and rows give equal bytes, however the rows were divided.
func (g *Groups) AppendBinary(dst []byte) ([]byte, error) { return g.framed().append(dst) }

// WriteTo writes the bytes that AppendBinary appends, with only a part of them in memory at a time.
func (g *Groups) WriteTo(w io.Writer) (int64, error) { return g.framed().writeTo(w) }

// framed returns the state in pieces: what all groups share, and each group.
func (g *Groups) framed() *framed {
	f := &framed{magic: groupsMagic, version: groupsVersion, pieces: []piece{g.appendHead}}
	for _, e := range g.each {
		f.pieces = append(f.pieces, func(dst []byte) ([]byte, error) {
			enc := exact.Enc{B: dst}
			for _, v := range e.Values {
				enc.Str(v)
			}
			return enc.B, nil
		}, sized(e.Evaluation.AppendBinary))
	}
	return f
}

func (g *Groups) appendHead(dst []byte) ([]byte, error) {
	enc := exact.Enc{B: dst}
	enc.U64(uint64(len(g.Columns)))
	for _, c := range g.Columns {
		enc.Str(c)
	}
	// Write the spec as that of an evaluation without rows.
	none, err := New(g.Spec)
	if err != nil {
		return dst, err
	}
	state, err := none.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	enc.Bytes(state)
	enc.U64(uint64(len(g.each)))
	return enc.B, nil
}

// UnmarshalBinary replaces g with a state that AppendBinary wrote. It rejects damaged states and states of other versions.
func (g *Groups) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(groupsMagic, groupsVersion, data)
	if err != nil {
		return err
	}
	columns := make([]string, d.Count(8))
	for i := range columns {
		columns[i] = d.Str()
	}
	var none Evaluation
	if b := d.Bytes(); d.Err() == nil {
		if err := none.UnmarshalBinary(b); err != nil {
			return err
		}
	}
	if err := d.Err(); err != nil {
		return err
	}
	n, err := NewGroups(none.Spec, columns)
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	for range d.Count(8) {
		values := make([]string, len(columns))
		for i := range values {
			values[i] = d.Str()
		}
		e := new(Evaluation)
		b := d.Bytes()
		if err := d.Err(); err != nil {
			return err
		}
		if err := e.UnmarshalBinary(b); err != nil {
			return err
		}
		if err := n.whole.Spec.equal(&e.Spec); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
		if err := n.add(values, e); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	if n.whole, err = n.merged(n.each); err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if same, err := n.framed().is(data); err != nil {
		return err
	} else if !same {
		return fmt.Errorf("%w: its fields are not spelled as they are written", exact.ErrDamaged)
	}
	*g = *n
	return nil
}
