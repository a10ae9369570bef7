package metrics

import (
	"io"
	"runtime"
	"sync/atomic"
)

// Options say how a Pass treats its rows. The zero value checks everything and refuses bad rows.
type Options struct {
	// Threads is the number of goroutines that run kernels; 0 means GOMAXPROCS. It changes no bit of any result.
	Threads int
	// Drop leaves bad rows out, and counts them, where otherwise they are an error.
	Drop bool
	// Renormalize divides each row of probabilities by its sum, whatever positive number that is.
	Renormalize bool
	// Unchecked admits probabilities outside [0,1], up to 1e140 in size, and any row sum: reference cases of other
	// systems have such.
	Unchecked bool
}

// Pass reads predictions once for many accumulators: each block of rows is checked, goes through one kernel, and is
// handed to all of them. The zero value is of no use; see NewPass.
type Pass struct {
	opt   Options
	accs  []Accumulator
	need  Need
	audit Audit
}

// NewPass returns a Pass that feeds the accumulators. opt may be nil.
func NewPass(opt *Options, accs ...Accumulator) *Pass {
	p := &Pass{accs: accs}
	if opt != nil {
		p.opt = *opt
	}
	for _, a := range accs {
		p.need |= a.Needs()
	}
	p.audit.Renormalized, p.audit.Unchecked = p.opt.Renormalize, p.opt.Unchecked
	return p
}

// Audit returns what the Pass has seen so far.
func (p *Pass) Audit() Audit { return p.audit }

// Add feeds all the rows of predictions in memory. If some cannot be used (and Options.Drop is off) the error is a
// *DataError that covers all of them, and labels or other columns that are not as many as the rows are a *LengthError; in
// either case no accumulator has changed. Scores that do not have the shape that they say panic.
func (p *Pass) Add(preds *Predictions) error {
	return p.AddSource(InMemory(preds))
}

// AddSource feeds all the rows that src yields. One goroutine reads ahead while others run the kernels. The error is
// the source's, or as for Add; in either case no accumulator has changed.
func (p *Pass) AddSource(src Source) error { return p.read(src, false) }

// Fill is AddSource for accumulators that have seen no rows, and takes no copy of what they keep: after an error they are of no use.
// It panics if one has seen rows.
func (p *Pass) Fill(src Source) error {
	for _, a := range p.accs {
		if a.Len() > 0 {
			panic(errFilled)
		}
	}
	return p.read(src, true)
}

func (p *Pass) read(src Source, fill bool) error {
	threads := p.opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	m, small := src.(*inMemory)
	if small {
		if err := m.preds.check(true); err != nil {
			return err
		}
		if m.preds.Rows*m.preds.RowStride()*m.preds.DType().Size() <= 1<<18 {
			threads = 1
		}
	}
	src = &checked{src: src}
	var failed atomic.Bool // a bad row was found: from there on rows are only examined
	workers := make([]*worker, threads)
	for i := range workers {
		workers[i] = newWorker(p, &failed)
	}
	if fill {
		copy(workers[0].accs, p.accs)
	}
	if small && threads == 1 {
		for {
			c, err := src.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			workers[0].add(c)
		}
	} else {
		visits := make([]func(*Chunk), len(workers))
		for i, w := range workers {
			visits[i] = w.add
		}
		if err := Feed(src, visits...); err != nil {
			return err
		}
	}
	return p.merge(workers, fill)
}

// merge takes over what the workers have, all or nothing unless the first one's accumulators are the caller's.
func (p *Pass) merge(workers []*worker, filled bool) error {
	var bad faults
	audit := p.audit
	for _, w := range workers {
		bad.merge(&w.bad)
		if err := audit.Merge(&w.audit); err != nil {
			return err
		}
	}
	if l := bad.list(); len(l) > 0 && !p.opt.Drop {
		rows := int64(0)
		for _, w := range workers {
			rows += w.seen
		}
		return &DataError{Rows: rows, Kind: audit.Kind, Classes: audit.Classes, Faults: l}
	}
	first := workers[0].accs
	for i, a := range first {
		for _, w := range workers[1:] {
			if err := a.Merge(w.accs[i]); err != nil {
				return err
			}
			w.accs[i] = nil // which may be large
		}
	}
	if filled {
		p.audit = audit
		return nil
	}
	// An accumulator refuses a merge if it has seen unlike predictions elsewhere. All but the first are tried on a copy
	// before anything changes; the first one's own merge comes before the others. One without rows refuses nothing.
	for i := 1; i < len(p.accs); i++ {
		if p.accs[i].Len() == 0 {
			continue
		}
		t := p.accs[i].Empty()
		if err := t.Merge(p.accs[i]); err != nil {
			return err
		}
		if err := t.Merge(first[i]); err != nil {
			return err
		}
	}
	for i, a := range p.accs {
		if err := a.Merge(first[i]); err != nil {
			return err
		}
		first[i] = nil
	}
	p.audit = audit
	return nil
}
