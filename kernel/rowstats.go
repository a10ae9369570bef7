package kernel

import "math"

// Stats receives the columns of a block of rows: element i belongs to row i of the block. All but Rank and Positive
// must be as long as the number of rows; those two may be nil where they are not wanted. Every column is float64
// whatever the input.
//
// A row with a fault (see Flags) has NaN, 0x7FF8000000000000, in every float64 column and -1 in ArgMax and Rank.
type Stats struct {
	Top     []float64 // the largest probability
	Tail    []float64 // 1 - Top: for logits the sum of the others' terms over the total, which keeps its digits near 0
	Label   []float64 // the true class's probability
	NLL     []float64 // -ln of it; +Inf where it is 0
	Rest    []float64 // sum of the squares of all probabilities but the first largest; binary: the other class's square
	Entropy []float64 // -sum p ln p in nats, 0 ln 0 = 0. Both may be nil in ProbStats, which is faster without them
	Norm    []float64 // log-sum-exp of logits; sum of probabilities
	ArgMax  []int32   // first index of the largest; binary: 1 iff p > 1/2
	Flags   []uint8   // what is wrong with the row: 0, or a union of the Flag constants

	Rank     []int32   // #{s_j > s_y} + #{j < y: s_j == s_y}; 0 for the arg max
	Positive []float64 // probability of class 1; written where k is 2 and by the binary kernels
}

// What can be wrong with a row.
const (
	FlagNotFinite  uint8 = 1 << iota // NaN or +Inf, or logits that are all -Inf, or a probability of -Inf: no columns
	FlagOutside                      // a probability below 0 or above 1: the columns are as the formulas give them
	FlagBadLabel                     // label < 0 or >= k: no columns
	flagsNoColumns = FlagNotFinite | FlagBadLabel
)

// chunk is how many elements of a block the Go loops take at a time: a multiple of the lanes.
const chunk = 64

// blockLen is the number of elements after which the lanes of a long row are folded into float64, and shortMax the
// longest row that is one chain instead.
const (
	blockLen = 1024
	shortMax = 32
)

// check panics if a column is too short. Of probabilities Rest and Entropy may be absent together.
func (c *Stats) check(rows int, probs bool) {
	some := !probs || c.Rest != nil || c.Entropy != nil
	if len(c.Top) < rows || len(c.Tail) < rows || len(c.Label) < rows || len(c.NLL) < rows ||
		some && (len(c.Rest) < rows || len(c.Entropy) < rows) || len(c.Norm) < rows || len(c.ArgMax) < rows || len(c.Flags) < rows ||
		c.Rank != nil && len(c.Rank) < rows || c.Positive != nil && len(c.Positive) < rows {
		panic(errColumns)
	}
}

// LogitStatsF32 fills the columns of rows x k float32 logits, row i being x[i*stride : i*stride+k], and returns the
// union of their flags. labels has a class for each row. -Inf is a class of probability 0.
//
// |error| of Norm is at most 1e-6 * max(1, |Norm|), of NLL 1e-5 of it where it is above 1e-12, of the others 2e-6.
// A tail below 2**-90 of the total is 0.
func LogitStatsF32(c *Stats, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{f32: x}, rows, k, stride, labels)
}

// LogitStatsF16 is LogitStatsF32 of the widened IEEE binary16 logits.
func LogitStatsF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{f16: x}, rows, k, stride, labels)
}

// LogitStatsBF16 is LogitStatsF32 of the widened bfloat16 logits.
func LogitStatsBF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{bf16: x}, rows, k, stride, labels)
}

// LogitStatsF64 is LogitStatsF32 for float64 logits. |error| of each column is at most 1e-13 * max(1, |value|), of NLL
// 1e-12 of it where it is above 1e-25.
func LogitStatsF64(c *Stats, x []float64, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats64(c, x, rows, k, stride, labels)
}

// ProbStatsF32 fills the columns of rows x k float32 probabilities, taken as they are given: nothing is clipped or
// divided by the row's sum, which stands in Norm. So Tail is 1 - Top, and NLL is -ln of the label's entry, +Inf where
// that is <= 0. Returns the union of the rows' flags; FlagOutside rows have their columns.
//
// |error| of Norm, Rest and Entropy is at most 2e-6 * max(1, value); the other columns are exact or to 1 ulp.
func ProbStatsF32(c *Stats, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats32(c, &rows32{f32: x}, rows, k, stride, labels)
}

