package cells

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// origin is what keys are computed from. Near 0, 1/2 and 1, different logits may have the same float64 probability, and the
// last digit of probabilities need not follow the order of their logits. Keys of a binary task's logits and log-probabilities
// are therefore computed from these. Ranks follow them, and answers about scores combine the keys of one score.
type origin uint8

const (
	ofScores   origin = iota // probabilities, and anything with more classes
	ofLogits32               // logits in float32 or a narrower type
	ofLogits64
	ofLogProbs // log-probabilities, only for the positive class: top-label ones come from both ends
	origins
)

// originOf returns the origin of the keys of a block's rows.
func originOf(b *metrics.Block, e metrics.Event) origin {
	positive := e.Resolve(b.Classes) == metrics.Positive
	switch {
	case b.Classes != 1 || b.Peak == nil || b.Decisions != nil && !positive:
		return ofScores
	case b.Kind == metrics.LogProbs && positive:
		return ofLogProbs
	case b.Kind != metrics.Logits:
		return ofScores
	case b.DType == metrics.Float64:
		return ofLogits64
	}
	return ofLogits32
}

// logits reports whether keys are symmetric: the key of the other class is that of -z.
func (o origin) logits() bool { return o == ofLogits32 || o == ofLogits64 }

// Keys of raw scores. The key of 0 is in the middle. Each number of magnitude 2^-511 to 2^512 has its own key. Smaller
// magnitudes have the key of 0, and larger ones have one key per sign. This leaves one bit for the outcome.
const (
	zeroKey  = 1 << 62
	leastRaw = (1023 - 511) << 52 // bits of 2^-511
	mostRaw  = (1023 + 512) << 52 // bits of 2^512
	farRaw   = mostRaw - leastRaw + 1
	lastRaw  = zeroKey + farRaw
)

// rawKey returns a number that rises with the raw score. It has no jumps, since scores of both signs come in any order.
func rawKey(v float64) uint64 {
	b := math.Float64bits(v)
	sign := uint64(int64(b) >> 63) // all ones below 0
	b &^= 1 << 63
	k := b - (leastRaw - 1)
	if b >= mostRaw {
		k = farRaw
	}
	if b < leastRaw {
		k = 0
	}
	return zeroKey + (k ^ sign) - sign
}

// rawEventKey returns the key of a row's raw score; for the top label, that of its magnitude.
func rawEventKey(v float64, event metrics.Event) uint64 {
	k := rawKey(v)
	if event != metrics.Positive {
		k = max(k, mirrored(k))
	}
	return k
}

// rawOf returns the raw score of a key.
func rawOf(key uint64) float64 {
	key -= zeroKey
	sign := uint64(int64(key) >> 63)
	k := (key ^ sign) - sign
	b := k + leastRaw - 1
	if k == 0 {
		b = 0
	}
	return math.Float64frombits(b | sign<<63)
}

// mirrored returns the key of -z for the key of z.
func mirrored(key uint64) uint64 { return 2*zeroKey - key }

// decoder computes scores from raw keys with the same kernels as a Pass uses for raw scores.
type decoder struct {
	from  origin
	event metrics.Event
	stats kernel.Stats
	f64   []float64
	f32   []float32
	label []int32
}

// decodeRows is the number of scores computed at once.
const decodeRows = 1024

func newDecoder(from origin, event metrics.Event) *decoder {
	col := func() []float64 { return make([]float64, decodeRows) }
	return &decoder{
		from: from, event: event, f64: col(), f32: make([]float32, decodeRows), label: make([]int32, decodeRows),
		stats: kernel.Stats{Top: col(), Tail: col(), Label: col(), NLL: col(), Rest: col(), Entropy: col(), Norm: col(), Positive: col(),
			ArgMax: make([]int32, decodeRows), Flags: make([]uint8, decodeRows)},
	}
}

// columns returns the scores of at most decodeRows raw keys, and their differences from 1. They are valid until the next call.
func (d *decoder) columns(n int, key func(i int) uint64) (p, tail []float64) {
	s := &d.stats
	for i := range n {
		d.f64[i] = rawOf(key(i))
	}
	switch d.from {
	case ofLogits32:
		for i, v := range d.f64[:n] {
			d.f32[i] = float32(min(max(v, -math.MaxFloat32), math.MaxFloat32))
		}
		kernel.BinaryLogitStatsF32(s, d.f32[:n], d.label[:n])
	case ofLogits64:
		kernel.BinaryLogitStatsF64(s, d.f64[:n], d.label[:n])
	default:
		kernel.ExpSliceF64(d.f64[:n], d.f64[:n])
		kernel.BinaryProbStatsF64(s, d.f64[:n], d.label[:n])
	}
	if p = s.Top[:n]; d.event == metrics.Positive {
		p = s.Positive[:n]
	}
	return p, s.Tail[:n]
}

