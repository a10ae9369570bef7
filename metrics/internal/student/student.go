// Package student has what is computed of Student's t distribution: by + - * / and roots, and by kernel's exponentials and logarithms, so
// that it has the same bits on every CPU.
package student

import (
	"math"

	"github.com/candor-go/candor/kernel"
)

// GammaRatio returns R(x) = gamma(x+1/2)/gamma(x) for x > 0.
func GammaRatio(x float64) float64 {
	p := 1.0
	for ; x < 16; x++ {
		p *= x / (x + 0.5)
	}
	return float64(p * math.Sqrt(x) * kernel.Exp64(gammaTail(1/x)))
}

// GammaTails are the coefficients of 1/x, 1/x^3, 1/x^5 ... in ln(R(x)/sqrt(x)). For x from 16 on the next term is below
// 2^-58.
var GammaTails = [...]float64{-1. / 8, 1. / 192, -1. / 640, 17. / 14336, -31. / 18432, 691. / 180224}

func gammaTail(u float64) float64 {
	s := 0.0
	for i := len(GammaTails) - 1; i >= 0; i-- {
		s = float64(s*u*u) + GammaTails[i]
	}
	return float64(s * u)
}

// Density returns the density at 0 for n degrees of freedom, gamma((n+1)/2) / (sqrt(n pi) gamma(n/2)).
func Density(n float64) float64 { return float64(GammaRatio(n/2) / math.Sqrt(n) * invRootPi) }

const invRootPi = 0.56418958354775628694807945156077258584 // 1/sqrt(pi)

// LogKernel returns ln(1 + t^2/n). (n+1)/2 times this is how far the log density at t is below that at 0.
func LogKernel(t, n float64) float64 {
	if t = math.Abs(t); t > 1e100 {
		return 2*kernel.Log64(t) - kernel.Log64(n)
	}
	return kernel.Log1p64(float64(t*t) / n)
}

// Deficit returns the CRPS at t >= 0 minus t, for a standard Student's t with n > 1/2 degrees of freedom.
func Deficit(t, n float64) float64 {
	// The derivative of the score is 2*F - 1, so with c = f(0), Q = 1 - F and L = ln(1 + t^2/n)
	//
	//	score(0) = 2*c*n/(n-1) * (1 - R(n/2)/R(n-1/2)),  R(x) = gamma(x+1/2)/gamma(x)
	//	score(t) = score(0) + t - 2*t*Q(t) - 2*c*n/(n-1) * (1 - exp(-(n-1)/2*L))
	//
	// Near n = 1 both differences from 1 are of the order of n-1, so they are computed by expm1.
	if n == 1 {
		n = 1 + 0x1p-52 // the limit, to rounding
	}
	half, less := n/2, (n-1)/2
	r := GammaRatio(half)
	c := float64(r / math.Sqrt(n) * invRootPi)
	q := t / math.Sqrt(n)
	q = float64(q * q)
	l := kernel.Log1p64(q)
	var start float64
	if n > 0.75 && n < 1.5 {
		start = -expm1(-logGammaRatios(half, less))
	} else {
		start = 1 - r/GammaRatio(n-0.5)
	}
	grown := -expm1(-float64(less * l))
	return float64(c*n/less*(start-grown)) - float64(t*tails(t, n, q, l, r, c))
}

// tails returns P(|T| > t), given q = t^2/n, l = ln(1+q), r = R(n/2) and c = f(0). Both series have only positive terms.
func tails(t, n, q, l, r, c float64) float64 {
	if q >= 1 {
		// I_x(n/2, 1/2), x = 1/(1+q) <= 1/2.
		x, a := 1/(1+q), float64(n/2)
		sum, term := 1.0, 1.0
		for k := 0.0; term > 0x1p-56*sum; k++ {
			term = float64(term * float64((a+0.5+k)/(a+1+k)*x))
			sum += term
		}
		return float64(kernel.Exp64(-float64(a*l))*math.Sqrt(q*x)*r*invRootPi) / a * sum
	}
	e := float64((float64(n/2) + 0.5) * l)
	if e > 45 {
		return 0 // less than e^-45 of 1
	}
	v, a := q/(1+q), float64(n/2)+0.5
	sum, term := 1.0, 1.0
	for k := 0.0; term > 0x1p-56*sum; k++ {
		term = float64(term * float64((a+k)/(1.5+k)*v))
		sum += term
	}
	return 1 - float64(2*t*c*kernel.Exp64(-e)*sum)
}

// logGammaRatios returns ln(R(x+d)/R(x)), for x > 0 and x + d > 0, to a relative error that does not grow as d goes to 0.
func logGammaRatios(x, d float64) float64 {
	p := 0.0 // product of the quotients of the steps, minus 1
	for ; x < 16; x++ {
		e := float64(d/2) / float64(x*(x+d+0.5))
		p += e + float64(p*e)
	}
	// 1/x and 1/(x+d) differ by w, and their powers by w times a sum of products.
	u, v := 1/x, 1/(x+d)
	w := -float64(d*u) * v
	s, sum, power := 0.0, 1.0, v // for the k-th power, k odd: the sum of u^i*v^j over i+j = k-1, and v^k
	for _, c := range GammaTails {
		s += float64(c * sum)
		sum = float64(u*u*sum) + float64(power*(u+v))
		power *= float64(v * v)
	}
	return kernel.Log1p64(p) + float64(0.5*kernel.Log1p64(d*u)) + float64(w*s)
}

// expm1 returns e^x - 1 (Kahan).
func expm1(x float64) float64 {
	e := kernel.Exp64(x)
	if e == 1 {
		return x
	}
	if e-1 == -1 || e > math.MaxFloat64 {
		return e - 1
	}
	return (e - 1) * x / kernel.Log64(e)
}
