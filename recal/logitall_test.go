package recal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/kernel"
)

// Logits have their digits also where they are near 0, and in columns are what they are one by one.
func TestLogitDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{0, 1, 0.5, 0x1p-1074, 1 - 0x1p-53, 0x1p-54, 0.25, 0.75, math.NaN()}
	for range 2000 {
		d := math.Exp(-35 * r.Float64())
		x = append(x, 0.5+d/2, 0.5-d/2, d, 1-d, r.Float64())
	}
	all := append([]float64(nil), x...)
	logitAll(all)
	for i, p := range x {
		z := logit(p)
		if z == z && math.Float64bits(z) != math.Float64bits(all[i]) {
			t.Fatalf("the logit of %v is %v, and %v in a column", p, z, all[i])
		}
		if p > 0.25 && p < 0.75 {
			// p/(1-p) - 1 = (2p-1)/(1-p), of which the logarithm is that of 1 plus it.
			one, b := big.NewFloat(1).SetPrec(200), new(big.Float).SetPrec(200).SetFloat64(p)
			u := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).Add(b, b), one)
			u.Quo(u, new(big.Float).SetPrec(200).Sub(one, b))
			f, _ := u.Float64()
			if want := kernel.Log1p64(f); math.Abs(z-want) > 3e-15*math.Abs(want) {
				t.Errorf("the logit of %v is %v; want %v", p, z, want)
			}
		}
	}
}
