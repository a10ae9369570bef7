package metrics

// LabelChunk is a run of consecutive rows of a multi-label task. Each row has, for each of Classes independent labels, a
// score and an outcome 0 or 1. The scores of a row need not sum to anything in particular. The chunk is a view: its data are
// neither kept nor changed.
type LabelChunk struct {
	Scores              // one column per label
	Kind        Kind    // Probs, Logits (probability = sigmoid) or LogProbs
	Labels      []int32 // row i: Labels[i*LabelStride : i*LabelStride+Classes]
	Weights     []float64
	First       int64 // number of the chunk's first row in the whole data set
	LabelStride int   // 0 means Classes
	// Recycle, if set, is called once, from any goroutine, when the chunk's slices are no longer read.
	Recycle func()
}

// LabelSource yields the rows of a multi-label task in order, with the contract of Source. All chunks agree in number of
// labels, type, kind, and presence of weights.
type LabelSource interface {
	Next() (*LabelChunk, error)
}

// HasNegative reports whether a label is below 0, as Ignored is.
func HasNegative(labels []int32) bool {
	var a, b int32 // which do not wait for each other
	for ; len(labels) >= 8; labels = labels[8:] {
		l := (*[8]int32)(labels)
		a |= l[0] | l[1] | l[2] | l[3]
		b |= l[4] | l[5] | l[6] | l[7]
	}
	for _, y := range labels {
		a |= y
	}
	return a|b < 0
}
