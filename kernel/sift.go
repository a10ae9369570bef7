package kernel

import (
	"math/bits"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

// sift moves the keys that are at most last to the front of dst, in their order, and the others to high, and returns
// the number of the first. dst may be x or not overlap it. What dst and high hold behind those keys is anything; neither
// is shorter than x.
func sift[K Key](dst, x []K, last K, high []K) int {
	if !simd() || len(x) < leastSifted {
		return siftGeneric(dst, x, last, high)
	}
	lows := 0
	for i := 0; i < len(x); {
		n := min(len(x)-i, mostSifted)
		if len(x)-i-n < leastSifted {
			n = len(x) - i
		}
		lows += simdSift(&dst[lows], &x[i], n, last, &high[i-lows], nextLines)
		i += n
	}
	return lows
}

// The assembly takes no fewer keys than leastSifted, and some half a MiB of them in one call.
const leastSifted, mostSifted = 16, 1 << 16

// nextLines is how many bytes ahead keys that stand one after another are fetched.
const nextLines = 1024

func siftGeneric[K Key](dst, x []K, last K, high []K) int {
	lows, highs := 0, 0
	for _, v := range x {
		// Both are written and one stays: a branch would be foreseen half of the time.
		dst[lows], high[highs] = v, v
		_, above := bits.Sub64(uint64(last), uint64(v), 0)
		lows += 1 - int(above)
		highs += int(above)
	}
	return lows
}

func simdSift[K Key](dst, x *K, n int, last K, high *K, ahead int) int {
	if narrow[K]() {
		return asm.SiftU32(word32(dst), word32(x), n, uint64(last), word32(high), ahead)
	}
	return asm.SiftU64(word64(dst), word64(x), n, uint64(last), word64(high), ahead)
}

// word32 and word64 give a pointer to a Key its type, which the caller has looked at.
func word32[K Key](p *K) *uint32 { return (*uint32)(unsafe.Pointer(p)) }
func word64[K Key](p *K) *uint64 { return (*uint64)(unsafe.Pointer(p)) }

// siftIn is sift within x: those above last follow the others.
func siftIn[K Key](x []K, last K, high []K) int {
	n := sift(x, x, last, high)
	copy(x[n:], high[:len(x)-n])
	return n
}

// Split writes the keys x to dst in another order: those at most lasts[0] first, then those at most lasts[1], and so on,
// then the rest, with the order within each part as it was. It writes to ends[i] how many keys are at most lasts[i]. dst
// may be x or not overlap it, lasts are rising, and scratch is as long as x. Each key is looked at log2(len(lasts)+1)
// times: 32 KiB of keys at a time are fastest.
func Split[K Key](dst, x []K, lasts []K, ends []int, scratch []K) {
	checkEqual(len(dst), len(x))
	checkEqual(len(lasts), len(ends))
	checkScratch(len(scratch), len(x))
	for i := 1; i < len(lasts); i++ {
		if lasts[i-1] > lasts[i] {
			panic(errLasts)
		}
	}
	if len(x) == 0 {
		clear(ends)
		return
	}
	if len(lasts) == 0 {
		copy(dst, x)
		return
	}
	m := len(lasts) / 2
	n := sift(dst, x, lasts[m], scratch)
	copy(dst[n:], scratch[:len(x)-n])
	splitAt(dst, lasts, ends, 0, scratch, m, n)
}

// split splits x within itself; there are so many keys before it.
func split[K Key](x []K, lasts []K, ends []int, before int, scratch []K) {
	if len(lasts) > 0 {
		m := len(lasts) / 2
		splitAt(x, lasts, ends, before, scratch, m, siftIn(x, lasts[m], scratch))
	}
}

// splitAt goes on where the first n keys are those at most lasts[m].
func splitAt[K Key](x []K, lasts []K, ends []int, before int, scratch []K, m, n int) {
	ends[m] = before + n
	split(x[:n], lasts[:m], ends[:m], before, scratch)
	split(x[n:], lasts[m+1:], ends[m+1:], before+n, scratch)
}

const errLasts = "kernel: keys to split at are not rising"
