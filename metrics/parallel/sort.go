package parallel

import (
	"unsafe"

	"github.com/candor-go/candor/kernel"
)

// A chunk of keys to sort stays in the first-level cache while it is split; a part in the second while it is sorted. Fewer
// keys than fewKeys are one thread's.
const (
	chunkBytes = 1 << 15
	mostParts  = 64
	fewKeys    = 1 << 18
)

// chunks are slices of an equal number of keys, but for the last one.
type chunks[K kernel.Key] struct {
	x    []K
	size int
}

func chunksOf[K kernel.Key](x []K, bytes int) chunks[K] {
	return chunks[K]{x, bytes / int(unsafe.Sizeof(K(0)))}
}

func (c chunks[K]) number() int  { return (len(c.x) + c.size - 1) / c.size }
func (c chunks[K]) at(i int) []K { return c.x[i*c.size : min((i+1)*c.size, len(c.x))] }

// Sort sorts keys in rising order. It allocates as many keys again and 1 in 60 more, and for each thread some four times
// as many as a 64th of them.
func Sort[K kernel.Key](x []K, threads int) {
	n := len(x)
	from := chunksOf(x, chunkBytes)
	threads = threadsOf(threads, from.number())
	moved := make([]K, kernel.SortScratch(n))
	var room [mostParts - 1]K
	var lasts []K
	if threads > 1 && n >= fewKeys {
		lasts = kernel.Splitters(room[:], x)
	}
	if len(lasts) == 0 {
		kernel.Sort(x, moved)
		return
	}
	// Each chunk is split on its way to other memory. The table has for each chunk where its parts end.
	parts := len(lasts) + 1
	to := chunksOf(moved[:n], chunkBytes)
	table := make([]int, from.number()*parts)
	share(threads, from.number(), func(int) func(int) {
		scratch := make([]K, from.size)
		return func(c int) {
			chunk := from.at(c)
			ends := table[c*parts : (c+1)*parts]
			kernel.Split(to.at(c), chunk, lasts, ends[:parts-1], scratch)
			ends[parts-1] = len(chunk)
		}
	})
	segment := func(c, part int) []K {
		ends := table[c*parts : (c+1)*parts]
		start := 0
		if part > 0 {
			start = ends[part-1]
		}
		return to.at(c)[start:ends[part]]
	}
	starts := make([]int, parts+1)
	for p := range parts {
		starts[p+1] = starts[p]
		for c := range to.number() {
			starts[p+1] += len(segment(c, p))
		}
	}
	usual := 4 * (n/parts + 1)
	share(threads, parts, func(int) func(int) {
		var scratch []K
		return func(p int) {
			part := x[starts[p]:starts[p+1]]
			at := 0
			for c := range to.number() {
				at += copy(part[at:], segment(c, p))
			}
			if len(part) > usual {
				return
			}
			if need := kernel.SortScratch(len(part)); len(scratch) < need {
				scratch = make([]K, kernel.SortScratch(min(usual, len(part)+len(part)/4)))
			}
			kernel.Sort(part, scratch)
		}
	})
	// Where keys are many times the same a part may have any size. The memory between is free now.
	for p := range parts {
		if part := x[starts[p]:starts[p+1]]; len(part) > usual && !allEqual(part) {
			kernel.Sort(part, moved)
		}
	}
}

func allEqual[K kernel.Key](x []K) bool {
	for _, k := range x {
		if k != x[0] {
			return false
		}
	}
	return true
}

// SortF32 sorts values in rising order, as kernel.SortF32 does: -0 is made +0, NaN is at the ends by sign. Memory is that
// of Sort.
func SortF32(x []float32, threads int) {
	keys := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	sortValues(x, keys, threads, kernel.KeysF32, kernel.ValuesF32)
}

// SortF64 is SortF32 for float64.
func SortF64(x []float64, threads int) {
	keys := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	sortValues(x, keys, threads, kernel.KeysF64, kernel.ValuesF64)
}

// sortValues sorts values where they stand, as keys.
func sortValues[F any, K kernel.Key](x []F, keys []K, threads int, to func([]K, []F), back func([]F, []K)) {
	c := chunksOf(keys, chunkBytes)
	eachChunk := func(f func(lo, hi int)) {
		share(threadsOf(threads, c.number()), c.number(), func(int) func(int) {
			return func(i int) { f(i*c.size, min((i+1)*c.size, len(x))) }
		})
	}
	eachChunk(func(lo, hi int) { to(keys[lo:hi], x[lo:hi]) })
	Sort(keys, threads)
	eachChunk(func(lo, hi int) { back(x[lo:hi], keys[lo:hi]) })
}
