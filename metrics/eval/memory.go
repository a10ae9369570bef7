package eval

import (
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Extent is the size of what is to be evaluated, as far as it is known in advance.
type Extent struct {
	Rows     int64         // negative if unknown
	Out      int64         // out-of-distribution rows, likewise
	DType    metrics.DType // of the probabilities in blocks: Float64 if rows are divided by their sums
	Weighted bool
}

const (
	evaluationBytes = 8 << 10  // an evaluation with its accumulators of fixed size
	jointBytes      = 16 << 10 // an accumulator over all members, or one that is no Sizer
	sortedBytes     = 96 << 10 // sorted rows of samples
	binBytes        = 640      // a bin in an answer: its cell, interval and band
	blockBytes      = 1 << 19  // what is kept of a block
)

// account is the memory of accumulators in bytes.
type account struct {
	all     int64
	largest int64 // the largest one
	cells   int64
}

func (a *account) add(one any, x metrics.Extent) {
	n := int64(jointBytes)
	if x.Kind == metrics.Samples {
		n += sortedBytes + 32*int64(x.Classes)
	}
	if s, ok := one.(metrics.Sizer); ok {
		n = s.Size(x)
	}
	a.all += n
	a.largest = max(a.largest, n)
	if _, ok := one.(*cells.Cells); ok {
		a.cells += n
	}
}

// share adds a part of an accumulator whose parts keep no more than the whole, but for a block each.
func (a *account) share(one metrics.Sharer, whole metrics.Extent, parts int64) {
	var all account
	all.add(one, whole)
	n := (all.all+parts-1)/parts + blockBytes
	a.all += n
	a.largest = max(a.largest, n)
}

// account returns the memory for an evaluation of one of parts equal parts of the rows.
func (e *Evaluation) account(x Extent, parts int64) (a account) {
	in := metrics.Extent{Rows: x.Rows, Classes: e.Spec.Classes, Kind: e.Spec.Kind, DType: x.DType, Weighted: x.Weighted}
	away, whole := in, in
	away.Rows = x.Out
	for _, r := range []*int64{&in.Rows, &away.Rows} {
		if *r >= 0 {
			*r = (*r + parts - 1) / parts
		}
	}
	a.all = evaluationBytes
	for _, acc := range e.Accumulators() {
		if s, ok := acc.(metrics.Sharer); ok && parts > 1 {
			a.share(s, whole, parts)
			continue
		}
		a.add(acc, in)
	}
	for i, k := range e.plan.statistics {
		switch k.fed {
		case out:
			a.add(e.statistics[i], away)
		case joint:
			a.add(e.statistics[i], in)
		}
	}
	for _, m := range e.each {
		a.all += m.account(x, parts).all
	}
	return a
}

// Size estimates the bytes of the evaluation after rows of this extent.
func (e *Evaluation) Size(x Extent) int64 { return e.account(x, 1).all }

// Held estimates the bytes of the evaluation after this many more rows; those of the extent do not matter. For what its metrics keep of rows,
// it goes by what they have kept so far, and so tells far less than Size where scores repeat, or are many.
func (e *Evaluation) Held(more int64, x Extent) int64 {
	x.Rows = e.Audit.Rows + more
	n := e.Size(x)
	in := metrics.Extent{Rows: x.Rows, Classes: e.Spec.Classes, Kind: e.Spec.Kind, DType: x.DType, Weighted: x.Weighted}
	for _, a := range e.Accumulators() {
		if h, ok := a.(metrics.Holder); ok {
			n += h.Held(more, in) - h.Size(in)
		}
	}
	return n
}

// Need estimates the most bytes needed to read rows of this extent with this many threads and to compute the answers. Each
// thread has accumulators of its own, which are merged at the end.
func (e *Evaluation) Need(x Extent, threads int) int64 {
	whole := e.account(x, 1)
	reading := whole.largest
	if threads > 1 {
		reading += int64(threads) * e.account(x, int64(threads)).all
	} else {
		reading = whole.all
	}
	// Answers may convert cells from the positive class to the top label, or sort some classes. A state is written one
	// accumulator at a time.
	return max(reading, whole.all+max(whole.largest, whole.cells)+e.answerBytes())
}

// answerBytes returns the memory of bins that are made from cells.
func (e *Evaluation) answerBytes() (n int64) {
	seen := map[binning]bool{}
	for _, m := range e.Spec.Metrics {
		d := e.Spec.describe(m)
		if d.event == nil || d.uncut {
			continue
		}
		b := *e.binning(m)
		if b.norm = l1; !seen[b] {
			seen[b] = true
			n += int64(b.Bins) * binBytes
		}
	}
	return n
}
