package sliced

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// MostColumns is the largest number of columns, besides the score.
const MostColumns = 10

// Evaluation is the evaluation of all rows, with the cells of their slices.
type Evaluation struct {
	Columns []Column
	// Threads is the number of goroutines for draws; 0 means GOMAXPROCS. Answers do not depend on it.
	Threads int

	whole *eval.Evaluation
	groupCells
	clusters *groupCells // whose groups are those of the rows of a cluster, with its name after their values; nil if rows are independent
	memo     *answers
}

// groupCells are the cells of groups.
type groupCells struct {
	values [][]string // of the groups, rising; of the columns but the score
	table  *table
}

// New returns an Evaluation without rows.
func New(s eval.Spec, columns []Column) (*Evaluation, error) {
	if len(columns) == 0 {
		return nil, errors.New("sliced: no column names the slices")
	}
	if !s.Shape().HasClasses() || s.Members > 0 || s.Out || s.Choices != eval.NoChoices {
		return nil, errors.New("slices are of the probabilities of one model for classes")
	}
	if names := s.KeepsRows(); names != "" {
		return nil, fmt.Errorf("metrics %s keep every row, which slices do not support: %s", names, eval.WithoutExact)
	}
	whole, err := eval.New(s)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{whole: whole, groupCells: groupCells{table: new(table)}}
	if s.Cluster != "" {
		e.clusters = &groupCells{table: new(table)}
	}
	names := map[string]bool{}
	for _, c := range columns {
		if names[c.Name] {
			return nil, fmt.Errorf("column %q is named twice", c.Name)
		}
		names[c.Name] = true
		for _, edges := range [][]float64{c.Edges, c.Thirds} {
			if edges == nil {
				continue
			}
			if len(edges) < 2 {
				return nil, fmt.Errorf("bins of column %q have two edges or more", c.Name)
			}
			for i, x := range edges {
				if x != x || i > 0 && !(x > edges[i-1]) {
					return nil, fmt.Errorf("edges of column %q do not rise: %v", c.Name, edges)
				}
			}
		}
		c.Edges, c.Thirds = slices.Clone(c.Edges), slices.Clone(c.Thirds)
		c.prepare()
		e.Columns = append(e.Columns, c)
	}
	if n := len(e.given()); n > MostColumns {
		return nil, fmt.Errorf("rows are sliced by %d columns: at most %d are crossed", n, MostColumns)
	}
	e.answer()
	return e, nil
}

// given returns the columns whose values come with the rows: all but the score.
func (e *Evaluation) given() (l []int) {
	for i := range e.Columns {
		if !e.Columns[i].Score {
			l = append(l, i)
		}
	}
	return l
}

// Whole returns the evaluation of all rows, whose multicalibration metrics have values.
func (e *Evaluation) Whole() *eval.Evaluation {
	e.answer()
	return e.whole
}

// answer lets the evaluation of all rows answer for slices.
func (e *Evaluation) answer() {
	e.memo = nil
	e.whole.Slices = e
}

// Bytes returns the most memory that the cells of rows take, which may be of clusters; rows may be negative, for unknown.
func Bytes(rows int64, threads int, clusters bool) int64 {
	n := int64(threads+1) * tableBytes(rows)
	if clusters {
		n *= 2
	}
	return n
}

// AddSource reads all rows of src, whose chunks have Groups; values returns the texts that Column.Coder has made of the values of a
// group, of all columns but the score. Chunks need no groups if the score is the only column. After an error nothing has changed.
func (e *Evaluation) AddSource(src metrics.Source, values func(group int32) []string, o *metrics.Options) error {
	n, err := New(e.whole.Spec, e.Columns)
	if err != nil {
		return err
	}
	if len(e.given()) == 0 {
		src, values = &ungrouped{Source: src}, func(int32) []string { return nil }
	}
	all := append(n.whole.Accumulators(), n.table)
	var of *pairs
	if n.clusters != nil {
		of = newPairs()
		all = append(all, of)
	}
	p := metrics.NewPass(o, all...)
	if err := p.Fill(n.whole.Spec.Only(src)); err != nil {
		return err
	}
	n.whole.Audit = p.Audit()
	n.groupCells = numbered(n.table, func(g int32) []string {
		v := values(g)
		if len(v) != len(e.given()) {
			panic("sliced: a group has a value for each column")
		}
		return v
	})
	if of != nil {
		c := numbered(&of.table, of.named(values))
		n.clusters = &c
	}
	if e.whole.Audit == (metrics.Audit{}) {
		n.whole.Threads, n.whole.Remedy = e.whole.Threads, e.whole.Remedy
		e.whole, e.groupCells, e.clusters = n.whole, n.groupCells, n.clusters
		e.answer()
		return nil
	}
	return e.Merge(n)
}

