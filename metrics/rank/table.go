package rank

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// MaxExact is the number of distinct scores up to which Retention and Scores keep each for itself. Beyond that they leave
// out as many of the last bits of the scores' binary forms as it takes to have no more: of a million scores in [0,1] what is
// kept together is some 2^-17 wide, and narrower near both ends. How many bits these are depends on the set of rows alone.
const MaxExact = cells.MaxExact

// entry is a row that has not been added to the sums of its key.
type entry struct {
	key          uint64
	loss, weight float64 // 0 without weights
}

// table is the sums of the rows of each score, by keys that rise with the scores: of all distinct keys while those are at
// most MaxExact, and beyond that of the keys without so many of their last bits that no more are left. How many bits that
// takes is decided by the set of keys alone: of part of a set it is never more than of the whole.
type table[C any, P interface {
	*C
	merge(*C)
	add(loss, weight float64)
}] struct {
	keys   []uint64 // rising, without their last bits
	sums   []C
	coarse uint // bits that are left out

	log            []entry // rows that are in no sum
	sorted         []entry // room for the same in order
	order, scratch []uint64
}

// Rows are sorted together, as many as the last bits of a word can number.
const (
	logBits  = 15
	shortLog = 1 << 9
	place    = 1<<logBits - 1
)

// push adds a row.
func (t *table[C, P]) push(e entry) {
	if len(t.log) == cap(t.log) {
		switch n := cap(t.log); {
		case n == 1<<logBits:
			t.settle()
		case n == 0:
			t.log = make([]entry, 0, shortLog)
		default:
			t.log = append(make([]entry, 0, min(8*n, 1<<logBits)), t.log...)
		}
	}
	t.log = append(t.log, e)
}

// size returns about how many bytes the rows take: their sums, with room to grow, and the log with what sorts it.
func (t *table[C, P]) size(x metrics.Extent) int64 {
	const logged = 2*int64(unsafe.Sizeof(entry{})) + 24
	n, log := x.Distinct(MaxExact+1<<logBits), int64(shortLog)
	for log < min(n, 1<<logBits) {
		log *= 8
	}
	return n*(8+int64(unsafe.Sizeof(*new(C))))*5/4 + logged*log
}

// settle adds the rows of the log to the sums, and leaves out as many bits as it takes until there are no more than MaxExact
// keys.
func (t *table[C, P]) settle() {
	t.flush()
	if len(t.keys) <= MaxExact {
		return
	}
	var differ [65]int // neighbours whose keys differ in the last so many bits, and no further up
	for i := 1; i < len(t.keys); i++ {
		differ[bits.Len64(t.keys[i]^t.keys[i-1])]++
	}
	n, more := len(t.keys), uint(0)
	for n > MaxExact {
		more++
		n -= differ[more]
	}
	t.leaveOut(more)
}

// sort returns the log's rows in the order of their keys.
func (t *table[C, P]) sort() []entry {
	n := len(t.log)
	if len(t.order) < n {
		c := cap(t.log)
		t.order, t.scratch, t.sorted = make([]uint64, c), make([]uint64, kernel.SortScratch(c)), make([]entry, c)
	}
	order, rows := t.order[:n], t.sorted[:n]
	for i := range order {
		order[i] = t.log[i].key&^place | uint64(i)
	}
	kernel.Sort(order, t.scratch[:kernel.SortScratch(n)])
	for i, v := range order {
		rows[i] = t.log[v&place]
	}
	// What the places took from the keys counts among those that are alike without it.
	for i := 0; i < n && t.coarse < logBits; {
		k, rising := i+1, true
		for ; k < n && rows[k].key>>logBits == rows[i].key>>logBits; k++ {
			rising = rising && rows[k-1].key <= rows[k].key
		}
		if !rising {
			slices.SortFunc(rows[i:k], func(a, b entry) int { return cmp.Compare(a.key, b.key) })
		}
		i = k
	}
	return rows
}

// flush adds the rows of the log to the sums.
func (t *table[C, P]) flush() {
	n := len(t.log)
	if n == 0 {
		return
	}
	rows := t.sort()
	union := len(t.keys)
	for i, e := 0, 0; e < n; e++ {
		k := rows[e].key >> t.coarse
		if e > 0 && k == rows[e-1].key>>t.coarse {
			continue
		}
		for i < len(t.keys) && t.keys[i] < k {
			i++
		}
		if i == len(t.keys) || t.keys[i] != k {
			union++
		}
	}
	// From the end, so that what is there can move up in place.
	i := len(t.keys) - 1
	t.keys = slices.Grow(t.keys, union-len(t.keys))[:union]
	t.sums = slices.Grow(t.sums, union-len(t.sums))[:union]
	for e, to := n-1, union-1; e >= 0; to-- {
		k := rows[e].key >> t.coarse
		if i >= 0 && t.keys[i] > k {
			t.keys[to], t.sums[to] = t.keys[i], t.sums[i]
			i--
			continue
		}
		var c C
		if i >= 0 && t.keys[i] == k {
			c = t.sums[i]
			i--
		}
		for ; e >= 0 && rows[e].key>>t.coarse == k; e-- {
			P(&c).add(rows[e].loss, rows[e].weight)
		}
		t.keys[to], t.sums[to] = k, c
	}
	t.log = t.log[:0]
}

