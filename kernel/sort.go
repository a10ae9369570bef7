package kernel

import (
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel/asm"
)

// Sort sorts keys in rising order. scratch has SortScratch(len(x)) elements. The time grows
// as n log n for keys in any order and with any number of equal ones.
func Sort[K Key](x, scratch []K) {
	checkScratch(len(scratch), SortScratch(len(x)))
	if !simd() {
		sortBits(x, scratch)
		return
	}
	sortRange(keyRange[K]{home: x, spare: scratch}, 0, ^K(0), 0)
}

// SortFrom writes to dst, in rising order, the keys that read makes: read(x, first) fills x with key number first and those
// behind it. Of many keys 64 KiB are made at a time, where the sort reads them first, and some are made one by one for a sample
// before. Nothing is in dst before all of them are made, so read may make them of what is there. done, unless it is nil, is told of
// keys that are in their places: of each once, part by part in no promised order, while they are in a cache. scratch is as for Sort.
func SortFrom[K Key](dst, scratch []K, read func(dst []K, first int), done func(first, end int)) {
	checkScratch(len(scratch), SortScratch(len(dst)))
	if simd() && len(dst) > spread && spreadOut(dst, scratch, 0, ^K(0), read, done) {
		return
	}
	if len(dst) == 0 {
		return
	}
	read(dst, 0)
	if simd() {
		sortRange(keyRange[K]{home: dst, spare: scratch}, 0, ^K(0), 0)
	} else {
		sortBits(dst, scratch)
	}
	if done != nil {
		done(0, len(dst))
	}
}

// SortScratch returns the length of the scratch that Sort, SortFrom, SortF32 and SortF64 need for n elements: n, and where n is
// beyond 2^18 some 2^18 and a 126th of n more.
func SortScratch(n int) int {
	if n <= spread {
		return n
	}
	least := chunkKeys[uint64]()
	return n + spread + (n+least-1)/least*(mostParts+1)
}

// SortF32 sorts values by their keys (KeysF32): in rising order, -0 made +0, NaN at the ends by sign.
func SortF32(x []float32, scratch []uint32) {
	keys := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	SortFrom(keys, scratch,
		func(dst []uint32, first int) { KeysF32(dst, x[first:first+len(dst)]) },
		func(first, end int) { ValuesF32(x[first:end], keys[first:end]) })
}

// SortF64 is SortF32 for float64.
func SortF64(x []float64, scratch []uint64) {
	keys := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	SortFrom(keys, scratch,
		func(dst []uint64, first int) { KeysF64(dst, x[first:first+len(dst)]) },
		func(first, end int) { ValuesF64(x[first:end], keys[first:end]) })
}

// sortBits is the definition, for CPUs that do not sift: by digits of eight bits, the last one first, of which those that
// are the same in all keys are passed over.
func sortBits[K Key](x, scratch []K) {
	n := len(x)
	if n < 512 {
		slices.Sort(x)
		return
	}
	var counts [8][256]int
	digits := int(unsafe.Sizeof(K(0)))
	for _, v := range x {
		for d := range digits {
			counts[d&7][uint8(v)]++
			v >>= 8
		}
	}
	from, to := x, scratch[:n]
	for d := range digits {
		c := &counts[d&7]
		if c[uint8(from[0]>>(8*d))] == n {
			continue
		}
		at := 0
		for i, m := range c {
			c[i] = at
			at += m
		}
		for _, v := range from {
			i := &c[uint8(v>>(8*d))]
			to[*i] = v
			*i++
		}
		from, to = to, from
	}
	if &from[0] != &x[0] {
		copy(x, from)
	}
}

// sortRange sorts keys that are all in [lo, hi], which the last so many splits have hardly made fewer.
func sortRange[K Key](x keyRange[K], lo, hi K, bad int) {
	for lo < hi {
		n := len(x.home)
		if n <= spread {
			sortFew(x, lo, hi, bad)
			return
		}
		if bad == 0 {
			if x.come(); spreadOut(x.home, x.spare, lo, hi, nil, nil) {
				return
			}
		}
		last := splitAfter(pivot(x.keys(), 1, 2), lo, hi, bad)
		low, high := x.sift(last)
		m := len(low.home)
		sortRange(high, last+1, hi, badSplits(bad, n-m, n))
		x, hi, bad = low, last, badSplits(bad, m, n)
	}
	x.come()
}

// sortFew is sortRange of keys that are not spread out. It calls nothing that could keep them, so samples stay on the stack.
func sortFew[K Key](x keyRange[K], lo, hi K, bad int) {
	for lo < hi {
		n := len(x.home)
		if n <= leaf[K]() {
			sortLeaf(x.home, x.keys())
			return
		}
		last := splitAfter(pivot(x.keys(), 1, 2), lo, hi, bad)
		low, high := x.sift(last)
		m := len(low.home)
		sortFew(high, last+1, hi, badSplits(bad, n-m, n))
		x, hi, bad = low, last, badSplits(bad, m, n)
	}
	x.come()
}

