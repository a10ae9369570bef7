package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

func newNormal(n int) *NormalColumns {
	f := func() []float64 { return make([]float64, n) }
	return &NormalColumns{Error: f(), SD: f(), Z: f(), NLL: f(), CRPS: f(), Flags: make([]uint8, n)}
}

// bigNormal returns NLL and CRPS of an error and a standard deviation, exactly but for some 200 bits.
func bigNormal(e, sd float64, root *big.Float) (nll, crps float64) {
	at := func(v float64) *big.Float { return new(big.Float).SetPrec(320).SetFloat64(v) }
	z := at(e)
	z.Quo(z, at(sd))
	half := at(0).Mul(z, z)
	half.Quo(half, at(2))
	sum := bigLog(at(sd))
	sum.Add(sum, half)
	sum.Add(sum, bigLog(root))
	nll, _ = sum.Float64()

	// Z (2 Phi(Z) - 1) + 2 phi(Z) - 1/sqrt(pi), of a z that is near and what it differs by: the slope is 2 Phi - 1.
	near, _ := z.Float64()
	centre := bigCentre(near, root)
	g := at(0).Mul(z, centre)
	g.Add(g, g)
	density := bigExp(half.Neg(half))
	density.Quo(density, root)
	g.Add(g, density.Add(density, density))
	rest := at(2)
	rest.Quo(rest.Sqrt(rest), root) // 1/sqrt(pi) = sqrt(2) / sqrt(2 pi)
	g.Sub(g, rest)
	crps, _ = g.Mul(g, at(sd)).Float64()
	return nll, crps
}

// TestNormal: the columns are the formulas', to the accuracies that the contract has.
func TestNormal(t *testing.T) {
	root := bigRoot2Pi()
	exact := map[[2]float64][2]float64{} // the same at each level
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(109)
		const n = 120
		x := make([]float64, 3*n)
		for i := range n {
			sd := math.Exp(r.NormFloat64() * 3)
			z := r.NormFloat64() * []float64{1, 1, 0.01, 4, 8}[i%5]
			x[3*i], x[3*i+1] = r.NormFloat64()*sd, sd
			x[3*i+2] = x[3*i] + z*sd
		}
		short := make([]float32, 3*n)
		for i, v := range x {
			short[i] = float32(v)
		}
		c64, c32 := newNormal(n), newNormal(n)
		if NormalF64(c64, x, n, 3, 3)|NormalF32(c32, short, n, 3, 3) != 0 {
			t.Fatal("flags")
		}
		var worst [4]float64
		for i := range n {
			e, sd := x[3*i+2]-x[3*i], x[3*i+1]
			if c64.Error[i] != e || c64.SD[i] != sd || c64.Z[i] != e/sd {
				t.Fatalf("%v, %v, %v of %v and %v", c64.Error[i], c64.SD[i], c64.Z[i], e, sd)
			}
			e32, sd32 := short[3*i+2]-short[3*i], short[3*i+1]
			if c32.Error[i] != float64(e32) || c32.SD[i] != float64(sd32) || c32.Z[i] != float64(e32/sd32) {
				t.Fatalf("float32: %v, %v, %v of %v and %v", c32.Error[i], c32.SD[i], c32.Z[i], e32, sd32)
			}
			off := func(at int, c *NormalColumns, e, sd, nllError, crpsError float64) {
				want, ok := exact[[2]float64{e, sd}]
				if !ok {
					want[0], want[1] = bigNormal(e, sd, root)
					exact[[2]float64{e, sd}] = want
				}
				nll, crps, z := want[0], want[1], e/sd
				size := math.Max(1, math.Max(math.Abs(math.Log(sd)), z*z/2))
				d, q := math.Abs(c.NLL[i]-nll)/size, math.Abs(c.CRPS[i]-crps)/crps
				worst[at], worst[at+1] = max(worst[at], d), max(worst[at+1], q)
				if d > nllError || q > crpsError {
					t.Errorf("error %v, sd %v: NLL %v is off by %.2g, CRPS %v by %.2g", e, sd, c.NLL[i], d, c.CRPS[i], q)
				}
			}
			if i%sized(3, 1, 1) > 0 { // every kind of z nevertheless
				continue
			}
			off(0, c64, e, sd, 6e-16, 2e-15)
			off(2, c32, float64(e32), float64(sd32), 3e-7, 7e-7)
		}
		t.Logf("at most %.2g off", worst)
	})
}

