package order

import (
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// A chunk of keys stays in the first-level cache while it is split; a part stays in the second while it is sorted. Fewer
// keys than fewKeys are sorted by one thread.
const (
	chunkBytes = 1 << 16
	mostParts  = 64
	fewKeys    = 1 << 18
)

// chunks are slices with equal numbers of keys, except the last one.
type chunks[K kernel.Key] struct {
	x    []K
	size int
}

func chunksOf[K kernel.Key](x []K, bytes int) chunks[K] {
	return chunks[K]{x, bytes / int(unsafe.Sizeof(K(0)))}
}

func (c chunks[K]) number() int  { return (len(c.x) + c.size - 1) / c.size }
func (c chunks[K]) at(i int) []K { return c.x[i*c.size : min((i+1)*c.size, len(c.x))] }

// Sort sorts keys in rising order. scratch has kernel.SortScratch(len(x)) keys; if it is shorter, or nil, the memory is
// allocated. Each thread also allocates about four times a 64th of the keys.
func Sort[K kernel.Key](x, scratch []K, threads int) { sortOf(x, scratch, threads, nil, nil) }

// SortFrom sorts into dst the keys that read produces; see kernel.SortFrom for read and done. With several threads,
// goroutines call them concurrently, and read in any order. Memory is that of Sort.
func SortFrom[K kernel.Key](dst, scratch []K, threads int, read func(dst []K, first int), done func(first, end int)) {
	sortOf(dst, scratch, threads, read, done)
}

// SortF32 sorts values in rising order, as kernel.SortF32 does: -0 becomes +0, and NaN is at the ends by sign. Memory is
// that of Sort.
func SortF32(x []float32, scratch []uint32, threads int) {
	keys := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	sortOf(keys, scratch, threads,
		func(dst []uint32, first int) { kernel.KeysF32(dst, x[first:first+len(dst)]) },
		func(first, end int) { kernel.ValuesF32(x[first:end], keys[first:end]) })
}

// SortF64 is SortF32 for float64.
func SortF64(x []float64, scratch []uint64, threads int) {
	keys := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
	sortOf(keys, scratch, threads,
		func(dst []uint64, first int) { kernel.KeysF64(dst, x[first:first+len(dst)]) },
		func(first, end int) { kernel.ValuesF64(x[first:end], keys[first:end]) })
}

// sortOf sorts x, or what read produces if it is not nil. done may be nil.
func sortOf[K kernel.Key](x, scratch []K, threads int, read func(dst []K, first int), done func(first, end int)) {
	n := len(x)
	if need := kernel.SortScratch(n); len(scratch) < need {
		scratch = make([]K, need)
	}
	from := chunksOf(x, chunkBytes)
	threads = pool.Threads(threads, from.number())
	var lasts []K
	if threads > 1 && n >= fewKeys {
		lasts = splitters(x, read)
	}
	if len(lasts) == 0 {
		if read == nil {
			kernel.Sort(x, scratch)
		} else {
			kernel.SortFrom(x, scratch, read, done)
		}
		return
	}
	// Each chunk is split into other memory. The table holds the ends of the parts of each chunk.
	parts := len(lasts) + 1
	moved := chunksOf(scratch[:n], chunkBytes)
	table := make([]int, from.number()*parts)
	pool.Share(threads, from.number(), func(int) func(int) {
		room := make([]K, from.size)
		return func(c int) {
			chunk, keys := moved.at(c), from.at(c)
			ends := table[c*parts : (c+1)*parts]
			if read != nil {
				read(chunk, c*from.size)
				keys = chunk
			}
			kernel.Split(chunk, keys, lasts, ends[:parts-1], room)
			ends[parts-1] = len(chunk)
		}
	})
	segment := func(c, part int) []K {
		ends := table[c*parts : (c+1)*parts]
		start := 0
		if part > 0 {
			start = ends[part-1]
		}
		return moved.at(c)[start:ends[part]]
	}
	starts := make([]int, parts+1)
	for p := range parts {
		starts[p+1] = starts[p]
		for c := range moved.number() {
			starts[p+1] += len(segment(c, p))
		}
	}
	// With many equal keys a part may have any size. A part more than four times the usual size is sorted later, when the
	// other memory is free, unless all its keys are equal.
	largest := 4 * (n/mostParts + 1)
	late := make([]bool, parts)
	pool.Share(threads, parts, func(int) func(int) {
		var room []K
		return func(p int) {
			part := x[starts[p]:starts[p+1]]
			at := 0
			for c := range moved.number() {
				at += copy(part[at:], segment(c, p))
			}
			if len(part) <= largest {
				if need := kernel.SortScratch(len(part)); len(room) < need {
					room = make([]K, kernel.SortScratch(min(largest, len(part)+len(part)/4)))
				}
				kernel.Sort(part, room)
			} else if late[p] = !allEqual(part); late[p] {
				return
			}
			if done != nil {
				done(starts[p], starts[p+1])
			}
		}
	})
	for p := range parts {
		if part := x[starts[p]:starts[p+1]]; late[p] {
			kernel.Sort(part, scratch)
			if done != nil {
				done(starts[p], starts[p+1])
			}
		}
	}
}

// splitters returns keys that split x, or what read produces, into about equal parts.
func splitters[K kernel.Key](x []K, read func(dst []K, first int)) []K {
	sample := make([]K, 16*mostParts)
	step := len(x) / len(sample)
	for i := range sample {
		if at := i*step + step/2; read == nil {
			sample[i] = x[at]
		} else {
			read(sample[i:i+1], at)
		}
	}
	return kernel.Splitters(make([]K, mostParts-1), sample)
}

func allEqual[K kernel.Key](x []K) bool {
	for _, k := range x {
		if k != x[0] {
			return false
		}
	}
	return true
}
