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

// SortOptions say which scores are sorted and how the rows are read. The zero value is the event by shape, all checks and all threads.
type SortOptions struct {
	Event metrics.Event   // whose probability the score is; AllClasses is not one of these
	Data  metrics.Options // threads, bad rows, renormalisation
	// Into, unless it is nil, becomes the answer: what it was is gone, also after an error, and its memory is used again. It keeps
	// what a sort needs besides, so that a next one of as many rows allocates next to nothing.
	Into *Sorted
}

// Sorted is the scores and outcomes of rows that are in memory, in rising order, each distinct score a cell of its own however many
// there are. It is no state: it does not merge and takes no weights. Many goroutines may ask it.
//
//	bytes a row                                  held   while it is made
//	binary float32 probabilities of Positive      4.5                8.6
//	one logit or log-probability a row           16.5               24.1
//	all others, and those of which a row is bad   8.5               16.1
//
// besides some 2 MiB and, by more than one thread, what order.Sort takes for each. What Into keeps is held too. Pairs, Gaps, Squares
// and Each take nothing, and Fit 32 bytes for each pool and for each of every 64th row.
//
// A walk takes 64 rows together, by the bits of their outcomes and of the ends of cells. Gaps and the fit look at single rows only
// where these may count.
type Sorted struct {
	narrow   []uint32 // what kernel.HitKeysF32 makes, of float32 probabilities of the positive class; or
	long     []uint64 // key<<1 | outcome
	raw      []uint64 // the same of what scores were made of, see origin; empty if they are it
	origin   origin
	blocks   []kernel.HitBlock
	variance wide // sum p(1-p), in units of 2^-51
	event    metrics.Event
	audit    metrics.Audit
	threads  int

	keeps       bool     // what the next sort may use:
	scratch     []uint32 // of narrow keys
	longScratch []uint64
}

var errSortWeights = errors.New("cells: rows with weights are not sorted: " +
	"give them to an accumulator that New returns, or leave the weights out")

// Sort sorts predictions by their scores. The rows are checked as a Pass does it, and its error is theirs; rows with weights are an
// error. Of the caller's decisions and confidence scores what Cells says is true here too. The event AllClasses, and
// Positive of more than two classes, are errors. o may be nil.
//
// Binary float32 probabilities are sorted by 32 bits, without the columns of a Pass; all others by 64.
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
	// Wrong shapes are the Pass's to find, and so is what is wrong with a row.
	if s.plain(p) && s.sortPlain(p, &opt.Data) {
		return s, nil
	}
	if err := s.sortAny(p, &opt); err != nil {
		s.long, s.raw, s.blocks, s.audit = s.long[:0], s.raw[:0], s.blocks[:0], metrics.Audit{}
		return nil, err
	}
	return s, nil
}

// plain tells whether predictions are binary float32 probabilities, side by side, of the event asked for.
func (s *Sorted) plain(p *metrics.Predictions) bool {
	return p.Rows > 0 && p.Classes == 1 && p.Stride <= 1 && len(p.F32) >= p.Rows && p.F64 == nil && p.F16 == nil && p.BF16 == nil &&
		p.Kind == metrics.Probs && len(p.Labels) == p.Rows && p.Decisions == nil && p.ConfidenceScores == nil &&
		s.event == metrics.Positive
}

// ones tells kernel.Hits which label is a hit.
var ones = slices.Repeat([]int32{1}, kernel.MaxSum)

