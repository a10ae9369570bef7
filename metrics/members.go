package metrics

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
type Walker struct{ w *worker }

// NewWalker returns a Walker that calls f with each block of rows that are good. need is what the blocks are to carry. opt may be
// nil; its Threads have no say. What a block holds is gone when f returns.
func NewWalker(opt *Options, need Need, f func(b *Block)) *Walker { panic("not yet") }

// Add checks the rows of a chunk and hands them on. Rows after a bad one, which is an error, are checked alone.
func (w *Walker) Add(c *Chunk) { panic("not yet") }

// Err returns the *DataError of the bad rows so far, nil if there were none or Options.Drop leaves them out.
func (w *Walker) Err() error { panic("not yet") }

// Audit returns what was seen so far.
func (w *Walker) Audit() Audit { panic("not yet") }
