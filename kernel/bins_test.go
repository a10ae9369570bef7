package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// bruteBin counts the inner edges on the score's side.
func bruteBin(p float64, edges []float64, side Side) int32 {
	if p != p {
		return -1
	}
	n := int32(0)
	for _, e := range edges[1 : len(edges)-1] {
		if e < p || e == p && side == LeftClosed {
			n++
		}
	}
	return n
}

func TestEdges(t *testing.T) {
	e := Edges(10)
	if len(e) != 11 || e[3] != 0.30000000000000004 || e[0] != 0 || e[10] != 1 {
		t.Errorf("Edges(10) = %v", e)
	}
	for n := 1; n <= 2000; n++ {
		e := Edges(n)
		for i := 1; i <= n; i++ {
			if !(e[i-1] < e[i]) {
				t.Fatalf("Edges(%d): %v then %v", n, e[i-1], e[i])
			}
		}
	}
}

func TestBins(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(31)
		for n := 1; n <= 100; n++ {
			edges := Edges(n)
			p := []float64{-1, -0.1, -5e-324, math.Copysign(0, -1), 0, 5e-324, 1, 1.5, math.Nextafter(1, 2), 1e300, -1e300,
				math.Inf(1), math.Inf(-1), math.NaN(), 0.5, math.Nextafter(1, 0)}
			for _, e := range edges {
				p = append(p, e, math.Nextafter(e, 2), math.Nextafter(e, -2), float64(float32(e)))
			}
			for i := 0; i <= n; i++ {
				p = append(p, float64(i)/float64(n)) // which is not always the edge
			}
			for range 100 {
				p = append(p, r.Float64())
			}
			for _, side := range []Side{LeftClosed, RightClosed} {
				got, other := make([]int32, len(p)), make([]int32, len(p))
				BinEqual(got, p, edges, side)
				BinEdges(other, p, edges, side)
				for i, v := range p {
					if w := bruteBin(v, edges, side); got[i] != w || other[i] != w {
						t.Fatalf("n=%d side %d: %v is in %d and %d, want %d", n, side, v, got[i], other[i], w)
					}
				}
			}
		}
		// Uneven edges, some of them equal.
		for range 300 {
			edges := make([]float64, 2+r.IntN(40))
			for i := range edges {
				edges[i] = math.Floor(r.Float64()*20) / 20
				for j := i; j > 0 && edges[j-1] > edges[j]; j-- {
					edges[j-1], edges[j] = edges[j], edges[j-1]
				}
			}
			p := append([]float64{-1, 2, math.NaN()}, edges...)
			for range 20 {
				p = append(p, r.Float64())
			}
			got := make([]int32, len(p))
			for _, side := range []Side{LeftClosed, RightClosed} {
				BinEdges(got, p, edges, side)
				for i, v := range p {
					if w := bruteBin(v, edges, side); got[i] != w {
						t.Fatalf("edges %v side %d: %v is in %d, want %d", edges, side, v, got[i], w)
					}
				}
			}
		}
	})
}

// TestBinsStandAlone: every short length at every alignment, against guard pages.
func TestBinsStandAlone(t *testing.T) {
	const most = 70
	for _, tail := range []bool{true, false} {
		gp, gb, gy := check.Guarded[float64](t, most, tail), check.Guarded[int32](t, most, tail), check.Guarded[uint8](t, most, tail)
		ge := check.Guarded[float64](t, 16, tail)
		copy(ge, Edges(15))
		isatest.Each(t, func(t *testing.T) {
			r := check.Rand(33)
			for n := 0; n <= most; n++ {
				lo, hi := 0, n
				if tail {
					lo, hi = most-n, most
				}
				p, b, y := gp[lo:hi], gb[lo:hi], gy[lo:hi]
				for i := range p {
					p[i], y[i] = r.Float64(), uint8(r.IntN(2))
				}
				for _, bin := range []func([]int32, []float64, []float64, Side){BinEqual, BinEdges} {
					bin(b, p, ge, LeftClosed)
					for i, v := range p {
						if b[i] != bruteBin(v, ge, LeftClosed) {
							t.Fatalf("%v of length %d is in %d", v, n, b[i])
						}
					}
				}
				var got, want [15]BinSum
				BinSums(got[:], b, p, y)
				for i := range p {
					w := &want[b[i]]
					w.N++
					w.Y += int64(y[i])
					v := units(p[i], 51)
					w.P += v
					w.PP += units(p[i]*p[i], 51)
					w.PY += v * int64(y[i])
				}
				if got != want {
					t.Fatalf("length %d: %v, want %v", n, got, want)
				}
				for name, w := range windows {
					hi, lo, out := FixedSums(p, w.w)
					whi, wlo, wout := fixedOracle(p, w)
					if hi != whi || lo != wlo || out != wout {
						t.Fatalf("%s of length %d: %d %d %d, want %d %d %d", name, n, hi, lo, out, whi, wlo, wout)
					}
				}
			}
		})
	}
}

