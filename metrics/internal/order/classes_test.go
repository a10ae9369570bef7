package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
)

// classCase compares with the definition, column by column, what was made of scores in float64 and float32.
func classCase(t *testing.T, r *rand.Rand, score func() float64, rows, classes, pad, bins int, above float64) {
	t.Helper()
	stride := classes + pad
	n := max(0, (rows-1)*stride+classes)
	x32, x64, labels := make([]float32, n), make([]float64, n), make([]int32, rows)
	for i := range x64 {
		x64[i] = score()
		x32[i] = float32(x64[i])
	}
	for i := range labels {
		labels[i] = int32(r.IntN(classes))
		if r.IntN(20) == 0 {
			labels[i] = []int32{-1, int32(classes), math.MaxInt32, math.MinInt32}[r.IntN(4)]
		}
	}
	w32, w64 := make([]*Bins, classes), make([]*Bins, classes)
	for c := range classes {
		c32, c64, hit := make([]float32, rows), make([]float64, rows), make([]uint8, rows)
		for i := range rows {
			c32[i], c64[i] = x32[i*stride+c], x64[i*stride+c]
			if labels[i] == int32(c) {
				hit[i] = 1
			}
		}
		k32, k64 := make([]uint32, rows), make([]uint64, rows)
		kernel.HitKeysF32(k32, c32, hit)
		kernel.HitKeysF64(k64, c64, hit)
		w32[c], w64[c] = plainBins(k32, bins, above), plainBins(k64, bins, above)
	}
	d32, d64 := make([]Bins, classes), make([]Bins, classes)
	for i, threads := range threadCounts {
		if !check.Full() && i%2 != (rows+bins)%2 {
			continue
		}
		ClassEqualMassF32(d32, x32, rows, classes, stride, labels, bins, above, threads)
		ClassEqualMassF64(d64, x64, rows, classes, stride, labels, bins, above, threads)
		for c := range classes {
			for _, err := range []error{same(&d32[c], w32[c]), same(&d64[c], w64[c])} {
				if err != nil {
					t.Fatalf("%d x %d, %d bins above %v, %d threads, class %d: %v", rows, classes, bins, above, threads, c, err)
				}
			}
		}
	}
}

func TestClassEqualMassIsEqualMass(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(5)
		usual := func() float64 {
			switch v := r.Float64(); r.IntN(8) {
			case 0:
				return []float64{0, 1, 0.5, 0x1p-149, math.NaN(), -1, 2, 0.25}[r.IntN(8)]
			default:
				return v * v * v
			}
		}
		for _, rows := range []int{0, 1, 2, 15, 16, 17, 100, 333} {
			for _, classes := range []int{1, 2, 3, 4, 7, 64, 65, 131} {
				if testing.Short() && rows*classes > 10_000 {
					continue
				}
				classCase(t, r, usual, rows, classes, rows%3, 1+r.IntN(20), []float64{-1, 0, 0.01}[r.IntN(3)])
			}
		}
	})
}

// Many rows make tiles of a few columns each.
func TestClassEqualMassOfManyRows(t *testing.T) {
	r := check.Rand(6)
	classCase(t, r, r.Float64, 40_003, check.Size(5, 17, 37), 1, 30, 0)
	if !testing.Short() {
		classCase(t, r, r.Float64, fewForPlan+3, 3, 0, 15, 0.01)
	}
}

// Tiles are of four columns or more, and bounded in memory.
func TestTiles(t *testing.T) {
	for _, c := range []struct{ rows, classes, f32, f64 int }{
		{0, 1000, 64, 64}, {1, 3, 3, 3}, {10_000, 1000, 64, 52}, {30_000, 1000, 32, 16}, {50_000, 1000, 32, 16},
		{50_000, 10, 10, 10}, {1_000_000, 1000, 16, 8}, {10_000_000, 1000, 4, 4}, {100_000_000, 2, 2, 2},
	} {
		if g32, g64 := tileColumns[uint32](c.rows, c.classes), tileColumns[uint64](c.rows, c.classes); g32 != c.f32 || g64 != c.f64 {
			t.Errorf("%d x %d: tiles of %d and %d, want %d and %d", c.rows, c.classes, g32, g64, c.f32, c.f64)
		}
	}
}

func TestShapes(t *testing.T) {
	x, y := make([]float32, 12), make([]int32, 3)
	for i, c := range []struct {
		want string
		f    func()
	}{
		{errShape, func() { ClassEqualMassF32(make([]Bins, 4), x[:11], 3, 4, 4, y, 3, 0, 1) }},
		{errShape, func() { ClassEqualMassF32(make([]Bins, 4), x, 3, 4, 3, y, 3, 0, 1) }},
		{errShape, func() { ClassEqualMassF32(nil, x, 3, 0, 4, y, 3, 0, 1) }},
		{errLabels, func() { ClassEqualMassF32(make([]Bins, 4), x, 3, 4, 4, y[:2], 3, 0, 1) }},
		{errDst, func() { ClassEqualMassF32(make([]Bins, 3), x, 3, 4, 4, y, 3, 0, 1) }},
		{errBins, func() { ClassEqualMassF32(make([]Bins, 4), x, 3, 4, 4, y, 0, 0, 1) }},
		{errBins, func() { EqualMass([]uint32{1}, 0, 0, 1) }},
		{errBins, func() { Ranks(3, -1) }},
	} {
		func() {
			defer func() {
				if r := recover(); fmt.Sprint(r) != c.want {
					t.Errorf("%d: %v, want %v", i, r, c.want)
				}
			}()
			c.f()
		}()
	}
}
