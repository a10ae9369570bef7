package ensemble

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// Options select how members are read. The zero value checks everything and rejects bad rows.
type Options struct {
	metrics.Options

	// Member returns the accumulators for the rows of member m, or nil. It is called once for each member, in order, before
	// the first row.
	Member func(m int) []metrics.Accumulator
}

// Accumulator receives the rows of all members from Fold. It is a sufficient statistic, kept in integers.
type Accumulator interface {
	// Empty returns an accumulator without rows, with the same options.
	Empty() Accumulator
	// AddBlock adds the rows of a block. It keeps no reference to the block.
	AddBlock(b *Block)
	// Merge adds the rows that another accumulator has seen. If the two differ in type, options, number of members or kind
	// of predictions, it returns an error that names the difference, and changes nothing.
	Merge(Accumulator) error
	// Len returns the number of rows seen.
	Len() int64
	// AppendBinary appends the state. Equal rows and options give equal bytes, in any order of the rows.
	encoding.BinaryAppender
	// UnmarshalBinary replaces the receiver, including its options. It rejects damaged states and those of newer versions.
	encoding.BinaryUnmarshaler
}

// Block is a run of checked rows of all members.
type Block struct {
	Rows    int
	Classes int              // 1 for a binary task
	Members []*metrics.Block // one per member, for the same rows, with probabilities, Rest and Entropy
	Mean    metrics.Tile     // mean of the members' probabilities, with the type and width of their tiles
	Labels  []int32
	Weights []float64 // nil, or one weight > 0 per row

	// Scores are the members' original scores, and First is the number of their first row: row i of the block is row
	// Number(i) - First of Scores.
	Scores []metrics.Scores
	First  int64
}

// Number returns the number of the block's row i in the whole set.
func (b *Block) Number(i int) int64 { return b.Members[0].Number(i) }

// Scores that do not match their shape, and sources that change their shape, are bugs of the caller, and panic with one of
// these texts.
const (
	errShape  = "ensemble: rows, classes and stride do not fit the scores of a member"
	errChunks = "ensemble: the chunks of a source differ in members, shape or kind"
)

// Errors for members that do not form an ensemble.
var (
	errNone  = errors.New("ensemble: an ensemble has one member or more")
	errKind  = errors.New("ensemble: members are probabilities, logits or log-probabilities")
	errKinds = fmt.Errorf("%w: members differ in kind", metrics.ErrMismatch)
)

// Folded is the Source of an ensemble's mean probabilities; see Fold.
type Folded struct {
	src     metrics.MemberSource
	opt     Options
	accs    []Accumulator
	each    [][]metrics.Accumulator // for each member
	alone   bool                    // nobody reads the means
	workers []*worker
	shape   shape
	failed  bool
	end     error // what Next returns from now on
	audit   metrics.Audit
	pool    sync.Pool
}

// Fold returns a Source of the mean probabilities of an ensemble, and adds the rows to the accumulators as they are read.
// Chunks are Probs with the members' labels, weights and row numbers, in float32 or float64 as the package comment says.
// Dropped rows (Options.Drop) are NaN; a Pass with Drop drops and counts them too. o may be nil.
//
// When Next returns io.EOF, the accumulators have all rows. Before that, and after any other error, they have none. For bad
// scores, the error wraps the *MemberError of the member with the first bad row, "member 3: row 17: ..."; for bad labels and
// weights, which all members share, it wraps a *metrics.DataError. With Drop, a row that is bad in one member is dropped
// from all.
func Fold(src metrics.MemberSource, o *Options, accs ...Accumulator) *Folded {
	f := &Folded{src: src, accs: accs}
	if o != nil {
		f.opt = *o
	}
	return f
}

// Run adds all rows of an ensemble to the accumulators, without a model of the means. See Fold. o may be nil.
func Run(src metrics.MemberSource, o *Options, accs ...Accumulator) (metrics.Audit, error) {
	f := Fold(src, o, accs...)
	f.alone = true
	for {
		if _, err := f.Next(); err == io.EOF {
			return f.Audit(), nil
		} else if err != nil {
			return f.Audit(), err
		}
	}
}

// Audit returns the audit of the members' rows after Next has returned an error. A row counts once for any number of
// members, except in SumsOff, which counts the rows of each member.
func (f *Folded) Audit() metrics.Audit { return f.audit }

