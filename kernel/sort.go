package kernel

import (
	"slices"
	"unsafe"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/kernel/asm"
)

// Sort sorts keys in rising order. scratch has SortScratch(len(x)) elements. Time grows as n log n for any order of keys and
// any number of equal ones.
func Sort[K Key](x, scratch []K) {
	checkScratch(len(scratch), SortScratch(len(x)))
	if !simd() {
		sortBits(x, scratch)
		return
	}
	sortRange(keyRange[K]{home: x, spare: scratch}, 0, ^K(0), 0)
}

// SortFrom writes to dst, in rising order, the keys that read produces: read(x, first) fills x with the keys from number
// first on. For many keys it reads a sample one by one first, then 64 KiB at a time, just before they are sorted. It writes
// to dst only after all keys have been read, so read may use what dst holds. done, unless nil, is called with ranges of keys
// that are in their final place: once for each key, in any order of ranges, while they are in a cache. scratch is as for
// Sort.
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

// SortScratch returns the length of scratch that Sort, SortFrom, SortF32 and SortF64 need for n elements: n, or beyond 2^18
// elements about 2^18 plus n/126.
func SortScratch(n int) int {
	if n <= spread {
		return n
	}
	least := chunkKeys[uint64]()
	return n + spread + (n+least-1)/least*(mostParts+1)
}

// SortF32 sorts values by their keys (KeysF32): in rising order, with -0 turned into +0, and NaN at the ends by sign.
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

// sortBits is the definition, for CPUs without sift: a radix sort by digits of eight bits, least significant first, which
// skips digits that are the same in all keys.
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

// sortRange sorts keys that are all in [lo, hi]. bad is the number of consecutive splits before that hardly reduced the
// range.
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

// sortFew is sortRange for keys that are not spread out. It calls nothing that could retain them, so samples stay on the
// stack.
func sortFew[K Key](x keyRange[K], lo, hi K, bad int) {
	if len(x.home) <= smallLeaf[K]() {
		if lo < hi {
			sortLeaf(x.home, x.keys(), nil)
		} else {
			x.come()
		}
		return
	}
	var room leafRoom
	sortIn(x, lo, hi, bad, &room)
}

// sortIn is sortFew with scratch for leaves.
func sortIn[K Key](x keyRange[K], lo, hi K, bad int, room *leafRoom) {
	for lo < hi {
		n := len(x.home)
		if n <= leaf[K]() {
			sortLeaf(x.home, x.keys(), room)
			return
		}
		last := splitAfter(pivot(x.keys(), 1, 2), lo, hi, bad)
		low, high := x.sift(last)
		m := len(low.home)
		sortIn(high, last+1, hi, badSplits(bad, n-m, n), room)
		x, hi, bad = low, last, badSplits(bad, m, n)
	}
	x.come()
}

// splitAfter returns the key in [lo, hi) to split after. Usually it is the pivot, also after the first bad split: if most
// keys are equal, they are hi after that one, and the next removes them. After further bad splits it is, every other time,
// the middle of the range of possible keys. That halves the range, so at most twice as many bad splits follow each other as
// a key has bits.
func splitAfter[K Key](pivot, lo, hi K, bad int) K {
	if bad == 0 || bad%2 == 1 {
		return min(pivot, hi-1)
	}
	return lo + (hi-lo)/2
}

// badSplits counts consecutive bad splits, which leave more than 15/16 of n keys together.
func badSplits(bad, together, n int) int {
	if n-together < n/16 {
		return bad + 1
	}
	return 0
}

// pivot returns a key with about num/den of the keys below it, from a sample.
func pivot[K Key](x []K, num, den int) K {
	var sample [64]K
	s := sample[:16]
	if len(x) >= 4096 {
		s = sample[:min(len(sample), smallLeaf[K]())]
	}
	takeSample(s, x)
	return s[min(int(uint64(len(s))*uint64(num)/uint64(den)), len(s)-1)]
}

// takeSample fills s, which is no longer than a leaf, with sorted keys from all over x.
func takeSample[K Key](s, x []K) {
	step := uint64(len(x)) << 16 / uint64(len(s))
	at := step / 2
	for i := range s {
		s[i] = x[at>>16]
		at += step
	}
	sortLeaf(s, s, nil)
}

// leaf returns the largest number of keys that the assembly sorts without splitting them.
func leaf[K Key]() int {
	bytes := 256
	if isa.AVX2 {
		bytes = 1024
	}
	return bytes / int(unsafe.Sizeof(K(0)))
}

