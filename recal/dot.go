package recal

import "math"

// Vector arithmetic in a fixed order, without fused products, so that results have the same bits on every CPU.

// dot returns the sum of a[i] b[i], as four interleaved sums.
func dot(a, b []float64) float64 {
	var s [4]float64
	b = b[:len(a)]
	for len(a) >= 4 {
		u, v := (*[4]float64)(a), (*[4]float64)(b)
		s[0] += float64(u[0] * v[0])
		s[1] += float64(u[1] * v[1])
		s[2] += float64(u[2] * v[2])
		s[3] += float64(u[3] * v[3])
		a, b = a[4:], b[4:]
	}
	for i, x := range a {
		s[i] += float64(x * b[i])
	}
	return s[0] + s[1] + (s[2] + s[3])
}

// addScaled adds a x to dst.
func addScaled(dst []float64, a float64, x []float64) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] += float64(a * v)
	}
}

// scale multiplies all elements of v by a.
func scale(a float64, v []float64) {
	for i := range v {
		v[i] *= a
	}
}

// largest returns the largest absolute value, or NaN if v contains one.
func largest(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m = max(m, math.Abs(x))
	}
	return m
}
