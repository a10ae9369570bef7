package kernel

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// neumaier is a sum that keeps what rounding takes.
type neumaier struct{ sum, rest float64 }

func (s *neumaier) add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.rest += (s.sum - t) + v
	} else {
		s.rest += (v - t) + s.sum
	}
	s.sum = t
}

func (s *neumaier) total() float64 { return s.sum + s.rest }

func TestPairs(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(89)
		var worst [4]float64
		for _, k := range append([]int{2, 10, 33, 1000, 5000}, sized(nil, []int{100_000}, []int{100_000})...) {
			for _, near := range []float64{1, 1e-3, 1e-6} { // rows that are alike
				x := check.Logits32(r, k, 4)
				p, q := make([]float32, k), make([]float32, k)
				for i, v := range x {
					q[i] = v + float32(near*r.NormFloat64())
				}
				SoftmaxF32(p, k, x, 1, k, k)
				SoftmaxF32(q, k, q, 1, k, k)
				lp, lq := make([]float32, k), make([]float32, k)
				LogSliceF32(lp, p)
				LogSliceF32(lq, q)
				p64, q64, lp64, lq64 := widen64(p), widen64(q), make([]float64, k), make([]float64, k)
				LogSliceF64(lp64, p64)
				LogSliceF64(lq64, q64)
				var kl, size, dot, abs, squares neumaier
				for i, a := range p64 {
					b := q64[i]
					if a > 0 {
						kl.add(a * (math.Log(a) - math.Log(b)))
						size.add(a * max(1, math.Abs(math.Log(a)), math.Abs(math.Log(b))))
					}
					dot.add(a * b)
					abs.add(math.Abs(a - b))
					squares.add((a - b) * (a - b))
				}
				var got [4][1]float64
				bound := func(i int, want, bound float64) {
					t.Helper()
					e := math.Abs(got[i][0]-want) / bound
					if worst[i] = max(worst[i], e); !(e <= 1) {
						t.Errorf("k=%d, near %v, sum %d: %v, want %v: %v of the bound", k, near, i, got[i][0], want, e)
					}
				}
				PairKLF32(got[0][:], p, lp, lq, 1, k, k)
				PairSumsF32(got[1][:], got[2][:], got[3][:], p, q, 1, k, k)
				bound(0, kl.total(), 1e-6*size.total())
				bound(1, dot.total(), 2e-6*dot.total()+0x1p-110)
				bound(2, abs.total(), 2e-6*abs.total())
				bound(3, squares.total(), 2e-6*squares.total()+0x1p-110)
				PairKLF64(got[0][:], p64, lp64, lq64, 1, k, k)
				PairSumsF64(got[1][:], got[2][:], got[3][:], p64, q64, 1, k, k)
				bound(0, kl.total(), 2e-15*size.total()) // half of it is math.Log's
				bound(1, dot.total(), 1e-13*dot.total())
				bound(2, abs.total(), 1e-13*abs.total())
				bound(3, squares.total(), 1e-13*squares.total())
			}
		}
		t.Logf("worst errors, of their bounds: %.2f", worst)
	})
}

func TestPairsSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tiny := 0x1p-149
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct{ p, q, kl, dot, abs, squares float64 }{
			{0, 0, 0, 0, 0, 0}, {0, 0.5, 0, 0, 0.5, 0.25}, {0.5, 0, inf, 0, 0.5, 0.25}, {1, 1, 0, 1, 0, 0},
			{0.5, 0.5, 0, 0.25, 0, 0}, {math.Copysign(0, -1), 0, 0, 0, 0, 0}, {0, math.Copysign(0, -1), 0, 0, 0, 0},
			{0, nan, 0, nan, nan, nan}, {nan, 0, nan, nan, nan, nan}, {0.5, nan, nan, nan, nan, nan},
			{-0.5, 0.5, nan, -0.25, 1, 1}, {0.5, -0.5, nan, -0.25, 1, 1}, {0, -0.5, 0, 0, 0.5, 0.25},
			{tiny, 0, inf, 0, tiny, 0}, {tiny, tiny, 0, 0, 0, 0}, {inf, inf, nan, inf, nan, nan}, {0.5, inf, -inf, inf, inf, inf},
		} {
			for _, k := range []int{1, 2, 17, 1030} {
				for _, at := range []int{0, k - 1} {
					var kl, dot, abs, squares [2]float64
					p, q, lp, lq := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
					p[at], q[at] = c.p, c.q
					LogSliceF64(lp, p)
					LogSliceF64(lq, q)
					PairKLF64(kl[:], p, lp, lq, 1, k, k)
					PairSumsF64(dot[:], abs[:], squares[:], p, q, 1, k, k)
					narrow := func(x []float64) (y []float32) {
						for _, v := range x {
							y = append(y, float32(v))
						}
						return y
					}
					p32, q32, lp32, lq32 := narrow(p), narrow(q), make([]float32, k), make([]float32, k)
					LogSliceF32(lp32, p32)
					LogSliceF32(lq32, q32)
					PairKLF32(kl[1:], p32, lp32, lq32, 1, k, k)
					PairSumsF32(dot[1:], abs[1:], squares[1:], p32, q32, 1, k, k)
					for i := range kl {
						for j, v := range []struct{ got, want float64 }{{kl[i], c.kl}, {dot[i], c.dot}, {abs[i], c.abs}, {squares[i], c.squares}} {
							same := math.Float64bits(v.got) == math.Float64bits(v.want+0) || v.want != v.want && math.Float64bits(v.got) == 0x7FF8<<48
							if !same && !(math.Abs(v.got-v.want) <= 0x1p-200) {
								t.Errorf("%v at %d of %d, float%d, sum %d: %v", c, at, k, 64-32*i, j, v.got)
							}
						}
					}
				}
			}
		}
	})
}

// What is beyond a row's end, its columns' ends, or between rows has no part in it.
func TestPairsRows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		const rows, k, stride = 3, 2, 4
		p := []float32{0.5, 0.5, 9, 9, 1, 0, 9, 9, 0.25, 0.75}
		q := []float32{0.25, 0.75, 8, 8, 0, 1, 8, 8, 0.25, 0.75}
		var dot, abs, squares [4]float64
		dot[3], abs[3], squares[3] = 7, 7, 7
		PairSumsF32(dot[:], abs[:], squares[:], p, q, rows, k, stride)
		if dot != [4]float64{0.5, 0, 0.625, 7} || abs != [4]float64{0.5, 2, 0, 7} || squares != [4]float64{0.125, 2, 0, 7} {
			t.Errorf("dot %v, abs %v, squares %v", dot, abs, squares)
		}
	})
}
