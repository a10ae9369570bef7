package order

import (
	"math"
	"slices"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/tally"
)

// Bins holds bins of equal mass of scores with outcomes: each has about as many scores as the others, but equal scores are
// never divided. The sums are exact.
type Bins struct {
	// Edges are the scores at the ranks that Ranks(N, len(Cells)) gives, among those kept; there are none if N is 0. The bin
	// of a score p is the number of edges <= p: bins are left-closed, and with equal edges all but the last bin are empty.
	Edges []float64
	Cells []tally.Cell // sums of each bin
	N     int64        // scores kept, which are in the bins
	Below int64        // scores in [0,1] left out because they are not above the threshold
	Out   int64        // scores outside [0,1], or NaN, also left out
}

// ECE returns the expected calibration error over the bins, (1/N) * sum over bins of |sum (p - y)|. The sum is exact and
// rounded once. It is 0 without scores.
func (b *Bins) ECE() float64 {
	if b.N == 0 {
		return 0
	}
	var s exact.Sum
	for i := range b.Cells {
		g := b.Cells[i].Gap()
		if g.Sign() < 0 {
			s.Sub(&g)
		} else {
			s.Merge(&g)
		}
	}
	n := tally.Count(b.N)
	return exact.Ratio(&s, &n)
}

// Ranks returns the ranks, from 0, of the edges of this many bins of n sorted scores: min(round(j*(n/bins)), n-1) for j = 1
// .. bins-1, in float64, with halves rounded to even. There are none if n is 0.
func Ranks(n, bins int) []int { return appendRanks(nil, n, bins) }

func appendRanks(dst []int, n, bins int) []int {
	if bins < 1 {
		panic(errBins)
	}
	if n == 0 {
		return dst
	}
	step := float64(n) / float64(bins)
	for j := 1; j < bins; j++ {
		dst = append(dst, min(int(math.RoundToEven(float64(j)*step)), n-1))
	}
	return dst
}

const errBins = "order: number of bins is not positive"

// EdgesF32 returns the edges of this many bins of equal mass: the values at the Ranks. -0 counts as 0, and a NaN is above
// all or below all, by its sign. x is not changed; the memory is that of two copies of it.
func EdgesF32(x []float32, bins, threads int) []float32 {
	return edges(x, bins, threads, kernel.KeysF32, kernel.ValuesF32)
}

// EdgesF64 is EdgesF32 for float64.
func EdgesF64(x []float64, bins, threads int) []float64 {
	return edges(x, bins, threads, kernel.KeysF64, kernel.ValuesF64)
}

func edges[F any, K kernel.Key](x []F, bins, threads int, to func([]K, []F), back func([]F, []K)) []F {
	ranks := Ranks(len(x), bins)
	keys := make([]K, len(x))
	to(keys, x)
	var w worker[K]
	w.selectRanks(keys, ranks, threads)
	found := make([]K, len(ranks))
	for i, r := range ranks {
		found[i] = keys[r]
	}
	values := make([]F, len(ranks))
	back(values, found)
	return values
}

// EqualMass returns bins of equal mass of keys made by kernel.HitKeysF32 or HitKeysF64, for scores above a threshold: with 0
// all except zeros, with a negative number all.
//
// Many keys are read once, by all threads, and not moved. The edges are sought in a part of the keys that a sample
// indicates, and what lies between is summed. That takes the memory of a fifth of the keys with 15 bins, or of half of them
// with 100, and half as much again with several threads. Fewer than 2^19 keys, or keys with so many bins that the part would
// be most of them, are reordered: one thread selects the edges, or all threads sort. This takes the memory of the keys once
// more. Neither the order of the keys nor equal keys affect the cost much.
func EqualMass[K kernel.Key](keys []K, bins int, above float64, threads int) *Bins {
	var w worker[K]
	b := new(Bins)
	w.equalMass(b, keyed[K](keys), bins, lastBelow[K](above), anywhere, threads)
	return b
}

// EqualMassF32 is EqualMass for scores p with outcomes hit (0 or 1), which are not changed. Their keys are made chunk by
// chunk, or all at once if edges are selected.
func EqualMassF32(p []float32, hit []uint8, bins int, above float64, threads int) *Bins {
	return equalMassOf(p, hit, bins, above, threads, kernel.HitKeysF32)
}

// EqualMassF64 is EqualMassF32 for float64.
func EqualMassF64(p []float64, hit []uint8, bins int, above float64, threads int) *Bins {
	return equalMassOf(p, hit, bins, above, threads, kernel.HitKeysF64)
}

func equalMassOf[K kernel.Key, F any](p []F, hit []uint8, bins int, above float64, threads int,
	to func(dst []K, p []F, hit []uint8) (out int)) *Bins {
	if len(p) != len(hit) {
		panic(errHits)
	}
	var w worker[K]
	b := new(Bins)
	w.equalMass(b, &scored[K, F]{p, hit, to}, bins, lastBelow[K](above), anywhere, threads)
	return b
}

const errHits = "order: scores and outcomes differ in number"

// below holds the largest key whose score is not above a threshold, if there is one.
type below[K kernel.Key] struct {
	last K
	any  bool
}

// lastBelow returns the below of a threshold.
func lastBelow[K kernel.Key](above float64) below[K] {
	switch {
	case above < 0:
		return below[K]{}
	case !(above < 1):
		return below[K]{lastInside[K](), true}
	}
	above = math.Abs(above) // turns -0 into 0
	k := above32(above)
	if narrow[K]() {
		return below[K]{K(k), true}
	}
	wide := math.Float64bits(above)<<1 | 1
	return below[K]{K(wide), true}
}

