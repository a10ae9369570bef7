package calib

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// keeper holds the entries of ClassScores, as keys of either size.
type keeper interface {
	merge(o keeper)
	drop()
	// each calls use with the bins of each class. It runs on several goroutines, each with its own bins.
	each(bins int, use func(class int, b *order.Bins))
	class(class, bins int) *order.Bins
	// eachSorted calls use with the sorted entries of each class, also on several goroutines.
	eachSorted(use func(class int, o cells.Ordered))
	encode(dst []byte) []byte
	mostBytes() int
	decode(b []byte, s *ClassScores) error
}

// keptKeys holds the keys of entries (kernel.HitKeysF32, HitKeysF64) by class. Parts never change, so merged values share them.
type keptKeys[K kernel.Key] struct {
	width    int
	weighted bool
	bounded  bool    // there is a threshold
	above    float64 // threshold; below 0 if there is none
	least    K       // entries above the threshold have keys from least to last
	last     K

	blocks []keyBlock[K]
	lists  []keyList[K]

	dropped bool // entries are only counted
	keys    []K  // of a block that is only counted

	listing bool // the last block was stored as a list
	lowest  kernel.Lowest
	sums    kernel.ClassSums // unused; the kernel computes them along with its list
	places  []uint32
	found   keyList[K] // entries found in a block
}

// keyBlock holds a key for each entry of some rows: that of row i and class c is keys[c*rows+i].
type keyBlock[K kernel.Key] struct {
	rows    int
	keys    []K
	weights []float64 // nil, one per row, or one per key
	kept    bool      // all keys belong to entries that count
}

// keyList holds entries in any order.
type keyList[K kernel.Key] struct {
	class   []int32
	keys    []K
	weights []float64 // nil, or one per entry
}

func newKeptKeys[K kernel.Key](s *ClassScores) *keptKeys[K] {
	k := &keptKeys[K]{width: s.width, weighted: s.seen.Weighted, above: -1, last: scoreKey[K](1) | 1}
	if s.opt.Above == nil {
		return k
	}
	k.above, k.bounded = *s.opt.Above, true
	k.least = keyAbove[K](k.above)
	k.listing = k.above > 0
	k.lowest = kernel.NewLowest(k.above, kernel.RightClosed, -1)
	return k
}

func narrowKeys[K kernel.Key]() bool { return unsafe.Sizeof(K(0)) == 4 }

// scoreKey returns the key of a score with outcome 0. The score is representable in the keys' type.
func scoreKey[K kernel.Key](v float64) K {
	if narrowKeys[K]() {
		return K(math.Float32bits(float32(v))) << 1
	}
	b := math.Float64bits(v)
	return K(b) << 1
}

// keyAbove returns the smallest key of a score above v, for v in [0,1).
func keyAbove[K kernel.Key](v float64) K {
	if f := float32(v); narrowKeys[K]() && float64(f) > v {
		return scoreKey[K](float64(f))
	}
	return scoreKey[K](v) + 2
}

// inside reports whether an entry counts.
func (k *keptKeys[K]) inside(key K) bool { return key-k.least <= k.last-k.least }

// rowsOf holds at most kernel.MaxSum rows of a block.
type rowsOf struct {
	labels  []int32
	weights []float64
}

// blockBytes returns the memory of rows stored as a block; listBytes returns that of entries stored as a list.
func (k *keptKeys[K]) blockBytes(rows int) int {
	n := rows * k.width * int(unsafe.Sizeof(K(0)))
	if k.weighted {
		n += 8 * rows
	}
	return n
}

func (k *keptKeys[K]) listBytes(entries int) int {
	n := entries * (int(unsafe.Sizeof(K(0))) + 4)
	if k.weighted {
		n += 8 * entries
	}
	return n
}

