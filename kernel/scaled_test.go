package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// TestScaledSoftmax holds probabilities to those of math.Exp within what the contract says, and their arg max to that of the logits.
func TestScaledSoftmax(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(139)
		betas := []float64{1, 1e-20, 1e-40, 1e-8, 0.03, 0.7, 3, 40, 1e5, 1e35, 1e300}
		for i, k := range []int{1, 2, 3, 10, 16, 17, 32, 33, 100, 1000, 1025, 5000} {
			const rows = 7
			for d := range deal(i, sized(4, all, all), len(betas)) {
				beta := betas[d[0]]
				x := check.Logits32(r, rows*k, 4)
				if r.IntN(2) == 0 {
					for j := range x {
						x[j] = float32(math.Floor(float64(x[j]))) // ties
					}
				}
				a, b := make([]float32, rows*k), make([]float64, rows*k)
				ScaledSoftmaxF32(a, k, x, rows, k, k, beta)
				ScaledSoftmaxF64(b, k, widen64(x), rows, k, k, beta)
				want, got, also := make([]int32, rows), make([]int32, rows), make([]int32, rows)
				ArgMaxF32(want, x, rows, k, k)
				ArgMaxF32(got, a, rows, k, k)
				ArgMaxF64(also, b, rows, k, k)
				for i := range rows {
					if want[i] != got[i] || want[i] != also[i] {
						t.Fatalf("k=%d beta=%g: arg max %d, of float64 %d, want %d", k, beta, got[i], also[i], want[i])
					}
					row := widen64(x[i*k : (i+1)*k])
					m := row[want[i]]
					s := math.Exp(temperedPlain(row, int(want[i]), beta)[0])
					for j, v := range row {
						d := beta * (m - v)
						p := math.Exp(-d) / s
						if e := math.Abs(float64(a[i*k+j]) - p); e > (7e-7+2e-7*d)*p+0x1p-149 && !(d > 85 && a[i*k+j] == 0) {
							t.Fatalf("k=%d beta=%g d=%g: %v, want %v", k, beta, d, a[i*k+j], p)
						}
						if e := math.Abs(b[i*k+j] - p); e > (5e-15+5e-16*d)*p+0x1p-1074 && !(d > 700 && b[i*k+j] == 0) {
							t.Fatalf("k=%d beta=%g d=%g: %v, want %v", k, beta, d, b[i*k+j], p)
						}
					}
				}
			}
		}
	})
}

// TestScaledSoftmaxFaults: a row with a fault is NaN in all places, -Inf is 0.
func TestScaledSoftmaxFaults(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	isatest.Each(t, func(t *testing.T) {
		for _, k := range []int{1, 2, 10, 32, 33, 100, 1030} {
			for at := range min(k, 66) {
				for d := range deal(at, sized(1, all, all), 3) {
					beta := []float64{1e-300, 0.5, 1e300}[d[0]]
					for how := range 5 {
						x := make([]float64, k)
						for j := range x {
							x[j] = float64(j % 5)
							if how >= 3 {
								x[j] = -inf
							}
						}
						x[at] = []float64{nan, inf, -inf, -inf, 3}[how]
						f := make([]float32, k)
						for j, v := range x {
							f[j] = float32(v)
						}
						a, b := make([]float32, k), make([]float64, k)
						ScaledSoftmaxF32(a, k, f, 1, k, k, beta)
						ScaledSoftmaxF64(b, k, x, 1, k, k, beta)
						for j := range x {
							bad := how < 2 || how == 3 || how == 2 && k == 1
							p, q := a[j], b[j]
							if bad != (p != p) || bad != (q != q) || !bad && x[j] < -1 && (p != 0 || q != 0) || how == 4 && j == at && (p != 1 || q != 1) {
								t.Fatalf("k=%d beta=%g %v at %d: %v, %v at %d", k, beta, x[at], at, p, q, j)
							}
						}
					}
				}
			}
		}
	})
}

func TestLogs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(141)
		for _, n := range []int{0, 1, 2, 7, 8, 15, 16, 17, 100, 2000} {
			x := make([]float32, n)
			for i := range x {
				x[i] = math.Float32frombits(r.Uint32())
			}
			u := toBF16(x)
			a, b, c, d := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			WidenLogF32(a, x)
			WidenLogF16(b, u)
			WidenLogBF16(c, u)
			LogSliceF64(d, widen64(x))
			for i, v := range x {
				for j, w := range [][2]float64{{a[i], float64(v)}, {b[i], float64(widenF16(u[i]))},
					{c[i], float64(math.Float32frombits(uint32(u[i]) << 16))}, {d[i], float64(v)}} {
					if want := Log64(w[1]); w[0] != want && (w[0] == w[0] || want == want) {
						t.Fatalf("%d of %d, %v: %v, want %v", i, j, w[1], w[0], want)
					}
				}
			}
		}
	})
}
