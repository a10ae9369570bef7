package fuzz

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// addNormal adds seeds: data, how, repeat, k, pad, off.
func addNormal(f *testing.F) {
	inf, nan, neg0 := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for i, x := range [][]float64{
		{0, 1, 1, 3, 2, 5}, {1, 0x1p-100, 1, 0, 0x1p100, 0x1p119}, {nan, 1, 2, inf, 1, 1}, {0, neg0, 1, 0, -1, 0}, {neg0, 1, neg0},
		{0x1p-149, 0x1p-149, 5e-324}, {math.MaxFloat32, 1e-30, -math.MaxFloat32}, ramp(100, 0.1, 0.3), ramp(600, 1e-3, 1e-3), {1e300, 1e-300, 1},
	} {
		f.Add(bytes64(x...), uint8(0), uint8(40*i), uint8(i), uint8(i/3), uint8(i))
		f.Add(bytes32(to32(x)...), uint8(0), uint8(80), uint8(i), uint8(0), uint8(3*i))
	}
	f.Add([]byte{}, uint8(0), uint8(0), uint8(0), uint8(0), uint8(0))
}

// FuzzLevelsNormal: the columns of rows of any bits, and what is summed over them and counted.
func FuzzLevelsNormal(f *testing.F) {
	addNormal(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, k, pad, off uint8) {
		x := elements(data, how, repeat, off, 4, single, func(v float64) float32 { return float32(v) })
		width := 2 + int(k)%2
		stride := width + int(pad)%3
		rows := max(0, (len(x)-width)/stride+1)
		if len(x) < width {
			rows = 0
		}
		sameBits(t, "NormalF32", func() (bits []uint64) {
			var s [5][]float64
			for i := range s {
				s[i] = sevens[float64](rows)
			}
			flags := sevens[uint8](rows)
			in := func(i int) []float64 { return s[i][beside : beside+rows] }
			c := &kernel.NormalColumns{Error: in(0), SD: in(1), Z: in(2), NLL: in(3), CRPS: in(4), Flags: flags[beside : beside+rows]}
			bits = append(bits, uint64(kernel.NormalF32(c, x, rows, width, stride)))
			for i := range s {
				bits = appendBits(bits, class64, s[i]...)
				n := min(rows, kernel.MaxSum)
				m, ok := kernel.UnitMoments(in(i)[:n])
				if ok {
					bits = append(bits, 1)
				}
				bits = append(bits, uint64(m.Hi), uint64(m.Lo), uint64(m.Hi2), uint64(m.Lo2), math.Float64bits(m.Unit))
			}
			edges := slices.Clone(in(2)[:min(rows, 30)])
			edges = slices.DeleteFunc(edges, func(v float64) bool { return v != v })
			slices.Sort(edges)
			counts := make([]int64, len(edges))
			kernel.CountUpTo(counts, in(2), edges)
			bits = appendBits(bits, func(n int64) uint64 { return uint64(n) }, counts...)
			return appendBits(bits, func(v uint8) uint64 { return uint64(v) }, flags...)
		})
	})
}

// FuzzUnitMoments holds the sums of any numbers, where there are some, to those of math/big.
func FuzzUnitMoments(f *testing.F) {
	addNormal(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, _, _, off uint8) {
		v := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		v = v[:min(len(v), kernel.MaxSum)]
		m, ok := kernel.UnitMoments(v)
		if !ok {
			return
		}
		const prec = 5000
		sum, squares := new(big.Float).SetPrec(prec), new(big.Float).SetPrec(prec)
		for _, x := range v {
			sum.Add(sum, big.NewFloat(x))
			squares.Add(squares, big.NewFloat(float64(x*x)))
		}
		for _, s := range []struct {
			want     *big.Float
			hi, lo   int64
			one, two float64
		}{{sum, m.Hi, m.Lo, m.Unit, m.Fine}, {squares, m.Hi2, m.Lo2, m.Unit2, m.Fine2}} {
			got := new(big.Float).SetPrec(prec).SetInt64(s.hi)
			got.Mul(got, big.NewFloat(s.one))
			low := new(big.Float).SetPrec(prec).SetInt64(s.lo)
			if got.Add(got, low.Mul(low, big.NewFloat(s.two))); got.Cmp(s.want) != 0 {
				t.Fatalf("%v: %+v", v, m)
			}
		}
	})
}

// FuzzPowerSums holds the sums of any numbers to those of math/big.
func FuzzPowerSums(f *testing.F) {
	addNormal(f)
	f.Fuzz(func(t *testing.T, data []byte, how, repeat, _, _, off uint8) {
		v := elements(data, how, repeat, off, 8, math.Float64frombits, func(v float64) float64 { return v })
		v = v[:min(len(v), kernel.MaxSum)]
		d, zero := make([]float64, len(v)), make([]float64, len(v))
		top := kernel.Differences(d, zero, v)
		if !(top >= 0x1p-100 && top <= 0x1p100) {
			return
		}
		s := kernel.PowerSums(d, top)
		least := math.Ldexp(1, math.Ilogb(top)-24)
		const prec = 5000
		var want [3]*big.Float
		for i := range want {
			want[i] = new(big.Float).SetPrec(prec)
		}
		n := int64(0)
		for _, x := range d {
			if math.Abs(x) < least {
				continue
			}
			n++
			q := float64(x * x)
			for i, x := range []float64{x, q, float64(q * q)} {
				want[i].Add(want[i], big.NewFloat(x))
			}
		}
		var got [3]*big.Float
		for i := range got {
			got[i] = new(big.Float).SetPrec(prec)
		}
		for i, sum := range s.Sums {
			x := new(big.Float).SetPrec(prec).SetInt64(sum)
			got[min(i/2, 2)].Add(got[min(i/2, 2)], x.Mul(x, big.NewFloat(s.Unit[i])))
		}
		for i := range got {
			if s.N != n || got[i].Cmp(want[i]) != 0 {
				t.Fatalf("%v: %+v", v, s)
			}
		}
	})
}