// addRows stores rows in the form that takes less memory. It returns the number of keys that count and the number of entries
// outside [0,1].
func addRows[K kernel.Key, F float32 | float64](k *keptKeys[K], r *rowsOf, x []F, t *metrics.Tile,
	columnKeys func(dst []K, x []F, rows, cols, stride int) (least K, out int),
	sums func(s *kernel.ClassSums, list []uint32, x []F, rows, k, stride int, l *kernel.Lowest, ahead int) (listed, done int),
) (keys, out int) {
	rows := len(r.labels)
	if k.listing {
		if out, ok := find(k, r, x, t, sums); ok {
			if !k.dropped {
				k.appendList(&k.found)
			}
			return len(k.found.keys), out
		}
		k.listing = false
	}
	b := keyBlock[K]{rows: rows}
	if k.dropped {
		k.keys = slices.Grow(k.keys[:0], rows*k.width)
		b.keys = k.keys[:rows*k.width]
	} else {
		b.keys, b.weights = make([]K, rows*k.width), slices.Clone(r.weights)
	}
	least, out := columnKeys(b.keys, x, rows, k.width, t.Stride)
	for i, y := range r.labels {
		b.keys[int(y)*rows+i] |= 1
	}
	b.kept = out == 0 && least >= k.least
	keys = len(b.keys)
	if !b.kept && k.bounded {
		keys = 0
		for _, key := range b.keys {
			if k.inside(key) {
				keys++
			}
		}
		k.listing = k.listBytes(keys) < k.blockBytes(rows)
	}
	switch {
	case k.dropped:
	case k.listing:
		k.appendBlock(&b)
	default:
		k.addBlock(b)
	}
	return keys, out
}

// find lists the entries above the threshold. ok is false if they would take less memory as a block.
func find[K kernel.Key, F float32 | float64](k *keptKeys[K], r *rowsOf, x []F, t *metrics.Tile,
	sums func(s *kernel.ClassSums, list []uint32, x []F, rows, k, stride int, l *kernel.Lowest, ahead int) (listed, done int),
) (out int, ok bool) {
	if k.places == nil {
		n := min(k.width, listWidth)
		k.places = make([]uint32, listLen+kernel.ListSlack)
		k.sums = kernel.ClassSums{N: make([]int64, n), P: make([]int64, n), PP: make([]int64, n)}
	}
	f, rows := &k.found, len(r.labels)
	f.class, f.keys, f.weights = f.class[:0], f.keys[:0], f.weights[:0]
	width := uint32(min(uint64(t.Stride), math.MaxUint32)) // a single row may have a larger stride
	k.sums.Clear()
	for from, n := 0, 0; from < k.width; from += n {
		n = min(k.width-from, listWidth)
		for i, done := 0, 0; i < rows; i += done {
			part, listed := x[i*t.Stride+from:], 0
			listed, done = sums(&k.sums, k.places, part, rows-i, n, t.Stride, &k.lowest, t.Ahead)
			for _, at := range k.places[:listed] {
				v := float64(part[at])
				if !(v >= 0 && v <= 1) {
					out++
					continue
				}
				if !(v > k.above) { // -0
					continue
				}
				row, class := i+int(at/width), int32(from)+int32(at%width)
				key := scoreKey[K](v)
				if r.labels[row] == class {
					key |= 1
				}
				f.class, f.keys = append(f.class, class), append(f.keys, key)
				if k.weighted {
					f.weights = append(f.weights, r.weights[row])
				}
			}
			if k.listBytes(len(f.keys)) > k.blockBytes(rows) {
				return 0, false
			}
		}
	}
	return out, true
}

// fewKeys is the size up to which parts are copied to reduce their number: the sum of two blocks to join, or one list.
const fewKeys = 8192

// addBlock adds a block. It joins a small block with the one before, unless that one is much larger, so each key moves only a
// few times.
func (k *keptKeys[K]) addBlock(b keyBlock[K]) {
	for n := len(k.blocks); n > 0; n = len(k.blocks) {
		a := &k.blocks[n-1]
		if len(a.keys)+len(b.keys) > fewKeys || len(a.keys) > 2*len(b.keys) {
			break
		}
		b = k.join(a, &b)
		k.blocks = k.blocks[:n-1]
	}
	k.blocks = append(k.blocks, b)
}

// join returns a block with the rows of both blocks.
func (k *keptKeys[K]) join(a, b *keyBlock[K]) keyBlock[K] {
	c := keyBlock[K]{rows: a.rows + b.rows, kept: a.kept && b.kept}
	c.keys = make([]K, 0, c.rows*k.width)
	for class := range k.width {
		for _, p := range []*keyBlock[K]{a, b} {
			c.keys = append(c.keys, p.keys[class*p.rows:][:p.rows]...)
		}
	}
	if !k.weighted {
		return c
	}
	if len(a.weights) == a.rows && len(b.weights) == b.rows {
		c.weights = slices.Concat(a.weights, b.weights)
		return c
	}
	for class := range k.width {
		for _, p := range []*keyBlock[K]{a, b} {
			c.weights = append(c.weights, p.of(p.weights, class)...)
		}
	}
	return c
}