// leaveOut leaves out so many more bits of keys in rising order.
func (t *table[C, P]) leaveOut(more uint) {
	n := 0
	for i, k := range t.keys {
		k >>= more
		if n > 0 && t.keys[n-1] == k {
			P(&t.sums[n-1]).merge(&t.sums[i])
			continue
		}
		t.keys[n], t.sums[n] = k, t.sums[i]
		n++
	}
	clear(t.sums[n:])
	t.keys, t.sums, t.coarse = t.keys[:n], t.sums[:n], t.coarse+more
}

// merge adds what another table has, which may be the same one.
func (t *table[C, P]) merge(o *table[C, P]) {
	t.settle()
	o.settle()
	if t == o {
		for i := range t.sums {
			P(&t.sums[i]).merge(&t.sums[i])
		}
		return
	}
	if o.coarse > t.coarse {
		t.leaveOut(o.coarse - t.coarse)
	}
	shift := t.coarse - o.coarse
	most := len(t.keys) + len(o.keys)
	keys, sums := make([]uint64, 0, most), make([]C, 0, most)
	for i, j := 0, 0; i < len(t.keys) || j < len(o.keys); {
		if j == len(o.keys) || i < len(t.keys) && t.keys[i] <= o.keys[j]>>shift {
			keys, sums = append(keys, t.keys[i]), append(sums, t.sums[i])
			i++
			continue
		}
		k := o.keys[j] >> shift
		if n := len(keys); n == 0 || keys[n-1] != k {
			keys, sums = append(keys, k), append(sums, *new(C))
		}
		P(&sums[len(sums)-1]).merge(&o.sums[j])
		j++
	}
	t.keys, t.sums = keys, sums
	t.settle()
}

// prepare makes it an empty table of so many keys without their last bits, and put adds the next one, in rising order.
func (t *table[C, P]) prepare(coarse uint, count int) {
	t.keys, t.sums, t.coarse = make([]uint64, 0, count), make([]C, 0, count), coarse
}

func (t *table[C, P]) put(key uint64, c C) {
	t.keys, t.sums = append(t.keys, key), append(t.sums, c)
}

// exact tells whether keys have all of their bits.
func (t *table[C, P]) exact() bool {
	t.settle()
	return t.coarse == 0
}

// span returns the least and the largest key of a place.
func (t *table[C, P]) span(i int) (low, high uint64) {
	low = t.keys[i] << t.coarse
	return low, low | (1<<t.coarse - 1)
}

// check returns an error if no rows make such a table.
func (t *table[C, P]) check() error {
	if t.coarse > 63 || len(t.keys) > MaxExact || !slices.IsSorted(t.keys) {
		return errTable
	}
	for i, k := range t.keys {
		if k > math.MaxUint64>>t.coarse || i > 0 && k == t.keys[i-1] {
			return errTable
		}
	}
	// With a bit more a place is two at most, and those were too many.
	if t.coarse > 0 && len(t.keys) <= MaxExact/2 {
		return errTable
	}
	return nil
}

var errTable = errors.New("its cells are none")

// The bits of 1/2, and keys of scores in [0,1]: the bits of what is below 1/2, and above it twice those of 1/2 less those of
// what the score is less than 1, so that the digits count that scores near 1 have there.
const half = 0x3fe0000000000000

// unitKey returns the key of a score, of which tail is what it is less than 1; false if it is outside [0,1].
func unitKey(p, tail float64) (uint64, bool) {
	if p < 0.5 {
		return math.Float64bits(math.Max(p, 0) + 0), p >= 0
	}
	return 2*half - min(math.Float64bits(math.Max(tail, 0)+0), half), tail >= 0
}

// unitScore returns the score of a key and what it is less than 1.
func unitScore(key uint64) (p, tail float64) {
	if key < half {
		p = math.Float64frombits(key)
		return p, 1 - p
	}
	tail = math.Float64frombits(2*half - min(key, 2*half))
	return 1 - tail, tail
}

// realKey returns a number that rises with v, which is no NaN.
func realKey(v float64) uint64 {
	b := math.Float64bits(v + 0)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// realScore returns the number of a key.
func realScore(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}
