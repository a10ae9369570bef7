package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// A sortCase is a call of SortRowsF32 but for the values.
type sortCase struct {
	rows, k, stride int
	x               place
	scratch         place
	values          string
}

// TestLevelsSortRows: all lengths up to 130 and some beyond, all numbers of rows up to 40, gaps between the rows, every
// alignment, guard pages about the rows and about the scratch, which is as short as it may be.
func TestLevelsSortRows(t *testing.T) {
	logCompared(t)
	const most, mostScratch = 1 << 16, 16*sortMax + 32
	r := check.Rand(23)
	room := newRoom[float32](t, most)
	scratches := [...][]float32{unguarded: check.Offset[float32](mostScratch+maxOff, 0),
		guardedTail: check.Guarded[float32](t, mostScratch, true), guardedFront: check.Guarded[float32](t, mostScratch, false)}
	var names []string
	for name := range sortValues {
		names = append(names, name)
	}
	slices.Sort(names)

	run := func(c sortCase) {
		t.Helper()
		n, need := 0, SortRowsScratch(c.k)
		if c.rows > 0 {
			n = (c.rows-1)*c.stride + c.k
		}
		x := room.lay("x", c.x, n, false).matrix(c.rows, c.k, c.stride)
		x.src = make([]float32, n)
		value := sortValues[c.values]
		for j := range x.src {
			x.src[j] = value(r)
		}
		// The scratch ends at a guard page, starts at one, or lies between numbers that have to stay.
		s := scratches[c.scratch.side]
		at := 0
		switch c.scratch.side {
		case guardedTail:
			at = len(s) - need
		case unguarded:
			at = c.scratch.off
		}
		near := s[max(0, at-margin):min(len(s), at+need+margin)]
		for j := range near {
			near[j] = 7
		}
		scratch := s[at : at+need : at+need]
		if err := sameAtLevels(func() uint64 { SortRowsF32(x.s, c.rows, c.k, c.stride, scratch); return 0 }, x); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		for j, v := range near {
			if j += max(0, at-margin); (j < at || j >= at+need) && v != 7 {
				t.Fatalf("%+v: beside the scratch %v was written at %d of %d", c, v, j-at, need)
			}
		}
	}
	draw := func(rows, k int) sortCase {
		c := sortCase{rows: rows, k: k, stride: k, x: place{off: r.IntN(16)}, scratch: place{off: r.IntN(17)}, values: names[r.IntN(len(names))]}
		if r.IntN(2) == 0 {
			c.stride += r.IntN(20)
		}
		if s := side(r.IntN(3)); s != unguarded {
			c.x = place{side: s}
		}
		if s := side(r.IntN(3)); s != unguarded {
			c.scratch = place{side: s}
		}
		return c
	}
	for i, k := range upTo(1, 130) {
		for d := range deal(i, sized(2, 8, all), 41) {
			run(draw(d[0], k))
		}
	}
	for k := 131; k <= 1100; k += 1 + r.IntN(3) {
		if k%16 <= sized(1, 15, 15) {
			run(draw(r.IntN(41), k))
		}
	}
	for i, k := range []int{4, 5, 15, 16, 33, 100} {
		rows := []int{1, 3, 4, 7, 8, 15, 16, 17, 33}
		for d := range deal(i, sized(3, 6, all), len(rows)) {
			for side := range side(3) {
				run(sortCase{rows[d[0]], k, k, place{side: side}, place{side: side}, "any bits"})
				run(sortCase{rows[d[0]], k, k + 3, place{side: side}, place{side: side}, "normal"})
			}
		}
	}
	for off := range 32 {
		run(sortCase{18, 37, 37, place{off: off}, place{off: off % 17}, "any bits"})
	}
	// One NaN, or one -0, anywhere.
	odd := []uint32{0x7F800001, 0xFFFFFFFF, 0x7FC00000, 1 << 31}
	for i, k := range thin([]int{4, 7, 16, 23, 100}, 2, 1) {
		for at := range k {
			for d := range deal(i+at, sized(1, 2, all), len(odd)) {
				b := odd[d[0]]
				const rows = 17
				x := room.lay("x", place{off: at % 16}, rows*k, false).matrix(rows, k, k)
				x.src = check.Logits32(r, rows*k, 3)
				for i := at % 3; i < rows; i += 3 {
					x.src[i*k+at] = math.Float32frombits(b)
				}
				if err := sameAtLevels(func() uint64 { SortRowsF32(x.s, rows, k, k, scratches[0]); return 0 }, x); err != nil {
					t.Fatalf("k=%d, %#x at %d: %v", k, b, at, err)
				}
			}
		}
	}
}
