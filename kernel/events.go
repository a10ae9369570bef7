package kernel

import (
	"math"

	"github.com/candor-go/candor/kernel/asm"
)

// The kernels of events take the scores and labels of a binary task as they are, and write no columns: they cost a few cycles a row,
// where the columns alone take ten. A row has a fault if its score is outside [0,1], or NaN, or if its label is not 0 or 1. Then those of bins
// return false and add nothing.

// EventBinsF32 adds each probability p[i] of y = 1, its square and its label to the sums of its bin: one of len(sums) equal-width ones,
// as BinEqual with LeftClosed has them, of which edges is Edges(len(sums)). The sums are those of BinSums, also in that the caller must
// clear them at least every MaxSum rows, and that it takes no more.
func EventBinsF32(sums []BinSum, p []float32, labels []int32, edges []float64) (ok bool) {
	return eventBins(sums, p, labels, edges)
}

// EventBinsF64 is EventBinsF32 for float64.
func EventBinsF64(sums []BinSum, p []float64, labels []int32, edges []float64) (ok bool) {
	return eventBins(sums, p, labels, edges)
}

// EventSum holds the sums of EventSums.
type EventSum struct {
	Top BinSum // of the larger of p and 1-p, and of hits: p > 1/2 says 1; as CellSum has them
	// Brier and Brier2 are the sums of the squared errors (p - y)^2 and of their squares, in units of WindowBrier and WindowBrier2. The error is 1-p,
	// rounded, or p.
	Brier, Brier2 int64
}

// EventSumsF32 returns sums of the probabilities p of y = 1 and their labels, for at most MaxSum rows. They mean nothing if a row has a fault, which
// EventBinsF32 finds.
func EventSumsF32(p []float32, labels []int32) EventSum { return eventSums(p, labels) }

// EventSumsF64 is EventSumsF32 for float64.
func EventSumsF64(p []float64, labels []int32) EventSum { return eventSums(p, labels) }

// eventStep is the number of rows that the assembly takes at a time.
const eventStep = 16

// eventWords is the number of words per bin in a work area: its sums, of float32 for each label, and up to eight times four before they are added
// up. eventRoom is the rest.
const eventWords, eventRoom = 2*4 + 8*4, 24

func eventBins[T float32 | float64](sums []BinSum, p []T, labels []int32, edges []float64) bool {
	checkEqual(len(p), len(labels))
	checkEqual(len(edges), len(sums)+1)
	if len(p) > MaxSum {
		panic(errCount)
	}
	n := len(p) &^ (eventStep - 1)
	if !simd() || n < leastBinned || len(sums) < 2 || len(sums) > mostTables || len(sums) > fewTables && n < 8*len(sums) {
		n = 0
	}
	if !faultless(p[n:], labels[n:]) {
		return false
	}
	if n > 0 {
		var few [fewTables*eventWords + eventRoom]uint64
		area := few[:]
		if len(sums) > fewTables {
			area = make([]uint64, len(sums)*eventWords+eventRoom)
		}
		to, cells := &area[0], &area[8*len(sums)]
		switch p := any(p).(type) {
		case []float32:
			bins := float32(len(sums))
			scale := [...]float32{bins, 0x1p23 + bins - 1}
			if asm.EventBinsF32(to, cells, len(sums), &p[0], &labels[0], n, &scale[0]) != 0 {
				return false
			}
			addLabelWords(sums, area)
		case []float64:
			bins := float64(len(sums))
			scale := [...]float64{bins, bins - 1, 1 / bins}
			if asm.EventBinsF64(to, cells, len(sums), &p[0], &labels[0], n, &scale[0]) != 0 {
				return false
			}
			addBinWords(sums, area)
		}
	}
	for i, v := range p[n:] {
		sums[equalBin(float64(v), edges)].add(float64(v), labels[n+i])
	}
	return true
}

// addLabelWords adds what the assembly left of each bin, for either label four words: the bits of two sums, and the number of rows.
func addLabelWords(sums []BinSum, area []uint64) {
	for i := range sums {
		s, c := &sums[i], area[8*i:8*i+8]
		n, y := c[2]+c[6], c[6]
		s.N += int64(n)
		s.Y += int64(y)
		s.P += int64(c[0] + c[4] - n*bits3)
		s.PP += int64(c[1] + c[5] - n*bits3)
		s.PY += int64(c[4] - y*bits3)
	}
}

// equalBin returns the bin of a score in [0,1] among those that begin at their edges.
func equalBin(x float64, edges []float64) int {
	n := len(edges) - 1
	b := min(int(x*float64(n)), n-1)
	for b > 0 && edges[b] > x {
		b--
	}
	for b < n-1 && edges[b+1] <= x {
		b++
	}
	return b
}

// faultless reports whether no row has a fault.
func faultless[T float32 | float64](p []T, labels []int32) bool {
	for i, v := range p {
		if !(v >= 0 && v <= 1) || uint32(labels[i]) > 1 {
			return false
		}
	}
	return true
}

// add adds a score in [0,1] with outcome y, which is 0 or 1.
func (s *BinSum) add(x float64, y int32) {
	v, h := fixed51(x), int64(y)
	s.N++
	s.Y += h
	s.P += v
	s.PP += fixed51(float64(x * x))
	s.PY += v & -h
}

func eventSums[T float32 | float64](p []T, labels []int32) (s EventSum) {
	checkEqual(len(p), len(labels))
	if len(p) > MaxSum {
		panic(errCount)
	}
	n := len(p) &^ (eventStep - 1)
	if !simd() {
		n = 0
	}
	if n > 0 {
		var w [6]uint64
		switch p := any(p).(type) {
		case []float32:
			asm.EventSumsF32(&w[0], &p[0], &labels[0], n)
		case []float64:
			asm.EventSumsF64(&w[0], &p[0], &labels[0], n)
		}
		rows := uint64(n)
		s = EventSum{BinSum{N: int64(n), Y: int64(w[0]), P: int64(w[1] - rows*bits3), PP: int64(w[2] - rows*bits3), PY: int64(w[3] - w[0]*bits3)},
			int64(w[4] - rows*math.Float64bits(WindowBrier.Magic)), int64(w[5] - rows*math.Float64bits(WindowBrier2.Magic))}
	}
	for i, v := range p[n:] {
		x, y := float64(v), labels[n+i]
		q := 1 - x
		d, hit := x, 1-y
		if y == 1 {
			d = q
		}
		if x > 0.5 {
			hit = y
		}
		s.Top.add(max(x, q), hit)
		e := float64(d * d)
		s.Brier += int64(math.Float64bits(e+WindowBrier.Magic) - math.Float64bits(WindowBrier.Magic))
		s.Brier2 += int64(math.Float64bits(float64(e*e)+WindowBrier2.Magic) - math.Float64bits(WindowBrier2.Magic))
	}
	return s
}
