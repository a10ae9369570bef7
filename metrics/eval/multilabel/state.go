package multilabel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/internal/frame"
)

// Magic is the beginning of a state.
const Magic = "cMLT"

const version = 1

// appendHead appends what all labels share.
func (m *Evaluation) appendHead(dst []byte) ([]byte, error) {
	s := m.Spec
	s.Labels, s.Names = 0, m.Names // the number stands beside the spec
	e, err := eval.New(s)
	if err != nil {
		return dst, err
	}
	spec, err := e.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	audit, err := m.Audit.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	enc := exact.Enc{B: dst}
	enc.U32(uint32(m.Labels))
	enc.Bytes(spec)
	enc.Bytes(audit)
	return enc.B, nil
}

// AppendBinary appends the state: equal specs and rows give equal bytes, however the rows were divided.
func (m *Evaluation) AppendBinary(dst []byte) ([]byte, error) { return m.framed().Append(dst) }

// WriteTo writes the bytes that AppendBinary appends, with only a part of them in memory at a time.
func (m *Evaluation) WriteTo(w io.Writer) (int64, error) { return m.framed().WriteTo(w) }

// framed returns the state in pieces: what all labels share, and each label.
func (m *Evaluation) framed() *frame.State {
	f := &frame.State{Magic: Magic, Version: version, Pieces: []frame.Piece{m.appendHead}}
	for j := range m.each {
		f.Pieces = append(f.Pieces, frame.Sized(func(dst []byte) ([]byte, error) { return m.Label(j).AppendStates(dst) }))
	}
	return f
}

// UnmarshalBinary replaces m with a state that AppendBinary wrote. It rejects damaged states and states of other versions.
// Its memory is limited to a few times the length of data.
func (m *Evaluation) UnmarshalBinary(data []byte) error {
	d, err := exact.OpenFields(Magic, version, data)
	if err != nil {
		return err
	}
	labels, spec, audit := int(d.U32()), d.Bytes(), d.Bytes()
	if err := d.Err(); err != nil {
		return err
	}
	damaged := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", exact.ErrDamaged, fmt.Sprintf(format, a...))
	}
	var e eval.Evaluation
	if err := e.UnmarshalBinary(spec); err != nil {
		return err
	}
	s := e.Spec
	if labels < 1 || s.Classes != 1 || s.Members > 0 || s.Out || s.Decided || s.Scored || s.Kind != metrics.Probs || e.Audit.Classes != 0 {
		return damaged("%d labels of %d classes and %d members", labels, s.Classes, s.Members)
	}
	n, err := checked(s, labels)
	if err != nil {
		return damaged("%v", err)
	}
	if err := n.Audit.UnmarshalBinary(audit); err != nil {
		return err
	}
	if a := &n.Audit; a.Classes > 1 || a.Classes == 1 && a.Kind > metrics.LogProbs || a.Decided || a.Scored || a.SumsOff != 0 {
		return damaged("rows that are not of several labels")
	}
	if n.Audit.Classes == 1 {
		// Check before allocating, since each bin takes memory.
		if least := n.newLabel().LeastState(); least > int64(len(data))/int64(labels) {
			return damaged("%d labels of at least %d bytes in %d", labels, least, len(data))
		}
		n.make()
	}
	for _, e := range n.each {
		e.Audit = n.Audit
		if err := e.ReadStates(d.Bytes()); err != nil {
			return err
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	if same, err := n.framed().Is(data); err != nil {
		return err
	} else if !same {
		return damaged("its fields are not encoded as candor encodes them")
	}
	*m = *n
	return nil
}

// SHA256 returns a checksum of the state, in hexadecimal. It is equal for equal specs and rows. It is computed from what the
// labels share and from the checksums of their states, so the possibly large state need not be in memory.
func (m *Evaluation) SHA256() string {
	var sums []string
	if m.each != nil {
		sums = make([]string, m.Labels)
		m.Each(func(j int, e *eval.Evaluation) { sums[j] = e.SHA256() })
	}
	return m.SHA256Of(sums)
}

// SHA256Of is SHA256 for given checksums of the labels' evaluations, in order; without rows there are none.
func (m *Evaluation) SHA256Of(labels []string) string {
	head, err := m.appendHead(nil)
	if err != nil {
		panic(err)
	}
	h := sha256.New()
	h.Write(head)
	for _, s := range labels {
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}