// scores calls f with the key of the score of each of n raw keys, in order.
func (d *decoder) scores(n int, raw func(i int) uint64, f func(i int, key uint64)) {
	for from := 0; from < n; from += decodeRows {
		m := min(decodeRows, n-from)
		p, tail := d.columns(m, func(i int) uint64 { return raw(from + i) })
		for i, v := range p {
			f(from+i, tally.Key(v, tail[i]))
		}
	}
}

// decoder returns a decoder for the receiver's keys.
func (c *Cells) decoder() *decoder { return newDecoder(c.origin, c.Event()) }

// scored returns the cells of the scores of raw cells, in ascending order.
func (c *Cells) scored(raw []exactCell) []exactCell {
	l := slices.Clone(raw)
	c.decoder().scores(len(raw), func(i int) uint64 { return raw[i].key }, func(i int, key uint64) { l[i].key = key })
	return pooled(l)
}

// pooled sorts cells and combines those with the same key.
func pooled(l []exactCell) []exactCell {
	byKey := func(a, b exactCell) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	}
	// Scores are in the order of raw scores except for their last digit.
	if !slices.IsSortedFunc(l, byKey) {
		slices.SortFunc(l, byKey)
	}
	n := 0
	for _, e := range l {
		if n > 0 && l[n-1].key == e.key {
			l[n-1].n, l[n-1].y = l[n-1].n+e.n, l[n-1].y+e.y
			continue
		}
		l[n] = e
		n++
	}
	return l[:n]
}

// eachScore calls f for the exact cells of scores in ascending order. The cells must be settled.
func (c *Cells) eachScore(f func(exactCell)) {
	if c.origin == ofScores {
		c.eachExact(f)
		return
	}
	if c.byScore == nil {
		all := make([]exactCell, 0, c.cells())
		c.eachExact(func(e exactCell) { all = append(all, e) })
		c.byScore = c.scored(all)
	}
	for _, e := range c.byScore {
		f(e)
	}
}

// weightedScores returns the weighted cells by score or by grid place, and their numbers in ascending order.
func (c *Cells) weightedScores() (keys []uint64, cells map[uint64]*tally.Cell) {
	keys, cells = c.keys(), c.heavy
	if c.origin == ofScores || c.weightedGrid {
		return keys, cells
	}
	raw := keys
	keys, cells = nil, make(map[uint64]*tally.Cell, len(raw))
	c.decoder().scores(len(raw), func(i int) uint64 { return raw[i] }, func(i int, key uint64) {
		h := cells[key]
		if h == nil {
			h = new(tally.Cell)
			cells[key] = h
			keys = append(keys, key)
		}
		h.Merge(c.heavy[raw[i]])
	})
	slices.Sort(keys)
	return keys, cells
}

// Ranked returns the rows in the order of what their scores were computed from. While cells are exact, each distinct logit or
// log-probability of a binary task is a cell. Several cells may then have the same score, and scores may be out of order in the
// last digit. Otherwise it returns c itself. The result is valid for the rows seen so far.
func (c *Cells) Ranked() Ordered {
	if c.origin == ofScores || !c.Exact() {
		return c
	}
	r := &rankedCells{Cells: c}
	if c.seen.Weighted {
		r.keys = c.keys()
	} else {
		r.keys = make([]uint64, 0, c.cells())
		c.eachExact(func(e exactCell) {
			r.keys = append(r.keys, e.key)
			r.counts = append(r.counts, [2]int64{e.n, e.y})
		})
	}
	return r
}

// rankedCells holds the exact cells of raw scores.
type rankedCells struct {
	*Cells
	keys   []uint64
	counts [][2]int64 // numbers of rows and of events; nil with weights
}

func (r *rankedCells) Count() int { return len(r.keys) }

func (r *rankedCells) Each(f func(*Cell)) {
	one := Cell{exact: true}
	r.decoder().scores(len(r.keys), func(i int) uint64 { return r.keys[i] }, func(i int, key uint64) {
		if r.counts == nil {
			h := r.heavy[r.keys[i]]
			one = heavyCell(h, key)
		} else {
			one.q, one.upper = tally.Distance(key)
			one.count(r.counts[i][0], r.counts[i][1])
		}
		f(&one)
	})
}

func (r *rankedCells) Pairs() Pairs { return pairsOf(r, r.Weighted()) }
