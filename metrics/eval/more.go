package eval

import (
	"encoding"
	"fmt"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/ensemble"
)

// AddMembers reads all rows of an ensemble's members: the evaluation is that of their mean probabilities. If it fails nothing has
// changed.
func (e *Evaluation) AddMembers(src metrics.MemberSource, o *metrics.Options) error {
	if e.Spec.Members == 0 {
		return fmt.Errorf("%w: rows of an ensemble for an evaluation of one model", metrics.ErrMismatch)
	}
	n, err := New(e.Spec)
	if err != nil {
		return err
	}
	var opt ensemble.Options
	if o != nil {
		opt.Options = *o
	}
	var accs []ensemble.Accumulator
	for i, k := range n.plan.more {
		if k.fed == joint {
			accs = append(accs, n.more[i].(ensemble.Accumulator))
		}
	}
	opt.Member = func(m int) []metrics.Accumulator { return n.each[m].accumulators() }
	f := ensemble.Fold(&ofMembers{src, &e.Spec, n}, &opt, accs...)
	// The members have been checked: what they were admitted with their mean may have too.
	p := metrics.NewPass(&metrics.Options{Threads: opt.Threads, Drop: opt.Drop, Unchecked: true}, n.accumulators()...)
	if err := p.Fill(&ofSpec{f, &e.Spec}); err != nil {
		return err
	}
	n.Audit = p.Audit()
	a := f.Audit()
	n.Audit.Dropped, n.Audit.Absent = a.Dropped, a.Absent
	n.Audit.SumsOff, n.Audit.SumMin, n.Audit.SumMax = a.SumsOff, a.SumMin, a.SumMax
	n.Audit.Renormalized, n.Audit.Unchecked = a.Renormalized, a.Unchecked
	n.Audit.DType = a.DType
	n.inform()
	return e.take(n)
}

// ofMembers is a source that ends at rows that are not those of the spec, and says of what kind the scores are.
type ofMembers struct {
	metrics.MemberSource
	spec *Spec
	e    *Evaluation
}

func (s *ofMembers) Next() (*metrics.MemberChunk, error) {
	c, err := s.MemberSource.Next()
	if err != nil {
		return c, err
	}
	if len(c.Each) != s.spec.Members {
		if c.Recycle != nil {
			c.Recycle()
		}
		return nil, fmt.Errorf("%w: an ensemble of %d members for an evaluation of %d", metrics.ErrMismatch, len(c.Each), s.spec.Members)
	}
	if c.Each[0].Rows > 0 {
		s.e.Given = c.Kind
	}
	return c, nil
}

// AddOut reads all out-of-distribution rows, whose labels have no say. If it fails nothing has changed.
func (e *Evaluation) AddOut(src metrics.Source, o *metrics.Options) error {
	if !e.Spec.Out {
		return fmt.Errorf("%w: out-of-distribution rows for an evaluation without", metrics.ErrMismatch)
	}
	n, err := New(e.Spec)
	if err != nil {
		return err
	}
	var accs []metrics.Accumulator
	for i, k := range n.plan.more {
		if k.fed == out {
			accs = append(accs, n.more[i].(metrics.Accumulator))
		}
	}
	p := metrics.NewPass(o, accs...)
	if err := p.Fill(&ofSpec{src, &e.Spec}); err != nil {
		return err
	}
	n.Out = p.Audit()
	return e.Merge(n)
}

// inform tells the members' evaluations what was seen.
func (e *Evaluation) inform() {
	for _, m := range e.each {
		m.Audit = e.Audit
		m.memo, m.top, m.rank = nil, nil, nil
	}
}

// stored is what all accumulators are.
type stored interface {
	Len() int64
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// held is an accumulator of an evaluation, how many rows it is to have seen, and of how many classes these were; 0 of no rows.
type held struct {
	stored
	rows    int64
	classes int
}

// states returns all accumulators, in the order in which a state has them.
func (e *Evaluation) states() (l []held) {
	for _, a := range e.accumulators() {
		l = append(l, held{a, e.Audit.Rows, e.Audit.Classes})
	}
	for i, k := range e.plan.more {
		switch k.fed {
		case out:
			l = append(l, held{e.more[i].(stored), e.Out.Rows, e.Out.Classes})
		case joint:
			l = append(l, held{e.more[i].(stored), e.Audit.Rows, e.Audit.Classes})
		}
	}
	for _, m := range e.each {
		for _, a := range m.accumulators() {
			l = append(l, held{a, e.Audit.Rows, e.Audit.Classes})
		}
	}
	return l
}

// empty returns a state of the same options without rows.
func empty(s stored) stored {
	if a, ok := s.(ensemble.Accumulator); ok {
		return a.Empty()
	}
	return s.(metrics.Accumulator).Empty()
}

// merge adds to a what b has seen.
func merge(a, b stored) error {
	if a, ok := a.(ensemble.Accumulator); ok {
		return a.Merge(b.(ensemble.Accumulator))
	}
	return a.(metrics.Accumulator).Merge(b.(metrics.Accumulator))
}

// read adds to an accumulator what a state has of it.
func (h held) read(data []byte) error {
	s := empty(h.stored)
	if err := s.UnmarshalBinary(data); err != nil {
		return err
	}
	// Merged into nothing they would make it one of their own classes.
	if c, ok := s.(*cells.Cells); ok && c.Classes() != h.classes && (c.Classes() > 0 || c.Len() > 0) {
		return fmt.Errorf("%w: cells of %d classes among rows of %d", exact.ErrDamaged, c.Classes(), h.classes)
	}
	if err := merge(h.stored, s); err != nil {
		return fmt.Errorf("%w: %v", exact.ErrDamaged, err)
	}
	return nil
}
