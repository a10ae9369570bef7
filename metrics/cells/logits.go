package cells

import (
	"math"
	"slices"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// origin is what keys are made of. Different logits have the same probability in float64 where that is near 0, 1/2 or 1, and in its last
// digit the order of probabilities need not be that of their logits. So the keys of a binary task's logits and log-probabilities are
// made of these: ranks follow them, and what is about scores takes together those of one score.
type origin uint8

const (
	ofScores   origin = iota // of probabilities, and of all that has more classes
	ofLogits32               // float32 or narrower
	ofLogits64
	ofLogProbs // of the positive class alone: the top label's come from both ends
	origins
)

// originOf returns what the keys of a block's rows are made of.
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

// logits tells whether keys are symmetric: the other class's is the key of -z.
func (o origin) logits() bool { return o == ofLogits32 || o == ofLogits64 }

// The keys of raw scores: that of 0 is in the middle, and between 2^-511 and 2^512 in magnitude each number has its own. Those nearer to
// 0 have its key, and those farther away one for each sign. So one bit is left for the outcome.
const (
	zeroKey  = 1 << 62
	leastRaw = (1023 - 511) << 52 // bits of 2^-511
	mostRaw  = (1023 + 512) << 52 // of 2^512
	farRaw   = mostRaw - leastRaw + 1
	lastRaw  = zeroKey + farRaw
)

// rawKey returns a number that rises with a raw score.
func rawKey(v float64) uint64 {
	b := math.Float64bits(v) &^ (1 << 63)
	switch {
	case b < leastRaw:
		return zeroKey
	case b >= mostRaw:
		b = farRaw
	default:
		b -= leastRaw - 1
	}
	if v < 0 {
		return zeroKey - b
	}
	return zeroKey + b
}

// rawEventKey returns the key of a row's raw score: of the top label that of its magnitude.
func rawEventKey(v float64, event metrics.Event) uint64 {
	k := rawKey(v)
	if k < zeroKey && event != metrics.Positive {
		return mirrored(k)
	}
	return k
}

// rawOf returns the raw score of a key.
func rawOf(key uint64) float64 {
	switch {
	case key == zeroKey:
		return 0
	case key < zeroKey:
		return -math.Float64frombits(zeroKey - key + leastRaw - 1)
	}
	return math.Float64frombits(key - zeroKey + leastRaw - 1)
}

// mirrored returns the key of -z.
func mirrored(key uint64) uint64 { return 2*zeroKey - key }

// decoder makes scores of raw keys, as a Pass made them of raw scores: by the same kernels.
type decoder struct {
	from  origin
	event metrics.Event
	stats kernel.Stats
	f64   []float64
	f32   []float32
	label []int32
}

// decodeRows is how many are made together.
const decodeRows = 1024

func newDecoder(from origin, event metrics.Event) *decoder {
	col := func() []float64 { return make([]float64, decodeRows) }
	return &decoder{
		from: from, event: event, f64: col(), f32: make([]float32, decodeRows), label: make([]int32, decodeRows),
		stats: kernel.Stats{Top: col(), Tail: col(), Label: col(), NLL: col(), Rest: col(), Entropy: col(), Norm: col(), Positive: col(),
			ArgMax: make([]int32, decodeRows), Flags: make([]uint8, decodeRows)},
	}
}

// columns returns the scores of at most decodeRows raw keys and what they are less than 1, which are good until the next call.
func (d *decoder) columns(n int, key func(i int) uint64) (p, tail []float64) {
	s := &d.stats
	for i := range n {
		d.f64[i] = rawOf(key(i))
	}
	switch d.from {
	case ofLogits32:
		for i, v := range d.f64[:n] {
			d.f32[i] = float32(math.Min(math.Max(v, -math.MaxFloat32), math.MaxFloat32))
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

// scores calls f with the key of the score of each of n raw keys, in their order.
func (d *decoder) scores(n int, raw func(i int) uint64, f func(i int, key uint64)) {
	for from := 0; from < n; from += decodeRows {
		m := min(decodeRows, n-from)
		p, tail := d.columns(m, func(i int) uint64 { return raw(from + i) })
		for i, v := range p {
			f(from+i, key(v, tail[i]))
		}
	}
}

// decoder returns one of the receiver's keys.
func (c *Cells) decoder() *decoder { return newDecoder(c.origin, c.Event()) }

// scored returns the cells of the scores that raw cells have, rising.
func (c *Cells) scored(raw []exactCell) []exactCell {
	l := slices.Clone(raw)
	c.decoder().scores(len(raw), func(i int) uint64 { return raw[i].key }, func(i int, key uint64) { l[i].key = key })
	return pooled(l)
}

// pooled puts cells into order, and those of one key together.
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
	// The order of scores is that of the raw ones up to a last digit.
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

// eachScore calls f for the exact cells of scores, in rising order, once they are settled.
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

// weightedScores returns the cells with weights by score, or by place in the grid, and their numbers, rising.
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

// Ranked returns the rows in the order of what their scores were made of: of a binary task's logits and log-probabilities, while cells
// are exact, each distinct one is a cell, though several may have one score, and a score may be a last digit out of order. Otherwise it
// returns c itself. It holds for the rows seen so far.
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

// rankedCells is the exact cells of raw scores.
type rankedCells struct {
	*Cells
	keys   []uint64
	counts [][2]int64 // rows and those with the event; nil with weights
}

func (r *rankedCells) Count() int { return len(r.keys) }

func (r *rankedCells) Each(f func(*Cell)) {
	one := Cell{exact: true}
	r.decoder().scores(len(r.keys), func(i int) uint64 { return r.keys[i] }, func(i int, key uint64) {
		if r.counts == nil {
			h := r.heavy[r.keys[i]]
			one = heavyCell(h, key)
		} else {
			one.q, one.upper = distance(key)
			one.count(r.counts[i][0], r.counts[i][1])
		}
		f(&one)
	})
}

func (r *rankedCells) Pairs() Pairs { return pairsOf(r, r.Weighted()) }
