package metrics

import "math"

// leastVariance is the share of a number's variance, given the numbers before it, at or below which a covariance is not positive definite: less is
// rounding.
const leastVariance = 1e-12

// asymmetry is the largest difference of two mirrored covariances, in units of the standard deviations, that counts as rounding: that of float32.
const asymmetry = 1e-6

// FactorCovariance factors a covariance matrix of as many numbers as sd has, row by row in c. It sets sd to the standard deviations, and the lower
// triangle of c to the triangle L for which the correlations are L L'. It returns -1; or the first number whose variance, given the numbers before
// it, is not above 1e-12 of its variance, and then the matrix is not positive definite. The upper triangle is not read. Units of any size do not
// matter.
func FactorCovariance(c, sd []float64) int {
	d := len(sd)
	for i := range d {
		if sd[i] = math.Sqrt(c[i*d+i]); !(sd[i] > 0) {
			return i
		}
	}
	for i := range d {
		for j := range i + 1 {
			sum := 1.0
			if i != j {
				sum = c[i*d+j] / sd[i] / sd[j]
			}
			for k := range j {
				sum -= float64(c[i*d+k] * c[j*d+k])
			}
			if i != j {
				c[i*d+j] = sum / c[j*d+j]
				continue
			}
			if !(sum > leastVariance) {
				return i
			}
			c[i*d+i] = math.Sqrt(sum)
		}
	}
	return -1
}

// stated reports whether every row of a block of MultivariateNormals is good.
func (w *worker) stated(c *Chunk, at, n, st int) bool {
	for i := range n {
		if r, _, _ := c.faultOfStated(at+i, st, &w.covariance); r != reasons {
			return false
		}
	}
	return true
}

// faultOfStated returns the first fault of a row of MultivariateNormals with its column and value.
func (c *Chunk) faultOfStated(row, st int, scratch *[]float64) (r Reason, column int, value float64) {
	d := c.Dimensions
	*scratch = room(*scratch, d*d+d)
	m, sd := (*scratch)[:d*d], (*scratch)[d*d:]
	for j := range c.Classes {
		v := c.element(row*st + j)
		if v-v != 0 {
			return NotFinite, j, v
		}
		if j >= d && j < d+d*d {
			m[j-d] = v
		}
	}
	for i := range d {
		if v := m[i*d+i]; !(v > 0) {
			return BadCovariance, d + i*d + i, v
		}
	}
	for i := range d {
		for j := range i {
			if !(math.Abs(m[i*d+j]-m[j*d+i]) <= float64(asymmetry*(math.Sqrt(m[i*d+i])*math.Sqrt(m[j*d+j])))) {
				return BadCovariance, d + i*d + j, m[i*d+j]
			}
		}
	}
	if i := FactorCovariance(m, sd); i >= 0 {
		return BadCovariance, d + i*d + i, c.element(row*st + d + i*d + i)
	}
	return reasons, 0, 0
}
