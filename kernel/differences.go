package kernel

import (
	"bytes"
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

// PowerSums returns the sums of values, of their squares and of the squares of these, which are products rounded to float64, without further
// rounding. A value counts if its magnitude is at least 2^-24 times the largest power of two that is not above top. Smaller values, 0 and NaN are in
// no sum. No magnitude exceeds top, which is from 2^-100 to 2^100. At most MaxSum values are allowed.
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

// DifferenceSum is the result of DifferenceSums: sums as PowerSums gives them.
type DifferenceSum struct {
	Sums   [7]int64
	Unit   [7]float64
	Events [2]int64 // as the first two of Sums, of the rows whose event came
	Small  bool     // some difference is in no sum, and not 0
}

// DifferenceSums writes b[i] - a[i] to dst[i] and returns what PowerSums(dst, top) would, but that top need only bound the differences
// roughly: it may be too large, which leaves more of them in no sum, and ok is false, without sums, where one is not finite or has twice the
// magnitude of that power of two which top has or is above. top is from 2^-100 to 2^23. events[i] is 1 where the event of row i came, else 0; without
// events there are no sums of theirs. dst may be a or b.
func DifferenceSums(dst, a, b []float64, events []uint8, top float64) (s DifferenceSum, ok bool) {
	checkEqual(len(dst), len(a))
	checkEqual(len(dst), len(b))
	if events != nil {
		checkEqual(len(dst), len(events))
	}
	if len(dst) > MaxSum {
		panic(errCount)
	}
	e := int(math.Float64bits(top)>>52) - 1023
	if e < -100 || e > 23 {
		panic(errRoughTop)
	}
	at := func(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }
	scale := [2]float64{at(-e), at(e - powerSpan)}
	n := 0
	if simd() {
		n = len(dst) &^ (columnStep - 1)
	}
	var to [10]uint64
	switch {
	case n == 0:
	case events != nil:
		asm.DifferenceSumsEvents(&to[0], &dst[0], &a[0], &b[0], &events[0], n, &scale[0])
	default:
		asm.DifferenceSums(&to[0], &dst[0], &a[0], &b[0], n, &scale[0])
	}
	for i := n; i < len(dst); i++ {
		d := b[i] - a[i]
		dst[i] = d
		x := 0.0
		if math.Abs(d) >= scale[1] {
			x = float64(d * scale[0])
			to[0] |= math.Float64bits(x) & (1 << 62)
		} else {
			to[0] |= math.Float64bits(d)
		}
		q := float64(x * x)
		for i, power := range [...]float64{x, q, float64(q * q)} {
			for w := 2 * i; w < min(2*i+2+i/2, 7); w++ {
				t := power + powerMagic[w]
				to[1+w] += math.Float64bits(t)
				power -= t - powerMagic[w]
			}
		}
		if events != nil && events[i] == 1 {
			t := x + powerMagic[0]
			to[8] += math.Float64bits(t)
			to[9] += math.Float64bits(x - (t - powerMagic[0]) + powerMagic[1])
		}
	}
	// Scaled differences are below 2 and small ones below 1/2, but for infinities and NaN: the highest bit of an exponent is 0.
	if to[0]>>62&1 != 0 {
		return DifferenceSum{}, false
	}
	s.Small = to[0]<<1 != 0 // 0 may have either sign
	for i, magic := range powerMagic {
		s.Sums[i] = int64(to[1+i] - uint64(len(dst))*math.Float64bits(magic))
		s.Unit[i] = magic / 0x1.8p52 * at(powerOf[i]*e)
	}
	if events != nil {
		came := uint64(bytes.Count(events, []byte{1}))
		for i := range s.Events {
			s.Events[i] = int64(to[8+i] - came*math.Float64bits(powerMagic[i]))
		}
	}
	return s, true
}

// powerMagic are what moves the ends of windows to the last place: of values below 2, of squares below 4, and of those of these below
// 16.
var powerMagic = [7]float64{0x1.8p2, 0x1.8p-49, 0x1.8p3, 0x1.8p-48, 0x1.8p5, 0x1.8p-46, 0x1.8p-97}

var powerOf = [7]int{1, 1, 2, 2, 4, 4, 4}

const (
	errTop      = "kernel: the largest value is not from 2^-100 to 2^100"
	errRoughTop = "kernel: the bound of differences is not from 2^-100 to 2^23"
)
