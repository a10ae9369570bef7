package rank

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
)

// MaxExact is the number of distinct scores up to which Retention and Scores keep each one separately. Beyond that they drop
// the last bits of the scores' binary forms, as many as needed to have at most MaxExact different values. For a million
// scores in [0,1], scores that are kept together span about 2^-17, and less near both ends. The number of bits depends only
// on the set of rows.
const MaxExact = cells.MaxExact

// entry is a row that has not been added to the sums of its key yet.
type entry struct {
	key          uint64
	loss, weight float64 // weight is 0 for unweighted rows
}

// table maps keys, which rise with the scores, to sums over rows. Up to MaxExact distinct keys each has its own sum. Beyond
// that, as many last bits are dropped from the keys as needed to have at most MaxExact. The number of bits depends only on
// the set of keys, and a subset never needs more than the whole set.
type table[C any, P interface {
	*C
	merge(*C)
	add(loss, weight float64)
}] struct {
	keys   []uint64 // rising, without the dropped bits
	sums   []C
	coarse uint // number of dropped bits

	log            []entry // rows not yet in a sum
	known          bool    // most keys of the last log that was added had a sum already
	sorted         []entry // buffer for the sorted log
	order, scratch []uint64
}

// A batch is sorted by words that hold a key and, in the last bits, the index of a row. It has half as many rows as there can be sums, so that these
// are read and written nearly in a row: memory is what they wait for.
const (
	logBits  = 17
	shortLog = 1 << 9
	place    = 1<<logBits - 1
)

// push adds a row.
func (t *table[C, P]) push(e entry) {
	if len(t.log) == cap(t.log) {
		switch n := cap(t.log); {
		case n == 1<<logBits:
			if t.known {
				t.absorb()
			}
			if len(t.log) > n/2 {
				t.settle()
			}
		case n == 0:
			t.log = make([]entry, 0, shortLog)
		default:
			t.log = append(make([]entry, 0, min(8*n, 1<<logBits)), t.log...)
		}
	}
	t.log = append(t.log, e)
}

// size estimates the memory in bytes: the sums, with room to grow, and the log with its sort buffers.
func (t *table[C, P]) size(x metrics.Extent) int64 {
	const logged = 2*int64(unsafe.Sizeof(entry{})) + 24
	n, log := x.Distinct(MaxExact+1<<logBits), int64(shortLog)
	for log < min(n, 1<<logBits) {
		log = min(8*log, 1<<logBits)
	}
	return n*(8+int64(unsafe.Sizeof(*new(C))))*5/4 + logged*log
}

// held estimates the memory in bytes after this many more rows.
func (t *table[C, P]) held(more int64) int64 {
	const entryBytes = int64(unsafe.Sizeof(entry{}))
	sum := 8 + int64(unsafe.Sizeof(*new(C)))
	now := sum*int64(cap(t.keys)) + entryBytes*int64(cap(t.log)+len(t.sorted)) + 8*int64(len(t.order)+len(t.scratch))
	if more == 0 {
		return now
	}
	rows, log := int64(len(t.log))+more, int64(max(shortLog, cap(t.log)))
	for log < min(rows, 1<<logBits) {
		log = min(8*log, 1<<logBits)
	}
	keys := max(int64(cap(t.keys)), min(int64(len(t.keys))+rows, MaxExact+1<<logBits)*5/4)
	return max(now, sum*keys+(2*entryBytes+24)*log)
}