// numbered returns the cells of a table whose groups have values, in the order of these. Groups of equal values become one.
func numbered(t *table, values func(group int32) []string) groupCells {
	t.compact()
	to := make([]int32, len(t.groups))
	var all [][]string
	for i := range t.groups {
		if t.groups[i].n > 0 {
			all = append(all, values(int32(i)))
		}
	}
	slices.SortFunc(all, slices.Compare[[]string])
	all = slices.CompactFunc(all, slices.Equal[[]string])
	for i := range t.groups {
		if t.groups[i].n > 0 {
			k, _ := slices.BinarySearchFunc(all, values(int32(i)), slices.Compare[[]string])
			to[i] = int32(k)
		}
	}
	t.renumber(to, len(all))
	return groupCells{all, t}
}

// joinedCells returns the cells of both, and leaves them as they are.
func joinedCells(a, b *groupCells) (*groupCells, error) {
	all := slices.Concat(a.values, b.values)
	slices.SortFunc(all, slices.Compare[[]string])
	all = slices.CompactFunc(all, slices.Equal[[]string])
	sum := new(table)
	for _, x := range []*groupCells{a, b} {
		t := *x.table
		to := make([]int32, len(x.values))
		for i, v := range x.values {
			k, _ := slices.BinarySearchFunc(all, v, slices.Compare[[]string])
			to[i] = int32(k)
		}
		t.renumber(to, len(all))
		if err := sum.Merge(&t); err != nil {
			return nil, err
		}
	}
	return &groupCells{all, sum}, nil
}

// ungrouped is a source of rows that are all in group 0.
type ungrouped struct {
	metrics.Source
	zeros []int32
}

func (u *ungrouped) Next() (*metrics.Chunk, error) {
	c, err := u.Source.Next()
	if err == nil {
		if len(u.zeros) < c.Rows {
			u.zeros = make([]int32, c.Rows)
		}
		c.Groups = u.zeros[:c.Rows]
	}
	return c, err
}

// Merge adds the rows of another evaluation with the same columns and spec. Otherwise it returns an error that names the first
// difference, and changes nothing.
func (e *Evaluation) Merge(o *Evaluation) error {
	if err := e.matches(o); err != nil {
		return err
	}
	whole, err := eval.New(e.whole.Spec)
	if err != nil {
		return err
	}
	for _, w := range []*eval.Evaluation{e.whole, o.whole} {
		if err := whole.Merge(w); err != nil {
			return err
		}
	}
	sum, err := joinedCells(&e.groupCells, &o.groupCells)
	if err != nil {
		return err
	}
	clusters := e.clusters
	if clusters != nil {
		if clusters, err = joinedCells(clusters, o.clusters); err != nil {
			return err
		}
	}
	whole.Threads, whole.Remedy = e.whole.Threads, e.whole.Remedy
	e.whole, e.groupCells, e.clusters = whole, *sum, clusters
	e.answer()
	return nil
}

func (e *Evaluation) matches(o *Evaluation) error {
	names := func(e *Evaluation) string {
		var l []string
		for _, c := range e.Columns {
			l = append(l, c.Name)
		}
		return strings.Join(l, ", ")
	}
	if a, b := names(e), names(o); a != b {
		return fmt.Errorf("%w: rows are sliced by %s and by %s", metrics.ErrMismatch, a, b)
	}
	for i, c := range e.Columns {
		d := &o.Columns[i]
		if c.Score != d.Score || !slices.Equal(c.Edges, d.Edges) || !slices.Equal(c.Thirds, d.Thirds) {
			return fmt.Errorf("%w: bins of column %q have edges %v and %v: pass the same by %v", metrics.ErrMismatch, c.Name, c.Edges, d.Edges, setting.SliceEdges)
		}
	}
	return nil
}

// Unedged returns the name of a column that needs edges before its states can be merged with others: it has more than 10 distinct
// values, and all are numbers. It returns "" if there is none.
func (e *Evaluation) Unedged() string {
	for k, i := range e.given() {
		c := &e.Columns[i]
		if c.Edges != nil {
			continue
		}
		var v Values
		for _, tuple := range e.values {
			_, text, _ := decode(tuple[k])
			v.Add([]byte(text))
		}
		if v.Numeric() && v.Distinct() > EqualMass {
			return c.Name
		}
	}
	return ""
}

// Textual returns the name of a column that has edges and no number at all, or "".
func (e *Evaluation) Textual() string {
	for k, i := range e.given() {
		if e.Columns[i].Edges == nil {
			continue
		}
		if !slices.ContainsFunc(e.values, func(v []string) bool {
			_, _, coded := decode(v[k])
			return coded
		}) {
			return e.Columns[i].Name
		}
	}
	return ""
}

// Exact reports whether each distinct score of each finest slice has a cell of its own. Otherwise scores are on a grid.
func (e *Evaluation) Exact() bool { return e.table.shift == 0 }
