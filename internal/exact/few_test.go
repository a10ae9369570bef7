package exact

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestFew: a Few has the sum that AddFloat gives, at the ends of its range and for numbers that are rounded, and the count.
func TestFew(t *testing.T) {
	r := check.Rand(11)
	most := math.Nextafter(64, 0)
	ends := []float64{0, 5e-324, 0x1p-89, 0x1.8p-89, 0x1p-88, 0x1.8p-88, 0x1.4p-87, math.Nextafter(0x1p-36, 0), 0x1p-36, math.Nextafter(0x1p-35, 0), 1, most}
	draw := func() float64 {
		switch r.IntN(3) {
		case 0:
			return ends[r.IntN(len(ends))]
		case 1:
			return math.Ldexp(1+r.Float64(), r.IntN(100)-95)
		}
		return 64 * r.Float64()
	}
	for _, next := range []func() float64{draw, func() float64 { return most }} {
		var few Few
		var want Sum
		for n := int64(1); n <= FewTerms; n++ {
			v := next()
			if !FitsFew(v) {
				t.Fatalf("%v does not fit", v)
			}
			few.Add(v)
			want.AddFloat(v)
			if n > 1000 && n < FewTerms-10 {
				continue
			}
			var got Sum
			if few.AddTo(&got); !got.Equal(&want) || few.N() != n {
				t.Fatalf("%d terms: %v of %d, want %v", n, got.Float64(), few.N(), want.Float64())
			}
		}
	}
	for _, v := range []float64{64, math.Inf(1), math.NaN(), -1, math.Copysign(0, -1)} {
		if FitsFew(v) {
			t.Errorf("%v fits", v)
		}
	}
}
