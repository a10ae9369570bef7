package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func TestMean(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(79)
		for _, members := range []int{1, 2, 3, 5, 16, 100} {
			const n, stride = 67, 70
			x, y := make([]float32, members*stride), make([]float64, members*stride)
			for i := range x {
				x[i] = float32(math.Ldexp(r.Float64(), -r.IntN(4)*10))
				y[i] = math.Ldexp(r.Float64(), -r.IntN(4)*10)
			}
			for m := range members { // what is all 1, or equal, stays so
				x[m*stride], y[m*stride] = 1, 1
				x[m*stride+1], y[m*stride+1] = 0, 0
			}
			m32, m64 := make([]float32, n), make([]float64, n)
			MeanF32(m32, x, members, n, stride)
			MeanF64(m64, y, members, n, stride)
			for i := range n {
				a, b := new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
				for m := range members {
					a.Add(a, big.NewFloat(float64(x[m*stride+i])))
					b.Add(b, big.NewFloat(y[m*stride+i]))
				}
				by := big.NewFloat(float64(members))
				wa, _ := a.Quo(a, by).Float64()
				wb, _ := b.Quo(b, by).Float64()
				if math.Abs(float64(m32[i])-wa) > 6e-8*float64(members)*wa || m32[i] > 1 {
					t.Errorf("%d members: mean %v, want %v", members, m32[i], wa)
				}
				if math.Abs(m64[i]-wb) > 1.2e-16*float64(members)*wb || m64[i] > 1 {
					t.Errorf("%d members: mean %v, want %v", members, m64[i], wb)
				}
			}
			if m32[0] != 1 || m64[0] != 1 || m32[1] != 0 || m64[1] != 0 {
				t.Errorf("%d members: means of 1 and 0 are %v, %v, %v, %v", members, m32[0], m64[0], m32[1], m64[1])
			}
		}
	})
}

// bigExp returns e**x to more than 200 bits, for x above -1000.
func bigExp(x *big.Float) *big.Float {
	const halvings = 24
	z := new(big.Float).SetPrec(320).SetMantExp(x, -halvings)
	sum, term := big.NewFloat(1).SetPrec(320), big.NewFloat(1).SetPrec(320)
	for i := 1; i < 24; i++ {
		term.Mul(term, z)
		term.Quo(term, big.NewFloat(float64(i)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns ln(x), near the float64 that x rounds to.
func bigLog(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := new(big.Float).SetPrec(320).SetFloat64(math.Log(f))
	for range 4 {
		e := bigExp(y)
		d := new(big.Float).SetPrec(320).Sub(x, e)
		d.Quo(d, e.Add(e, x))
		y.Add(y, d.Add(d, d))
	}
	return y
}

func TestLogMeanExp(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(83)
		const n = 8
		worst := 0.0
		for _, members := range []int{1, 2, 3, 5, 17, 100} {
			rounds := sized(3, 8, 20)
			if members == 100 {
				rounds = sized(1, 3, 3)
			}
			for round := range rounds {
				x, dst := make([]float64, members*n), make([]float64, n)
				for i := range x {
					x[i] = -r.ExpFloat64() * math.Ldexp(1, -8*(round%8)+4)
					if i >= n && round%3 == 0 {
						x[i] -= 30 // one member says nearly all
					}
				}
				LogMeanExpF64(dst, x, members, n, n)
				for i, got := range dst {
					top, sum := math.Inf(-1), new(big.Float).SetPrec(320)
					for m := range members {
						v := x[m*n+i]
						top = max(top, v)
						sum.Add(sum, bigExp(new(big.Float).SetPrec(320).SetFloat64(v)))
					}
					want, _ := bigLog(sum.Quo(sum, big.NewFloat(float64(members)))).Float64()
					e := math.Abs(got-want) / max(math.Abs(want), math.Abs(top)) / float64(8+members) / 1.2e-16
					if worst = max(worst, e); !(e <= 1) {
						t.Errorf("%d members: %v, want %v: %v of the bound", members, got, want, e)
					}
				}
			}
		}
		t.Logf("worst error: %.2f of the bound", worst)
	})
}

func TestLogMeanExpSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	isatest.Each(t, func(t *testing.T) {
		for _, c := range []struct{ a, b, c, want float64 }{
			{-inf, -inf, -inf, -inf}, {-inf, 0, -inf, -math.Log(3)}, {-inf, 0, 0, math.Log(2. / 3)},
			{inf, 0, -inf, inf}, {nan, inf, 0, nan}, {0, nan, 0, nan}, {-inf, -inf, nan, nan}, {inf, inf, nan, nan},
			{0, 0, 0, 0}, {math.Copysign(0, -1), math.Copysign(0, -1), math.Copysign(0, -1), 0},
			{-1e-300, -2e-300, -3e-300, -2e-300}, {-3e-20, -3e-20, -3e-20, -3e-20},
			{1e308, 1e308, 1e308, 1e308}, {-1e308, -1e308, 1e308, 1e308}, {709, 710, 709, 710 + math.Log((1+2*math.Exp(-1))/3)},
			{-800, -800, -800, -800}, {-800, -1e5, -1e5, -800 - math.Log(3)},
		} {
			const n = 11 // more than the assembly takes at a time
			x, dst := make([]float64, 3*n), make([]float64, n)
			for i := range n {
				x[i], x[n+i], x[2*n+i] = c.a, c.b, c.c
			}
			LogMeanExpF64(dst, x, 3, n, n)
			for i, got := range dst {
				if !(math.Abs(got-c.want) <= 4e-16*math.Abs(c.want) || got == c.want || got != got && c.want != c.want) || got == 0 && math.Signbit(got) {
					t.Errorf("%v at %d: %v", c, i, got)
				}
			}
		}
	})
}
