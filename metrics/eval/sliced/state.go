package sliced

import (
	"fmt"
	"io"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/frame"
)

// Magic begins every state.
const Magic = "cSLC"

const version = 1

// AppendBinary appends the state: equal specs, columns and rows give equal bytes, however the rows were divided.
func (e *Evaluation) AppendBinary(dst []byte) ([]byte, error) { return e.framed().Append(dst) }

// WriteTo writes the bytes that AppendBinary appends.
func (e *Evaluation) WriteTo(w io.Writer) (int64, error) { return e.framed().WriteTo(w) }

func (e *Evaluation) framed() *frame.State {
	f := &frame.State{Magic: Magic, Version: version, Pieces: []frame.Piece{
		func(dst []byte) ([]byte, error) {
			enc := exact.Enc{B: dst}
			enc.U64(uint64(len(e.Columns)))
			for _, c := range e.Columns {
				enc.Str(c.Name)
				score := uint8(0)
				if c.Score {
					score = 1
				}
				enc.U8(score)
				for _, edges := range [][]float64{c.Edges, c.Thirds} {
					enc.U64(uint64(len(edges)))
					for _, x := range edges {
						enc.F64(x)
					}
				}
			}
			return enc.B, nil
		},
		frame.Sized(e.whole.AppendBinary),
		e.groupCells.append,
	}}
	if e.clusters != nil {
		f.Pieces = append(f.Pieces, e.clusters.append)
	}
	return f
}

func (e *groupCells) append(dst []byte) ([]byte, error) {
	enc := exact.Enc{B: dst}
	t := e.table
	weighted := uint8(0)
	if t.weighted {
		weighted = 1
	}
	enc.U8(weighted)
	enc.I64(t.rows)
	enc.I64(t.outside)
	enc.U8(uint8(t.shift))
	enc.U64(uint64(len(e.values)))
	for i, v := range e.values {
		for _, s := range v {
			enc.Str(s)
		}
		if t.shift > 0 { // else they follow from the cells
			g := &t.groups[i]
			for _, w := range []wide{g.p, g.v, g.d} {
				enc.I64(w.hi)
				enc.U64(w.lo)
			}
		}
	}
	enc.U64(uint64(len(t.list)))
	last := entry{}
	for _, c := range t.list {
		enc.Uvarint(c.key - last.key)
		enc.Uvarint(uint64(c.group))
		enc.Uvarint(uint64(c.n))
		enc.Uvarint(uint64(c.y))
		last = c
	}
	return enc.B, nil
}

