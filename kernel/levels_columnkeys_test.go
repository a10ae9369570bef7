package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// columnKeyCase compares the levels on one shape at one place.
func columnKeyCase[K Key, F float32 | float64](t *testing.T, run func([]K, []F, int, int, int) (K, int), value func() F, xs *levelRoom[F], ds *levelRoom[K], at, to place, rows, cols, stride int) {
	t.Helper()
	x, dst := xs.lay("x", at, max(0, (rows-1)*stride+cols), true), ds.lay("dst", to, rows*cols, false).column(rows*cols)
	for i := range rows {
		for c := range cols {
			x.s[i*stride+c] = value()
		}
	}
	if err := sameAtLevels(func() uint64 {
		least, out := run(dst.s, x.s, rows, cols, stride)
		return uint64(least)*1000003 + uint64(out)
	}, x, dst); err != nil {
		t.Fatalf("rows=%d cols=%d stride=%d at %v, dst at %v: %v", rows, cols, stride, at, to, err)
	}
}

func levelsColumnKeys[K Key, F float32 | float64](t *testing.T, run func([]K, []F, int, int, int) (K, int), specials []F) {
	const most = 40_000
	xs, ds := newRoom[F](t, most), newRoom[K](t, most)
	r := check.Rand(41)
	var odds int
	value := func() F {
		if odds > 0 && r.IntN(odds) == 0 {
			return specials[r.IntN(len(specials))]
		}
		return F(r.Float64())
	}
	widths, pads := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 66}, []int{0, 1, 3, 8}
	for rows := range 70 {
		for d := range deal(rows, sized(4, 12, all), len(widths), len(pads)) {
			to := places(rows+7*d[0], 32)
			for i, at := range places(rows, 32) {
				odds = []int{0, 2, 50}[(rows+i)%3]
				columnKeyCase(t, run, value, xs, ds, at, to[i], rows, widths[d[0]], widths[d[0]]+pads[d[1]])
			}
		}
	}
	for j, s := range [][3]int{{16, 255, 300}, {17, 256, 256}, {33, 257, 259}, {16, 515, 515}, {1100, 5, 7}, {513, 12, 12}, {1537, 16, 16}} {
		to := places(j+7, 32)
		for i, at := range places(j, 32) {
			odds = 100 * i
			columnKeyCase(t, run, value, xs, ds, at, to[i], s[0], s[1], s[2])
		}
	}
	// A single score outside, wherever it is, is counted once.
	for _, s := range [][2]int{{16, 4}, {19, 7}, {35, 5}} {
		for at := range s[0] * s[1] {
			x, dst := make([]F, s[0]*s[1]), make([]K, s[0]*s[1])
			x[at] = 2
			if err := sameAtLevels(func() uint64 {
				least, out := run(dst, x, s[0], s[1], s[1])
				if least != 0 || out != 1 || dst[at%s[1]*s[0]+at/s[1]] != ^K(0) {
					t.Errorf("%d x %d: %d outside, with one at %d", s[0], s[1], out, at)
				}
				return uint64(out)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLevelsColumnKeys(t *testing.T) {
	logCompared(t)
	t.Run("F32", func(t *testing.T) {
		s := append(check.Specials32(), 1, math.Nextafter32(1, 2), math.Nextafter32(1, 0), -0x1p-149, 0x1p-149, float32(math.Copysign(0, -1)))
		levelsColumnKeys(t, ColumnKeysF32, s)
	})
	t.Run("F64", func(t *testing.T) {
		s := append(check.Specials64(), 1, math.Nextafter(1, 2), math.Nextafter(1, 0), -5e-324, 5e-324, math.Copysign(0, -1))
		levelsColumnKeys(t, ColumnKeysF64, s)
	})
}

// TestColumnKeysAreHitKeys: a column's keys are those that HitKeys gives its scores.
func TestColumnKeysAreHitKeys(t *testing.T) {
	const rows, cols, stride = 100, 9, 11
	r := check.Rand(43)
	x32, x64 := make([]float32, rows*stride), make([]float64, rows*stride)
	for i := range x32 {
		x32[i], x64[i] = r.Float32()*1.5-0.2, r.Float64()*1.5-0.2
	}
	k32, k64 := make([]uint32, rows*cols), make([]uint64, rows*cols)
	least32, out32 := ColumnKeysF32(k32, x32, rows, cols, stride)
	least64, out64 := ColumnKeysF64(k64, x64, rows, cols, stride)
	if least32 != slices.Min(k32) || least64 != slices.Min(k64) {
		t.Errorf("least is %#x and %#x", least32, least64)
	}
	hit, c32, c64 := make([]uint8, rows), make([]float32, rows), make([]float64, rows)
	w32, w64 := make([]uint32, rows), make([]uint64, rows)
	for c := range cols {
		for i := range rows {
			hit[i] = uint8(r.IntN(2))
			c32[i], c64[i] = x32[i*stride+c], x64[i*stride+c]
			k32[c*rows+i] |= uint32(hit[i])
			k64[c*rows+i] |= uint64(hit[i])
		}
		out32 -= HitKeysF32(w32, c32, hit)
		out64 -= HitKeysF64(w64, c64, hit)
		for i := range rows {
			if k32[c*rows+i] != w32[i] || k64[c*rows+i] != w64[i] {
				t.Fatalf("row %d of column %d: %#x and %#x, want %#x and %#x", i, c, k32[c*rows+i], k64[c*rows+i], w32[i], w64[i])
			}
		}
	}
	if out32 != 0 || out64 != 0 {
		t.Errorf("counts differ by %d and %d", out32, out64)
	}
}
