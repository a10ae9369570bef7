package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

const errWindows = "kernel: one of two windows has a Fine, the other has not"

// Moment is the result of Moments: integers, in units of the last places of the windows' Magic and Fine.
type Moment struct {
	Hi, Lo   int64 // sum v
	Hi2, Lo2 int64 // sum v*v
	Out      int64 // values outside the first window, which are in no sum
}

// Moments returns the sums of the values and of their squares. A value inside the first window is rounded as by FixedSums
// there; its square, a product rounded to float64, is rounded as by FixedSums in the second window. The second window must
// hold the squares of the first; both must have a Fine, or neither. At most MaxSum values are allowed.
func Moments(v []float64, first, second *Window) Moment {
	if len(v) > MaxSum {
		panic(errCount)
	}
	if (first.Fine == 0) != (second.Fine == 0) {
		panic(errWindows)
	}
	if n := len(v) &^ (columnStep - 1); simd() && n > 0 {
		m, rest := simdMoments(v[:n], first, second), moments(v[n:], first, second)
		return Moment{m.Hi + rest.Hi, m.Lo + rest.Lo, m.Hi2 + rest.Hi2, m.Lo2 + rest.Lo2, m.Out + rest.Out}
	}
	return moments(v, first, second)
}

// Numbers of rows that the assembly of columns takes at a time; byteStep applies where it produces bytes from int32.
const columnStep, byteStep = 32, 64

func moments(v []float64, first, second *Window) Moment {
	if first.Fine == 0 {
		return coarseMoments(v, first, second)
	}
	return fineMoments(v, first, second)
}

// simdMoments subtracts Magic once for every row, including those outside.
func simdMoments(v []float64, first, second *Window) Moment {
	var s [5]uint64
	n := uint64(len(v))
	if first.Fine == 0 {
		asm.Moments(&s[0], &v[0], len(v), &first.Magic, &second.Magic)
	} else {
		asm.MomentsFine(&s[0], &v[0], len(v), &first.Magic, &second.Magic)
	}
	return Moment{
		Hi:  int64(s[1] - n*math.Float64bits(first.Magic)),
		Lo:  int64(s[2] - n*math.Float64bits(first.Fine)),
		Hi2: int64(s[3] - n*math.Float64bits(second.Magic)),
		Lo2: int64(s[4] - n*math.Float64bits(second.Fine)),
		Out: int64(n - s[0]),
	}
}

// coarseMoments sums the bits after adding Magic, and subtracts the bits of Magic at the end; overflows in between cancel.
func coarseMoments(v []float64, first, second *Window) Moment {
	var hi, hi2, in uint64
	for _, x := range v {
		if !(math.Abs(x) <= first.Max) {
			continue
		}
		in++
		hi += math.Float64bits(x + first.Magic)
		hi2 += math.Float64bits(float64(x*x) + second.Magic)
	}
	return Moment{
		Hi:  int64(hi - in*math.Float64bits(first.Magic)),
		Hi2: int64(hi2 - in*math.Float64bits(second.Magic)),
		Out: int64(len(v)) - int64(in),
	}
}

// fineMoments does the same with the remainders.
func fineMoments(v []float64, first, second *Window) Moment {
	var hi, lo, hi2, lo2, in uint64
	for _, x := range v {
		if !(math.Abs(x) <= first.Max) {
			continue
		}
		in++
		t := x + first.Magic
		hi += math.Float64bits(t)
		lo += math.Float64bits((x - (t - first.Magic)) + first.Fine)
		q := float64(x * x)
		t = q + second.Magic
		hi2 += math.Float64bits(t)
		lo2 += math.Float64bits((q - (t - second.Magic)) + second.Fine)
	}
	return Moment{
		Hi:  int64(hi - in*math.Float64bits(first.Magic)),
		Lo:  int64(lo - in*math.Float64bits(first.Fine)),
		Hi2: int64(hi2 - in*math.Float64bits(second.Magic)),
		Lo2: int64(lo2 - in*math.Float64bits(second.Fine)),
		Out: int64(len(v)) - int64(in),
	}
}

// CellSum returns the sums of all scores p[i], of their squares, and of their outcomes y[i] (0 or 1), rounded as by BinSums.
// out counts the scores outside [0,1], including NaN, which are in no sum, nor in N. At most MaxSum scores are allowed.
func CellSum(p []float64, y []uint8) (s BinSum, out int) {
	checkEqual(len(p), len(y))
	if len(p) > MaxSum {
		panic(errCount)
	}
	n := len(p) &^ (columnStep - 1)
	if !simd() || n == 0 {
		return cellSum(p, y)
	}
	var r [5]uint64
	asm.CellSum(&r[0], &p[0], &y[0], n)
	s, out = cellSum(p[n:], y[n:])
	s.N += int64(r[0])
	s.Y += int64(r[1])
	s.P += int64(r[2] - uint64(n)*bits3)
	s.PP += int64(r[3] - uint64(n)*bits3)
	s.PY += int64(r[4] - r[1]*bits3)
	return s, out + n - int(r[0])
}

