package cells

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/pool"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// SortOptions select the scores and how rows are read. The zero value is the event ByShape, all checks and all threads.
type SortOptions struct {
	Event metrics.Event   // event whose probability is the score; AllClasses is not allowed
	Data  metrics.Options // threads, bad rows, renormalization
	// Into, if not nil, receives the result. Its former contents are lost, also after an error, and its memory is reused. It
	// also keeps the memory for sorting, so that a further sort of as many rows allocates almost nothing.
	Into *Sorted
}

// Sorted holds the scores and outcomes of rows in memory, in ascending order, with a cell for each distinct score, whatever
// their number. It has no state, does not merge and does not support weights. It is safe for concurrent use.
//
//	bytes per row                                held   while sorting
//	binary float32 probabilities of Positive      4.5             8.6
//	one logit or log-probability per row         16.5            24.1
//	all others, and any with a bad row            8.5            16.1
//
// In addition it takes about 2 MiB, and with several threads the memory of order.Sort for each. Memory kept by Into is held
// too. Pairs, Gaps, Squares and Each need no memory. Fit needs 32 bytes for each pool and for every 64th row.
//
// Walks process 64 rows at once, using the bits of their outcomes and of the ends of cells. Gaps and Fit look at single rows
// only where these can matter.
type Sorted struct {
	narrow   []uint32 // keys of kernel.HitKeysF32, for float32 probabilities of the positive class
	long     []uint64 // keys of all other scores: key<<1 | outcome
	raw      []uint64 // the same for what the scores were computed from, see origin; empty if that is the scores
	origin   origin
	blocks   []kernel.HitBlock
	variance wide // sum p(1-p), in units of 2^-51
	event    metrics.Event
	audit    metrics.Audit
	threads  int

	keeps       bool     // keep the memory below for the next sort
	scratch     []uint32 // for narrow keys
	longScratch []uint64
}

var errSortWeights = errors.New("cells: rows with weights are not sorted: " +
	"give them to an accumulator that New returns, or leave the weights out")

// Sort sorts predictions by score. Rows are checked as in a Pass, with the same errors. Weights are an error. The caller's
// decisions and confidence scores are treated as in Cells. The event AllClasses is an error, and so is Positive with more than
// two classes. o may be nil.
//
// Binary float32 probabilities are sorted as 32-bit keys without the columns of a Pass, all others as 64-bit keys.
func Sort(p *metrics.Predictions, o *SortOptions) (*Sorted, error) {
	var opt SortOptions
	if o != nil {
		opt = *o
	}
	if opt.Event > metrics.Positive {
		return nil, errors.New(errEvent)
	}
	if opt.Event == metrics.Positive && p.Classes > 2 {
		return nil, fmt.Errorf("%w: %s", metrics.ErrMismatch, errPositive)
	}
	if p.Weights != nil {
		return nil, errSortWeights
	}
	s := opt.Into
	if s == nil {
		s = &Sorted{}
	}
	s.variance = wide{}
	s.event, s.threads, s.keeps = opt.Event.Resolve(p.Classes), opt.Data.Threads, opt.Into != nil
	// The Pass reports wrong shapes and bad rows.
	if s.plain(p) && s.sortPlain(p, &opt.Data) {
		return s, nil
	}
	if err := s.sortAny(p, &opt); err != nil {
		s.long, s.raw, s.blocks, s.audit = s.long[:0], s.raw[:0], s.blocks[:0], metrics.Audit{}
		return nil, err
	}
	return s, nil
}

// plain reports whether the predictions are contiguous binary float32 probabilities of the selected event.
func (s *Sorted) plain(p *metrics.Predictions) bool {
	return p.Rows > 0 && p.Classes == 1 && p.Stride <= 1 && len(p.F32) >= p.Rows && p.F64 == nil && p.F16 == nil && p.BF16 == nil &&
		p.Kind == metrics.Probs && len(p.Labels) == p.Rows && p.Decisions == nil && p.ConfidenceScores == nil &&
		s.event == metrics.Positive
}

