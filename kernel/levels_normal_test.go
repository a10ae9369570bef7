package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestLevelsNormal: the columns and flags of any rows at every level, at every place.
func TestLevelsNormal(t *testing.T) {
	logCompared(t)
	big := float32(3e38)
	testNormal(t, "F32", NormalF32, append(check.Specials32(), big, -big, 0x1p-100, 0x1.fffffep-101, 0x1p100, 0x1.000002p100, 0x1p20, 0x1p-149, 4.6, -1))
}

func testNormal[T check.Element](t *testing.T, name string, run func(*NormalColumns, []T, int, int, int) uint8, awkward []T) {
	const most, pad = 400, 3
	xs, flags := newRoom[T](t, most*(3+pad)), newRoom[uint8](t, most)
	var rooms [5]*levelRoom[float64]
	for i := range rooms {
		rooms[i] = newRoom[float64](t, most)
	}
	t.Run(name, func(t *testing.T) {
		r := check.Rand(113)
		try := func(in, out place, n, k, stride, odds int) {
			t.Helper()
			x := xs.lay("x", in, max(0, (n-1)*stride+k), true)
			normalRows(r, x.s, n, k, stride, odds, awkward)
			var s [5]*sheet[float64]
			for i := range s {
				s[i] = rooms[i].lay("a column", place{out.side, (out.off + 3*i) % 8}, n, false).column(n)
			}
			f := flags.lay("flags", out, n, false).column(n)
			c := &NormalColumns{Error: s[0].s, SD: s[1].s, Z: s[2].s, NLL: s[3].s, CRPS: s[4].s, Flags: f.s}
			if err := sameAtLevels(func() uint64 { return uint64(run(c, x.s, n, k, stride)) }, x, s[0], s[1], s[2], s[3], s[4], f); err != nil {
				t.Fatalf("%d rows of %d, stride %d, one in %d awkward, at %v, columns at %v: %v", n, k, stride, odds, in, out, err)
			}
		}
		for i, n := range append(upTo(0, 131), 191, 192, 193, 255, 256, most) {
			for j, p := range places(i, 16) {
				for d := range deal(3*i+j, sized(1, 3, all), 3, 3) {
					k, odds := 2+r.IntN(2), [...]int{0, 2, n + 1}[d[0]]
					switch d[1] {
					case 0:
						try(p, p, n, k, k, odds)
					case 1:
						try(p, place{off: r.IntN(8)}, n, 3, 3, odds)
					case 2:
						try(p, p, n, k, k+r.IntN(pad), odds)
					}
				}
			}
		}
		for off := range 16 {
			ns := []int{1, 63, 64, 65, 130}
			for d := range deal(off, sized(1, 2, all), len(ns)) {
				n := ns[d[0]]
				try(place{off: off}, place{off: r.IntN(8)}, n, 3, 3, 40)
				try(place{off: r.IntN(16)}, place{off: off % 8}, n, 2+off%2, 3, 40)
			}
		}
		for at := range 64 { // a single one out of range, wherever it is
			x := make([]T, 3*64)
			normalRows(r, x, 64, 3, 3, 0, awkward)
			x[3*at+1] = awkward[at%len(awkward)]
			c := newNormal(64)
			var want uint8
			if err := sameAtLevels(func() uint64 {
				want = run(c, x, 64, 3, 3)
				sum := uint64(want)
				for i, z := range c.CRPS {
					if z == z {
						sum = sum*31 + math.Float64bits(z) + uint64(c.Flags[i])
					}
				}
				return sum
			}); err != nil {
				t.Fatalf("row %d: %v", at, err)
			}
		}
	})
}