// smallLeaf returns the largest number of keys that it sorts in registers alone.
func smallLeaf[K Key]() int {
	bytes := 256
	if isa.AVX512 {
		bytes = 1024
	}
	return bytes / int(unsafe.Sizeof(K(0)))
}

// leafRoom is scratch for a leaf that is no small one: twice the largest, and room to begin at a cache line.
type leafRoom [(2*1024 + 64) / 8]uint64

// sortLeaf writes up to leaf keys to dst, sorted. dst may be x. A small leaf needs no room.
func sortLeaf[K Key](dst, x []K, room *leafRoom) {
	n := len(x)
	if n < leastLeaf || !simd() {
		insert(dst, x)
		return
	}
	if narrow[K]() {
		asm.SortLeafU32(word32(&dst[0]), word32(&x[0]), n, (*uint64)(unsafe.Pointer(room)))
	} else {
		asm.SortLeafU64(word64(&dst[0]), word64(&x[0]), n, (*uint64)(unsafe.Pointer(room)))
	}
}

// Fewer keys than leastLeaf are sorted by insertion.
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

// More keys than spread are first distributed, chunk by chunk, to parts that stay in the second-level cache and are sorted
// there at once. Smaller chunks would stay in the first-level cache, but the pieces of parts become so short that joining
// them costs more: ten million keys are sorted at 153, 194 and 224 million a second with chunks of 16, 32 and 64 KiB.
const (
	spread     = 1 << 18
	chunkBytes = 1 << 16
	partKeys   = 1 << 16
	mostParts  = 64
)

// chunkKeys returns the number of keys in a chunk.
func chunkKeys[K Key]() int { return chunkBytes / int(unsafe.Sizeof(K(0))) }

// spreadOut sorts by parts. It returns false, without sorting, if all keys of a sample are equal. The keys are in x, or read
// produces them, chunk by chunk; done, if not nil, is called part by part.
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
	// Each chunk is split on its way to the scratch. The table holds the ends of its parts, after a 0.
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
	// The other parts need all of the scratch, which is free now.
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

// bounds returns the range of the keys in a part.
func bounds[K Key](lasts []K, i int, lo, hi K) (from, to K) {
	if i > 0 {
		lo = lasts[i-1] + 1
	}
	if i < len(lasts) {
		hi = lasts[i]
	}
	return lo, hi
}

// spreading is the state of spreadOut.
type spreading[K Key] struct {
	x, moved, own, table []K
	size, parts          int
}

// segment returns the keys of a part in a chunk.
func (s *spreading[K]) segment(c, i int) []K {
	row := s.table[c*(s.parts+1)+i:]
	return s.moved[c*s.size+int(row[0]) : c*s.size+int(row[1])]
}

// gather joins the segments of a part.
func (s *spreading[K]) gather(part []K, i int) {
	at := 0
	for c := 0; c*s.size < len(s.x); c++ {
		at += copy(part[at:], s.segment(c, i))
	}
}

// siftPart sifts the segments of a part, into the part and own. They lie far apart, so each call prefetches the segment
// after the next.
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

// distance returns the number of bytes between the starts of two segments of a part.
func (s *spreading[K]) distance(c, d, i int) int {
	keys := (d-c)*s.size + int(s.table[d*(s.parts+1)+i]) - int(s.table[c*(s.parts+1)+i])
	return keys * int(unsafe.Sizeof(K(0)))
}

// Splitters picks keys from a sample of x that split it into len(room)+1 nonempty parts of about equal size, and returns
// them in rising order. There are fewer if many keys are equal. room is at most 63 long.
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

// perPart is the number of sampled keys per part.
const perPart = 16

// pickSample fills s with keys from all over x, or from all over what read produces, using the scratch.
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

// sortSample sorts the keys of pickSample.
func sortSample[K Key](s []K) {
	var scratch [perPart * mostParts]K
	if simd() {
		sortFew(keyRange[K]{home: s, spare: scratch[:]}, 0, ^K(0), 0)
	} else {
		sortBits(s, scratch[:])
	}
}

// splitters writes splitters from a sorted sample to room, and returns their number.
func splitters[K Key](room, s []K) (n int) {
	for i := perPart; i < len(s); i += perPart {
		if v := s[i-1]; v < s[len(s)-1] && (n == 0 || v > room[n-1]) {
			room[n] = v
			n++
		}
	}
	return n
}
