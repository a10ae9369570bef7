package eval

import (
	"fmt"

	"github.com/candor-go/candor/metrics"
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

// Add reads predictions in memory. o may be nil. The error is a *metrics.DataError, a *metrics.LengthError, or says that they are not what the
// Spec is for; nothing has changed then.
func (e *Evaluation) Add(p *metrics.Predictions, o *metrics.Options) error {
	return e.AddSource(metrics.InMemory(p), o)
}

// AddSource reads all rows of src; those of an ensemble go to AddMembers. If it fails nothing has changed.
func (e *Evaluation) AddSource(src metrics.Source, o *metrics.Options) error {
	if e.Spec.Members > 0 {
		return fmt.Errorf("%w: rows of one model for an evaluation of %d members", metrics.ErrMismatch, e.Spec.Members)
	}
	// By way of an evaluation without rows: what was added before may be of another type or kind, which is known only
	// when src has been read.
	n, err := New(e.Spec)
	if err != nil {
		return err
	}
	p := metrics.NewPass(o, n.accumulators()...)
	if err := p.Fill(&ofSpec{src, &e.Spec}); err != nil {
		return err
	}
	n.Audit = p.Audit()
	return e.take(n)
}

// take merges an evaluation that is seen no more. One that has seen no rows becomes that, so that it is there once.
func (e *Evaluation) take(n *Evaluation) error {
	if err := e.CheckRows(e.Audit.Rows + n.Audit.Rows); err != nil && !n.Audit.Weighted {
		return err
	}
	if e.Audit != (metrics.Audit{}) || e.Out != (metrics.Audit{}) {
		return e.Merge(n)
	}
	n.Threads, n.Remedy = e.Threads, e.Remedy
	*e = *n
	e.inform()
	return nil
}

// ofSpec is a source that ends at rows that are not those of the spec: of another number of classes, which some metrics cannot take,
// or with decisions or confidence scores of which the spec says nothing, so that some metrics would not see them.
type ofSpec struct {
	metrics.Source
	spec *Spec
}

func (s *ofSpec) Next() (*metrics.Chunk, error) {
	c, err := s.Source.Next()
	if err != nil || c.Rows == 0 {
		return c, err
	}
	switch {
	case simple(c.Kind) != s.spec.Kind:
		err = fmt.Errorf("%w: rows of %v for an evaluation of %v", metrics.ErrMismatch, c.Kind, s.spec.Kind)
	case c.Classes != s.spec.Classes:
		err = fmt.Errorf("%w: rows of %d %s for an evaluation of %d", metrics.ErrMismatch, c.Classes, s.spec.columns(), s.spec.Classes)
	case c.Decisions != nil && !s.spec.Decided:
		err = fmt.Errorf("%w: rows with decisions for an evaluation without", metrics.ErrMismatch)
	case c.ConfidenceScores != nil && !s.spec.Scored:
		err = fmt.Errorf("%w: rows with confidence scores for an evaluation without", metrics.ErrMismatch)
	default:
		return c, nil
	}
	if c.Recycle != nil {
		c.Recycle()
	}
	return nil, err
}
