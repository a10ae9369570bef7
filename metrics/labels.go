package metrics

// LabelChunk is a run of consecutive rows of several independent labels: row i has a score for each of Classes labels, and beside it
// a 0 or 1 for each. No row's scores have a certain sum. It is a view: nothing in it is kept or changed.
type LabelChunk struct {
	Scores              // a column for each label
	Kind        Kind    // Probs, Logits (of which a probability is the sigmoid) or LogProbs
	Labels      []int32 // of row i: Labels[i*LabelStride : i*LabelStride+Classes]
	Weights     []float64
	First       int64 // number of the chunk's first row in the whole set
	LabelStride int   // 0 means Classes
	// Recycle, if set, is called once when nothing reads the chunk's slices any more, from any goroutine.
	Recycle func()
}

// LabelSource yields the rows of several labels in order, as a Source does those of one: all chunks have the same number of labels,
// type and kind, with weights or without.
type LabelSource interface {
	Next() (*LabelChunk, error)
}
