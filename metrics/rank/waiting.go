package rank

import (
	"math/bits"

	"github.com/candor-go/candor/internal/exact"
)

// waiting has unweighted rows whose keys have sums. The sums are small, and a row waits until there are many of neighbouring keys: memory is what
// a row costs, and then it is read and written in order.
type waiting struct {
	base  uint64
	pages []uint16    // of pageLen keys each, from base on: where in words they are; none before begin
	words []word      // of the keys in use; the first page has none
	few   []exact.Few // by place
	rows  int64
	count []int32 // of the rows that wait for a part of the places
	loss  []placed
	spill func(place int, few *exact.Few) // takes sums over
}

// word says which of 64 keys are in use, and how many lower ones.
type word struct {
	used   uint64
	before int
}

// placed is a row with the place of its key.
type placed struct {
	loss float64
	at   int32
}

// A part is of partLen places, and partRows rows at most wait for it.
const (
	partBits = 10
	partLen  = 1 << partBits
	partRows = 512
)

// Most keys are near others, but a few may be far away.
const (
	pageBits  = 10
	pageLen   = 1 << pageBits
	mostPages = 1 << 18
	mostUsed  = 1 << 13 // pages with keys

	mostWaiting = 2*mostPages + 16*pageLen/64*mostUsed + 16*MaxExact + 16*partRows*MaxExact/partLen // bytes
)

// began reports whether there are sums.
func (w *waiting) began() bool { return len(w.pages) > 0 }

// begin makes empty sums for rising keys, at most MaxExact of them, unless they are too far apart. spill gets them at the end.
func (w *waiting) begin(keys []uint64, spill func(place int, few *exact.Few)) bool {
	n := len(keys)
	if n == 0 || keys[n-1]-keys[0] >= pageLen*mostPages {
		return false
	}
	w.base = keys[0]
	used, last := 1, -1
	for _, k := range keys {
		if page := int((k - w.base) >> pageBits); page != last {
			used++
			last = page
		}
	}
	if used > mostUsed {
		return false
	}
	w.spill = spill
	parts := (n + partLen - 1) / partLen
	w.pages = zeros(w.pages, last+1)
	w.words = zeros(w.words, used*(pageLen/64))
	w.few = zeros(w.few, n)
	w.count = zeros(w.count, parts)
	if len(w.loss) < parts*partRows {
		w.loss = make([]placed, parts*partRows)
	}
	used, last = 0, -1
	for i, k := range keys {
		d := k - w.base
		if page := int(d >> pageBits); page != last {
			used++
			last = page
			w.pages[page] = uint16(used)
		}
		v := &w.words[used*(pageLen/64)+int(d>>6&(pageLen/64-1))]
		if v.used == 0 {
			v.before = i
		}
		v.used |= 1 << (d & 63)
	}
	return true
}

// zeros returns n zeros, in the memory of s if there is room.
func zeros[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// held returns the memory in bytes.
func (w *waiting) held() int64 {
	return 2*int64(cap(w.pages)) + 16*int64(cap(w.words)+cap(w.few)+len(w.loss)) + 4*int64(cap(w.count))
}

// add adds a row, unless its key has no sum, or the row does not fit.
func (w *waiting) add(key uint64, loss, weight float64) bool {
	d := key - w.base
	if d>>pageBits >= uint64(len(w.pages)) {
		return false
	}
	v := &w.words[int(w.pages[d>>pageBits])*(pageLen/64)+int(d>>6&(pageLen/64-1))]
	if v.used>>(d&63)&1 == 0 || weight > 0 || !exact.FitsFew(loss) {
		return false
	}
	at := v.before + bits.OnesCount64(v.used&(1<<(d&63)-1))
	part := at >> partBits
	n := w.count[part]
	w.loss[part*partRows+int(n)] = placed{loss, int32(at)}
	w.count[part] = n + 1
	w.rows++
	if n == partRows-1 {
		w.addPart(part)
	}
	return true
}

// addPart adds the rows that wait for a part to its sums.
func (w *waiting) addPart(part int) {
	first := part * partLen
	few := w.few[first:min(first+partLen, len(w.few))]
	// All sums of the part are read in order first, which brings them to the cache.
	for i := range few {
		if few[i].N() > exact.FewTerms-partRows {
			w.spill(first+i, &few[i])
			few[i] = exact.Few{}
		}
	}
	for _, r := range w.loss[part*partRows:][:w.count[part]] {
		few[int(r.at)-first].Add(r.loss)
	}
	w.count[part] = 0
}

// end hands over all sums, and leaves none.
func (w *waiting) end() {
	if w.rows > 0 {
		for part := range w.count {
			w.addPart(part)
		}
		for i := range w.few {
			if w.few[i].N() > 0 {
				w.spill(i, &w.few[i])
			}
		}
	}
	w.pages, w.rows, w.spill = w.pages[:0], 0, nil
}
