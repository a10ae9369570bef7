package grouped

import (
	"fmt"
	"io"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/frame"
)

const (
	groupsMagic   = "cGRP"
	groupsVersion = 1
)

// AppendBinary appends the state: equal specs, columns and rows give equal bytes, however the rows were divided.
func (g *Evaluation) AppendBinary(dst []byte) ([]byte, error) { return g.framed().Append(dst) }

// WriteTo writes the bytes that AppendBinary appends, with only a part of them in memory at a time.
func (g *Evaluation) WriteTo(w io.Writer) (int64, error) { return g.framed().WriteTo(w) }

// framed returns the state in pieces: what all groups share, and each group.
func (g *Evaluation) framed() *frame.State {
	f := &frame.State{Magic: groupsMagic, Version: groupsVersion, Pieces: []frame.Piece{g.appendHead}}
	for _, e := range g.each {
		f.Pieces = append(f.Pieces, func(dst []byte) ([]byte, error) {
			enc := exact.Enc{B: dst}
			for _, v := range e.Values {
				enc.Str(v)
			}
			return enc.B, nil
		}, frame.Sized(e.Evaluation.AppendBinary))
	}
	return f
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
	enc.U64(uint64(len(g.each)))
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
	for range d.Count(8) {
		values := make([]string, len(columns))
		for i := range values {
			values[i] = d.Str()
		}
		e := new(eval.Evaluation)
		b := d.Bytes()
		if err := d.Err(); err != nil {
			return err
		}
		if err := e.UnmarshalBinary(b); err != nil {
			return err
		}
		if err := n.whole.Spec.Match(&e.Spec); err != nil {
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
	if same, err := n.framed().Is(data); err != nil {
		return err
	} else if !same {
		return fmt.Errorf("%w: its fields are not spelled as they are written", exact.ErrDamaged)
	}
	*g = *n
	return nil
}
