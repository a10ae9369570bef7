package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// Side says to which of two neighbouring bins a score on their common edge belongs.
type Side uint8

const (
	LeftClosed  Side = iota // bins [a,b): the upper one
	RightClosed             // bins (a,b]: the lower one
)

// Edges returns the n+1 edges i*(1/n) of n equal-width bins of [0,1], computed as this product; the last one is exactly 1.
// They equal those of numpy.linspace, so the third of ten is 0.30000000000000004.
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

// BinEqual writes to dst the bin of each score among n equal-width bins of [0,1]: the number of inner edges that are <= p
// (LeftClosed) or < p (RightClosed). Scores below 0 fall into the first bin and scores above 1 into the last; NaN gets -1.
// edges must be Edges(n), which the caller computes once.
func BinEqual(dst []int32, p, edges []float64, side Side) {
	checkEqual(len(dst), len(p))
	checkEdges(edges)
	if n := len(p); simd() && n >= columnStep && len(edges) > 2 {
		bins := float64(len(edges) - 1)
		scale := [...]float64{bins, bins - 1, 1 / bins}
		simdBinEqual(dst, p, &scale, side, n&^(columnStep-1))
		if n&(columnStep-1) != 0 { // the last ones, some of them twice
			simdBinEqual(dst[n-columnStep:], p[n-columnStep:], &scale, side, columnStep)
		}
		return
	}
	binEqual(dst, p, edges, side)
}

// simdBinEqual takes the first n scores.
func simdBinEqual(dst []int32, p []float64, scale *[3]float64, side Side, n int) {
	if side == LeftClosed {
		asm.BinEqualLeft(&dst[0], &p[0], n, &scale[0])
	} else {
		asm.BinEqualRight(&dst[0], &p[0], n, &scale[0])
	}
}

