package exact

import "math"

// batchLen is the number of values in a batch: sums of this many 42-bit numbers are exact in float64.
const batchLen = 1024

// AddExactAll adds each value as AddExact does, without rounding. The result is the same, in a fraction of the time if most
// values are within a factor of 2^30 of each other. It panics if a value is an infinity or NaN.
func (s *Sum) AddExactAll(v []float64) {
	for len(v) > 0 {
		n := min(len(v), batchLen)
		s.addBatch(v[:n])
		v = v[n:]
	}
}

// addBatch splits each value into two 42-bit parts, in units that depend on the largest value, and a remainder, which is
// usually 0.
func (s *Sum) addBatch(v []float64) {
	var even, odd uint64
	for i := 0; i+1 < len(v); i += 2 {
		even = max(even, math.Float64bits(v[i])<<1)
		odd = max(odd, math.Float64bits(v[i+1])<<1)
	}
	top := max(even, odd, math.Float64bits(v[len(v)-1])<<1) >> 53 // the largest exponent
	// Few values are not worth it, and near the ends of float64 the units below would leave it. Infinities and NaN are at the upper one.
	if len(v) < 8 || top < 200 || top > 2000 {
		for _, x := range v {
			s.AddExact(x)
		}
		return
	}
	// Numbers whose last place is 2^-40 and 2^-82 of the largest power of two. Adding and subtracting them rounds a value to
	// that place.
	first := math.Float64frombits((top+12)<<52 | 1<<51)
	second := math.Float64frombits((top-30)<<52 | 1<<51)
	var high, low [2]float64
	i := 0
	for ; i+1 < len(v); i += 2 {
		x, y := v[i], v[i+1]
		hx, hy := (x+first)-first, (y+first)-first
		rx, ry := x-hx, y-hy
		lx, ly := (rx+second)-second, (ry+second)-second
		high[0] += hx
		high[1] += hy
		low[0] += lx
		low[1] += ly
		if rx != lx || ry != ly {
			s.AddExact(rx - lx)
			s.AddExact(ry - ly)
		}
	}
	if i < len(v) {
		s.AddExact(v[i])
	}
	for i := range high {
		s.AddExact(high[i])
		s.AddExact(low[i])
	}
}