// TestNormalFaults: rows with a fault, and rows with a column that overflows, alone and among others.
func TestNormalFaults(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	isatest.Each(t, func(t *testing.T) {
		for _, row := range []struct {
			mean, sd, observed float64
			flag               uint8
		}{
			{nan, 1, 1, FlagNotFinite}, {1, nan, 1, FlagNotFinite}, {1, 1, nan, FlagNotFinite}, {inf, 1, 1, FlagNotFinite},
			{1, inf, 1, FlagNotFinite}, {1, 1, -inf, FlagNotFinite}, {inf, 1, inf, FlagNotFinite}, {nan, -1, 0, FlagNotFinite},
			{0, 0, 1, FlagOutside}, {0, -1, 1, FlagOutside}, {0, math.Copysign(0, -1), 0, FlagOutside}, {3, -inf, 1, FlagNotFinite},
		} {
			for _, n := range []int{1, 31, 32, 33, 64, 100} {
				for at := 0; at < n; at += 1 + n/9 {
					x, y := make([]float64, 3*n), make([]float32, 3*n)
					for i := range n {
						x[3*i], x[3*i+1], x[3*i+2] = 1, 2, float64(i)
					}
					x[3*at], x[3*at+1], x[3*at+2] = row.mean, row.sd, row.observed
					for i, v := range x {
						y[i] = float32(v)
					}
					c := newNormal(n)
					for j, flags := range []func() uint8{
						func() uint8 { return NormalF64(c, x, n, 3, 3) }, func() uint8 { return NormalF32(c, y, n, 3, 3) },
					} {
						all := flags()
						if all != row.flag || c.Flags[at] != row.flag || c.Z[at] == c.Z[at] || c.NLL[at] == c.NLL[at] || c.CRPS[at] == c.CRPS[at] || c.SD[at] == c.SD[at] || c.Error[at] == c.Error[at] {
							t.Fatalf("float%d, %v at %d of %d: flags %d", 64-32*j, row, at, n, all)
						}
						for i := range n {
							if i != at && (c.Flags[i] != 0 || c.Error[i] != float64(i)-1 || c.SD[i] != 2 || c.Z[i] != (float64(i)-1)/2) {
								t.Fatalf("row %d beside %d of %d", i, at, n)
							}
						}
					}
				}
			}
		}
		// A difference beyond float64, of numbers that are not.
		c := newNormal(1)
		for _, row := range [][3]float64{{-1e308, 1, 1.5e308}, {math.MaxFloat64, 1, -math.MaxFloat64}, {1e308, 1e308, -1e308}} {
			if f := NormalF64(c, row[:], 1, 3, 3); f != FlagNotFinite || c.Flags[0] != f || c.Error[0] == c.Error[0] || c.CRPS[0] == c.CRPS[0] {
				t.Errorf("%v: flags %d, error %v, CRPS %v", row, f, c.Error[0], c.CRPS[0])
			}
		}
		// Columns beyond float64, or of float32 beyond what stands in lanes.
		for _, row := range [][5]float64{
			{0, 1e-320, 1e300, inf, 1e300}, {0, 1e-3, 1e200, inf, 1e200}, {0, 1e308, 0, 710.116, 0.2336949772551e308},
			{0, 5e-324, 0, -743.5211, 0},
		} {
			if NormalF64(c, row[:3], 1, 3, 3) != 0 || math.Abs(c.NLL[0]/row[3]-1) > 1e-4 || c.NLL[0] != row[3] && row[3] == inf || math.Abs(c.CRPS[0]-row[4]) > 1e-10*row[4] {
				t.Errorf("%v: %v and %v", row, c.NLL[0], c.CRPS[0])
			}
		}
		for _, row := range [][5]float32{
			{-3e38, 1, 3e38, 1, 1}, {0, 1e-40, 1, 1, 1}, {0, 0x1p-149, 3e38, 1, 1}, {0, 3e38, 1e38, 1, 1}, {0, 1, 0x1.000002p20, 1, 1}, {5, 0x1.fffffep-101, 5, 1, 1},
		} {
			if NormalF32(c, row[:3], 1, 3, 3) != 0 {
				t.Errorf("%v: flags", row)
			}
			got := *c
			got.NLL, got.CRPS, got.Error = []float64{c.NLL[0]}, []float64{c.CRPS[0]}, []float64{c.Error[0]}
			NormalF64(c, []float64{float64(row[0]), float64(row[1]), float64(row[2])}, 1, 3, 3)
			if c.NLL[0] != got.NLL[0] || c.CRPS[0] != got.CRPS[0] || c.Error[0] != got.Error[0] {
				t.Errorf("%v: %v and %v, but of float64 %v and %v", row, got.NLL[0], got.CRPS[0], c.NLL[0], c.CRPS[0])
			}
		}
	})
}

// normalRows returns rows of k numbers, stride apart, one in odds with something awkward.
func normalRows[T check.Element](r *rand.Rand, x []T, rows, k, stride, odds int, awkward []T) {
	for i := range rows {
		row := x[i*stride:][:k]
		mean, sd := r.NormFloat64()*10, math.Exp(r.NormFloat64())
		o := mean + sd*r.NormFloat64()*math.Ldexp(1, r.IntN(8)-4)
		row[0], row[1] = T(mean), T(sd)
		if k == 3 {
			row[2] = T(o)
		} else {
			row[0] = T(o - mean)
		}
		if odds > 0 && r.IntN(odds) == 0 {
			row[r.IntN(k)] = awkward[r.IntN(len(awkward))]
		}
	}
}