func cellSum(p []float64, y []uint8) (s BinSum, out int) {
	for i, x := range p {
		if !(x >= 0 && x <= 1) {
			out++
			continue
		}
		v, h := fixed51(x), int64(y[i])
		s.Y += h
		s.P += v
		s.PP += fixed51(float64(x * x))
		s.PY += v & -h
	}
	s.N = int64(len(p) - out)
	return s, out
}

// Hits writes 1 to dst[i] if a[i] equals b[i], else 0. With arg maxes and labels, 1 marks a hit.
func Hits(dst []uint8, a, b []int32) {
	checkEqual(len(dst), len(a))
	checkEqual(len(dst), len(b))
	if n := len(a); simd() && n >= byteStep {
		asm.Hits(&dst[0], &a[0], &b[0], n&^(byteStep-1))
		if n&(byteStep-1) == 0 {
			return
		}
		n -= byteStep // the last ones, some of them twice
		asm.Hits(&dst[n], &a[n], &b[n], byteStep)
		return
	}
	for i, v := range a {
		h := uint8(0)
		if v == b[i] {
			h = 1
		}
		dst[i] = h
	}
}

// Counts adds to dst[r] the number of values equal to r. Values below 0 or not below len(dst) are not counted.
func Counts(dst []int64, v []int32) {
	if len(dst) > 5 {
		for _, r := range v {
			if uint(r) < uint(len(dst)) {
				dst[r]++
			}
		}
		return
	}
	const call = 4032 // most values of a call of the assembly
	for simd() && len(v) >= byteStep {
		var c [5]uint64
		n := min(len(v), call) &^ (byteStep - 1)
		asm.Counts(&c[0], &v[0], n)
		for r := range dst {
			dst[r] += int64(c[r])
		}
		v = v[n:]
	}
	// Up to five counts share one word, in fields of 13 bits. The shift of any other value is beyond the word and adds 0.
	const field, most = 13, 1<<12 - 1
	for len(v) > 0 {
		n, packed := min(len(v), most), uint64(0)
		for _, r := range v[:n] {
			packed += 1 << uint64(int64(r)*field)
		}
		for r := range dst {
			dst[r] += int64(packed >> (field * r) & most)
		}
		v = v[n:]
	}
}

// SquaredErrors writes to dst[i] the squared distance of row i's probabilities from its label: the sum over the classes of
// (p - [class is the label])^2, computed from the columns Top, Tail, Label and Rest. hit is 1 where the label is the arg
// max, else 0; k is the number of classes.
//
//	hit           Tail^2 + Rest
//	no hit        (1 - Label)^2 + ((Top^2 + Rest) - Label^2)
//	k = 1, hit    Tail^2: the event's (p - y)^2 alone
//	k = 1, no     Top^2
//
// Every product is rounded. The form for a hit has no cancellation; 1 - 2p + sum p^2 would lose 43% of the score at a tail
// of 1e-4 in float32.
func SquaredErrors(dst []float64, c *Stats, hit []uint8, k int) {
	n := len(dst)
	checkEqual(n, len(hit))
	if len(c.Top) < n || len(c.Tail) < n || len(c.Label) < n || len(c.Rest) < n {
		panic(errColumns)
	}
	if simd() && n >= columnStep {
		simdSquaredErrors(dst, c, hit, 0, n&^(columnStep-1), k)
		if n&(columnStep-1) != 0 { // the last ones, some of them twice
			simdSquaredErrors(dst, c, hit, n-columnStep, columnStep, k)
		}
		return
	}
	squaredErrors(dst, c, hit, k)
}

func simdSquaredErrors(dst []float64, c *Stats, hit []uint8, i, n, k int) {
	if k == 1 {
		asm.EventErrors(&dst[i], &c.Top[i], &c.Tail[i], &hit[i], n)
	} else {
		asm.SquaredErrors(&dst[i], &c.Top[i], &c.Tail[i], &c.Label[i], &c.Rest[i], &hit[i], n)
	}
}

func squaredErrors(dst []float64, c *Stats, hit []uint8, k int) {
	n := len(dst)
	top, tail, label, rest := c.Top[:n], c.Tail[:n], c.Label[:n], c.Rest[:n]
	if k == 1 {
		for i, h := range hit {
			d := pick(h, tail[i], top[i])
			dst[i] = d * d
		}
		return
	}
	for i, h := range hit {
		t, r, p, q := tail[i], rest[i], label[i], top[i]
		right := float64(t*t) + r
		wrong := float64((1-p)*(1-p)) + (float64(q*q) + r - float64(p*p))
		dst[i] = pick(h, right, wrong)
	}
}

// pick returns a if h is 1 and b if it is 0. It uses no branch, since hits are unpredictable.
func pick(h uint8, a, b float64) float64 {
	m := -uint64(h)
	return math.Float64frombits(math.Float64bits(a)&m | math.Float64bits(b)&^m)
}
