package calib

import (
	"math"
	"testing"
)

func TestInverse(t *testing.T) {
	for _, z := range []complex128{1, -2, 3i, complex(1, 2), complex(-1e6, 3), complex(1e-100, 1e100)} {
		if p := mul(inverse(z), z) - 1; math.Hypot(real(p), imag(p)) > 4e-16 {
			t.Error(z, inverse(z), p)
		}
	}
}