// splitAfter returns the key in [lo, hi) to split after: the pivot, and also after a bad split, for where most keys are the
// same they are hi after the first and taken off by the second. Of further splits every other one is in the middle of what the
// keys may be. That halves the range: no more than twice as many bad splits follow one another as a key has bits.
func splitAfter[K Key](pivot, lo, hi K, bad int) K {
	if bad == 0 || bad%2 == 1 {
		return min(pivot, hi-1)
	}
	return lo + (hi-lo)/2
}

// badSplits counts bad splits in a row: those that leave more than 15/16 of n keys together.
func badSplits(bad, together, n int) int {
	if n-together < n/16 {
		return bad + 1
	}
	return 0
}

// pivot returns a key with about num/den of the keys below it: that one of a sample.
func pivot[K Key](x []K, num, den int) K {
	var sample [64]K
	s := sample[:16]
	if len(x) >= 4096 {
		s = sample[:min(len(sample), leaf[K]())]
	}
	takeSample(s, x)
	return s[min(int(uint64(len(s))*uint64(num)/uint64(den)), len(s)-1)]
}

// takeSample fills s, which is no longer than a leaf, with keys from all over x, sorted.
func takeSample[K Key](s, x []K) {
	step := uint64(len(x)) << 16 / uint64(len(s))
	at := step / 2
	for i := range s {
		s[i] = x[at>>16]
		at += step
	}
	sortLeaf(s, s)
}

// leaf is how many keys the assembly sorts in registers at the most.
func leaf[K Key]() int {
	registers := 256
	if isa.AVX512 {
		registers = 1024
	}
	return registers / int(unsafe.Sizeof(K(0)))
}

// sortLeaf writes up to leaf keys to dst, sorted. dst may be x.
func sortLeaf[K Key](dst, x []K) {
	n := len(x)
	if n < leastLeaf || !simd() {
		insert(dst, x)
		return
	}
	if narrow[K]() {
		asm.SortLeafU32(word32(&dst[0]), word32(&x[0]), n)
	} else {
		asm.SortLeafU64(word64(&dst[0]), word64(&x[0]), n)
	}
}

// Fewer keys than leastLeaf are put into place one by one.
const leastLeaf = 6

func insert[K Key](dst, x []K) {
	for i, v := range x {
		j := i
		for j > 0 && dst[j-1] > v {
			dst[j] = dst[j-1]
			j--
		}
		dst[j] = v
	}
}

// More keys than spread are first dealt out, by chunks, to parts that stay in the second-level cache and are sorted there at
// once. Smaller chunks would stay in the first-level cache, but leave pieces of parts so short that putting them together costs
// more: ten million keys are sorted at 153, 194 and 224 million a second with 16, 32 and 64 KiB.
const (
	spread     = 1 << 18
	chunkBytes = 1 << 16
	partKeys   = 1 << 16
	mostParts  = 64
)

// chunkKeys is how many keys a chunk has.
func chunkKeys[K Key]() int { return chunkBytes / int(unsafe.Sizeof(K(0))) }

// spreadOut sorts by parts, unless it returns false, where the keys of a sample are all the same. The keys are in x, or else read
// makes them, chunk by chunk; done, if there is one, is called part by part.
func spreadOut[K Key](x, scratch []K, lo, hi K, read func(dst []K, first int), done func(first, end int)) bool {
	n, size := len(x), chunkKeys[K]()
	var room [mostParts - 1]K
	var sample [perPart * mostParts]K
	most := min(mostParts, (n+partKeys-1)/partKeys)
	known := sample[:perPart*most]
	pickSample(known, x, scratch, read)
	sortSample(known)
	lasts := room[:splitters(room[:most-1], known)]
	if len(lasts) == 0 {
		return false
	}
	s := spreading[K]{x: x, size: size, parts: len(lasts) + 1, moved: scratch[:n], own: scratch[n : n+spread], table: scratch[n+spread:]}
	// Each chunk is split on its way to the scratch. The table has the ends of its parts, after a 0.
	var ends, total [mostParts]int
	for c := 0; c*size < n; c++ {
		from := x[c*size : min((c+1)*size, n)]
		to := s.moved[c*size : c*size+len(from)]
		if read != nil {
			read(to, c*size)
			from = to
		}
		Split(to, from, lasts, ends[:len(lasts)], s.own)
		ends[len(lasts)] = len(from)
		row := s.table[c*(s.parts+1) : (c+1)*(s.parts+1)]
		row[0] = 0
		for i, e := range ends[:s.parts] {
			row[i+1] = K(e)
			total[i] += e - int(row[i])
		}
	}
	at := 0
	for i, m := range total[:s.parts] {
		part := x[at : at+m]
		at += m
		if m > spread {
			s.gather(part, i)
			continue
		}
		from, to := bounds(lasts, i, lo, hi)
		if from == to {
			s.gather(part, i)
		} else {
			for len(known) > 0 && known[0] < from {
				known = known[1:]
			}
			k := 0
			for k < len(known) && known[k] <= to {
				k++
			}
			last := min(known[k/2], to-1)
			h := keyRange[K]{home: part, spare: s.own}
			low, high := h.parts(s.siftPart(part, i, last))
			sortFew(high, last+1, to, 0)
			sortFew(low, from, last, 0)
		}
		if done != nil {
			done(at-m, at)
		}
	}
	// The others need all of the scratch, which is free now.
	at = 0
	for i, m := range total[:s.parts] {
		if part := x[at : at+m]; m > spread {
			from, to := bounds(lasts, i, lo, hi)
			bad := 0
			if m > n/2 {
				bad = 1
			}
			sortRange(keyRange[K]{home: part, spare: scratch}, from, to, bad)
			if done != nil {
				done(at, at+m)
			}
		}
		at += m
	}
	return true
}