// of returns the weights of the keys of a class.
func (b *keyBlock[K]) of(weights []float64, class int) []float64 {
	if len(weights) == b.rows {
		return weights
	}
	return weights[class*b.rows:][:b.rows]
}

// appendBlock appends the entries of a block above the threshold to the lists.
func (k *keptKeys[K]) appendBlock(b *keyBlock[K]) {
	for i, key := range b.keys {
		if k.inside(key) {
			l := k.tail(1)
			l.class, l.keys = append(l.class, int32(i/b.rows)), append(l.keys, key)
			if k.weighted {
				l.weights = append(l.weights, b.weights[i%b.rows])
			}
		}
	}
}

// appendList copies entries to the last list.
func (k *keptKeys[K]) appendList(a *keyList[K]) {
	for at := 0; at < len(a.keys); {
		l := k.tail(len(a.keys) - at)
		n := min(len(a.keys)-at, cap(l.keys)-len(l.keys))
		l.class, l.keys = append(l.class, a.class[at:at+n]...), append(l.keys, a.keys[at:at+n]...)
		if k.weighted {
			l.weights = append(l.weights, a.weights[at:at+n]...)
		}
		at += n
	}
}

// tail returns a list with capacity for at least one of n entries.
func (k *keptKeys[K]) tail(n int) *keyList[K] {
	last := len(k.lists) - 1
	if last >= 0 && len(k.lists[last].keys) < cap(k.lists[last].keys) {
		return &k.lists[last]
	}
	room := min(n, fewKeys)
	if last >= 0 {
		room = min(max(n, 2*len(k.lists[last].keys)), fewKeys)
	}
	l := keyList[K]{class: make([]int32, 0, room), keys: make([]K, 0, room)}
	if k.weighted {
		l.weights = make([]float64, 0, room)
	}
	k.lists = append(k.lists, l)
	return &k.lists[last+1]
}

// merge adds the entries of another keeper. Large parts are shared by both.
func (k *keptKeys[K]) merge(a keeper) {
	o := a.(*keptKeys[K])
	if k.dropped {
		return
	}
	for _, b := range slices.Clone(o.blocks) {
		k.addBlock(b)
	}
	for _, l := range slices.Clone(o.lists) {
		if len(l.keys) < fewKeys/2 {
			k.appendList(&l)
			continue
		}
		// Clipped, so that an append to one of the two copies does not reach the other.
		shared := keyList[K]{slices.Clip(l.class), slices.Clip(l.keys), slices.Clip(l.weights)}
		k.lists = slices.Insert(k.lists, max(0, len(k.lists)-1), shared)
	}
}

// drop removes all entries. Others are only counted from then on.
func (k *keptKeys[K]) drop() { k.dropped, k.blocks, k.lists = true, nil, nil }

// keysByClass holds the entries of the lists by class: those of class c are at starts[c] to starts[c+1].
type keysByClass[K kernel.Key] struct {
	starts  []int
	keys    []K
	weights []float64
}

func (k *keptKeys[K]) byClass() *keysByClass[K] {
	s := &keysByClass[K]{starts: make([]int, k.width+2)}
	n := 0
	for i := range k.lists {
		for _, c := range k.lists[i].class {
			s.starts[c+2]++
		}
		n += len(k.lists[i].keys)
	}
	for c := range k.width {
		s.starts[c+2] += s.starts[c+1]
	}
	s.keys = make([]K, n)
	if k.weighted {
		s.weights = make([]float64, n)
	}
	for i := range k.lists {
		l := &k.lists[i]
		for j, c := range l.class {
			at := &s.starts[c+1] // at the end it is the start of the next class
			s.keys[*at] = l.keys[j]
			if k.weighted {
				s.weights[*at] = l.weights[j]
			}
			*at++
		}
	}
	return s
}

// only returns the entries of one class in the lists.
func (k *keptKeys[K]) only(class int) *keysByClass[K] {
	s := new(keysByClass[K])
	for i := range k.lists {
		l := &k.lists[i]
		for j, c := range l.class {
			if int(c) == class {
				s.keys = append(s.keys, l.keys[j])
				if k.weighted {
					s.weights = append(s.weights, l.weights[j])
				}
			}
		}
	}
	return s
}

