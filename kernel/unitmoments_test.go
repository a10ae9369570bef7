package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/isa/isatest"
)

// unitValues returns values that fit windows together or do not, by kind.
func unitValues(r *rand.Rand, v []float64, kind int) {
	scale := math.Ldexp(1, r.IntN(900)-450)
	for i := range v {
		switch x := r.NormFloat64() * scale; kind {
		case 0:
			v[i] = float64(float32(r.NormFloat64()))
		case 1:
			v[i] = x
		case 2:
			v[i] = math.Ldexp(x, -r.IntN(60))
		case 3:
			v[i] = scale
		case 4:
			if v[i] = 0; r.IntN(3) == 0 {
				v[i] = x
			}
		default:
			s := check.Specials64()
			if v[i] = x; r.IntN(max(2, len(v)/2)) == 0 {
				v[i] = append(s, 1e300, -1e-300, 0x1p-1074, math.Copysign(0, -1))[r.IntN(len(s)+4)]
			}
		}
	}
}

// TestUnitMoments: the sums are those of math/big, and there are some where the values are near each other.
func TestUnitMoments(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := check.Rand(127)
		for _, n := range []int{0, 1, 2, 31, 32, 33, 64, 100, 500, MaxSum} {
			for kind := range 6 {
				for range 6 {
					v := make([]float64, n)
					unitValues(r, v, kind)
					m, ok := UnitMoments(v)
					finite, least, most := true, math.Inf(1), 0.0
					for _, x := range v {
						finite = finite && x-x == 0
						if most = max(most, math.Abs(x)); x != 0 {
							least = min(least, math.Abs(x))
						}
					}
					if ok && !finite || !ok && finite && (most == 0 || most >= 0x1p-400 && most <= 0x1p400 && least >= 0x1p-24*most) {
						t.Fatalf("%d values from %v to %v: %v", n, least, most, ok)
					}
					if !ok {
						if m != (UnitMoment{}) {
							t.Fatal("sums beside false")
						}
						continue
					}
					s1, s2 := new(big.Float).SetPrec(4000), new(big.Float).SetPrec(4000)
					for _, x := range v {
						s1.Add(s1, big.NewFloat(x))
						s2.Add(s2, big.NewFloat(float64(x*x)))
					}
					of := func(hi int64, unit float64, lo int64, fine float64) *big.Float {
						a := new(big.Float).SetPrec(4000).SetInt64(hi)
						a.Mul(a, big.NewFloat(unit))
						b := new(big.Float).SetPrec(4000).SetInt64(lo)
						return a.Add(a, b.Mul(b, big.NewFloat(fine)))
					}
					if of(m.Hi, m.Unit, m.Lo, m.Fine).Cmp(s1) != 0 || of(m.Hi2, m.Unit2, m.Lo2, m.Fine2).Cmp(s2) != 0 {
						t.Fatalf("%d values of kind %d: %+v", n, kind, m)
					}
				}
			}
		}
		// At the window's end all sums have room.
		v := make([]float64, MaxSum)
		for i := range v {
			v[i] = math.Nextafter(2, 0)
		}
		if m, ok := UnitMoments(v); !ok || float64(m.Hi)*m.Unit+float64(m.Lo)*m.Fine != MaxSum*v[0] || float64(m.Hi2)*m.Unit2+float64(m.Lo2)*m.Fine2 != MaxSum*float64(v[0]*v[0]) {
			t.Errorf("%+v, %v", m, ok)
		}
	})
}

func TestLevelsUnitMoments(t *testing.T) {
	logCompared(t)
	vs, out := newRoom[float64](t, MaxSum), newRoom[int64](t, 4)
	units := newRoom[float64](t, 4)
	r := check.Rand(131)
	for i, n := range lengths(16, MaxSum) {
		for j, at := range places(i, 8) {
			for d := range deal(3*i+j, sized(1, 3, all), 6) {
				kind := d[0]
				v, dst, u := vs.lay("v", at, n, true), out.lay("sums", place{}, 4, false).column(4), units.lay("units", place{}, 4, false).column(4)
				unitValues(r, v.s, kind)
				if err := sameAtLevels(func() uint64 {
					m, ok := UnitMoments(v.s)
					copy(dst.s, []int64{m.Hi, m.Lo, m.Hi2, m.Lo2})
					copy(u.s, []float64{m.Unit, m.Fine, m.Unit2, m.Fine2})
					if ok {
						return 1
					}
					return 0
				}, v, dst, u); err != nil {
					t.Fatalf("n=%d of kind %d at %v: %v", n, kind, at, err)
				}
			}
		}
	}
}