// units returns v in units of 2**-q, rounded to even, by math/big.
func units(v float64, q int) int64 {
	if v == 0 {
		return 0
	}
	f := new(big.Float).SetPrec(2200).SetMantExp(big.NewFloat(v), q)
	i, _ := f.Int(nil)
	rest := new(big.Float).SetPrec(2200).Sub(f, new(big.Float).SetPrec(2200).SetInt(i))
	half := rest.Cmp(big.NewFloat(math.Copysign(0.5, v)))
	if v < 0 {
		half = -half
	}
	if n := i.Int64(); half > 0 || half == 0 && n&1 != 0 {
		if v < 0 {
			return n - 1
		}
		return n + 1
	} else {
		return n
	}
}

type window struct {
	w       *Window
	q, fine int
}

var windows = map[string]window{
	"unit":     {&WindowUnit, 51, 0},
	"brier":    {&WindowBrier, 50, 0},
	"brier2":   {&WindowBrier2, 49, 0},
	"entropy":  {&WindowEntropy, 46, 0},
	"entropy2": {&WindowEntropy2, 41, 0},
	"nll":      {&WindowNLL, 40, 88},
	"nll2":     {&WindowNLL2, 29, 77},
}

func fixedOracle(v []float64, w window) (hi, lo int64, out int) {
	for _, x := range v {
		if !(math.Abs(x) <= w.w.Max) {
			out++
			continue
		}
		n := units(x, w.q)
		hi += n
		if w.fine != 0 {
			lo += units(x-math.Ldexp(float64(n), -w.q), w.fine)
		}
	}
	return hi, lo, out
}

// TestFixedSums holds the sums to exact rounding, at the windows' ends above all, where a full call must not overflow.
func TestFixedSums(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(35)
		for name, w := range windows {
			most := w.w.Max
			q := math.Ldexp(1, -w.q)
			v := []float64{most, -most, math.Nextafter(most, 0), -math.Nextafter(most, 0), math.Nextafter(most, math.Inf(1)),
				-math.Nextafter(most, math.Inf(1)), math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324,
				q, q / 2, math.Nextafter(q/2, 1), math.Nextafter(q/2, 0), -q / 2, 1.5 * q, 2.5 * q, -1.5 * q, most / 2, 1e-300, math.MaxFloat64}
			for range 400 {
				x := (r.Float64()*2 - 1) * most
				v = append(v, x, math.Ldexp(x, -r.IntN(90)), math.Round(x/q)*q+q/2)
			}
			for _, x := range v { // one by one, so that errors cannot cancel
				hi, lo, out := FixedSums([]float64{x}, w.w)
				whi, wlo, wout := fixedOracle([]float64{x}, w)
				if hi != whi || lo != wlo || out != wout {
					t.Fatalf("%s of %v: %d %d %d, want %d %d %d", name, x, hi, lo, out, whi, wlo, wout)
				}
				if w.fine != 0 && out == 0 && x != 0 {
					back := math.Ldexp(float64(hi), -w.q) + math.Ldexp(float64(lo), -w.fine)
					if math.Abs(back-x) > math.Ldexp(1, -w.fine-1)+math.Abs(x)*0x1p-53 {
						t.Fatalf("%s of %v comes back as %v", name, x, back)
					}
				}
			}
			for _, x := range []float64{most, -most, most - q/4, math.Nextafter(most, 0)} {
				full := make([]float64, MaxSum)
				for i := range full {
					full[i] = x
				}
				hi, lo, out := FixedSums(full, w.w)
				h1, l1, _ := FixedSums(full[:1], w.w)
				if want := new(big.Int).Mul(big.NewInt(h1), big.NewInt(MaxSum)); !want.IsInt64() || want.Int64() != hi || lo != l1*MaxSum || out != 0 {
					t.Fatalf("%s: %d times %v: %d %d, one is %d %d", name, MaxSum, x, hi, lo, h1, l1)
				}
			}
		}
		for _, p := range []float64{0, 1, 0.5, 0x1p-52, 3 * 0x1p-52, math.Nextafter(1, 0), 1e-300} {
			bin, ps, y := make([]int32, MaxSum), make([]float64, MaxSum), make([]uint8, MaxSum)
			for i := range ps {
				ps[i], y[i], bin[i] = p, 1, int32(i&1-1)
			}
			var s [1]BinSum
			BinSums(s[:], bin, ps, y)
			const n = MaxSum / 2
			if want := (BinSum{n, n, n * units(p, 51), n * units(p*p, 51), n * units(p, 51)}); s[0] != want {
				t.Fatalf("%d times %v: %v, want %v", n, p, s[0], want)
			}
		}
	})
}