// settle adds the logged rows to the sums, and drops bits until at most MaxExact keys are left.
func (t *table[C, P]) settle() {
	t.flush()
	if len(t.keys) <= MaxExact {
		return
	}
	var differ [65]int // differ[b] counts neighbours whose keys agree except in the last b bits
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

// sort returns the logged rows in the order of their keys.
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
	// The row index replaced the last bits of the key, so neighbours that agree in the other bits are compared in full.
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

// absorb adds the logged rows whose keys have sums. The others stay in the log: to make room for a key moves the sums of all higher ones.
func (t *table[C, P]) absorb() {
	rows := t.sort()
	t.log = t.log[:0]
	i := 0
	for _, e := range rows {
		k := e.key >> t.coarse
		for i < len(t.keys) && t.keys[i] < k {
			i++
		}
		if i < len(t.keys) && t.keys[i] == k {
			P(&t.sums[i]).add(e.loss, e.weight)
		} else {
			t.log = append(t.log, e)
		}
	}
}

// flush adds the logged rows to the sums.
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
	t.known = union-len(t.keys) < n/2
	// Merge from the end, so that existing sums can move up in place. Those below the lowest new key stay where they are.
	i := len(t.keys) - 1
	t.keys = slices.Grow(t.keys, union-len(t.keys))[:union]
	t.sums = slices.Grow(t.sums, union-len(t.sums))[:union]
	var none C
	for e, to := n-1, union-1; e >= 0; to-- {
		k, above := rows[e].key>>t.coarse, i
		for i >= 0 && t.keys[i] > k {
			i--
		}
		if above != to {
			copy(t.keys[to-(above-i)+1:], t.keys[i+1:above+1])
			copy(t.sums[to-(above-i)+1:], t.sums[i+1:above+1])
		}
		to -= above - i
		if i < 0 || t.keys[i] != k {
			t.keys[to], t.sums[to] = k, none
		} else {
			if i != to {
				t.keys[to], t.sums[to] = k, t.sums[i]
			}
			i--
		}
		for sum := P(&t.sums[to]); e >= 0 && rows[e].key>>t.coarse == k; e-- {
			sum.add(rows[e].loss, rows[e].weight)
		}
	}
	t.log = t.log[:0]
}

// leaveOut drops this many more bits of the keys, which are in rising order.
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

// merge adds the rows of another table, which may be t itself.
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

// prepare makes t an empty table for this many keys; put then adds one at a time, in rising order.
func (t *table[C, P]) prepare(coarse uint, count int) {
	t.keys, t.sums, t.coarse = make([]uint64, 0, count), make([]C, 0, count), coarse
}

func (t *table[C, P]) put(key uint64, c C) {
	t.keys, t.sums = append(t.keys, key), append(t.sums, c)
}

// exact reports whether keys have all their bits.
func (t *table[C, P]) exact() bool {
	t.settle()
	return t.coarse == 0
}

// span returns the smallest and largest key that place i stands for.
func (t *table[C, P]) span(i int) (low, high uint64) {
	low = t.keys[i] << t.coarse
	return low, low | (1<<t.coarse - 1)
}

const badTable = "its cells are none"

// within refuses a table that was read, unless some set of rows with keys from least to most leads to it.
func (t *table[C, P]) within(f *exact.Fields, least, most uint64) {
	if !f.Reading() || !f.OK() {
		return
	}
	n := len(t.keys)
	// One bit more splits each key into at most two, and that must have been too many.
	f.Must(t.coarse <= 63 && n <= MaxExact && slices.IsSorted(t.keys) && (t.coarse == 0 || n > MaxExact/2), badTable)
	if n == 0 || !f.OK() {
		return
	}
	for i, k := range t.keys {
		f.Must(k <= math.MaxUint64>>t.coarse && (i == 0 || k != t.keys[i-1]), badTable)
	}
	_, first := t.span(0)
	last, _ := t.span(n - 1)
	f.Must(first >= least && last <= most, badTable)
}

// half is the bits of 1/2. Keys of scores in [0,1] are their float64 bits below 1/2. Above 1/2 they are 2 half minus the
// bits of 1 - score, so that scores near 1 keep the digits of that difference.
const half = 0x3fe0000000000000

// unitKey returns the key of the score p, with tail = 1 - p, or false if p is outside [0,1].
func unitKey(p, tail float64) (uint64, bool) {
	if p < 0.5 {
		return math.Float64bits(math.Max(p, 0) + 0), p >= 0
	}
	return 2*half - min(math.Float64bits(math.Max(tail, 0)+0), half), tail >= 0
}

// unitScore returns the score of a key, and 1 minus it.
func unitScore(key uint64) (p, tail float64) {
	if key < half {
		p = math.Float64frombits(key)
		return p, 1 - p
	}
	tail = math.Float64frombits(2*half - min(key, 2*half))
	return 1 - tail, tail
}

// realKey returns an integer that rises with v; v must not be NaN.
func realKey(v float64) uint64 {
	b := math.Float64bits(v + 0)
	if b>>63 == 1 {
		return ^b
	}
	return b | 1<<63
}

// realScore is the inverse of realKey.
func realScore(key uint64) float64 {
	if key>>63 == 1 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}
