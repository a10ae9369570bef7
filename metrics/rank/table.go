package rank

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/candor-go/candor/metrics/cells"
)

// MaxExact is the number of distinct scores up to which Retention and Scores keep each for itself.
const MaxExact = cells.MaxExact

// table is the sums of the rows of each score, by keys that rise with the scores: of all distinct keys while those are at most
// MaxExact, and beyond that of the keys without so many of their last bits that no more are left. How many bits that takes is
// decided by the set of keys alone: of part of a set it is never more than of the whole. Between two looks at it there may be some
// more keys, so that bits are not left out one by one.
type table[C any, P interface {
	*C
	merge(*C)
}] struct {
	keys   []uint64 // without their last bits
	sums   []C
	coarse uint             // bits that are left out
	at     map[uint64]int32 // places of keys; nil if it has to be made anew
}

// room is how many keys there may be between two looks.
const room = MaxExact + MaxExact/2

// sum returns the sums of a key, which a next call may move.
func (t *table[C, P]) sum(key uint64) *C {
	if t.at == nil {
		t.at = make(map[uint64]int32, len(t.keys))
		for i, k := range t.keys {
			t.at[k] = int32(i)
		}
	}
	k := key >> t.coarse
	i, ok := t.at[k]
	if !ok {
		if len(t.keys) == room {
			t.settle()
			return t.sum(key)
		}
		i = int32(len(t.keys))
		t.at[k] = i
		t.keys, t.sums = append(t.keys, k), append(t.sums, *new(C))
	}
	return &t.sums[i]
}

// settle puts the keys in rising order, and leaves out as many bits as it takes until there are no more than MaxExact.
func (t *table[C, P]) settle() {
	if !slices.IsSorted(t.keys) {
		t.sort()
	}
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

func (t *table[C, P]) sort() {
	type entry struct {
		key uint64
		i   int32
	}
	order := make([]entry, len(t.keys))
	for i, k := range t.keys {
		order[i] = entry{k, int32(i)}
	}
	slices.SortFunc(order, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	sums := make([]C, len(t.sums))
	for to, e := range order {
		t.keys[to], sums[to] = e.key, t.sums[e.i]
	}
	t.sums, t.at = sums, nil
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
	t.keys, t.sums, t.coarse, t.at = t.keys[:n], t.sums[:n], t.coarse+more, nil
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
	t.keys, t.sums, t.at = keys, sums, nil
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

// The bits of 1/2, and keys of scores in [0,1]: the bits of what is below 1/2, and above it twice those of 1/2 less those of what
// the score is less than 1, so that the digits count that scores near 1 have there.
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