// Next returns the mean of the next chunk of the members.
func (f *Folded) Next() (*metrics.Chunk, error) {
	for f.end == nil {
		c, err := f.src.Next()
		switch {
		case err == io.EOF: // only io.EOF itself is the end
			f.end = f.finish()
		case err != nil:
			f.end = err
		default:
			m, err := f.take(c)
			if m != nil {
				return m, nil
			}
			if err != nil {
				f.end = err
			}
		}
	}
	return nil, f.end
}

// take processes a chunk and returns its mean, or nil if nobody reads it.
func (f *Folded) take(c *metrics.MemberChunk) (*metrics.Chunk, error) {
	if c.Recycle != nil {
		defer c.Recycle()
	}
	s, err := shapeOf(&c.Members)
	if err != nil || c.Each[0].Rows == 0 {
		return nil, err
	}
	if f.workers == nil {
		f.begin(s)
	} else if s != f.shape {
		panic(errChunks)
	}
	m := f.chunk(c)
	f.work(c, m)
	if f.alone || f.failed {
		if m.Recycle != nil {
			m.Recycle()
		}
		return nil, nil
	}
	return m, nil
}

// begin makes the workers, once the number of members is known.
func (f *Folded) begin(s shape) {
	f.shape = s
	f.each = make([][]metrics.Accumulator, s.members)
	if f.opt.Member != nil {
		for m := range f.each {
			f.each[m] = f.opt.Member(m)
		}
	}
	threads := f.opt.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	f.workers = make([]*worker, threads)
	for i := range f.workers {
		f.workers[i] = newWorker(f)
	}
}

// work distributes the rows of a chunk among the workers, and writes their means to mean.
func (f *Folded) work(c *metrics.MemberChunk, mean *metrics.Chunk) {
	rows := c.Each[0].Rows
	n := blockRows(&c.Members)
	tasks := (rows + n - 1) / n
	pool.Do(len(f.workers), tasks, func(t, i int) {
		at := i * n
		f.workers[t].add(c, mean, at, min(n, rows-at))
	})
	for _, w := range f.workers {
		f.failed = f.failed || w.failed
	}
}

// finish merges the workers' accumulators, all or none, and returns io.EOF or the error.
func (f *Folded) finish() error {
	f.audit.Renormalized, f.audit.Unchecked = f.opt.Renormalize, f.opt.Unchecked
	if f.workers == nil {
		return io.EOF
	}
	for _, w := range f.workers {
		for m := range w.walks {
			a := w.walks[m].walker.Audit()
			if err := f.audit.Merge(&a); err != nil {
				return err
			}
		}
	}
	f.audit.Rows, f.audit.Dropped, f.audit.Absent, f.audit.Ignored = 0, 0, 0, 0
	for _, w := range f.workers {
		f.audit.Rows += w.rows
		f.audit.Dropped += w.dropped
		f.audit.Absent += w.absent
		f.audit.Ignored += w.ignored
	}
	if err := f.bad(); err != nil {
		return err
	}
	first := f.workers[0]
	for _, w := range f.workers[1:] {
		if err := mergeAll(first.accs, w.accs); err != nil {
			return err
		}
		for m := range first.each {
			if err := mergeAll(first.each[m], w.each[m]); err != nil {
				return err
			}
		}
	}
	// An accumulator rejects a merge if it has seen other members before. Try on copies before anything changes.
	if err := tryAll(f.accs, first.accs, Accumulator.Empty); err != nil {
		return err
	}
	for m := range f.each {
		if err := tryAll(f.each[m], first.each[m], metrics.Accumulator.Empty); err != nil {
			return err
		}
	}
	for m := range f.each {
		if err := mergeAll(f.each[m], first.each[m]); err != nil {
			return err
		}
	}
	if err := mergeAll(f.accs, first.accs); err != nil {
		return err
	}
	return io.EOF
}

// merger is the common part of both kinds of accumulators.
type merger[A any] interface{ Merge(A) error }

func mergeAll[A merger[A]](to, from []A) error {
	for i, a := range to {
		if err := a.Merge(from[i]); err != nil {
			return err
		}
	}
	return nil
}

// tryAll reports whether mergeAll would succeed.
func tryAll[A merger[A]](to, from []A, empty func(A) A) error {
	for i, a := range to {
		t := empty(a)
		if err := t.Merge(a); err != nil {
			return err
		}
		if err := t.Merge(from[i]); err != nil {
			return err
		}
	}
	return nil
}
