package kernel

import (
	"math"
	"math/big"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

const phiPrec = 2400 // tails of 2^-1022 remain after cancellation from 1/2, and the terms of the sum reach 2^1000

func phiFloat(v float64) *big.Float { return new(big.Float).SetPrec(phiPrec).SetFloat64(v) }

// bigRoot2Pi returns sqrt(2 pi), pi by Machin's formula.
func bigRoot2Pi() *big.Float {
	arccot := func(n int64) *big.Float {
		sum, term := phiFloat(0), phiFloat(1)
		term.Quo(term, phiFloat(float64(n)))
		for i := int64(1); term.MantExp(nil) > -phiPrec; i += 2 {
			t := phiFloat(0).Quo(term, phiFloat(float64(i)))
			if i%4 == 3 {
				t.Neg(t)
			}
			sum.Add(sum, t)
			term.Quo(term, phiFloat(float64(n*n)))
		}
		return sum
	}
	pi := phiFloat(16)
	pi.Mul(pi, arccot(5))
	pi.Sub(pi, phiFloat(0).Mul(phiFloat(4), arccot(239)))
	return pi.Sqrt(pi.Mul(pi, phiFloat(2)))
}

// bigCentre returns Phi(z) - 1/2 = 1/sqrt(2 pi) * sum (-1)^k z^(2k+1) / (2^k k! (2k+1)).
func bigCentre(z float64, root *big.Float) *big.Float {
	term, sum := phiFloat(z), phiFloat(0)
	half := phiFloat(z)
	half.Mul(half, half)
	half.Quo(half, phiFloat(-2))
	for k := 1; term.Sign() != 0 && term.MantExp(nil) > -phiPrec+10; k++ {
		sum.Add(sum, phiFloat(0).Quo(term, phiFloat(float64(2*k-1))))
		term.Mul(term, half)
		term.Quo(term, phiFloat(float64(k)))
	}
	return sum.Quo(sum, root)
}

// bigPhi returns Phi(z).
func bigPhi(z float64, root *big.Float) *big.Float {
	return phiFloat(0).Add(phiFloat(0.5), bigCentre(z, root))
}

// relative returns how far got is from want, in parts of it.
func relative(got float64, want *big.Float) float64 {
	d := phiFloat(got)
	d.Quo(d.Sub(d, want), want)
	f, _ := d.Float64()
	return math.Abs(f)
}

func TestPhi64(t *testing.T) {
	r, root := check.Rand(101), bigRoot2Pi()
	z := []float64{1, -1, math.Nextafter(1, 2), math.Nextafter(-1, -2), 0x1p-1074, -0x1p-30, 1e-5, -37, -37.5, 8, 8.3, -5.5}
	for range sized(15, 50, 300) {
		z = append(z, r.NormFloat64()*1.5, -37.5*r.Float64())
	}
	worst := 0.0
	for _, z := range z {
		e := relative(NormCDF64(z), bigPhi(z, root))
		if worst = max(worst, e); e > 1e-15 {
			t.Errorf("NormCDF64(%v) = %v is off by %.2g of it", z, NormCDF64(z), e)
		}
	}
	t.Logf("at most %.2g off", worst)
	inf := math.Inf(1)
	for _, c := range [][2]float64{{0, 0.5}, {math.Copysign(0, -1), 0.5}, {inf, 1}, {-inf, 0}, {1e300, 1}, {-1e300, 0}, {-39, 0}, {9, 1}} {
		if got := NormCDF64(c[0]); got != c[1] {
			t.Errorf("NormCDF64(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	if v := NormCDF64(math.NaN()); v == v {
		t.Errorf("NormCDF64(NaN) = %v", v)
	}
	// Not a number of pieces: no step down where they meet.
	for _, at := range []float64{-1, 1, 0} {
		for z, end := at-1e-13, at+1e-13; z < end; {
			next := z + 1e-15
			if NormCDF64(next) < NormCDF64(z)-3e-16 {
				t.Fatalf("NormCDF64 falls from %v to %v", z, next)
			}
			z = next
		}
	}
}

func TestPhiInv64(t *testing.T) {
	r, root := check.Rand(103), bigRoot2Pi()
	p := []float64{0.5 + 0x1p-53, 0.5 - 0x1p-54, 0.84, 0.16, math.Nextafter(0.84, 1), math.Nextafter(0.16, 0), 1e-300, 1 - 0x1p-53, 0x1p-1022, 0.975, 0.05}
	for range sized(12, 30, 200) {
		p = append(p, r.Float64(), math.Exp(-700*r.Float64()), 0.5+math.Ldexp(r.Float64()-0.5, -r.IntN(50)))
	}
	worst := 0.0
	for _, p := range p {
		z := NormQuantile64(p)
		if p == 0.5 {
			continue
		}
		// How far Phi is from p, over the density, is how far z is off.
		d := bigPhi(z, root)
		d.Sub(d, phiFloat(p))
		density := bigExp(new(big.Float).SetPrec(320).SetFloat64(-z * z / 2))
		d.Quo(d.Mul(d.Quo(d, density), root), phiFloat(z))
		e, _ := d.Float64()
		if e = math.Abs(e); e > 1e-15 {
			t.Errorf("NormQuantile64(%v) = %v is off by %.2g of it", p, z, e)
		}
		worst = max(worst, e)
	}
	t.Logf("at most %.2g off", worst)
	inf := math.Inf(1)
	for _, c := range [][2]float64{{0.5, 0}, {0, -inf}, {1, inf}, {math.Copysign(0, -1), -inf}} {
		if got := NormQuantile64(c[0]); got != c[1] {
			t.Errorf("NormQuantile64(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	for _, p := range []float64{math.NaN(), -0x1p-1074, math.Nextafter(1, 2), inf, -inf} {
		if z := NormQuantile64(p); z == z {
			t.Errorf("NormQuantile64(%v) = %v, want NaN", p, z)
		}
	}
	if z := NormQuantile64(0x1p-1074); math.Abs(z+38.467405617144346) > 1e-13 {
		t.Errorf("NormQuantile64 of the smallest number is %v", z)
	}
	if z := NormQuantile64(0.25); z != -NormQuantile64(0.75) {
		t.Errorf("the quartiles are %v and %v", z, NormQuantile64(0.75))
	}
}
