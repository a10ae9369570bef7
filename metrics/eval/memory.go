package eval

import (
	"fmt"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// Extent is how much there is to evaluate, as far as it is known before it is read.
type Extent struct {
	Rows     int64         // below 0 if nobody knows
	Out      int64         // out-of-distribution rows, likewise
	DType    metrics.DType // of the probabilities that are handed out: Float64 where rows are divided by their sums
	Weighted bool
}

const (
	evaluationBytes = 8 << 10  // of an evaluation, and its accumulators that do not grow
	jointBytes      = 16 << 10 // of an accumulator of all members, and others that do not say
	sortedBytes     = 96 << 10 // of rows of samples in their order
	binBytes        = 640      // of a bin in an answer: its cell, interval and band
	valueBytes      = 1 << 10  // of a metric of a group, as it is remembered and as a document has it
)

// account is how many bytes accumulators take.
type account struct {
	all     int64
	largest int64 // of them
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

// account returns that of the evaluation of a part of the rows, 1/parts of them.
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
	for i, k := range e.plan.more {
		switch k.fed {
		case out:
			a.add(e.more[i], away)
		case joint:
			a.add(e.more[i], in)
		}
	}
	for _, m := range e.each {
		a.all += m.account(x, parts).all
	}
	return a
}

// Size returns about how many bytes the evaluation takes when it has seen rows of that extent.
func (e *Evaluation) Size(x Extent) int64 { return e.account(x, 1).all }

// Need returns about how many bytes it takes at most to read rows of that extent with so many threads, and to answer then. Each thread
// keeps accumulators of its own, which are merged at the end.
func (e *Evaluation) Need(x Extent, threads int) int64 {
	whole := e.account(x, 1)
	reading := whole.largest
	if threads > 1 {
		reading += int64(threads) * e.account(x, int64(threads)).all
	} else {
		reading = whole.all
	}
	// An answer turns cells from the event's to the top label's, or sorts some classes; a state is written accumulator by accumulator.
	return max(reading, whole.all+max(whole.largest, whole.cells)+e.answerBytes())
}

// answerBytes is what bins take that are made of cells.
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

// Room bounds the memory of groups, whose number nobody knows before they are read. The zero value is no bound.
type Room struct {
	Bytes  int64  // of all groups and of all rows; 0 for no bound
	Extent Extent // of all rows
	// Remedy says what the caller is to do for there to be so many bytes.
	Remedy func(bytes int64) string
}

// groupRoom counts what groups take while they are read.
type groupRoom struct {
	Room
	threads int
	whole   *Evaluation // without rows
	mu      sync.Mutex
	groups  int
	rows    int64
	each    int64 // bytes of the groups of all threads
	counted int64 // rows up to which all is the size of the evaluation of all rows
	all     int64
}

// take tells whether there is room for more: of a chunk of so many rows, in groups up to most, whose evaluations take so many bytes more.
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
		// Groups are merged into all rows by halves.
		r.all = max(2*r.whole.Size(x), r.whole.Need(x, 1))
	}
	return r.Bytes == 0 || r.need() <= r.Bytes
}

func (r *groupRoom) need() int64 {
	return r.each + int64(r.groups)*int64(len(r.whole.Spec.Metrics))*valueBytes + r.all
}

// err says that there is no room, and how much the rows take if they are in no more groups.
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

// groupSize is how many bytes the evaluation of a group takes, up to so many rows.
type groupSize struct{ rows, counted, bytes int64 }

// add returns how many bytes more it takes with more rows.
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
