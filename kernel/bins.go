package kernel

import "math"

// Side says to which of two neighbouring bins a score on their common edge belongs.
type Side uint8

const (
	LeftClosed  Side = iota // bins [a,b): to the upper one
	RightClosed             // bins (a,b]: to the lower one
)

// Edges returns the n+1 edges i*(1/n) of n equal-width bins of [0,1], computed as that product, the last one exactly 1:
// the edges of numpy.linspace, so the third of ten is 0.30000000000000004.
func Edges(n int) []float64 {
	if n < 1 {
		panic(errBins)
	}
	e := make([]float64, n+1)
	step := 1 / float64(n)
	for i := range e {
		e[i] = float64(i) * step
	}
	e[n] = 1
	return e
}

// BinEqual writes to dst the bin of each score among n equal-width bins of [0,1] whose edges are Edges(n): the number
// of inner edges that are <= p (LeftClosed) or < p (RightClosed). So 0 and 1 are in the first and last bin, and so is
// what lies below or above; NaN gets -1. edges is Edges(n), made by the caller once.
func BinEqual(dst []int32, p, edges []float64, side Side) {
	checkEqual(len(dst), len(p))
	checkEdges(edges)
	n := len(edges) - 1
	scale := float64(n)
	for i, v := range p {
		if v != v {
			dst[i] = -1
			continue
		}
		// A product finds the bin but for rounding, the edges beside it decide.
		t := v * scale
		b := 0
		switch {
		case t >= scale:
			b = n - 1
		case t > 0:
			b = int(t)
		}
		if side == LeftClosed {
			for b > 0 && edges[b] > v {
				b--
			}
			for b < n-1 && edges[b+1] <= v {
				b++
			}
		} else {
			for b > 0 && edges[b] >= v {
				b--
			}
			for b < n-1 && edges[b+1] < v {
				b++
			}
		}
		dst[i] = int32(b)
	}
}

// BinEdges writes to dst the bin of each score among the len(edges)-1 bins between rising edges: the number of inner
// edges that are <= p (LeftClosed) or < p (RightClosed). What lies below the first or above the last edge is in the
// first or last bin; NaN gets -1. Equal neighbouring edges make an empty bin.
func BinEdges(dst []int32, p, edges []float64, side Side) {
	checkEqual(len(dst), len(p))
	checkEdges(edges)
	inner := edges[1 : len(edges)-1]
	for i, v := range p {
		if v != v {
			dst[i] = -1
			continue
		}
		lo, hi := 0, len(inner)
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			if inner[mid] < v || side == LeftClosed && inner[mid] == v {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		dst[i] = int32(lo)
	}
}

func checkEdges(e []float64) {
	if len(e) < 2 {
		panic(errEdges)
	}
	for i := 1; i < len(e); i++ {
		if !(e[i-1] <= e[i]) {
			panic(errEdges)
		}
	}
}

// MaxSum is the most values that one call of BinSums or FixedSums takes: so no int64 overflows.
const MaxSum = 2048

// BinSum is what a bin keeps of its scores p and outcomes y: whole numbers all. P, PP and PY are in units of 2**-51.
type BinSum struct {
	N  int64 // rows
	Y  int64 // sum y
	P  int64 // sum p
	PP int64 // sum p*p
	PY int64 // sum p*y
}

// BinSums adds each score p[i], its square, and its outcome y[i] (0 or 1) to sums[bin[i]]; bin -1 is left out.
// Each p and p*p is rounded once, to a multiple of 2**-51, by adding 3. The caller sees to 0 <= p <= 1 and to
// at most MaxSum rows between two emptyings of sums.
func BinSums(sums []BinSum, bin []int32, p []float64, y []uint8) {
	checkEqual(len(bin), len(p))
	checkEqual(len(bin), len(y))
	if len(p) > MaxSum {
		panic(errCount)
	}
	for i, b := range bin {
		if b < 0 {
			continue
		}
		s, h := &sums[b], int64(y[i])
		v := fixed51(p[i])
		s.N++
		s.Y += h
		s.P += v
		s.PP += fixed51(float64(p[i] * p[i]))
		s.PY += v & -h
	}
}

// fixed51 returns v in [-1,1] in units of 2**-51, rounded to even.
func fixed51(v float64) int64 {
	return int64(math.Float64bits(v+3) - math.Float64bits(3))
}

// Window says how FixedSums rounds a value v: adding Magic leaves its multiple of the quantum, the last place of Magic,
// in the low bits. If Fine is not 0 the remainder, which is exact, is rounded in the same way to Fine's last place.
// Values outside [-Max, Max] do not fit.
type Window struct{ Magic, Fine, Max float64 }

// The windows. A quantum of 2**-q stands for the value's bits below that being rounded, to even.
var (
	WindowUnit     = Window{Magic: 3, Max: 1}                                  // probabilities: 2**-51
	WindowBrier    = Window{Magic: 6, Max: 2}                                  // 2**-50
	WindowBrier2   = Window{Magic: 12, Max: 4}                                 // squares of those: 2**-49
	WindowEntropy  = Window{Magic: 96, Max: 32}                                // nats: 2**-46
	WindowEntropy2 = Window{Magic: 3072, Max: 1024}                            // squares of those: 2**-41
	WindowNLL      = Window{Magic: 0x1.8p12, Fine: 0x1.8p-36, Max: 0x1p11 - 1} // 2**-40 and then 2**-88
	WindowNLL2     = Window{Magic: 0x1.8p23, Fine: 0x1.8p-25, Max: 0x1p22 - 1} // 2**-29 and then 2**-77
)

// FixedSums returns the sum of the values as whole numbers: hi in units of Magic's last place and lo in units of
// Fine's. out counts the values that are outside the window, NaN and infinities among them; they are in neither sum.
// At most MaxSum values.
func FixedSums(v []float64, w *Window) (hi, lo int64, out int) {
	if len(v) > MaxSum {
		panic(errCount)
	}
	magic, fine := math.Float64bits(w.Magic), math.Float64bits(w.Fine)
	for _, x := range v {
		if !(x <= w.Max && x >= -w.Max) {
			out++
			continue
		}
		t := x + w.Magic
		hi += int64(math.Float64bits(t) - magic)
		if w.Fine != 0 {
			lo += int64(math.Float64bits((x-(t-w.Magic))+w.Fine) - fine)
		}
	}
	return hi, lo, out
}