// keyColumn holds the entries of one class, in any order.
type keyColumn[K kernel.Key] struct {
	keys    []K
	weights []float64
}

// keyColumns gathers the entries of several classes, with their weights if there are any. Without a threshold these are the
// entries of all rows, otherwise those above it.
type keyColumns[K kernel.Key] struct {
	k       *keptKeys[K]
	rows    int // rows of all blocks
	outside bool
	keys    []K
	weights []float64
	found   []keyColumn[K]
}

func (k *keptKeys[K]) columns() *keyColumns[K] {
	c := &keyColumns[K]{k: k}
	for i := range k.blocks {
		c.rows += k.blocks[i].rows
	}
	return c
}

// of returns n classes from first on; they are valid until the next call. lists holds the entries of the lists for classes from
// number start on.
func (c *keyColumns[K]) of(first, n int, lists *keysByClass[K]) []keyColumn[K] {
	c.found = slices.Grow(c.found[:0], n)[:n]
	starts := lists.starts
	if starts == nil {
		starts = []int{0, len(lists.keys)}
	} else {
		starts = starts[first:]
	}
	if c.rows == 0 {
		for i := range c.found {
			c.found[i] = keyColumn[K]{keys: lists.keys[starts[i]:starts[i+1]]}
			if c.k.weighted {
				c.found[i].weights = lists.weights[starts[i]:starts[i+1]]
			}
		}
		return c.found
	}
	need := n*c.rows + starts[n] - starts[0]
	c.keys = slices.Grow(c.keys[:0], need)[:need]
	if c.k.weighted {
		c.weights = slices.Grow(c.weights[:0], need)[:need]
	}
	for i := range c.found {
		at := i*c.rows + starts[i] - starts[0]
		c.found[i] = keyColumn[K]{keys: c.keys[at:at]}
		if c.k.weighted {
			c.found[i].weights = c.weights[at:at]
		}
		c.found[i].add(lists.keys[starts[i]:starts[i+1]])
		if c.k.weighted {
			c.found[i].weights = append(c.found[i].weights, lists.weights[starts[i]:starts[i+1]]...)
		}
	}
	for i := range c.k.blocks {
		b := &c.k.blocks[i]
		for j := range c.found {
			to := &c.found[j]
			keys := b.keys[(first+j)*b.rows:][:b.rows]
			switch all := b.kept || c.outside && !c.k.bounded; {
			case c.k.weighted:
				weights := b.of(b.weights, first+j)
				for i, key := range keys {
					if all || c.k.inside(key) {
						to.keys, to.weights = append(to.keys, key), append(to.weights, weights[i])
					}
				}
			case all:
				to.add(keys)
			default:
				for _, key := range keys {
					if c.k.inside(key) {
						to.keys = append(to.keys, key)
					}
				}
			}
		}
	}
	return c.found
}

func (c *keyColumn[K]) add(keys []K) { c.keys = append(c.keys, keys...) }

// together returns the number of classes to gather at once. Adjacent classes of a block are read faster together. Large classes
// are gathered one by one to save memory.
func (c *keyColumns[K]) together() int {
	const usual, large, most = 1 << 20, 4 << 20, 64
	size := max(1, c.rows) * int(unsafe.Sizeof(K(0)))
	if size > large {
		return 1
	}
	return min(max(usual/size, 4), most, c.k.width)
}

func (k *keptKeys[K]) each(bins int, use func(class int, b *order.Bins)) {
	lists := k.byClass()
	n := k.columns().together()
	pool.Each(0, (k.width+n-1)/n, func() func(int) {
		c := k.columns()
		var m massBinner[K]
		return func(task int) {
			first := task * n
			for i, col := range c.of(first, min(n, k.width-first), lists) {
				use(first+i, m.bins(&col, bins))
			}
		}
	})
}

func (k *keptKeys[K]) class(class, bins int) *order.Bins {
	var m massBinner[K]
	return m.bins(&k.columns().of(class, 1, k.only(class))[0], bins)
}

