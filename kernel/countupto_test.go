package kernel

import (
	"math"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestCountUpTo: counts are what comparing says, also of values beside an edge, of infinities and NaN.
func TestCountUpTo(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(107)
		inf, nan := math.Inf(1), math.NaN()
		for _, n := range append(upTo(0, 140), 1000, 5000, 20_000) {
			for _, levels := range []int{0, 1, 2, 9, 21, 23, 100} {
				edges := make([]float64, levels)
				for j := range edges {
					if edges[j] = PhiInv64(float64(j) / float64(max(1, levels-1))); r.IntN(20) == 0 {
						edges[j] = edges[max(0, j-1)]
					}
				}
				slices.Sort(edges)
				if levels == 9 {
					copy(edges, []float64{-inf, -1e300, -1, math.Copysign(0, -1), 0, 1, math.Nextafter(1, 2), 1e300, inf})
				}
				v := make([]float64, n)
				for i := range v {
					switch r.IntN(12) {
					case 0:
						v[i] = []float64{nan, inf, -inf, 0, -1e300, 1e300, 0x1p-1074, -40, 40}[r.IntN(9)]
					case 1, 2:
						if levels > 0 {
							e := edges[r.IntN(levels)]
							v[i] = []float64{e, math.Nextafter(e, inf), math.Nextafter(e, -inf), float64(float32(e))}[r.IntN(4)]
						}
					default:
						v[i] = r.NormFloat64()
					}
				}
				want, got := make([]int64, levels), make([]int64, levels)
				for j := range want {
					want[j], got[j] = int64(j), int64(j)
					for _, x := range v {
						if x <= edges[j] {
							want[j]++
						}
					}
				}
				CountUpTo(got, v, edges)
				if !slices.Equal(got, want) {
					t.Fatalf("%d values, %d edges: %v, want %v", n, levels, got, want)
				}
			}
		}
	})
}