// sortPlain sorts such predictions; false where some row is bad. Keys are made where the sort reads them, and blocks where it
// has put them into place, while they are in a cache.
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
	var borders []int // first keys of the blocks that parts end in
	done := func(first, end int) {
		if bad.Load() {
			return
		}
		variance := wide{}
		for i := first; i < end; i += step {
			// From 1/2 on p - p*p is q - q*q, which float64 holds exactly: it is that of the cells.
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

// hitBlocks makes the blocks of narrow keys, of whole blocks or up to the last one.
func (s *Sorted) hitBlocks(from, to int) {
	blocks := s.blocks[from/64 : (to+63)/64]
	kernel.HitBlocksF32(blocks, s.narrow[from:to])
	if to < len(s.narrow) && s.narrow[to]>>1 == s.narrow[to-1]>>1 {
		blocks[len(blocks)-1].Ends &^= 1 << 63 // the cell goes on in the next block
	}
}

// binary tells whether all labels are 0 or 1.
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
		s.long[i] = math.MaxUint64 // of a row that is left out
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

// sortLong sorts the keys, of which those of rows that are left out are the largest, and makes their blocks.
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
			variance := uint64(0) // up to 2^49 a row
			from, to := c*chunkRows, min((c+1)*chunkRows, n)
			for _, k := range s.long[from:to] {
				q, _ := distance(k >> 1)
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

// chunkRows is how many rows are made blocks together.
const chunkRows = 1 << 14

// hitBlock is what kernel.HitBlocksF32 makes, of the first n keys.
func hitBlock(keys []uint64, n int) (h kernel.HitBlock) {
	for i, k := range keys[:n] {
		q, upper := distance(k >> 1)
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

// gather takes the keys of rows to the places that their numbers give them. It is no state.
type gather struct {
	event metrics.Event
	keys  []uint64
	raw   []uint64 // nil unless they are wanted
	cols  columns
}

func (g *gather) Needs() metrics.Need { return metrics.NeedLogit }
func (g *gather) Empty() metrics.Accumulator {
	return &gather{event: g.event, keys: g.keys, raw: g.raw}
}

func (g *gather) AddBlock(b *metrics.Block) {
	p, tail, hit := g.cols.of(b, g.event)
	for i, v := range p {
		if k := key(v, tail[i]); k <= 2*half {
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

// room returns a slice of n elements, in the memory of x where that has so many.
func room[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// rows returns how many rows are in cells.
func (s *Sorted) rows() int { return len(s.narrow) + len(s.long) }

// distance returns the distance of a row's score from the end near to it, and whether that is the upper one.
func (s *Sorted) distance(row int) (q float64, upper bool) {
	if len(s.long) > 0 {
		return distance(s.long[row] >> 1)
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

// Len returns the number of rows seen, with those outside.
func (s *Sorted) Len() int64 { return s.audit.Rows }

// Audit returns what was seen of the rows.
func (s *Sorted) Audit() metrics.Audit { return s.audit }

// Outside returns the number of scores outside [0,1], which only unchecked predictions have: they are in no cell.
func (s *Sorted) Outside() int64 { return s.audit.Rows - int64(s.rows()) }

// Exact is true: each distinct score has its own cell.
func (s *Sorted) Exact() bool { return true }

// Weighted is false.
func (s *Sorted) Weighted() bool { return false }

// Event returns whose probability the scores are: never ByShape.
func (s *Sorted) Event() metrics.Event { return s.event }

// Count returns the number of distinct scores.
func (s *Sorted) Count() (n int) {
	for i := range s.blocks {
		n += bits.OnesCount64(s.blocks[i].Ends)
	}
	return n
}

// Each calls f for the cells in rising order of their scores. The cell is the same one each time.
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

// originOf returns what the ranks of predictions follow.
func (s *Sorted) originOf(p *metrics.Predictions) origin {
	b := metrics.Block{Classes: p.Classes, Kind: p.Kind, DType: p.DType(), Peak: []float64{}, Decisions: p.Decisions}
	return originOf(&b, s.event)
}

// Ranked is as that of Cells.
func (s *Sorted) Ranked() Ordered {
	if len(s.raw) == 0 {
		return s
	}
	return &rankedRows{s}
}

// rankedRows is rows by what their scores were made of.
type rankedRows struct{ *Sorted }

func (r *rankedRows) Count() int { return distinct(r.raw) }

func (r *rankedRows) Each(f func(*Cell)) {
	one := Cell{exact: true}
	d := newDecoder(r.origin, r.event)
	var cells []exactCell
	flush := func() {
		d.scores(len(cells), func(i int) uint64 { return cells[i].key }, func(i int, key uint64) {
			one.q, one.upper = distance(key)
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

// throughLowest returns the bits up to the lowest one that is set.
func throughLowest(x uint64) uint64 { return x ^ (x - 1) }

// throughHighest returns the bits up to the highest one that is set.
func throughHighest(x uint64) uint64 { return ^uint64(0) >> bits.LeadingZeros64(x) }
