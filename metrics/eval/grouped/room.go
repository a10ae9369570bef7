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

// room tracks the memory of groups while rows are read. A goroutine whose groups take much hands them over when there is little room, so
// that what many goroutines keep of a group becomes one.
type room struct {
	Room
	threads  int
	whole    *eval.Evaluation // without rows
	kept     *compact.Kept
	mu       sync.Mutex
	groups   int
	weighted bool
	rows     int64
	each     int64 // bytes of the groups of all goroutines
	flight   int64 // the most bytes by which a group grew at once, for all goroutines
	counted  int64 // rows for which all is the size of the evaluation of all rows
	all      int64

	of     []shared // by group
	over   int64    // bytes of what was handed over
	growth int64    // of all groups
}

// shared is what is known of a group whose rows several goroutines have.
type shared struct {
	rows   int64
	over   *eval.Evaluation // of rows that were handed over
	bytes  int64            // its memory
	growth int64            // by how much the evaluation with the least growth may grow when the others are merged into it
}

// part is the rows of a group in a chunk.
type part struct {
	group int32
	rows  int64
	of    *size // nil if it takes no more than was counted
}

// take records a chunk of this many rows in these parts, whose groups take this many more bytes and number at most most. It reports whether
// there is room, and whether there is so little that the goroutine, whose groups take held bytes, must hand them over.
func (r *room) take(rows int64, parts []part, bytes, held int64, most int, weighted bool) (fits, hand bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.weighted = weighted
	r.rows, r.each, r.groups = r.rows+rows, r.each+bytes, max(r.groups, most)
	if r.Bytes == 0 {
		return true, false
	}
	for len(r.of) < most {
		r.of = append(r.of, shared{})
	}
	for _, p := range parts {
		s := &r.of[p.group]
		s.rows += p.rows
		if p.of == nil {
			continue
		}
		e := s.over
		if e == nil {
			e = p.of.e
		}
		others := max(0, s.rows-e.Audit.Rows)
		growth := e.Held(1+others+others/4, r.Extent) - e.Held(0, r.Extent)
		r.growth += growth - s.growth
		s.growth = growth
	}
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
	need := r.need()
	return need <= r.Bytes, need > r.Bytes/4*3 && held > 0 && held >= r.each/int64(2*r.threads)
}

// flies records that a group grows by this many bytes at once.
func (r *room) flies(bytes int64) {
	r.mu.Lock()
	r.flight = max(r.flight, bytes*int64(r.threads))
	r.mu.Unlock()
}

// hand takes over the evaluations of a goroutine, by group, which took this many bytes. It reports whether there is room afterwards.
func (r *room) hand(each []*eval.Evaluation, bytes int64) (fits bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.each -= bytes
	for g, e := range each {
		if e == nil {
			continue
		}
		s := &r.of[g]
		if s.over == nil {
			s.over = e
		} else if err := s.over.Merge(e); err != nil {
			return false, err
		}
		was := s.bytes
		s.bytes = s.over.Held(0, r.Extent)
		r.over += s.bytes - was
		growth := s.over.Held(1+max(0, s.rows-s.over.Audit.Rows), r.Extent) - s.bytes
		r.growth += growth - s.growth
		s.growth = growth
	}
	return r.need() <= r.Bytes, nil
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

func (r *room) need() int64 {
	n := r.each + r.flight + r.over + r.sums() + r.answers() + r.all
	if r.groups <= MostWhole { // the groups are merged each by itself
		n += r.growth
	}
	return n
}

// err returns the error for missing room, with an estimate of the memory if no more groups appear.
func (r *room) err(columns []string) error {
	need, n := 2*r.need(), int64(r.groups)
	if x := r.Extent; x.Rows >= 0 && r.groups <= MostWhole {
		whole := max(2*r.whole.Size(x), r.whole.Need(x, 1))
		group := max(256, x.Rows/n*5/4+1)
		// What goroutines keep besides is handed over from three quarters on.
		each := n * r.whole.Held(group, x)
		need = (each + each/2 + r.flight + r.sums() + r.answers() + whole) / 3 * 4
	}
	remedy := "give it more"
	if r.Remedy != nil {
		remedy = r.Remedy(need)
	}
	return &eval.RoomError{Reason: fmt.Sprintf("by %s rows are in %d groups or more, and these metrics of each take more memory than there is: %s",
		strings.Join(columns, ", "), r.groups, remedy)}
}

// size tracks the memory of the evaluation of a group.
type size struct {
	e                    *eval.Evaluation
	rows, counted, bytes int64
}

// measure returns how many more bytes the group takes than were counted.
func (s *size) measure(x eval.Extent) int64 {
	was, more := s.bytes, max(256, s.rows/8)
	s.bytes, s.counted = s.e.Held(0, x), s.rows
	// Unless it is about to grow at once, it is measured again after some more rows.
	if soon := s.e.Held(more, x); soon <= s.bytes+s.bytes/4 {
		s.bytes, s.counted = soon, s.rows+more
	}
	return s.bytes - was
}