// ones makes label 1 the hit of kernel.Hits.
var ones = slices.Repeat([]int32{1}, kernel.MaxSum)

// sortPlain sorts such predictions. It returns false if a row is bad. Keys are computed as the sort reads them, and blocks as
// it puts keys into place, while they are in a cache.
func (s *Sorted) sortPlain(p *metrics.Predictions, o *metrics.Options) bool {
	const step = kernel.MaxSum
	n := p.Rows
	s.narrow, s.long, s.raw, s.blocks = room(s.narrow, n), s.long[:0], s.raw[:0], room(s.blocks, (n+63)/64)
	s.scratch = room(s.scratch, kernel.SortScratch(n))
	var bad atomic.Bool
	read := func(keys []uint32, first int) {
		var room [step]uint8
		for len(keys) > 0 {
			m := min(step, len(keys))
			labels, hit := p.Labels[first:first+m], room[:m]
			kernel.Hits(hit, labels, ones[:m])
			if kernel.HitKeysF32(keys[:m], p.F32[first:first+m], hit) > 0 || !binary(labels) {
				bad.Store(true)
			}
			keys, first = keys[m:], first+m
		}
	}
	var merge sync.Mutex
	var borders []int // first keys of the blocks in which parts end
	done := func(first, end int) {
		if bad.Load() {
			return
		}
		variance := wide{}
		for i := first; i < end; i += step {
			// From 1/2 on p - p*p equals q - q*q, which float64 holds exactly, so this is the variance of the cells.
			t, _ := kernel.HitSum(s.narrow[i:min(i+step, end)])
			variance = variance.plus(wide{0, uint64(t.P - t.PP)})
		}
		border := (end - 1) &^ 63
		if from := (first + 63) &^ 63; from < border {
			s.hitBlocks(from, border)
		}
		merge.Lock()
		s.variance = s.variance.plus(variance)
		borders = append(borders, border)
		merge.Unlock()
	}
	order.SortFrom(s.narrow, s.scratch, s.threads, read, done)
	if !s.keeps {
		s.scratch = nil
	}
	if bad.Load() {
		if s.narrow, s.blocks, s.variance = s.narrow[:0], s.blocks[:0], (wide{}); !s.keeps {
			s.narrow = nil
		}
		return false
	}
	for _, from := range borders {
		s.hitBlocks(from, min(from+64, n))
	}
	s.audit = metrics.Audit{Rows: int64(n), Classes: 1, DType: metrics.Float32, Renormalized: o.Renormalize, Unchecked: o.Unchecked}
	return true
}

// hitBlocks computes the blocks of narrow keys, for whole blocks or up to the last one.
func (s *Sorted) hitBlocks(from, to int) {
	blocks := s.blocks[from/64 : (to+63)/64]
	kernel.HitBlocksF32(blocks, s.narrow[from:to])
	if to < len(s.narrow) && s.narrow[to]>>1 == s.narrow[to-1]>>1 {
		blocks[len(blocks)-1].Ends &^= 1 << 63 // the cell continues in the next block
	}
}

// binary reports whether all labels are 0 or 1.
func binary(labels []int32) bool {
	var a, b, c, d int32
	for ; len(labels) >= 4; labels = labels[4:] {
		a |= labels[0]
		b |= labels[1]
		c |= labels[2]
		d |= labels[3]
	}
	for _, v := range labels {
		a |= v
	}
	return a|b|c|d <= 1 && a|b|c|d >= 0
}

// sortAny sorts any predictions.
func (s *Sorted) sortAny(p *metrics.Predictions, o *SortOptions) error {
	n := max(0, p.Rows)
	s.narrow, s.long = s.narrow[:0], room(s.long, n)
	for i := range s.long {
		s.long[i] = math.MaxUint64 // for rows that are left out
	}
	g := &gather{event: o.Event, keys: s.long}
	if s.raw, s.origin = s.raw[:0], s.originOf(p); s.origin != ofScores {
		s.raw = room(s.raw, n)
		for i := range s.raw {
			s.raw[i] = math.MaxUint64
		}
		g.raw = s.raw
	}
	pass := metrics.NewPass(&o.Data, g)
	if err := pass.Add(p); err != nil {
		return err
	}
	s.audit = pass.Audit()
	s.longScratch = room(s.longScratch, kernel.SortScratch(n))
	s.sortLong()
	return nil
}

