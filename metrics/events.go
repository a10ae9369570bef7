package metrics

import "github.com/candor-go/candor/kernel"

// EventAdder is an Accumulator that can do without the columns of a Block: rows of a binary task are added from their probabilities and labels.
// A Pass whose accumulators all can computes no column. What they keep is the same either way.
type EventAdder interface {
	Accumulator
	// AddsEvents reports whether the accumulator's options allow AddEvents.
	AddsEvents() bool
	// AddEvents adds rows. It adds nothing and returns false if a probability is outside [0,1] or NaN, or a label is not 0 or 1.
	AddEvents(e *Events) bool
}

// Events are rows of a binary task with probabilities of class 1, at most kernel.MaxSum, that have nothing beside their labels: no weights, no
// decisions. One of F32 and F64 is set. Either has an element for each row, as Labels has.
type Events struct {
	F32    []float32
	F64    []float64
	Labels []int32
}

// Len returns the number of rows.
func (e *Events) Len() int { return len(e.Labels) }

// addsEvents returns the accumulators as EventAdders, or nil unless all can be fed that way.
func addsEvents(accs []Accumulator) (l []EventAdder) {
	for _, a := range accs {
		e, ok := a.(EventAdder)
		if !ok || !e.AddsEvents() {
			return nil
		}
		l = append(l, e)
	}
	return l
}

// events adds rows [at, at+n) of a chunk without columns. It returns false, and has added nothing, where that cannot be done: rows with a fault
// are left to what names it.
func (w *worker) events(c *Chunk, at, n, st int) bool {
	plain := w.adders != nil && c.Classes == 1 && c.Kind == Probs && st == 1 && n <= kernel.MaxSum && c.Weights == nil && c.Pair == nil && c.Decisions == nil &&
		c.ConfidenceScores == nil && c.Bytes == nil && c.Sequences == nil && c.Clusters == nil && c.Groups == nil
	if !plain {
		return false
	}
	w.plain.Labels = c.Labels[at : at+n]
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
