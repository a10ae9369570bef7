package grouped

import (
	"fmt"
	"strings"
	"sync"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/internal/compact"
)

// Room limits the memory of groups, whose number is unknown before the rows are read. The zero value sets no limit.
type Room struct {
	Bytes  int64       // for all groups and for all rows; 0 sets no limit
	Extent eval.Extent // of all rows
	// Remedy returns what the caller must do to allow this many bytes.
	Remedy func(bytes int64) string
}

const (
	valueBytes = 1 << 10 // a metric of a group, in the cache and in a document
	briefBytes = 1 << 9  // a group of which only sums are kept
)

// room tracks the memory of groups while rows are read.
type room struct {
	Room
	threads  int
	whole    *eval.Evaluation // without rows
	kept     *compact.Kept
	mu       sync.Mutex
	groups   int
	weighted bool
	rows     int64
	each     int64 // bytes of the groups of all threads
	counted  int64 // rows for which all is the size of the evaluation of all rows
	all      int64
}

// take records a chunk of this many rows, whose groups need this many more bytes and number at most most. It reports whether
// there is room.
func (r *room) take(rows, bytes int64, most int, weighted bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weighted = weighted
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

// answers returns the memory of the answers for all groups.
func (r *room) answers() int64 {
	if r.groups > MostWhole {
		return int64(r.groups) * briefBytes
	}
	return int64(r.groups) * int64(len(r.whole.Spec.Metrics)) * valueBytes
}

// sums returns the memory of the sums of groups: those of each thread, and those that they are merged to.
func (r *room) sums() int64 {
	return int64(r.threads+1) * r.kept.Bytes(int64(r.groups), r.weighted)
}

func (r *room) need() int64 { return r.each + r.sums() + r.answers() + r.all }

// err returns the error for missing room, with an estimate of the memory if no more groups appear.
func (r *room) err(columns []string) error {
	need, n := 2*r.need(), int64(r.groups)
	if x := r.Extent; x.Rows >= 0 && r.groups <= MostWhole {
		whole := max(2*r.whole.Size(x), r.whole.Need(x, 1))
		x.Rows = max(256, x.Rows/n*5/4+1) // as a size counts them
		threads := int64(r.threads)
		one := x
		one.Rows = (x.Rows + threads - 1) / threads
		need = threads*n*r.whole.Size(one) + r.sums() + r.answers() + whole
	}
	remedy := "give it more"
	if r.Remedy != nil {
		remedy = r.Remedy(need)
	}
	return &eval.RoomError{Reason: fmt.Sprintf("by %s rows are in %d groups or more, and these metrics of each take more memory than there is: %s",
		strings.Join(columns, ", "), r.groups, remedy)}
}

// size tracks the memory of the evaluation of a group.
type size struct{ rows, counted, bytes int64 }

// add returns how many more bytes it needs for additional rows.
func (s *size) add(rows int64, e *eval.Evaluation, x eval.Extent) int64 {
	if s.rows += rows; s.rows <= s.counted {
		return 0
	}
	s.counted = max(256, s.rows+s.rows/4)
	x.Rows = s.counted
	was := s.bytes
	s.bytes = e.Size(x)
	return s.bytes - was
}
