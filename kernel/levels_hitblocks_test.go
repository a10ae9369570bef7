package kernel

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/candor-go/candor/internal/check"
)

const blockWords = int(unsafe.Sizeof(HitBlock{}) / 8)

// hitBlocksCase is what compares the levels on keys at one place; the blocks stand at another.
func hitBlocksCase(t *testing.T) func(in, out place, keys []uint32) {
	t.Helper()
	const most = 1 << 14
	ks, ws := newRoom[uint32](t, most), newRoom[uint64](t, most/64*blockWords)
	return func(in, out place, keys []uint32) {
		t.Helper()
		blocks := (len(keys) + 63) / 64
		x, words := ks.lay("keys", in, len(keys), true), ws.lay("dst", out, blocks*blockWords, false).column(blocks*blockWords)
		copy(x.s, keys)
		if err := sameAtLevels(func() uint64 {
			HitBlocksF32(unsafe.Slice((*HitBlock)(unsafe.Pointer(unsafe.SliceData(words.s))), blocks), x.s)
			return 0
		}, x, words); err != nil {
			t.Fatalf("n=%d at %v, dst at %v: %v; keys %x", len(keys), in, out, err, keys[:min(len(keys), 67)])
		}
	}
}

func TestLevelsHitBlocks(t *testing.T) {
	logCompared(t)
	run, r := hitBlocksCase(t), check.Rand(59)
	for i, n := range append(upTo(0, 4*64+3), 1023, 1024, 1025, 1<<14-1, 1<<14) {
		for _, at := range places(i, 32) {
			for range sized(1, 2, 4) {
				run(at, at, sortedKeys(r, n))
			}
			run(at, place{off: r.IntN(32)}, sortedKeys(r, n))
		}
	}
	for off := range 32 {
		ns := []int{1, 63, 64, 65, 128, 129, 200}
		for d := range deal(off, sized(1, 2, all), len(ns)) {
			n := ns[d[0]]
			run(place{off: off}, place{off: r.IntN(32)}, sortedKeys(r, n))
			run(place{off: r.IntN(32)}, place{off: off}, sortedKeys(r, n))
		}
	}
}

// One odd score among equal ones, wherever it is, and every score about those where a sum's rounding or a key's bits change.
func TestLevelsHitBlocksValues(t *testing.T) {
	logCompared(t)
	run, r := hitBlocksCase(t), check.Rand(67)
	const n = 2*64 + 1
	for at := range n {
		scores := []float32{0, 0x1p-149, 0x1p-127, 0x1p-126, 0x1p-52, 0x1p-26, 0.5, 1 - 0x1p-24, 1}
		for d := range deal(at, sized(4, 12, all), len(scores), 2, 2) {
			keys := slices.Repeat([]uint32{hitKey(0.25, uint32(d[2]))}, n)
			keys[at] = hitKey(scores[d[0]], uint32(d[1])) // which need not be sorted
			run(place{off: at % 32}, place{}, keys)
		}
	}
	var keys []uint32
	put := func(k uint32) {
		if keys = append(keys, k); len(keys) == 1<<14 {
			run(place{off: r.IntN(32)}, place{off: r.IntN(32)}, keys)
			keys = keys[:0]
		}
	}
	largest := hitKey(1, 1)
	for e := range uint32(128) { // each power of two
		for d := range uint32(256) {
			if k := e<<24 + d - 128; k <= largest {
				put(k)
			}
		}
	}
	steps := sized[uint32](1<<15, 1<<18, 1<<20)
	for k := uint32(0); k <= largest; k += math.MaxUint32 / 2 / steps {
		put(k)
	}
	run(place{}, place{}, keys)
}
