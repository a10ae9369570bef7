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
					if edges[j] = NormQuantile64(float64(j) / float64(max(1, levels-1))); r.IntN(20) == 0 {
						edges[j] = edges[max(0, j-1)]
					}
				}
				slices.Sort(edges)
				if levels == 9 {
					copy(edges, []float64{-inf, -1e300, -1, math.Copysign(0, -1), 0, 1, math.Nextafter(1, 2), 1e300, inf})
				}
				v := make([]float64, n)
				narrow := r.IntN(2) == 0
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
					if narrow {
						v[i] = float64(float32(v[i]))
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

func TestLevelsCountUpTo(t *testing.T) {
	logCompared(t)
	const most, levels = 2100, 23
	vs, es, cs := newRoom[float64](t, most), newRoom[float64](t, levels), newRoom[int64](t, levels)
	r := check.Rand(137)
	for i, n := range lengths(16, MaxSum, most) {
		for _, at := range places(i, 8) {
			v, e := vs.lay("v", at, n, true), es.lay("edges", at, 1+r.IntN(levels), true)
			dst := cs.lay("counts", at, len(e.s), false).column(len(e.s))
			special := append(check.Specials64(), 0.25, 1e300, -1e300, 0x1p-1000)
			narrow := r.IntN(3) > 0
			for i := range v.s {
				if v.s[i] = math.Round(8*r.NormFloat64()) / 8; r.IntN(4) == 0 {
					v.s[i] = special[r.IntN(len(special))]
				}
				if narrow {
					v.s[i] = float64(float32(v.s[i]))
				}
			}
			for j := range e.s {
				if e.s[j] = math.Round(8*r.NormFloat64()) / 8; r.IntN(4) == 0 {
					e.s[j] = special[r.IntN(len(special))]
				}
				if e.s[j] != e.s[j] {
					e.s[j] = 0x1p-149
				}
			}
			slices.Sort(e.s)
			if err := sameAtLevels(func() uint64 { clear(dst.s); CountUpTo(dst.s, v.s, e.s); return 0 }, v, e, dst); err != nil {
				t.Fatalf("%d values, %d edges at %v: %v", n, len(e.s), at, err)
			}
		}
	}
}