// bounds returns what the keys of a part may be.
func bounds[K Key](lasts []K, i int, lo, hi K) (from, to K) {
	if i > 0 {
		lo = lasts[i-1] + 1
	}
	if i < len(lasts) {
		hi = lasts[i]
	}
	return lo, hi
}

// spreading is what spreadOut knows of the chunks.
type spreading[K Key] struct {
	x, moved, own, table []K
	size, parts          int
}

// segment returns the keys of a part that a chunk has.
func (s *spreading[K]) segment(c, i int) []K {
	row := s.table[c*(s.parts+1)+i:]
	return s.moved[c*s.size+int(row[0]) : c*s.size+int(row[1])]
}

// gather puts a part together.
func (s *spreading[K]) gather(part []K, i int) {
	at := 0
	for c := 0; c*s.size < len(s.x); c++ {
		at += copy(part[at:], s.segment(c, i))
	}
}

// siftPart sifts the segments of a part, to the part and to own. They lie far apart: each fetches the next but one.
func (s *spreading[K]) siftPart(part []K, i int, last K) int {
	lows, highs := 0, 0
	chunks := (len(s.x) + s.size - 1) / s.size
	for c := range chunks {
		seg := s.segment(c, i)
		k := 0
		if len(seg) < leastSifted {
			k = siftGeneric(part[lows:], seg, last, s.own[highs:])
		} else {
			k = simdSift(&part[lows], &seg[0], len(seg), last, &s.own[highs], s.distance(c, min(c+2, chunks-1), i))
		}
		lows += k
		highs += len(seg) - k
	}
	return lows
}

// distance returns how many bytes lie between the starts of two segments of a part.
func (s *spreading[K]) distance(c, d, i int) int {
	keys := (d-c)*s.size + int(s.table[d*(s.parts+1)+i]) - int(s.table[c*(s.parts+1)+i])
	return keys * int(unsafe.Sizeof(K(0)))
}

// Splitters picks from a sample of x keys that split it into len(room)+1 parts of about the same size, none of them empty,
// and returns them, rising: fewer than there is room for where keys are many times the same. room is at most 63 long.
func Splitters[K Key](room []K, x []K) []K {
	if len(room) >= mostParts {
		panic(errRoom)
	}
	if len(x) == 0 {
		return room[:0]
	}
	var sample [perPart * mostParts]K
	known := sample[:perPart*(len(room)+1)]
	pickSample(known, x, nil, nil)
	sortSample(known)
	return room[:splitters(room, known)]
}

const errRoom = "kernel: room for more than 63 keys to split at"

// perPart is how many keys of a sample tell where a part ends.
const perPart = 16

// pickSample fills s with keys from all over x, which read makes, in the scratch, unless it is nil.
func pickSample[K Key](s, x, scratch []K, read func(dst []K, first int)) {
	step := uint64(len(x)) << 16 / uint64(len(s))
	for i := range s {
		at := int((step/2 + uint64(i)*step) >> 16)
		if read == nil {
			s[i] = x[at]
			continue
		}
		read(scratch[:1], at)
		s[i] = scratch[0]
	}
}

// sortSample sorts what pickSample has taken.
func sortSample[K Key](s []K) {
	var scratch [perPart * mostParts]K
	if simd() {
		sortFew(keyRange[K]{home: s, spare: scratch[:]}, 0, ^K(0), 0)
	} else {
		sortBits(s, scratch[:])
	}
}

// splitters returns how many keys it has put into the room, by a sorted sample.
func splitters[K Key](room, s []K) (n int) {
	for i := perPart; i < len(s); i += perPart {
		if v := s[i-1]; v < s[len(s)-1] && (n == 0 || v > room[n-1]) {
			room[n] = v
			n++
		}
	}
	return n
}