// sortLong sorts the keys and computes their blocks. Rows that are left out have the largest key.
func (s *Sorted) sortLong() {
	order.Sort(s.long, s.longScratch, s.threads)
	n, _ := slices.BinarySearch(s.long, math.MaxUint64)
	s.long = s.long[:n]
	if s.origin != ofScores {
		order.Sort(s.raw, s.longScratch, s.threads)
		s.raw = s.raw[:n]
	}
	if !s.keeps {
		s.longScratch = nil
	}
	s.blocks = room(s.blocks, (n+63)/64)
	var merge sync.Mutex
	pool.Each(s.threads, (n+chunkRows-1)/chunkRows, func() func(int) {
		return func(c int) {
			variance := uint64(0) // at most 2^49 per row
			from, to := c*chunkRows, min((c+1)*chunkRows, n)
			for _, k := range s.long[from:to] {
				q, _ := tally.Distance(k >> 1)
				variance += tally.Units(q) - tally.Units(float64(q*q))
			}
			for ; from < to; from += 64 {
				s.blocks[from/64] = hitBlock(s.long[from:], min(64, to-from))
			}
			merge.Lock()
			s.variance = s.variance.plus(wide{0, variance})
			merge.Unlock()
		}
	})
}

// chunkRows is the number of rows whose blocks are computed at once.
const chunkRows = 1 << 14

// hitBlock computes the block of the first n keys, as kernel.HitBlocksF32 does for narrow keys.
func hitBlock(keys []uint64, n int) (h kernel.HitBlock) {
	for i, k := range keys[:n] {
		q, upper := tally.Distance(k >> 1)
		hit := k & 1
		near, far := squares(q)
		if upper != (hit == 1) {
			near = far
		}
		h.Square += int64(near)
		h.Gap += int64(scoreUnits(q, upper) - hit<<51)
		h.Hits |= hit << i
		if i+1 == len(keys) || keys[i+1]>>1 != k>>1 {
			h.Ends |= 1 << i
		}
	}
	return h
}

// gather stores the keys of rows at the index given by the rows' numbers. It cannot be saved as a state.
type gather struct {
	event metrics.Event
	keys  []uint64
	raw   []uint64 // nil if not needed
	cols  columns
}

func (g *gather) Needs() metrics.Need { return metrics.NeedLogit }
func (g *gather) Empty() metrics.Accumulator {
	return &gather{event: g.event, keys: g.keys, raw: g.raw}
}

func (g *gather) AddBlock(b *metrics.Block) {
	p, tail, hit := g.cols.of(b, g.event)
	for i, v := range p {
		if k := tally.Key(v, tail[i]); k <= 2*half {
			g.keys[b.Number(i)] = k<<1 | uint64(hit[i]&1)
			if g.raw != nil {
				g.raw[b.Number(i)] = rawEventKey(b.Peak[i], g.event.Resolve(b.Classes))<<1 | uint64(hit[i]&1)
			}
		}
	}
}

func (g *gather) Merge(metrics.Accumulator) error         { return nil }
func (g *gather) Len() int64                              { return int64(len(g.keys)) }
func (g *gather) AppendBinary(dst []byte) ([]byte, error) { return dst, errNoState }
func (g *gather) UnmarshalBinary([]byte) error            { return errNoState }

var errNoState = errors.New("cells: rows on their way to a sort are no state")

// room returns a slice of n elements, in the memory of x if that is large enough.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// rows returns the number of rows in cells.
func (s *Sorted) rows() int { return len(s.narrow) + len(s.long) }

