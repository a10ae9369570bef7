package kernel

import (
	"math/bits"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

// sift moves the keys that are at most last to the front of dst, in their order, and the others to high, and returns
// the number of the first. Of dst and high one may be x; else they do not overlap. What they hold behind those keys is
// anything; neither is shorter than x.
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

// A keyRange is keys that are split by sifting one part after another. They end up in home. Before that they are in home or, if away,
// in spare, which is at least as long. A sift leaves the low keys in home and the high keys in spare, wherever they come from, so nothing
// is copied on the way. A part that is away at the end is copied home once. The high part goes first: then all of spare is free for the
// low part, and still in the cache.
type keyRange[K Key] struct {
	home, spare []K
	away        bool
}

// keys returns where the keys are.
func (h *keyRange[K]) keys() []K {
	if h.away {
		return h.spare[:len(h.home)]
	}
	return h.home
}

// sift divides the keys, and returns those at most last and the others.
func (h *keyRange[K]) sift(last K) (low, high keyRange[K]) {
	return h.parts(sift(h.home, h.keys(), last, h.spare))
}

// parts divides the places, when so many keys are low.
func (h *keyRange[K]) parts(lows int) (low, high keyRange[K]) {
	return keyRange[K]{home: h.home[:lows], spare: h.spare}, keyRange[K]{h.home[lows:], h.spare, true}
}

// come brings the keys home.
func (h *keyRange[K]) come() {
	if h.away {
		copy(h.home, h.spare)
		h.away = false
	}
}

// Split writes the keys x to dst in another order: those at most lasts[0] first, then those at most lasts[1], and so on,
// then the rest, with the order within each part as it was. It writes to ends[i] how many keys are at most lasts[i]. dst
// may be x or not overlap it, lasts are rising, and scratch is as long as x. Each key is looked at log2(len(lasts)+1)
// times: 64 KiB of keys at a time are fastest.
func Split[K Key](dst, x []K, lasts []K, ends []int, scratch []K) {
	checkEqual(len(dst), len(x))
	checkEqual(len(lasts), len(ends))
	checkScratch(len(scratch), len(x))
	for i := 1; i < len(lasts); i++ {
		if lasts[i-1] > lasts[i] {
			panic(errLasts)
		}
	}
	if len(lasts) == 0 || len(x) == 0 {
		clear(ends)
		copy(dst, x)
		return
	}
	h := keyRange[K]{home: dst, spare: scratch}
	m := len(lasts) / 2
	n := sift(dst, x, lasts[m], scratch)
	low, high := h.parts(n)
	ends[m] = n
	split(high, lasts[m+1:], ends[m+1:], n)
	split(low, lasts[:m], ends[:m], 0)
}

// split goes on with keys that have so many before them.
func split[K Key](h keyRange[K], lasts []K, ends []int, before int) {
	if len(lasts) == 0 {
		h.come()
		return
	}
	m := len(lasts) / 2
	low, high := h.sift(lasts[m])
	n := before + len(low.home)
	ends[m] = n
	split(high, lasts[m+1:], ends[m+1:], n)
	split(low, lasts[:m], ends[:m], before)
}

const errLasts = "kernel: keys to split at are not rising"