// UnmarshalBinary replaces e with a state that AppendBinary wrote. It rejects damaged states and states of other versions.
func (e *Evaluation) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(Magic, version, data)
	if err != nil {
		return err
	}
	columns := make([]Column, d.Count(25))
	for i := range columns {
		c := &columns[i]
		c.Name = d.Str()
		c.Score = d.U8() != 0
		for _, edges := range []*[]float64{&c.Edges, &c.Thirds} {
			if n := d.Count(8); n > 0 {
				*edges = make([]float64, n)
				for k := range *edges {
					(*edges)[k] = d.F64()
				}
			}
		}
	}
	var whole eval.Evaluation
	b := d.Bytes()
	if err := d.Err(); err != nil {
		return err
	}
	if err := whole.UnmarshalBinary(b); err != nil {
		return err
	}
	n, err := New(whole.Spec, columns)
	if err != nil {
		return damaged(err.Error())
	}
	n.whole = &whole
	if err := n.read(d, &n.groupCells, len(n.given())); err != nil {
		return err
	}
	if n.clusters != nil {
		if err := n.read(d, n.clusters, len(n.given())+1); err != nil {
			return err
		}
		if err := n.agree(); err != nil {
			return err
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	n.answer()
	if same, err := n.framed().Is(data); err != nil {
		return err
	} else if !same {
		return damaged("its fields are not encoded as candor encodes them")
	}
	*e = *n
	e.answer()
	return nil
}

// damaged is the error of a state that is not valid.
func damaged(what string) error { return fmt.Errorf("%w: %s", exact.ErrDamaged, what) }

// read reads cells whose groups have so many values.
func (n *Evaluation) read(d *exact.Dec, to *groupCells, width int) error {
	t, whole := to.table, n.whole
	t.weighted, t.rows, t.outside, t.shift = d.U8() != 0, d.I64(), d.I64(), uint(d.U8())
	if t.shift != 0 && (t.shift < firstShift || t.shift > lastShift || t.shift%2 != 0) {
		return damaged("there is no such grid")
	}
	given := n.given()
	to.values = make([][]string, d.Count(1+7*width))
	if width == 0 && len(to.values) > 1 {
		return damaged("groups without values")
	}
	t.groups = make([]sums, len(to.values))
	grid := make([]sums, len(to.values))
	for i := range to.values {
		to.values[i] = make([]string, width)
		for k := range to.values[i] {
			to.values[i][k] = d.Str()
		}
		if i > 0 && slices.Compare(to.values[i-1], to.values[i]) >= 0 {
			return damaged("groups out of order")
		}
		for k, c := range given {
			if finest, _, coded := decode(to.values[i][k]); coded && (n.Columns[c].Edges == nil || finest > len(n.Columns[c].fine)) {
				return damaged("a bin that a column does not have")
			}
		}
		if t.shift > 0 {
			for _, w := range []*wide{&grid[i].p, &grid[i].v, &grid[i].d} {
				w.hi, w.lo = d.I64(), d.U64()
			}
		}
	}
	t.list = make([]entry, d.Count(4))
	if len(t.list) > most && t.shift < lastShift {
		return damaged("more cells than are kept")
	}
	last, rows, highest := entry{group: -1}, int64(0), order(1)&^(1<<63)>>t.shift
	for i := range t.list {
		c := &t.list[i]
		c.key = last.key + d.Uvarint()
		group, rowsOf, events := d.Uvarint(), d.Uvarint(), d.Uvarint()
		if err := d.Err(); err != nil {
			return err
		}
		if group >= uint64(len(to.values)) || rowsOf == 0 || rowsOf > uint64(t.rows) || events > rowsOf || c.key < last.key || c.key > highest {
			return damaged(exact.OutOfRange)
		}
		c.group, c.n, c.y = int32(group), int64(rowsOf), int64(events)
		if i > 0 && byKey(last, *c) >= 0 {
			return damaged("cells out of order")
		}
		last, rows = *c, rows+c.n
		t.groups[c.group].addRows(t.score(c.key), c.n, c.y)
		if rows > t.rows {
			return damaged("cells have more rows than there are")
		}
	}
	for i := range t.groups {
		g := &t.groups[i]
		if g.n == 0 {
			return damaged("a group without rows")
		}
		if t.shift == 0 {
			continue
		}
		top := times(1<<51, g.n)
		for _, w := range []wide{grid[i].p, grid[i].v, grid[i].d} {
			if w.hi < 0 || top.less(w) {
				return damaged(exact.OutOfRange)
			}
		}
		g.p, g.v, g.d = grid[i].p, grid[i].v, grid[i].d
	}
	if rows+t.outside != t.rows || t.outside < 0 || t.rows != whole.Audit.Rows || t.weighted != whole.Audit.Weighted {
		return damaged("the cells are not those of the rows")
	}
	return nil
}

// agree returns an error unless the cells of clusters have the rows of those of groups.
func (n *Evaluation) agree() error {
	rows := make([]sums, len(n.values))
	c := n.byClusters()
	for i := range c.values {
		if v := c.values[i]; v[len(v)-1] == "" || slices.Compare(n.valuesAt(c.group[i]), v[:len(v)-1]) != 0 {
			return damaged("the cells of clusters are not those of the rows")
		}
		rows[c.group[i]].add(&c.table.groups[i])
	}
	for i := range rows {
		if a, b := &rows[i], &n.table.groups[i]; a.n != b.n || a.y != b.y {
			return damaged("the cells of clusters are not those of the rows")
		}
	}
	return nil
}

// valuesAt returns the values of a group, nil if there is none.
func (n *Evaluation) valuesAt(group int32) []string {
	if int(group) >= len(n.values) {
		return nil
	}
	return n.values[group]
}
