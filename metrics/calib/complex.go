package calib

import (
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/turn"
)

// Complex arithmetic that gives the same bits on every CPU. Compilers may fuse additions in the language's own complex products
// and quotients.

// mul returns a*b.
func mul(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// scale returns z*x.
func scale(z complex128, x float64) complex128 {
	return complex(float64(real(z)*x), float64(imag(z)*x))
}

// inverse returns 1/z for |z| between 1e-150 and 1e150.
func inverse(z complex128) complex128 {
	d := float64(real(z)*real(z)) + float64(imag(z)*imag(z))
	return complex(real(z)/d, -imag(z)/d)
}

// exp returns e^z.
func exp(z complex128) complex128 {
	r := kernel.Exp64(real(z))
	if r == 0 {
		return 0
	}
	sin, cos := turn.SinCos(imag(z))
	return scale(complex(cos, sin), r)
}