// ProbStatsF16 is ProbStatsF32 of the widened IEEE binary16 probabilities.
func ProbStatsF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats32(c, &rows32{f16: x}, rows, k, stride, labels)
}

// ProbStatsBF16 is ProbStatsF32 of the widened bfloat16 probabilities.
func ProbStatsBF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats32(c, &rows32{bf16: x}, rows, k, stride, labels)
}

// ProbStatsF64 is ProbStatsF32 for float64 probabilities; |error| of Norm, Rest and Entropy is at most 1e-13 * max(1, value).
func ProbStatsF64(c *Stats, x []float64, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats64(c, x, rows, k, stride, labels)
}

func checkStats(c *Stats, n, rows, k, stride int, labels []int32, probs bool) {
	checkRows(n, rows, k, stride)
	c.check(rows, probs)
	if len(labels) < rows {
		panic(errLabels)
	}
}

// rows32 is a matrix whose elements are float32 or widen to it. One of the slices is set.
type rows32 struct {
	f32       []float32
	f16, bf16 []uint16
	buf       [blockLen]float32
	terms     terms32
}

// part returns n elements from at on as float32, n <= blockLen. They are good until the next call.
func (r *rows32) part(at, n int) []float32 {
	switch {
	case r.f32 != nil:
		return r.f32[at : at+n]
	case r.f16 != nil:
		WidenF16(r.buf[:n], r.f16[at:at+n])
	default:
		WidenBF16(r.buf[:n], r.bf16[at:at+n])
	}
	return r.buf[:n]
}

// size returns the bytes of an element.
func (r *rows32) size() int {
	if r.f32 != nil {
		return 4
	}
	return 2
}

func (r *rows32) at(i int) float32 {
	switch {
	case r.f32 != nil:
		return r.f32[i]
	case r.f16 != nil:
		return widenF16(r.f16[i])
	}
	return math.Float32frombits(uint32(r.bf16[i]) << 16)
}

// logitSums is what the terms e_j = exp(x_j - reference) of one row leave behind; the reference is the row's own.
type logitSums struct {
	max  float64 // the largest logit
	top  int     // its first index
	eTop float64 // its term
	zTop float64 // its exponent, in the row's unit
	s    float64 // sum of the other terms
	q    float64 // sum of their squares
	h    float64 // sum of term * exponent over them
	unit float64 // what one unit of the exponents is in nats
}

// tiny is the tail, in terms of at most 1 for the top, below which a row is taken as one-hot: the terms of classes
// that are out of reach (-Inf among them) are clamped above the subnormal numbers, and their sum lies below this.
const tiny = 0x1p-90

// finish writes row i's columns from its sums; xy is the label's logit.
func (r *logitSums) finish(c *Stats, i int, xy float64, y int32) {
	s, q, h := r.s, r.q, r.h
	if s < tiny {
		s, q, h = 0, 0, 0
	}
	inv := 1 / (r.eTop + s)
	lq := Log1p64(s / r.eTop)
	top := r.eTop * inv
	w := math.FMA(r.zTop, s, -h)
	ent := lq + float64(float64(w*r.unit)*inv)
	if !(ent > 0) {
		ent = 0
	}
	c.Top[i] = top
	c.Tail[i] = s * inv
	c.Rest[i] = q * inv * inv
	c.Entropy[i] = ent
	c.Norm[i] = r.max + lq
	c.ArgMax[i] = int32(r.top)
	c.Flags[i] = 0
	d := xy - r.max
	c.NLL[i] = lq - d
	if int(y) == r.top {
		c.Label[i] = top
	} else {
		c.Label[i] = Exp64(d) * top
	}
}

// none writes the canonical columns of a row that has none.
func (c *Stats) none(i int, flags uint8) {
	c.Top[i], c.Tail[i], c.Label[i], c.NLL[i] = nan64, nan64, nan64, nan64
	if c.Norm[i] = nan64; c.Rest != nil {
		c.Rest[i], c.Entropy[i] = nan64, nan64
	}
	c.ArgMax[i] = -1
	c.Flags[i] = flags
	if c.Rank != nil {
		c.Rank[i] = -1
	}
	if c.Positive != nil {
		c.Positive[i] = nan64
	}
}
