package grouped

import (
	"fmt"
	"io"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/frame"
)

const (
	groupsMagic   = "cGRP"
	groupsVersion = 2
)

// AppendBinary appends the state: equal specs, columns and rows give equal bytes, however the rows were divided.
func (g *Evaluation) AppendBinary(dst []byte) ([]byte, error) { return g.framed().Append(dst) }

// WriteTo writes the bytes that AppendBinary appends, with only a part of them in memory at a time.
func (g *Evaluation) WriteTo(w io.Writer) (int64, error) { return g.framed().WriteTo(w) }

// framed returns the state in pieces: what all groups share, and each group.
func (g *Evaluation) framed() *frame.State {
	f := &frame.State{Magic: groupsMagic, Version: groupsVersion, Pieces: []frame.Piece{g.appendHead}}
	for _, i := range g.order() {
		f.Pieces = append(f.Pieces, func(dst []byte) ([]byte, error) {
			enc := exact.Enc{B: dst}
			for _, v := range g.values[i] {
				enc.Str(v)
			}
			return enc.B, nil
		}, frame.Sized(func(dst []byte) ([]byte, error) { return g.table.Append(dst, i) }))
	}
	for _, e := range g.each {
		f.Pieces = append(f.Pieces, frame.Sized(e.Evaluation.AppendBinary))
	}
	if g.Len() > MostWhole {
		f.Pieces = append(f.Pieces, frame.Sized(g.whole.AppendBinary))
	}
	return f
}

// order returns the numbers of groups, by their values as text.
func (g *Evaluation) order() []int32 {
	l := make([]int32, g.Len())
	for i := range l {
		l[i] = int32(i)
	}
	slices.SortFunc(l, func(a, b int32) int { return slices.Compare(g.values[a], g.values[b]) })
	return l
}

func (g *Evaluation) appendHead(dst []byte) ([]byte, error) {
	enc := exact.Enc{B: dst}
	enc.U64(uint64(len(g.Columns)))
	for _, c := range g.Columns {
		enc.Str(c)
	}
	// Write the spec as that of an evaluation without rows.
	none, err := eval.New(g.Spec)
	if err != nil {
		return dst, err
	}
	state, err := none.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	enc.Bytes(state)
	enc.U64(uint64(g.Len()))
	weighted := uint8(0)
	if g.table.Weighted {
		weighted = 1
	}
	enc.U8(weighted)
	return enc.B, nil
}

// UnmarshalBinary replaces g with a state that AppendBinary wrote. It rejects damaged states and states of other versions.
func (g *Evaluation) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(groupsMagic, groupsVersion, data)
	if err != nil {
		return err
	}
	columns := make([]string, d.Count(8))
	for i := range columns {
		columns[i] = d.Str()
	}
	var none eval.Evaluation
	if b := d.Bytes(); d.Err() == nil {
		if err := none.UnmarshalBinary(b); err != nil {
			return err
		}
	}
	if err := d.Err(); err != nil {
		return err
	}
	n, err := New(none.Spec, columns)
	if err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	groups := d.Count(8)
	n.table.Weighted = d.U8() == 1
	if groups > Most {
		return fmt.Errorf("%w: more than %d groups", exact.ErrDamaged, Most)
	}
	rows := make([]int64, groups)
	for i := range rows {
		values := make([]string, len(columns))
		for i := range values {
			values[i] = d.Str()
		}
		b := d.Bytes()
		if err := d.Err(); err != nil {
			return err
		}
		at, err := n.number(values)
		if err != nil || int(at) != i {
			return fmt.Errorf("%w: two groups have the same values", exact.ErrDamaged)
		}
		n.table.Grow(i + 1)
		if err := n.table.Read(b, at); err != nil {
			return err
		}
		rows[i] = n.table.Sums(at).N
	}
	read := func() (*eval.Evaluation, error) {
		e := new(eval.Evaluation)
		b := d.Bytes()
		if err := d.Err(); err != nil {
			return nil, err
		}
		if err := e.UnmarshalBinary(b); err != nil {
			return nil, err
		}
		if err := n.whole.Spec.Match(&e.Spec); err != nil {
			return nil, fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
		return e, nil
	}
	all := int64(0)
	for i, r := range rows {
		if all += r; groups > MostWhole {
			continue
		}
		e, err := read()
		if err != nil {
			return err
		}
		if e.Audit.Rows != r {
			return fmt.Errorf("%w: a group has %d rows and %d", exact.ErrDamaged, r, e.Audit.Rows)
		}
		if err := n.add(n.values[i], e); err != nil {
			return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
		}
	}
	if groups > MostWhole {
		if n.whole, err = read(); err != nil {
			return err
		}
	} else if n.whole, err = n.merged(n.each); err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	if n.whole.Audit.Rows != all {
		return fmt.Errorf("%w: groups have %d rows, and all have %d", exact.ErrDamaged, all, n.whole.Audit.Rows)
	}
	if err := d.Done(); err != nil {
		return err
	}
	if same, err := n.framed().Is(data); err != nil {
		return err
	} else if !same {
		return fmt.Errorf("%w: its fields are not encoded as candor encodes them", exact.ErrDamaged)
	}
	*g = *n
	return nil
}