// encode appends the entries of each class: their number if there is a threshold, then the differences of their sorted keys,
// then their weights. The weights of equal keys are in ascending order.
func (k *keptKeys[K]) encode(dst []byte) []byte {
	lists, c := k.byClass(), k.columns()
	c.outside = true
	n := c.together()
	dst = slices.Grow(dst, k.mostOf(lists))
	var order ordering[K]
	for first := 0; first < k.width; first += n {
		for _, col := range c.of(first, min(n, k.width-first), lists) {
			if k.bounded {
				dst = binary.AppendUvarint(dst, uint64(len(col.keys)))
			}
			order.sort(&col)
			dst = slices.Grow(dst, lengthOf(col.keys, k.least)+8*len(col.weights))
			before := k.least
			for _, key := range col.keys {
				dst = binary.AppendUvarint(dst, uint64(key-before))
				before = key
			}
			for _, w := range col.weights {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(w))
			}
		}
	}
	return dst
}

func (k *keptKeys[K]) mostBytes() int { return k.mostOf(k.byClass()) }

// mostOf returns an upper bound on the bytes that encode appends, without weights. Growing a large state would hold it in
// memory twice. A difference d takes at most (log2(d) + 7)/7 bytes; the mean of this is largest if all differences of a class
// are equal.
func (k *keptKeys[K]) mostOf(lists *keysByClass[K]) (n int) {
	for class := range k.width {
		least, last, entries := k.last, k.least, 0
		look := func(keys []K) {
			entries += len(keys)
			for _, key := range keys {
				if k.inside(key) {
					least, last = min(least, key), max(last, key)
				}
			}
		}
		look(lists.keys[lists.starts[class]:lists.starts[class+1]])
		for i := range k.blocks {
			b := &k.blocks[i]
			look(b.keys[class*b.rows:][:b.rows])
		}
		if n += 3 * binary.MaxVarintLen64; entries > 0 && least <= last { // number of entries, first key, one key outside
			n += (entries*(bits.Len64(uint64(last-least)/uint64(entries))+7) + 6) / 7
		}
	}
	return n + 1<<10 // fields that follow the entries
}

// lengthOf returns the bytes of sorted keys written as differences, so that a large state does not move repeatedly as it grows.
func lengthOf[K kernel.Key](keys []K, before K) int {
	n := 0
	for _, key := range keys {
		n += (bits.Len64(uint64(key-before)|1) + 6) / 7
		before = key
	}
	return n
}

var (
	errEntries = errors.New("its entries are not valid")
	errFewer   = errors.New("its entries are fewer than it says")
)

// decode reads what encode wrote. b has at least one byte per key.
func (k *keptKeys[K]) decode(b []byte, s *ClassScores) error {
	n := int(s.keys)
	if k.weighted && n > len(b)/9 {
		return errFewer
	}
	l := keyList[K]{keys: make([]K, 0, n)}
	if k.weighted {
		l.weights = make([]float64, 0, n)
	}
	if k.bounded {
		l.class = make([]int32, 0, n)
	}
	number := func() (uint64, bool) {
		v, size := binary.Uvarint(b)
		if size <= 0 || size > 1 && b[size-1] == 0 {
			return 0, false
		}
		b = b[size:]
		return v, true
	}
	out := int64(0)
	for class := range k.width {
		count := uint64(s.rows)
		if k.bounded {
			var ok bool
			if count, ok = number(); !ok || count > uint64(s.rows) {
				return errEntries
			}
		}
		from := len(l.keys)
		if count > uint64(n-from) {
			return errEntries
		}
		before := k.least
		for range count {
			v, ok := number()
			key := before + K(v)
			if !ok || uint64(K(v)) != v || key < before || !k.inside(key) && (k.bounded || key != ^K(0)) {
				return errEntries
			}
			if key == ^K(0) {
				out++
			}
			l.keys, before = append(l.keys, key), key
			if k.bounded {
				l.class = append(l.class, int32(class))
			}
		}
		if !k.weighted {
			continue
		}
		if uint64(len(b))/8 < count {
			return errFewer
		}
		for i := range int(count) {
			w := math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			if at := from + i; !(w >= 0x1p-32 && w <= 0x1p32) || i > 0 && l.keys[at] == l.keys[at-1] && w < l.weights[at-1] {
				return errEntries
			}
			l.weights = append(l.weights, w)
		}
		b = b[8*count:]
	}
	if len(l.keys) != n || len(b) > 0 || !k.bounded && out != s.out {
		return errEntries
	}
	switch {
	case n == 0:
	case k.bounded:
		k.lists = append(k.lists, l)
	default:
		k.blocks = append(k.blocks, keyBlock[K]{rows: int(s.rows), keys: l.keys, weights: l.weights, kept: out == 0})
	}
	return nil
}
