package kernel

import "math/bits"

// OrderF32 writes to index the indices of the values in rising order of their keys (KeysF32), and for equal keys in rising
// order of index: a stable argsort. index is as long as x, at most 2^31-1; scratch has OrderScratch(len(x)) elements.
func OrderF32(index []int32, x []float32, scratch []uint64) {
	keys, rest := orderRoom(len(index), len(x), scratch)
	for i, v := range x {
		keys[i] = uint64(keyF32(v))<<32 | uint64(i)
	}
	Sort(keys, rest)
	for i, k := range keys {
		index[i] = int32(uint32(k))
	}
}

// OrderF64 is OrderF32 for float64. Indices are sorted together with the highest 32 bits of the keys that differ at all, and
// where these are equal, again with the other bits.
func OrderF64(index []int32, x []float64, scratch []uint64) {
	keys, rest := orderRoom(len(index), len(x), scratch)
	lo, hi := ^uint64(0), uint64(0)
	for _, v := range x {
		k := keyF64(v)
		lo, hi = min(lo, k), max(hi, k)
	}
	shift := uint(0)
	if len(x) > 0 {
		shift = uint(bits.LeadingZeros64(hi - lo))
	}
	const low = 1<<32 - 1
	for i, v := range x {
		keys[i] = (keyF64(v)-lo)<<shift&^low | uint64(i)
	}
	Sort(keys, rest)
	for i := 0; i < len(keys); {
		j := i + 1
		for j < len(keys) && keys[j]&^low == keys[i]&^low {
			j++
		}
		if run := keys[i:j]; len(run) > 1 {
			for r, k := range run {
				run[r] = (keyF64(x[k&low])-lo)<<shift<<32 | k&low
			}
			Sort(run, rest)
		}
		i = j
	}
	for i, k := range keys {
		index[i] = int32(uint32(k))
	}
}

// OrderScratch returns the length of scratch that OrderF32 and OrderF64 need for n values: n for the keys, plus what Sort
// needs.
func OrderScratch(n int) int { return n + SortScratch(n) }

func orderRoom(index, n int, scratch []uint64) (keys, rest []uint64) {
	checkEqual(index, n)
	if n > 1<<31-1 {
		panic(errMany)
	}
	checkScratch(len(scratch), OrderScratch(n))
	return scratch[:n], scratch[n:]
}

const errMany = "kernel: more than 2^31-1 values to order"
