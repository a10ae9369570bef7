package kernel

import "math"

// Stats holds the columns of a block of rows: element i belongs to row i of the block. All columns except Rank and Positive
// must be as long as the number of rows; these two may be nil if not needed. Every column is float64 whatever the input.
//
// A row with a fault (see Flags) has NaN, 0x7FF8000000000000, in every float64 column and -1 in ArgMax and Rank.
type Stats struct {
	Top     []float64 // the largest probability
	Tail    []float64 // 1 - Top; for logits the sum of the other terms over the total, which keeps its digits near 0
	Label   []float64 // the probability of the true class
	NLL     []float64 // -ln Label; +Inf if Label is 0
	Rest    []float64 // sum of the squares of all probabilities except the first largest; binary: square of the other class's probability
	Entropy []float64 // -sum p ln p in nats, 0 ln 0 = 0. ProbStats is faster with both Rest and Entropy nil
	Norm    []float64 // log-sum-exp for logits, sum for probabilities
	ArgMax  []int32   // first index of the largest; binary: 1 iff p > 1/2
	Flags   []uint8   // faults of the row: 0, or a union of the Flag constants

	Rank     []int32   // #{s_j > s_y} + #{j < y: s_j == s_y}; 0 for the arg max
	Positive []float64 // probability of class 1; written where k is 2 and by the binary kernels
}

// The faults of a row.
const (
	FlagNotFinite  uint8 = 1 << iota // NaN or +Inf, or logits that are all -Inf, or a probability of -Inf: no columns
	FlagOutside                      // a probability below 0 or above 1; the columns follow the formulas
	FlagBadLabel                     // label < 0 or >= k: no columns
	flagsNoColumns = FlagNotFinite | FlagBadLabel
)

// chunk is the number of elements that the Go loops process at a time: a multiple of the lanes.
const chunk = 64

// blockLen is the number of elements after which the lanes of a long row are folded into float64. shortMax is the length of
// the longest row that is summed as a single chain instead.
const (
	blockLen = 1024
	shortMax = 32
)

// check panics if a column is too short. For probabilities Rest and Entropy may both be nil.
func (c *Stats) check(rows int, probs bool) {
	some := !probs || c.Rest != nil || c.Entropy != nil
	if len(c.Top) < rows || len(c.Tail) < rows || len(c.Label) < rows || len(c.NLL) < rows ||
		some && (len(c.Rest) < rows || len(c.Entropy) < rows) || len(c.Norm) < rows || len(c.ArgMax) < rows || len(c.Flags) < rows ||
		c.Rank != nil && len(c.Rank) < rows || c.Positive != nil && len(c.Positive) < rows {
		panic(errColumns)
	}
}

// LogitStatsF32 fills the columns of rows x k float32 logits, where row i is x[i*stride : i*stride+k], and returns the union
// of their flags. labels has a class for each row. -Inf is a class of probability 0.
//
// |error| is at most 1e-6 * max(1, |Norm|) for Norm, 1e-5 of the value for NLL above 1e-12, and 2e-6 for the others. A tail
// below 2**-90 of the total is 0.
func LogitStatsF32(c *Stats, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{f32: x}, rows, k, stride, labels)
}

// LogitStatsF16 is LogitStatsF32 for IEEE binary16 logits, which are widened.
func LogitStatsF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{f16: x}, rows, k, stride, labels)
}

// LogitStatsBF16 is LogitStatsF32 for bfloat16 logits, which are widened.
func LogitStatsBF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats32(c, &rows32{bf16: x}, rows, k, stride, labels)
}

// LogitStatsF64 is LogitStatsF32 for float64 logits. |error| is at most 1e-12 of the value for NLL above 1e-25, and 1e-13 *
// max(1, |value|) for each other column.
func LogitStatsF64(c *Stats, x []float64, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, false)
	return logitStats64(c, x, rows, k, stride, labels)
}

// ProbStatsF32 fills the columns of rows x k float32 probabilities, and returns the union of the rows' flags. Probabilities
// are used as given, neither clipped nor divided by the row's sum, which is in Norm. So Tail is 1 - Top, and NLL is -ln of
// the label's entry, +Inf where that is <= 0. Rows with FlagOutside have columns.
//
// |error| of Norm, Rest and Entropy is at most 2e-6 * max(1, value); the other columns are exact or correct to 1 ulp.
func ProbStatsF32(c *Stats, x []float32, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats32(c, &rows32{f32: x}, rows, k, stride, labels)
}

// ProbStatsF16 is ProbStatsF32 for IEEE binary16 probabilities, which are widened.
func ProbStatsF16(c *Stats, x []uint16, rows, k, stride int, labels []int32) uint8 {
	checkStats(c, len(x), rows, k, stride, labels, true)
	return probStats32(c, &rows32{f16: x}, rows, k, stride, labels)
}

// ProbStatsBF16 is ProbStatsF32 for bfloat16 probabilities, which are widened.
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

// rows32 is a matrix of elements that are float32 or widen to it. One of the slices is set.
type rows32 struct {
	f32       []float32
	f16, bf16 []uint16
	buf       [blockLen]float32
	terms     terms32
}

// part returns n elements from at on as float32, n <= blockLen. They are valid until the next call.
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

// logitSums holds the sums over the terms e_j = exp(x_j - reference) of a row; each row has its own reference.
type logitSums struct {
	max  float64 // the largest logit
	top  int     // its first index
	eTop float64 // term of the largest
	zTop float64 // exponent of the largest, in the row's unit
	s    float64 // sum of the other terms
	q    float64 // sum of their squares
	h    float64 // sum of term * exponent over the others
	unit float64 // one unit of the exponents in nats
}

// tiny is the tail, relative to a top's term of at most 1, below which a row is treated as one-hot. Terms of classes that
// are out of reach, including -Inf, are clamped above the subnormal numbers, and their sum lies below tiny.
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
	w := fma64(r.zTop, s, -h)
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

// none writes the canonical columns of a faulty row.
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
