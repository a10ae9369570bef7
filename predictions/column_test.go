package predictions

import (
	"math"
	"testing"
)

// TestNarrowMost: integers that do not fit into 32 bits are found wherever they stand.
func TestNarrowMost(t *testing.T) {
	for n := range 35 {
		src, dst := make([]int64, n), make([]int32, n)
		for i := range src {
			src[i] = []int64{math.MinInt32, -1, 0, math.MaxInt32}[i%4]
		}
		if got := narrowMost(dst, src); got != n/8*8 {
			t.Errorf("%d integers: %d converted", n, got)
		}
		for i := range n / 8 * 8 {
			if int64(dst[i]) != src[i] {
				t.Errorf("%d became %d", src[i], dst[i])
			}
			for _, v := range []int64{math.MinInt32 - 1, math.MaxInt32 + 1, math.MinInt64, math.MaxInt64} {
				was := src[i]
				src[i] = v
				if got := narrowMost(dst, src); got != i/8*8 {
					t.Errorf("%d at %d of %d: %d converted", v, i, n, got)
				}
				src[i] = was
			}
		}
	}
}
