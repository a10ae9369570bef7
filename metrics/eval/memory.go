package eval

import (
	"fmt"
	"strings"
	"sync"

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
	valueBytes      = 1 << 10  // a metric of a group, in the cache and in a document
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

// account returns the memory for an evaluation of one of parts equal parts of the rows.
func (e *Evaluation) account(x Extent, parts int64) (a account) {
	in := metrics.Extent{Rows: x.Rows, Classes: e.Spec.Classes, Kind: e.Spec.Kind, DType: x.DType, Weighted: x.Weighted}
	away := in
	away.Rows = x.Out
	for _, r := range []*int64{&in.Rows, &away.Rows} {
		if *r >= 0 {
			*r = (*r + parts - 1) / parts
		}
	}
	a.all = evaluationBytes
	for _, acc := range e.accumulators() {
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

// Room limits the memory of groups, whose number is unknown before the rows are read. The zero value sets no limit.
type Room struct {
	Bytes  int64  // for all groups and for all rows; 0 sets no limit
	Extent Extent // of all rows
	// Remedy returns what the caller must do to allow this many bytes.
	Remedy func(bytes int64) string
}

// groupRoom tracks the memory of groups while rows are read.
type groupRoom struct {
	Room
	threads int
	whole   *Evaluation // without rows
	mu      sync.Mutex
	groups  int
	rows    int64
	each    int64 // bytes of the groups of all threads
	counted int64 // rows for which all is the size of the evaluation of all rows
	all     int64
}

// take records a chunk of this many rows, whose groups need this many more bytes and number at most most. It reports whether
// there is room.
func (r *groupRoom) take(rows, bytes int64, most int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.each, r.groups = r.rows+rows, r.each+bytes, max(r.groups, most)
	if r.rows > r.counted {
		x := r.Extent
		r.counted = r.rows + r.rows/4
		if x.Rows >= 0 {
			r.counted = min(r.counted, max(r.rows, x.Rows))
		}
		x.Rows = r.counted
		// The groups are merged by halves.
		r.all = max(2*r.whole.Size(x), r.whole.Need(x, 1))
	}
	return r.Bytes == 0 || r.need() <= r.Bytes
}

func (r *groupRoom) need() int64 {
	return r.each + int64(r.groups)*int64(len(r.whole.Spec.Metrics))*valueBytes + r.all
}

// err returns the error for missing room, with an estimate of the memory if no more groups appear.
func (r *groupRoom) err(columns []string) error {
	need, n := 2*r.need(), int64(r.groups)
	if x := r.Extent; x.Rows >= 0 {
		whole := max(2*r.whole.Size(x), r.whole.Need(x, 1))
		x.Rows = max(256, x.Rows/n*5/4+1) // as a groupSize counts them
		need = int64(r.threads)*n*r.whole.account(x, int64(r.threads)).all + n*int64(len(r.whole.Spec.Metrics))*valueBytes + whole
	}
	remedy := "give it more"
	if r.Remedy != nil {
		remedy = r.Remedy(need)
	}
	return &RoomError{fmt.Sprintf("by %s rows are in %d groups or more, and these metrics of each take more memory than there is: %s",
		strings.Join(columns, ", "), r.groups, remedy)}
}

// groupSize tracks the memory of the evaluation of a group.
type groupSize struct{ rows, counted, bytes int64 }

// add returns how many more bytes it needs for additional rows.
func (s *groupSize) add(rows int64, e *Evaluation, x Extent) int64 {
	if s.rows += rows; s.rows <= s.counted {
		return 0
	}
	s.counted = max(256, s.rows+s.rows/4)
	x.Rows = s.counted
	was := s.bytes
	s.bytes = e.Size(x)
	return s.bytes - was
}