func binEqual(dst []int32, p, edges []float64, side Side) {
	n := len(edges) - 1
	scale := float64(n)
	for i, v := range p {
		if v != v {
			dst[i] = -1
			continue
		}
		// The product gives the bin up to rounding; the edges next to it decide.
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

// BinEdges writes to dst the bin of each score among the len(edges)-1 bins between rising edges: the number of inner edges
// that are <= p (LeftClosed) or < p (RightClosed). Scores below the first edge fall into the first bin and scores above the
// last edge into the last; NaN gets -1. Equal neighbouring edges make an empty bin.
func BinEdges(dst []int32, p, edges []float64, side Side) {
	checkEqual(len(dst), len(p))
	checkEdges(edges)
	inner := edges[1 : len(edges)-1]
	if n := len(p); simd() && n >= columnStep && 0 < len(inner) && len(inner) <= mostCompared {
		simdBinEdges(dst, p, inner, side, n&^(columnStep-1))
		if n&(columnStep-1) != 0 { // the last ones, some of them twice
			simdBinEdges(dst[n-columnStep:], p[n-columnStep:], inner, side, columnStep)
		}
		return
	}
	binEdges(dst, p, inner, side)
}

// mostCompared is the number of inner edges up to which comparing a score with each is faster than a search, whose branches
// are unpredictable.
const mostCompared = 256

// simdBinEdges takes the first n scores.
func simdBinEdges(dst []int32, p, inner []float64, side Side, n int) {
	if side == LeftClosed {
		asm.BinEdgesLeft(&dst[0], &p[0], n, &inner[0], len(inner))
	} else {
		asm.BinEdgesRight(&dst[0], &p[0], n, &inner[0], len(inner))
	}
}

func binEdges(dst []int32, p, inner []float64, side Side) {
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

// MaxSum is the most values that one call of BinSums, CellSum, FixedSums or Moments accepts, so that no int64 overflows.
const MaxSum = 2048

// BinSum holds the sums of a bin over its scores p and outcomes y, as integers. P, PP and PY are in units of 2**-51.
type BinSum struct {
	N  int64 // rows
	Y  int64 // sum y
	P  int64 // sum p
	PP int64 // sum p*p
	PY int64 // sum p*y
}

// BinSums adds each score p[i], its square, and its outcome y[i] (0 or 1) to sums[bin[i]]; rows with bin -1 are left out.
// Each p and p*p is rounded once, to a multiple of 2**-51, by adding 3. Scores with a bin that are outside [0,1] or NaN are
// also left out; out is their number. The caller must clear sums at least every MaxSum rows.
func BinSums(sums []BinSum, bin []int32, p []float64, y []uint8) (out int) {
	checkEqual(len(bin), len(p))
	checkEqual(len(bin), len(y))
	if len(p) > MaxSum {
		panic(errCount)
	}
	n := len(p) &^ (columnStep - 1)
	if !simd() || n < leastBinned || len(sums) > fewTables && (n < 8*len(sums) || len(sums) > mostTables) {
		return binSums(sums, bin, p, y)
	}
	out, ok := simdBinSums(sums, bin[:n], p, y)
	if !ok {
		return binSums(sums, bin, p, y) // panics where a score in [0,1] has an invalid bin
	}
	return out + binSums(sums, bin[n:], p[n:], y[n:])
}

// With fewer rows than leastBinned, or fewer than 8 per bin, or more bins than mostTables, clearing the work area costs more
// than it saves.
const leastBinned, fewTables, mostTables = 64, 20, 128

// binWords is the number of words per bin in a work area: its sums N and Y, P, PP, PY, eight lanes of each before they are
// added up. roomWords is the rest of the area, including that for rows without a bin.
const binWords, roomWords = 4 + 8*4, 8*4 + 16

// simdBinSums adds to sums. It returns false, and adds nothing, if a bin is out of range.
func simdBinSums(sums []BinSum, bin []int32, p []float64, y []uint8) (out int, ok bool) {
	if len(sums) <= fewTables {
		var area [fewTables*binWords + roomWords]uint64
		return binSumsIn(area[:], sums, bin, p, y)
	}
	var area [mostTables*binWords + roomWords]uint64
	return binSumsIn(area[:], sums, bin, p, y)
}

// binSumsIn is BinSums with its work area, which must be zero.
func binSumsIn(area []uint64, sums []BinSum, bin []int32, p []float64, y []uint8) (out int, ok bool) {
	n := 4 * len(sums)
	if n == 0 {
		return 0, false
	}
	without := asm.BinSums(&area[0], &area[n], len(sums), &bin[0], &p[0], &y[0], len(bin))
	if without < 0 {
		return 0, false
	}
	in := addBinWords(sums, area)
	return len(bin) - without - in, true
}

// addBinWords adds what the assembly left of each bin, four words: N and Y in one, and the bits of its sums. It returns the number of rows.
func addBinWords(sums []BinSum, area []uint64) (rows int) {
	for i := range sums {
		s, c := &sums[i], area[4*i:4*i+4]
		n, y := c[0]&math.MaxUint32, c[0]>>32
		rows += int(n)
		s.N += int64(n)
		s.Y += int64(y)
		s.P += int64(c[1] - n*bits3)
		s.PP += int64(c[2] - n*bits3)
		s.PY += int64(c[3] - y*bits3)
	}
	return rows
}

func binSums(sums []BinSum, bin []int32, p []float64, y []uint8) (out int) {
	for i, b := range bin {
		if b < 0 {
			continue
		}
		x := p[i]
		if !(x >= 0 && x <= 1) {
			out++
			continue
		}
		s, h := &sums[b], int64(y[i])
		v := fixed51(x)
		s.N++
		s.Y += h
		s.P += v
		s.PP += fixed51(float64(x * x))
		s.PY += v & -h
	}
	return out
}

// fixed51 returns v in [-1,1] in units of 2**-51, rounded to even.
func fixed51(v float64) int64 {
	return int64(math.Float64bits(v+3) - bits3)
}

const bits3 = 0x4008000000000000 // the bits of 3

// Window says how FixedSums rounds a value v. Adding Magic rounds v to a multiple of the quantum, which is Magic's last
// place, and leaves it in the low bits. If Fine is not 0 the remainder, which is exact, is rounded in the same way to Fine's
// last place. Values outside [-Max, Max] do not fit.
type Window struct{ Magic, Fine, Max float64 }

// The windows. A quantum of 2**-q means that bits of the value below it are rounded, to even.
var (
	WindowUnit     = Window{Magic: 3, Max: 1}                                  // probabilities: 2**-51
	WindowBrier    = Window{Magic: 6, Max: 2}                                  // 2**-50
	WindowBrier2   = Window{Magic: 12, Max: 4}                                 // squares of those: 2**-49
	WindowEntropy  = Window{Magic: 96, Max: 32}                                // nats: 2**-46
	WindowEntropy2 = Window{Magic: 3072, Max: 1024}                            // squares of those: 2**-41
	WindowNLL      = Window{Magic: 0x1.8p12, Fine: 0x1.8p-36, Max: 0x1p11 - 1} // 2**-40 and then 2**-88
	WindowNLL2     = Window{Magic: 0x1.8p23, Fine: 0x1.8p-25, Max: 0x1p22 - 1} // 2**-29 and then 2**-77
)

// FixedSums returns the sum of the values as integers: hi in units of Magic's last place and lo in units of Fine's. out
// counts the values outside the window, including NaN and infinities, which are in neither sum. At most MaxSum values are
// allowed.
func FixedSums(v []float64, w *Window) (hi, lo int64, out int) {
	if len(v) > MaxSum {
		panic(errCount)
	}
	n := len(v) &^ (columnStep - 1)
	if !simd() || n == 0 {
		return fixedSums(v, w)
	}
	var s [3]uint64
	if w.Fine == 0 {
		asm.FixedSums(&s[0], &v[0], n, &w.Magic)
	} else {
		asm.FixedSumsFine(&s[0], &v[0], n, &w.Magic)
	}
	hi, lo, out = fixedSums(v[n:], w)
	hi += int64(s[1] - uint64(n)*math.Float64bits(w.Magic))
	lo += int64(s[2] - uint64(n)*math.Float64bits(w.Fine))
	return hi, lo, out + n - int(s[0])
}

func fixedSums(v []float64, w *Window) (hi, lo int64, out int) {
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
