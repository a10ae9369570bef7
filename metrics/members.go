package metrics

import (
	"errors"
	"sync/atomic"
)

// Members are the scores that several models, or several draws of one, gave the same rows: an ensemble. It is a view: nothing in it
// is kept or changed.
type Members struct {
	Each    []Scores // of one type, with equal Rows and Classes
	Kind    Kind     // Probs, Logits or LogProbs
	Labels  []int32  // as in Predictions
	Weights []float64
}

// MemberChunk is a run of consecutive rows of all members.
type MemberChunk struct {
	Members
	First int64 // number of the chunk's first row in the whole set
	// Recycle, if set, is called once when nothing reads the chunk's slices any more, from any goroutine.
	Recycle func()
}

// MemberSource yields the rows of an ensemble in order, as a Source does those of one model: all chunks have the same number of
// members, classes, type and kind.
type MemberSource interface {
	Next() (*MemberChunk, error)
}

// Walker checks predictions and hands them on block by block, on the caller's goroutine, as a Pass does on each of its own.
type Walker struct {
	w      *worker
	failed atomic.Bool
	taken  Audit // the last that Take returned of any rows
}

// NewWalker returns a Walker that calls f with each block of rows that are good. need is what the blocks are to carry. opt may be
// nil; its Threads have no say. What a block holds is gone when f returns.
func NewWalker(opt *Options, need Need, f func(b *Block)) *Walker {
	p := &Pass{need: need, accs: []Accumulator{handOn{f}}}
	if opt != nil {
		p.opt = *opt
	}
	w := &Walker{}
	w.w = newWorker(p, &w.failed)
	return w
}

// Add checks the rows of a chunk and hands them on. After a bad row that is an error, rows are checked and no more. Wrong shapes
// panic, and so do chunks that differ in shape or kind.
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

// TilesIn makes the Walker write the tiles of its blocks, unless they are views of scores, to the beginning of the caller's memory
// where they fit: so that the tiles of several Walkers lie beside each other.
func (w *Walker) TilesIn(f32 []float32, f64 []float64) { w.w.tile32, w.w.tile = f32, f64 }

// Terms says whether the Walker may leave tiles of float32 logits as kernel.LogitTermsF32 does, where that is faster: Tile.Scale is set
// then.
func (w *Walker) Terms(may bool) { w.w.terms = may }

// Err returns the *DataError of the bad rows so far, nil if there were none or Options.Drop leaves them out.
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

// Audit returns what was seen so far.
func (w *Walker) Audit() Audit { return w.w.audit }

// Take returns what Audit does, and forgets it: so that one Walker can hand on the rows of several sets in turn. Err stays that of all.
func (w *Walker) Take() Audit {
	a := w.w.audit
	if a.Classes != 0 {
		w.taken = a
	}
	w.w.audit = Audit{Renormalized: a.Renormalized, Unchecked: a.Unchecked}
	return a
}

// handOn is the one accumulator of a Walker. It keeps nothing, so it has no state.
type handOn struct{ f func(*Block) }

func (h handOn) Needs() Need                           { return 0 }
func (h handOn) Empty() Accumulator                    { return h }
func (h handOn) AddBlock(b *Block)                     { h.f(b) }
func (h handOn) Merge(Accumulator) error               { return nil }
func (h handOn) Len() int64                            { return 0 }
func (h handOn) AppendBinary(b []byte) ([]byte, error) { return b, errHandOn }
func (h handOn) UnmarshalBinary([]byte) error          { return errHandOn }

var errHandOn = errors.New("metrics: a walk has no state")
