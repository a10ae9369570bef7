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

// Options say how members are read. The zero value checks everything and refuses bad rows.
type Options struct {
	metrics.Options

	// Member returns the accumulators of member m, which are fed with that member's rows alone; nil: there are none. It is
	// called once for each member, in order, before the first row.
	Member func(m int) []metrics.Accumulator
}

// Accumulator is what Fold feeds with the rows of all members: a sufficient statistic, kept in integers.
type Accumulator interface {
	// Empty returns an accumulator of the same options that has seen no rows.
	Empty() Accumulator
	// AddBlock adds the rows of a block. Nothing of the block is kept.
	AddBlock(b *Block)
	// Merge adds the rows that another accumulator has seen. It is an error, which names the difference and changes nothing, if
	// the two differ in type, in options, in the number of members or in the kind of predictions.
	Merge(Accumulator) error
	// Len returns the number of rows seen.
	Len() int64
	// AppendBinary appends the state: equal rows and options give equal bytes, in whatever order the rows came.
	encoding.BinaryAppender
	// UnmarshalBinary replaces the receiver, options and all. It refuses damaged and newer states.
	encoding.BinaryUnmarshaler
}

// Block is a run of checked rows of all members on its way to the accumulators.
type Block struct {
	Rows    int
	Classes int              // 1 for a binary task
	Members []*metrics.Block // one a member, of the same rows, with their probabilities and with Rest and Entropy
	Mean    metrics.Tile     // the mean of the members' probabilities, of their tiles' type and width
	Labels  []int32
	Weights []float64 // nil, or one weight > 0 a row

	// Scores are the members' scores as they were given, and First the number of their row 0: the block's row i is row
	// Number(i) - First of them.
	Scores []metrics.Scores
	First  int64
}

// Number returns the number, in the whole set, of the block's row i.
func (b *Block) Number(i int) int64 { return b.Members[0].Number(i) }

// Scores that are not of their shape and sources that change it are bugs of the caller, and panic with one of these texts.
const (
	errShape  = "ensemble: rows, classes and stride do not fit the scores of a member"
	errChunks = "ensemble: the chunks of a source differ in members, shape or kind"
)

// Errors of members that are no ensemble.
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
	each    [][]metrics.Accumulator // of the members
	alone   bool                    // nobody takes the means
	workers []*worker
	shape   shape
	failed  bool
	end     error // what Next returns from now on
	audit   metrics.Audit
	pool    sync.Pool
}

// Fold returns a Source of the mean probabilities of an ensemble, which feeds the accumulators on the way. Its chunks are
// Probs with the members' labels, weights and row numbers, of float32 or float64 as the package's text says. A row that was
// left out (Options.Drop) is NaN in them: a Pass with Drop leaves it out too, and counts it. o may be nil.
//
// With Next's io.EOF the accumulators have all rows; before that, and with any other error, they have none. Bad rows are an
// error that wraps the *MemberError of the member with the first of them, "member 3: row 17: ...", and a *metrics.DataError of
// the labels and weights, which all members share. With Drop a row that is bad in one member is left out of all.
func Fold(src metrics.MemberSource, o *Options, accs ...Accumulator) *Folded {
	f := &Folded{src: src, accs: accs}
	if o != nil {
		f.opt = *o
	}
	return f
}

// Run feeds the accumulators with all the rows of an ensemble, where nobody wants the mean as a model of its own. See Fold.
// o may be nil.
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

// Audit returns what is known of the members' rows once Next has returned an error: a row counts once, however many members
// there are, but SumsOff counts those of each member.
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

// take works on a chunk and returns its mean, nil if nobody takes it.
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

// begin makes the workers, when the number of members is known.
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

// work hands out the rows of a chunk to the workers, and writes their mean to mean.
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

// finish merges what the workers have, all or nothing, and returns io.EOF or what is wrong.
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
	f.audit.Rows, f.audit.Dropped, f.audit.Absent = 0, 0, 0
	for _, w := range f.workers {
		f.audit.Rows += w.rows
		f.audit.Dropped += w.dropped
		f.audit.Absent += w.absent
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
	// An accumulator refuses a merge if it has seen unlike members elsewhere: that is tried on copies before anything changes.
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

// merger is what the accumulators of both kinds have.
type merger[A any] interface{ Merge(A) error }

func mergeAll[A merger[A]](to, from []A) error {
	for i, a := range to {
		if err := a.Merge(from[i]); err != nil {
			return err
		}
	}
	return nil
}

// tryAll tells whether mergeAll would succeed.
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
