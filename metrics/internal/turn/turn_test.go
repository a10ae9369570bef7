package turn

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// slowSincos sums the series at x minus a multiple of 2 pi, in 300 bits.
func slowSincos(x float64) (sin, cos float64) {
	const precision = 300
	turn, _, _ := big.ParseFloat("6.28318530717958647692528676655900576839433879875021164194988918461563281257241799725606965068423413596429617303", 10, precision, 0)
	r := new(big.Float).SetPrec(precision).SetFloat64(x)
	n, _ := new(big.Float).Quo(r, turn).Int(nil)
	r.Sub(r, new(big.Float).SetPrec(precision).Mul(turn, new(big.Float).SetInt(n)))
	s, c := new(big.Float).SetPrec(precision), new(big.Float).SetPrec(precision)
	term := big.NewFloat(1).SetPrec(precision)
	for k := range 60 {
		at := c
		if k%2 == 1 {
			at = s
		}
		if k%4 < 2 {
			at.Add(at, term)
		} else {
			at.Sub(at, term)
		}
		term.Quo(term.Mul(term, r), new(big.Float).SetInt64(int64(k+1)))
	}
	sin, _ = s.Float64()
	cos, _ = c.Float64()
	return sin, cos
}

// TestSinCos: sines and cosines are those of exact arithmetic, to a unit in the last place of 1.
func TestSinCos(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	worst := 0.0
	for i := range 1000 {
		x := math.Ldexp(2*r.Float64()-1, r.IntN(40)-9)
		if i%4 == 0 {
			x = float64(r.IntN(2000)-1000) * math.Pi / 8
		}
		wantSin, wantCos := slowSincos(x)
		sin, cos := SinCos(x)
		worst = max(worst, math.Abs(sin-wantSin), math.Abs(cos-wantCos))
	}
	t.Logf("off by at most %.3g", worst)
	if !(worst < 1.2e-16) {
		t.Errorf("off by up to %.3g", worst)
	}
	if sin, cos := SinCos(0); sin != 0 || cos != 1 {
		t.Error("of 0:", sin, cos)
	}
}
