package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func TestSortX(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for k := 1; k <= 1100; k++ {
			for _, rows := range []int{1, 5, 16, 17, 40} {
				if k > 130 && (rows < 40 || k%7 != 0) {
					continue
				}
				stride := k + 3
				r := check.Rand(uint64(k))
				x := make([]float32, rows*stride)
				for i := range x {
					x[i] = math.Float32frombits(r.Uint32())
				}
				want := slices.Clone(x)
				SortRowsF32(x, rows, k, stride, make([]float32, SortRowsScratch(k)))
				for i := range rows {
					sortRow32(want[i*stride : i*stride+k])
				}
				for i := range x {
					if math.Float32bits(x[i]) != math.Float32bits(want[i]) {
						t.Fatalf("rows=%d k=%d row %d el %d: %x want %x", rows, k, i/stride, i%stride, math.Float32bits(x[i]), math.Float32bits(want[i]))
					}
				}
			}
		}
	})
}
