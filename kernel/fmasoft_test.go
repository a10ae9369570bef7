package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every triple gives the bits of math.FMA: of any size, where the sum cancels, and where it lies next to the middle of two numbers.
func TestSoftFMA(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 106))
	edge := []float64{0, math.Copysign(0, -1), 1, -1, 3, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p27 + 1, 0x1p-1074, 0x1p-1022, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		0x1p450, 0x1.fffffffffffffp450, 0x1p451, 0x1p-450, 0x1p-451, 0x1p900, 0x1.fffffffffffffp900, 0x1p901, 0x1p-900, 0x1p-901}
	check := func(x, y, z float64) {
		t.Helper()
		got, want := softFMA(x, y, z), math.FMA(x, y, z)
		if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
			t.Fatalf("%x * %x + %x is %x, want %x", x, y, z, got, want)
		}
	}
	for _, x := range edge {
		for _, y := range edge {
			for _, z := range edge {
				check(x, y, z)
				check(x, y, -z)
			}
		}
	}
	// Few bits make products and sums that are exact, and middles.
	number := func(spread int) float64 {
		m := 1 + float64(r.Uint64()>>12)*0x1p-52
		switch r.IntN(4) {
		case 0:
			m = 1 + float64(r.IntN(1<<10))*0x1p-10
		case 1:
			m = 1 + float64(r.IntN(4))*0x1p-52
		case 2:
			m = 2 - float64(1+r.IntN(4))*0x1p-52
		}
		if r.IntN(2) == 0 {
			m = -m
		}
		return math.Ldexp(m, r.IntN(2*spread+1)-spread)
	}
	n := 2_000_000
	if testing.Short() {
		n = 200_000
	}
	for i := range n {
		spread := []int{2, 60, 450, 1020}[i%4]
		x, y := number(spread), number(spread)
		check(x, y, number(spread))
		p := float64(x * y)
		e := math.FMA(x, y, -p)
		for _, z := range []float64{-p, -e, e, -p + e, math.Nextafter(-p, 0), float64(p * 0x1p53), float64(p * -0x1p52), float64(e * 0x1.8p53), float64(number(2) * p), float64(number(60) * p)} {
			check(x, y, z)
		}
	}
}

func BenchmarkFMA(b *testing.B) {
	for _, c := range []struct {
		name string
		f    func(x, y, z float64) float64
	}{{"math", math.FMA}, {"soft", softFMA}} {
		b.Run(c.name, func(b *testing.B) {
			s := 1.
			for b.Loop() {
				s = c.f(s, .9, .1)
			}
			if s > 2 {
				b.Error(s)
			}
		})
	}
}
