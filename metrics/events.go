package metrics

import "github.com/candor-go/candor/kernel"

// EventAdder is an Accumulator that can do without the columns of a Block: rows of a binary task are added from their probabilities and labels.
// A Pass whose accumulators all can computes no column. What they keep is the same either way.
type EventAdder interface {
	Accumulator
	// AddsEvents reports whether the accumulator's options allow AddEvents, and returns the edges of the bins that it takes from Events.Bins,
	// nil if it takes none.
	AddsEvents() (edges []float64, ok bool)
	// AddEvents adds rows. It adds nothing and returns false if a probability is outside [0,1] or NaN, or a label is not 0 or 1.
	AddEvents(e *Events) bool
}

// Events are rows of a binary task with probabilities of class 1, at most kernel.MaxSum, that have nothing beside their labels: no weights, no
// decisions. One of F32 and F64 is set. Either has an element for each row, as Labels has.
type Events struct {
	F32    []float32
	F64    []float64
	Labels []int32

	edges []float64       // of the bins that some accumulator takes, nil if none does
	sums  []kernel.BinSum // of bins, those of the same rows if made has their edges
	made  []float64
}

// Len returns the number of rows.
func (e *Events) Len() int { return len(e.Labels) }

// Bins returns the sums of the rows by the equal-width bins with these edges, kernel.Edges. They are computed once for all accumulators with
// bins of the same number, and valid until rows are added again. ok is false if a row has a fault.
func (e *Events) Bins(edges []float64) (sums []kernel.BinSum, ok bool) {
	n := len(edges) - 1
	if len(e.made) == n+1 {
		return e.sums[:n], true
	}
	if len(e.sums) < n {
		e.sums = make([]kernel.BinSum, n)
	}
	sums = e.sums[:n]
	clear(sums)
	e.made = nil
	if e.F64 != nil {
		ok = kernel.EventBinsF64(sums, e.F64, e.Labels, edges)
	} else {
		ok = kernel.EventBinsF32(sums, e.F32, e.Labels, edges)
	}
	if ok {
		e.made = edges
	}
	return sums, ok
}

// Event returns the sums of the probabilities and labels: those of bins together, where possible of bins that some accumulator takes. ok is false if a
// row has a fault.
func (e *Events) Event() (sum kernel.BinSum, ok bool) {
	if e.edges == nil {
		e.edges = kernel.Edges(fewBins)
	}
	sums, ok := e.Bins(e.edges)
	for _, s := range sums {
		sum.N += s.N
		sum.Y += s.Y
		sum.P += s.P
		sum.PP += s.PP
		sum.PY += s.PY
	}
	return sum, ok
}

// fewBins is a number of bins that costs no more than fewer.
const fewBins = 15

// Sums returns the sums of kernel.EventSumsF32. They mean nothing if a row has a fault.
func (e *Events) Sums() kernel.EventSum {
	if e.F64 != nil {
		return kernel.EventSumsF64(e.F64, e.Labels)
	}
	return kernel.EventSumsF32(e.F32, e.Labels)
}

// addsEvents returns the accumulators as EventAdders, or nil unless all can be fed that way, and the edges of bins that one of them takes.
func addsEvents(accs []Accumulator) (l []EventAdder, edges []float64) {
	for _, a := range accs {
		e, ok := a.(EventAdder)
		if !ok {
			return nil, nil
		}
		of, ok := e.AddsEvents()
		if !ok {
			return nil, nil
		}
		if edges == nil {
			edges = of
		}
		l = append(l, e)
	}
	return l, edges
}

// events adds rows [at, at+n) of a chunk without columns. It returns false, and has added nothing, where that cannot be done: rows with a fault
// are left to what names it.
func (w *worker) events(c *Chunk, at, n, st int) bool {
	plain := w.adders != nil && c.Classes == 1 && c.Kind == Probs && st == 1 && n <= kernel.MaxSum && c.Weights == nil && c.Pair == nil && c.Decisions == nil &&
		c.ConfidenceScores == nil && c.Bytes == nil && c.Sequences == nil && c.Clusters == nil && c.Groups == nil
	if !plain {
		return false
	}
	w.plain.Labels, w.plain.made = c.Labels[at:at+n], nil
	switch c.DType() {
	case Float32:
		w.plain.F32, w.plain.F64 = c.F32[at:at+n], nil
	case Float64:
		w.plain.F32, w.plain.F64 = nil, c.F64[at:at+n]
	default:
		return false
	}
	for i, a := range w.adders {
		if !a.AddEvents(&w.plain) {
			if i > 0 {
				panic(errAdded)
			}
			return false
		}
	}
	w.audit.Rows += int64(n)
	return true
}

const errAdded = "metrics: one accumulator adds rows that another one does not"