// distance returns the distance q of a row's score from the nearer of 0 and 1, and whether that is 1.
func (s *Sorted) distance(row int) (q float64, upper bool) {
	if len(s.long) > 0 {
		return tally.Distance(s.long[row] >> 1)
	}
	p := float64(math.Float32frombits(s.narrow[row] >> 1))
	if p < 0.5 {
		return p, false
	}
	return 1 - p, true
}

// score returns a row's score.
func (s *Sorted) score(row int) float64 {
	q, upper := s.distance(row)
	if upper {
		return 1 - q
	}
	return q
}

// Len returns the number of rows seen, including those with scores outside [0,1].
func (s *Sorted) Len() int64 { return s.audit.Rows }

// Audit returns the audit of the rows.
func (s *Sorted) Audit() metrics.Audit { return s.audit }

// Outside returns the number of scores outside [0,1], which are in no cell. Only unchecked predictions have such scores.
func (s *Sorted) Outside() int64 { return s.audit.Rows - int64(s.rows()) }

// Exact returns true: each distinct score has its own cell.
func (s *Sorted) Exact() bool { return true }

// Weighted returns false.
func (s *Sorted) Weighted() bool { return false }

// Event returns the event of the scores. It is never ByShape.
func (s *Sorted) Event() metrics.Event { return s.event }

// Count returns the number of distinct scores.
func (s *Sorted) Count() (n int) {
	for i := range s.blocks {
		n += bits.OnesCount64(s.blocks[i].Ends)
	}
	return n
}

// Each calls f for the cells in ascending order of scores. f receives the same Cell each time, updated.
func (s *Sorted) Each(f func(*Cell)) {
	one := Cell{exact: true}
	from, events := 0, 0
	for b := range s.blocks {
		hits, ends := s.blocks[b].Hits, s.blocks[b].Ends
		for ; ends != 0; ends &= ends - 1 {
			upTo := throughLowest(ends)
			events += bits.OnesCount64(hits & upTo)
			hits &^= upTo
			end := b*64 + bits.TrailingZeros64(ends) + 1
			one.q, one.upper = s.distance(from)
			one.count(int64(end-from), int64(events))
			f(&one)
			from, events = end, 0
		}
		events += bits.OnesCount64(hits)
	}
}

// originOf returns the origin of the ranks of predictions.
func (s *Sorted) originOf(p *metrics.Predictions) origin {
	b := metrics.Block{Classes: p.Classes, Kind: p.Kind, DType: p.DType(), Peak: []float64{}, Decisions: p.Decisions}
	return originOf(&b, s.event)
}

// Ranked is Cells.Ranked for sorted rows.
func (s *Sorted) Ranked() Ordered {
	if len(s.raw) == 0 {
		return s
	}
	return &rankedRows{s}
}

// rankedRows presents rows by what their scores were computed from.
type rankedRows struct{ *Sorted }

func (r *rankedRows) Count() int { return distinct(r.raw) }

func (r *rankedRows) Each(f func(*Cell)) {
	one := Cell{exact: true}
	d := newDecoder(r.origin, r.event)
	var cells []exactCell
	flush := func() {
		d.scores(len(cells), func(i int) uint64 { return cells[i].key }, func(i int, key uint64) {
			one.q, one.upper = tally.Distance(key)
			one.count(cells[i].n, cells[i].y)
			f(&one)
		})
		cells = cells[:0]
	}
	runs(r.raw, func(e exactCell) {
		if cells = append(cells, e); len(cells) == decodeRows {
			flush()
		}
	})
	flush()
}

func (r *rankedRows) Pairs() Pairs {
	var d duels
	runs(r.raw, func(e exactCell) { d.add(uint64(e.n-e.y), uint64(e.y)) })
	return d.pairs()
}

// throughLowest returns a mask of the bits up to the lowest bit set.
func throughLowest(x uint64) uint64 { return x ^ (x - 1) }

// throughHighest returns a mask of the bits up to the highest bit set.
func throughHighest(x uint64) uint64 { return ^uint64(0) >> bits.LeadingZeros64(x) }
