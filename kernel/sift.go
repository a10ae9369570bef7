package kernel

import (
	"math/bits"
	"unsafe"

	"github.com/candor-go/candor/kernel/asm"
)

// sift moves the keys that are at most last to the front of dst, in order, and the others to high. It returns the number of
// the former. One of dst and high may be x; otherwise they must not overlap. Both are at least as long as x, and undefined
// behind their keys.
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

// The assembly takes at least leastSifted keys, and up to mostSifted, about half a MiB, in one call.
const leastSifted, mostSifted = 16, 1 << 16

// nextLines is how many bytes ahead contiguous keys are prefetched.
const nextLines = 1024

func siftGeneric[K Key](dst, x []K, last K, high []K) int {
	lows, highs := 0, 0
	for _, v := range x {
		// Both are written and one stays, since half of the branches would be mispredicted.
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

// word32 and word64 convert a pointer to a Key to its actual type, which the caller has checked.
func word32[K Key](p *K) *uint32 { return (*uint32)(unsafe.Pointer(p)) }
func word64[K Key](p *K) *uint64 { return (*uint64)(unsafe.Pointer(p)) }

// A keyRange is a range of keys that is split by repeated sifting. The keys end up in home. Until then they are in home or,
// if away is set, in spare, which is at least as long. A sift leaves the low keys in home and the high keys in spare,
// wherever they come from, so no extra copying is needed. A range that is away at the end is copied home once. The high part
// is processed first: then all of spare is free for the low part, and still in the cache.
type keyRange[K Key] struct {
	home, spare []K
	away        bool
}

// keys returns the current location of the keys.
func (h *keyRange[K]) keys() []K {
	if h.away {
		return h.spare[:len(h.home)]
	}
	return h.home
}

// sift splits the keys into those at most last and the others.
func (h *keyRange[K]) sift(last K) (low, high keyRange[K]) {
	return h.parts(sift(h.home, h.keys(), last, h.spare))
}

// parts splits the storage when lows keys are low.
func (h *keyRange[K]) parts(lows int) (low, high keyRange[K]) {
	return keyRange[K]{home: h.home[:lows], spare: h.spare}, keyRange[K]{h.home[lows:], h.spare, true}
}

// come moves the keys home.
func (h *keyRange[K]) come() {
	if h.away {
		copy(h.home, h.spare)
		h.away = false
	}
}

// Split writes the keys x to dst in parts: those at most lasts[0] first, then those at most lasts[1], and so on, then the
// rest; each part keeps the order of x. It writes to ends[i] the number of keys that are at most lasts[i]. dst may be x, or
// must not overlap it; lasts are rising; scratch is as long as x. Each key is read log2(len(lasts)+1) times; calls with 64
// KiB of keys are fastest.
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

// split is the recursive part of Split, for keys with before keys in front of them.
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
