package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func TestTmp(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(1)
		for _, m := range append(upTo(1, 130), 1000, 1024, 1025) {
			for _, rows := range []int{1, 5, 16, 37} {
				x := check.Logits32(r, rows*m, 3)
				x64 := make([]float64, len(x))
				for i := range x {
					x64[i] = float64(x[i])
				}
				y, a, s, a6, s6 := make([]float64, rows), make([]float64, rows), make([]float64, rows), make([]float64, rows), make([]float64, rows)
				for i := range y {
					y[i] = r.NormFloat64()
				}
				SampleSpreadF32(a, s, x, rows, m, m, y, make([]float32, SampleSpreadScratch(m)))
				SampleSpreadF64(a6, s6, x64, rows, m, m, y, make([]float64, SampleSpreadScratch(m)))
				for i := range y {
					wa, ws := 0.0, 0.0
					for j, v := range x64[i*m : (i+1)*m] {
						wa += math.Abs(v - y[i])
						for _, u := range x64[i*m : i*m+j] {
							ws += math.Abs(v - u)
						}
					}
					if math.Abs(wa-a[i]) > 1e-12*wa || math.Abs(ws-s[i]) > 1e-12*ws || a6[i] != a[i] || s6[i] != s[i] {
						t.Fatal(m, rows, i, a[i], a6[i], wa, s[i], s6[i], ws)
					}
				}
			}
		}
	})
}
