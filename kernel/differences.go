package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// Differences writes b[i] - a[i] to dst[i] and returns the largest magnitude of these, NaN if one is not finite. dst may be a or
// b.
func Differences(dst, a, b []float64) (top float64) {
	checkEqual(len(dst), len(a))
	checkEqual(len(dst), len(b))
	n := 0
	if simd() {
		n = len(a) &^ (columnStep - 1)
	}
	if n > 0 {
		asm.Differences(&top, &dst[0], &a[0], &b[0], n)
	}
	rest := dst[n:]
	for i, x := range a[n:] {
		rest[i] = b[n+i] - x
	}
	return largest(top, rest)
}

// PowerSum is the result of PowerSums: integers and their units.
type PowerSum struct {
	N    int64      // how many values are in the sums
	Sums [7]int64   // of the values two, of their squares two, of the squares of these three
	Unit [7]float64 // powers of two: each sum is that of its Sums times their units
}

// powerSpan is how many powers of two below the largest value the smallest in a sum may be. With it no bit of a value, of a
// square or of a square of that is below the windows, which have 51 bits each.
const powerSpan = 24

// PowerSums returns the sums of values, of their squares and of the squares of these, which are products rounded to float64, without
// further rounding. They are of the values whose magnitude is at least 2^-24 times that power of two which top has or is above. Values
// below, 0 and NaN are in no sum. No magnitude exceeds top, which is from 2^-100 to 2^100. At most MaxSum values are allowed.
func PowerSums(v []float64, top float64) (s PowerSum) {
	if len(v) > MaxSum {
		panic(errCount)
	}
	e := int(math.Float64bits(top)>>52) - 1023
	if e < -100 || e > 100 {
		panic(errTop)
	}
	at := func(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }
	scale := at(-e)
	n := 0
	if simd() {
		n = len(v) &^ (columnStep - 1)
	}
	var to [8]uint64
	if n > 0 {
		asm.PowerSums(&to[0], &v[0], n, &scale)
	}
	// Values are scaled to be below 2, so that the windows are always the same.
	for _, x := range v[n:] {
		if x = float64(x * scale); !(math.Abs(x) >= 1.0/(1<<powerSpan)) {
			x = 0
		} else {
			to[0]++
		}
		q := float64(x * x)
		for i, power := range [...]float64{x, q, float64(q * q)} {
			for w := 2 * i; w < min(2*i+2+i/2, 7); w++ {
				t := power + powerMagic[w]
				to[1+w] += math.Float64bits(t)
				power -= t - powerMagic[w]
			}
		}
	}
	s.N = int64(to[0])
	for i, magic := range powerMagic {
		s.Sums[i] = int64(to[1+i] - uint64(len(v))*math.Float64bits(magic))
		s.Unit[i] = magic / 0x1.8p52 * at(powerOf[i]*e)
	}
	return s
}

// powerMagic are what moves the ends of windows to the last place: of values below 2, of squares below 4, and of those of these below
// 16.
var powerMagic = [7]float64{0x1.8p2, 0x1.8p-49, 0x1.8p3, 0x1.8p-48, 0x1.8p5, 0x1.8p-46, 0x1.8p-97}

var powerOf = [7]int{1, 1, 2, 2, 4, 4, 4}

const errTop = "kernel: the largest value is not from 2^-100 to 2^100"
