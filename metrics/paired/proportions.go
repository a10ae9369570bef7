package paired

import (
	"encoding/binary"
	"math"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/internal/tails"
)

// Discordance counts the rows where one model is right and the other wrong, among n rows.
type Discordance struct {
	N     int64
	OnlyA int64 // rows that only A has right
	OnlyB int64
}

// Add adds rows: for both models 1 where a row is right, else 0.
func (d *Discordance) Add(a, b []uint8) {
	d.N += int64(len(a))
	b = b[:len(a)]
	for len(a) >= 32 {
		// A byte has room for what it gets of 63 times four rows.
		onlyA, onlyB := uint64(0), uint64(0)
		for n := min(len(a)/32, 63); n > 0 && len(a) >= 32 && len(b) >= 32; n-- {
			u, v := a[:32:32], b[:32:32]
			for i := range 4 {
				x, y := binary.LittleEndian.Uint64(u[8*i:]), binary.LittleEndian.Uint64(v[8*i:])
				onlyA, onlyB = onlyA+x&^y, onlyB+y&^x
			}
			a, b = a[32:], b[32:]
		}
		d.OnlyA += sumBytes(onlyA)
		d.OnlyB += sumBytes(onlyB)
	}
	for i, x := range a {
		d.OnlyA += int64(x &^ b[i])
		d.OnlyB += int64(b[i] &^ x)
	}
}

// sumBytes returns the sum of the bytes.
func sumBytes(v uint64) int64 {
	const even = 0x00ff00ff00ff00ff
	return int64((v&even + v>>8&even) * 0x0001000100010001 >> 48)
}

// Difference returns the accuracy of B minus that of A; NaN without rows.
func (d Discordance) Difference() float64 { return float64(d.OnlyB-d.OnlyA) / float64(d.N) }

// Interval returns Tango's score interval of the difference, within [-1, 1]: the differences that a score test with the
// likeliest discordance under each does not reject. It holds for few discordant rows too. There is none without rows. It panics
// unless 0 < level < 1.
//
// Source: Tango 1998.
func (d Discordance) Interval(level float64) metrics.Interval {
	z := metrics.Z(level)
	if d.N < 1 {
		return metrics.NoInterval()
	}
	mean := d.Difference()
	// The score falls with x: halve the part where it crosses z.
	cross := func(low, high, at float64) float64 {
		for range 200 {
			x := low + float64((high-low)/2)
			if x == low || x == high {
				break
			}
			if d.score(x) > at {
				low = x
			} else {
				high = x
			}
		}
		return low + float64((high-low)/2)
	}
	return metrics.Interval{Low: cross(-1, mean, z), High: cross(mean, 1, -z)}
}

// score returns how many standard errors the difference is above x, a difference in [-1, 1], by which its variance is taken.
func (d Discordance) score(x float64) float64 {
	n, b, c := float64(d.N), float64(d.OnlyB), float64(d.OnlyA)
	// The share of rows that only A has right, at its likeliest: the larger root of 2n q^2 + h q - c x (1-x) = 0.
	h := float64((2*n-b+c)*x) - b - c
	q := (math.Sqrt(math.Max(0, float64(h*h)+float64(8*n*float64(c*float64(x*(1-x)))))) - h) / (4 * n)
	v := float64(n * (2*q + float64(x*(1-x))))
	gap := b - c - float64(n*x)
	if v <= 0 {
		return math.Copysign(math.Inf(1), gap)
	}
	return gap / math.Sqrt(v)
}

// Beyond returns the one-sided p-values of Tango's score test: of a difference above -size, and of one below size. Each is below
// (1-level)/2 where the interval of that level ends within the size. It panics unless size is above 0.
func (d Discordance) Beyond(size float64) (above, below float64) {
	switch {
	case !(size > 0):
		panic("paired: a size of differences is above 0")
	case d.N < 1:
		return math.NaN(), math.NaN()
	case size >= 1: // no difference is as large
		return 0, 0
	}
	return kernel.NormCDF64(-d.score(-size)), kernel.NormCDF64(d.score(size))
}

// McNemar returns the two-sided p-values of equal accuracy: mid-p, which is close to the nominal level, and the exact one, which
// is above it. Both are 1 without discordant rows.
//
// Source: McNemar 1947; Fagerland, Lydersen and Laake 2013.
func (d Discordance) McNemar() (mid, exact float64) {
	if d.OnlyA == d.OnlyB {
		return 1, 1
	}
	n, most := float64(d.OnlyA+d.OnlyB), float64(max(d.OnlyA, d.OnlyB))
	tail := tails.Binomial(most, n, 0.5)
	beyond := 0.0
	if most < n {
		beyond = tails.Binomial(most+1, n, 0.5)
	}
	return math.Min(1, tail+beyond), math.Min(1, 2*tail)
}

// Error returns the standard error of the difference, by the discordant rows. Use it to plan a number of rows: Interval, McNemar and Beyond give
// better intervals and p-values.
func (d Discordance) Error() Error {
	n, x := float64(d.N), float64(d.OnlyB-d.OnlyA)
	return Error{SE: math.Sqrt(float64(d.OnlyA+d.OnlyB)-float64(x*x)/n) / n, DF: n - 1}
}