// above32 returns the key of the largest float32 that is not above v.
func above32(v float64) uint32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, -1)
	}
	return math.Float32bits(f)<<1 | 1
}

func narrow[K kernel.Key]() bool { return ^K(0)>>31>>1 == 0 }

// lastInside returns the largest key of a score in [0,1]: that of 1.
func lastInside[K kernel.Key]() K {
	if narrow[K]() {
		return K(uint32(math.Float32bits(1)<<1 | 1))
	}
	one := math.Float64bits(1)<<1 | 1
	return K(one)
}

// A worker holds the memory for the bins of one column after another.
type worker[K kernel.Key] struct {
	scratch []K
	ranks   []int
	both    []int
	edges   []K // keys of the edges' scores, without outcomes
	lasts   [2]K
	ends    [2]int
}

func (w *worker[K]) room(n int) []K {
	if len(w.scratch) < n {
		w.scratch = make([]K, n)
	}
	return w.scratch[:n]
}

// reset empties b for this many bins.
func (b *Bins) reset(bins int) {
	if bins < 1 {
		panic(errBins)
	}
	*b = Bins{Edges: b.Edges[:0], Cells: b.Cells}
	if cap(b.Cells) < bins {
		b.Cells = make([]tally.Cell, bins)
		return
	}
	b.Cells = b.Cells[:bins]
	clear(b.Cells)
}

// What is known about all scores.
const (
	anywhere = iota
	inside   // in [0,1]
	kept     // also above the threshold
)

// equalMass finds the bins.
func (w *worker[K]) equalMass(b *Bins, keys source[K], bins int, low below[K], all, threads int) {
	b.reset(bins)
	if plan := planOf(keys, bins, low, w); plan != nil && plan.run(b, keys, threads, w) {
		return
	}
	b.reset(bins)
	w.direct(b, keys.all(), low, all, threads)
}

// direct selects the edges among all keys.
func (w *worker[K]) direct(b *Bins, keys []K, low below[K], all, threads int) {
	w.lasts, w.ends = [2]K{low.last, lastInside[K]()}, [2]int{0, len(keys)}
	from, to := 0, 2
	if !low.any || all == kept {
		from = 1
	}
	if all != anywhere {
		to = 1
	}
	if from < to {
		kernel.Split(keys, keys, w.lasts[from:to], w.ends[from:to], w.room(len(keys)))
	}
	b.Below, b.Out = int64(w.ends[0]), int64(len(keys)-w.ends[1])
	keys = keys[w.ends[0]:w.ends[1]]
	b.N = int64(len(keys))
	w.ranks = appendRanks(w.ranks[:0], len(keys), len(b.Cells))
	w.selectRanks(keys, w.ranks, threads)
	w.edges = w.edges[:0]
	for _, r := range w.ranks {
		w.edges = append(w.edges, keys[r]&^1)
	}
	w.sumBetween(b.Cells, keys, w.ranks)
	w.setEdges(b)
}

// manyRanks is the number of ranks from which on sorting many keys is cheaper than selection.
const manyRanks = 100

// selectRanks is kernel.Select for the ranks and those just before them, so that the largest key before each rank is known.
func (w *worker[K]) selectRanks(keys []K, ranks []int, threads int) {
	if len(ranks) >= manyRanks && len(keys) >= fewKeys {
		Sort(keys, nil, threads)
		return
	}
	both, last := w.both[:0], 0
	for _, r := range ranks {
		if r > last {
			both = append(both, r-1)
		}
		both = append(both, r)
		last = r
	}
	w.both = both
	kernel.Select(keys, both, w.room(len(keys)))
}

func (w *worker[K]) setEdges(b *Bins) {
	for _, e := range w.edges {
		score, _ := kernel.HitScore(e)
		b.Edges = append(b.Edges, score)
	}
}

// bin returns the number of edges that are at most the key's score.
func (w *worker[K]) bin(key K) int {
	n, _ := slices.BinarySearchFunc(w.edges, key|1, func(e, k K) int {
		if e <= k {
			return -1
		}
		return 1
	})
	return n
}

// sumBetween adds keys to the cells of their bins, after selectRanks.
func (w *worker[K]) sumBetween(cells []tally.Cell, keys []K, ranks []int) {
	start := 0
	for _, r := range ranks {
		if r == start {
			continue
		}
		// Keys before the edge may have the same score.
		piece, edge, n := keys[start:r], keys[r]&^1, r-start
		if piece[n-1] >= edge {
			if n = 0; edge > 0 {
				w.lasts[0] = edge - 1
				kernel.Split(piece, piece, w.lasts[:1], w.ends[:1], w.room(len(piece)))
				n = w.ends[0]
			}
		}
		w.sum(cells, piece[:n])
		w.sum(cells, piece[n:])
		start = r
	}
	w.sum(cells, keys[start:])
}

// sum adds keys of one bin.
func (w *worker[K]) sum(cells []tally.Cell, keys []K) {
	if len(keys) > 0 {
		addTo(&cells[w.bin(keys[0])], keys)
	}
}

// addTo adds keys to a cell.
func addTo[K kernel.Key](c *tally.Cell, keys []K) {
	for len(keys) > 0 {
		n := min(len(keys), kernel.MaxSum)
		s, _ := kernel.HitSum(keys[:n])
		c.AddBins(&s)
		keys = keys[n:]
	}
}
