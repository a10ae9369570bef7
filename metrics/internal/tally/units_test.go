package tally

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/exact"
)

// TestMeanUnits holds that values of any size keep all their bits.
func TestMeanUnits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, weighted := range []bool{false, true} {
		v := []float64{0, 1e-40, -1e-170, 5e-324, 0.1, 1e30, 1e200, math.MaxFloat64, math.Inf(1)}
		for range 100 {
			v = append(v, math.Ldexp(r.NormFloat64(), r.IntN(900)-450))
		}
		var weights []float64
		s1, s2, over := new(big.Rat), new(big.Rat), int64(0)
		for _, x := range v {
			w := 1.0
			if weighted {
				w = []float64{0x1p-32, 0.3, 1, 0x1p32}[r.IntN(4)]
				if x > 1e300 {
					w = 0x1p32
				}
				weights = append(weights, w)
			}
			switch p := w * x; {
			case math.IsInf(x, 0):
			case math.IsInf(p, 0):
				large := new(big.Rat).SetFloat64(w * 0x1p-32 * x)
				s1.Add(s1, large.Mul(large, new(big.Rat).SetFloat64(0x1p32)))
			default:
				s1.Add(s1, new(big.Rat).SetFloat64(p))
			}
			if q := w * x * x; math.IsInf(q, 0) {
				over++
			} else {
				s2.Add(s2, new(big.Rat).SetFloat64(q))
			}
		}
		var m, a, b Mean
		m.AddUnits(v, weights)
		if exact.Rat(&m.S1).Cmp(s1) != 0 || exact.Rat(&m.S2).Cmp(s2) != 0 || m.Over != over || over < 3 {
			t.Errorf("weighted %v: other sums, or %d over, want %d", weighted, m.Over, over)
		}
		if weighted {
			a.AddUnits(v[50:], weights[50:])
			b.AddUnits(v[:50], weights[:50])
		} else {
			a.AddUnits(v[50:], nil)
			b.AddUnits(v[:50], nil)
		}
		a.Merge(&b)
		if !bytes.Equal(bytesOf(&m), bytesOf(&a)) {
			t.Error("a merge differs from one pass")
		}
	}
}

// TestMeanUnitsTogether: the state is that of values added one by one, whichever of them go together.
func TestMeanUnitsTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	odd := []float64{1e-300, 1e300, -1e300, 5e-324, 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e200, -1e-200, math.MaxFloat64, 0x1p-401, 0x1p401}
	for _, n := range []int{0, 1, 2, 15, 16, 17, 100, 1023, 1024, 1025, 3000} {
		for kind := range 6 {
			v := make([]float64, n)
			for i := range v {
				switch x := r.NormFloat64(); kind {
				case 0:
					v[i] = x
				case 1:
					v[i] = float64(float32(x)) * 1e-30
				case 2:
					v[i] = math.Ldexp(x, r.IntN(80))
				case 3:
					if v[i] = x; r.IntN(100) == 0 {
						v[i] = odd[r.IntN(len(odd))]
					}
				case 4:
					v[i] = odd[r.IntN(len(odd))]
				default:
					v[i] = 0x1p-1074 * float64(r.IntN(5))
				}
			}
			var all, one, split Mean
			all.AddUnits(v, nil)
			for i := range v {
				one.AddUnits(v[i:i+1], nil)
			}
			at := r.IntN(n + 1)
			split.AddUnits(v[at:], nil)
			split.AddUnits(v[:at], nil)
			if b := bytesOf(&all); !bytes.Equal(b, bytesOf(&one)) || !bytes.Equal(b, bytesOf(&split)) {
				t.Errorf("%d values of kind %d: the states differ", n, kind)
			}
		}
	}
}
