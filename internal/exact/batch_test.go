package exact

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

// TestAddExactAll: a batch is the sum of its values, whatever their sizes.
func TestAddExactAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		v := make([]float64, r.IntN(60))
		if r.IntN(50) == 0 {
			v = make([]float64, 1000+r.IntN(2000))
		}
		spread, centre := []int{0, 1, 20, 40, 100, 2000}[r.IntN(6)], r.IntN(1900)-950
		if r.IntN(2) == 0 {
			centre = 0
		}
		for i := range v {
			e := min(max(centre+r.IntN(2*spread+1)-spread, -1074), 1022)
			v[i] = math.Ldexp(1+r.Float64(), e)
			switch r.IntN(8) {
			case 0:
				v[i] = math.Ldexp(1, e)
			case 1:
				v[i] = 0
			case 2, 3, 4:
				v[i] = -v[i]
			case 5:
				v[i] = math.Ldexp(2-0x1p-52, e)
			}
		}
		var all, each Sum
		each.AddFloat(3)
		all.AddFloat(3)
		all.AddExactAll(v)
		for _, x := range v {
			each.AddExact(x)
		}
		if !all.Equal(&each) || all.Float64() != each.Float64() || !bytes.Equal(all.AppendBinary(nil), each.AppendBinary(nil)) {
			t.Fatalf("%v is %v, want %v", v, all.Float64(), each.Float64())
		}
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is added", bad)
				}
			}()
			new(Sum).AddExactAll([]float64{1, 2, 3, 4, 5, 6, bad, 7, 8, 9})
		}()
	}
}

func BenchmarkAddExactAll(b *testing.B) {
	v := make([]float64, 2048)
	for i := range v {
		v[i] = rand.ExpFloat64()
	}
	b.Run("all", func(b *testing.B) {
		var s Sum
		for b.Loop() {
			s.AddExactAll(v)
		}
	})
	b.Run("each", func(b *testing.B) {
		var s Sum
		for b.Loop() {
			for _, x := range v {
				s.AddExact(x)
			}
		}
	})
}
