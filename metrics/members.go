package metrics

import (
	"errors"
	"sync/atomic"
)

// Members holds the scores that an ensemble, several models or several draws from one, gave for the same rows. It is a view:
// its data are neither kept nor changed.
type Members struct {
	Each    []Scores // of one type, with equal Rows and Classes
	Kind    Kind     // Probs, Logits or LogProbs
	Labels  []int32  // as in Predictions
	Weights []float64
}

// MemberChunk is a run of consecutive rows, with the scores of all members.
type MemberChunk struct {
	Members
	First int64 // number of the chunk's first row in the whole data set
	// Numbers, if set, holds row numbers relative to First, as in Chunk. Only the means of the members have them: errors number rows from First on.
	Numbers []int32
	// Groups, if set, holds the group number of each row.
	Groups []int32
	// Recycle, if set, is called once, from any goroutine, when the chunk's slices are no longer read.
	Recycle func()
}

// MemberSource yields the rows of an ensemble in order, with the contract of Source. All chunks agree in number of members,
// classes, type and kind.
type MemberSource interface {
	Next() (*MemberChunk, error)
}

// Walker checks predictions and passes them on block by block, like a Pass, but on the goroutine of the caller.
type Walker struct {
	w      *worker
	failed atomic.Bool
	taken  Audit // last nonempty result of Take
}

// NewWalker returns a Walker that calls f with each block of good rows. need selects the columns of the blocks. opt may be
// nil; Threads is ignored. f must not keep any part of a block beyond the next one.
func NewWalker(opt *Options, need Need, f func(b *Block)) *Walker {
	p := &Pass{need: need}
	if opt != nil {
		p.opt = *opt
	}
	w := &Walker{}
	w.w = newWorker(p, []Accumulator{handOn{f}}, &w.failed)
	w.w.whole = true
	return w
}

// Add checks the rows of a chunk and passes them on. After a bad row that Options.Drop does not allow, it only checks
// further rows; see Err. It panics if a chunk has an inconsistent shape or differs from earlier chunks in shape or kind.
func (w *Walker) Add(c *Chunk) {
	if err := c.checkChunk(); err != nil {
		panic("metrics: " + err.Error())
	}
	if c.Rows > 0 && w.w.audit.Classes != 0 {
		a, b := c.shape(), w.w.audit
		b.Renormalized, b.Unchecked = false, false
		if b.Merge(&a) != nil {
			panic(errChunks)
		}
	}
	w.w.add(c)
}

// TilesIn makes the Walker write the tiles of its blocks to the beginning of these slices, where they fit. Thus the tiles of
// several Walkers can be adjacent. Tiles that are views of the scores stay views.
func (w *Walker) TilesIn(f32 []float32, f64 []float64) { w.w.tile32, w.w.tile = f32, f64 }

// Terms sets whether tiles of float32 logits may stay unnormalized, as kernel.LogitTermsF32 leaves them, where that is
// faster. Such tiles have Tile.Scale set.
func (w *Walker) Terms(may bool) { w.w.terms = may }

// Err returns a *DataError with the bad rows so far. It returns nil if there were none or Options.Drop leaves them out.
func (w *Walker) Err() error {
	l := w.w.bad.list()
	if len(l) == 0 || w.w.opt.Drop {
		return nil
	}
	a := &w.w.audit
	if a.Classes == 0 {
		a = &w.taken
	}
	return &DataError{Rows: w.w.seen, Kind: a.Kind, Classes: a.Classes, Faults: l}
}

// Audit returns the audit of the rows so far.
func (w *Walker) Audit() Audit { return w.w.audit }

// Take returns the audit and resets it, so that one Walker can process several data sets in turn. Err is not reset.
func (w *Walker) Take() Audit {
	a := w.w.audit
	if a.Classes != 0 {
		w.taken = a
	}
	w.w.audit = Audit{Renormalized: a.Renormalized, Unchecked: a.Unchecked}
	return a
}

// handOn is the only accumulator of a Walker. It keeps no state.
type handOn struct{ f func(*Block) }

func (h handOn) Needs() Need                           { return 0 }
func (h handOn) Empty() Accumulator                    { return h }
func (h handOn) AddBlock(b *Block)                     { h.f(b) }
func (h handOn) Merge(Accumulator) error               { return nil }
func (h handOn) Len() int64                            { return 0 }
func (h handOn) AppendBinary(b []byte) ([]byte, error) { return b, errHandOn }
func (h handOn) UnmarshalBinary([]byte) error          { return errHandOn }

var errHandOn = errors.New("metrics: a walk has no state")
